//! What a disk has done and how it is now.

use super::Disk;
use nandlab_lab::json;
use nandlab_lab::served::Live;
use serde_json::Value;

impl Disk {
    /// The counts since the opening, with a run record's names and units; `queues` and `handles` say who asked, and
    /// `in_all` has the counts since the image was made.
    pub fn stats(&self) -> Value {
        let mut inner = self.lock();
        let mut record = json::value(&inner.served.record());
        let asked = inner.served.asked();
        (record["queues"], record["handles"]) = (json::value(&asked.queues), json::value(&asked.handles));
        record["in_all"] = inner.served.lifetime().told();
        record["wall_s"] = self.started.elapsed().as_secs_f64().into();
        record
    }

    /// The device's current state, for a page.
    pub fn live(&self) -> Live {
        self.lock().served.live()
    }
}

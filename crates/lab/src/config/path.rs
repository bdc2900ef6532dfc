//! The way between host and FTL, according to the device's controller and link.

use super::{Device, Experiment, Model};
use nandlab_block::PathTimes;
use nandlab_nand::Time;
use nandlab_workload::Kind;

impl Device {
    /// Times between host and FTL; none on a device without time.
    pub(crate) fn path_times(&self) -> PathTimes {
        if self.model == Model::Counting {
            return PathTimes::default();
        }
        let controller = self.profile.controller.unwrap_or_default();
        let link = self.profile.link.unwrap_or_default();
        PathTimes {
            latency: ns(controller.latency_us),
            read_command: ns(controller.read_command_us),
            write_command: ns(controller.write_command_us),
            list: ns(controller.list_us),
            link_command: ns(link.command_us),
            read_ns_per_byte: ns_per_byte(link.read_mb_s),
            write_ns_per_byte: ns_per_byte(link.write_mb_s),
            write_buffer: controller.write_buffer_bytes,
        }
    }
}

fn ns(us: f64) -> Time {
    (us * 1000.0).round() as Time
}

fn ns_per_byte(mb_s: f64) -> f64 {
    if mb_s > 0.0 {
        1000.0 / mb_s
    } else {
        0.0
    }
}

impl Experiment {
    /// A notice if the device states times that these requests do not take.
    pub(super) fn unused_path(&self) -> Option<String> {
        let has_path = self.device.path_times() != PathTimes::default();
        (has_path && !matches!(self.workload.kind(), Kind::Requests(_))).then(|| {
            "the times of [device.controller] and [device.link] have no effect: they are added to requests that come by \
             themselves, and a file system or an index makes these"
                .to_owned()
        })
    }
}

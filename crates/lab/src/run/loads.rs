//! Tenants with an index or a file system load it before the measurement.

use super::above::AllAbove;
use super::mark::Mark;
use super::precondition::Preconditioned;
use super::session::Run;
use crate::control::Phase;
use crate::error::LabError;
use crate::record::{us, waf, FlashCounts, PreconditionRecord, Stopped};
use nandlab_workload::tenants::Until;
use nandlab_workload::Kind;

impl Run<'_> {
    /// Shows the tenants their zones, then plays the loads, if there are any, until the device is at rest, and adds their cost to what
    /// came before.
    pub(super) fn load(&mut self, above: &mut AllAbove, before: Preconditioned) -> Result<Preconditioned, LabError> {
        above.see_zones(self.engine);
        let Some(mut loads) = above.take_loads().filter(|_| before.stopped.is_none()) else { return Ok(before) };
        let sectors = self.sizing.geometry.sectors_per_page();
        self.enter(Phase::Precondition, 0, sectors.into());
        let by_events = self.engine.follow_events();
        let start: Mark = self.mark();
        let mut meter = self.meter(0);
        (meter.by_events, meter.timeline) = (by_events, None);
        let stopped = self.play(&mut *loads, &mut meter, &start)?;
        self.engine.leave_events();
        self.forget_epoch();
        let (ended, notices) = self.ended_in_their_loads(&above.open_gates());
        let stopped = stopped.or(ended);
        let written_sectors = before.written_sectors + meter.host.written_sectors;
        let counted = self.engine().matrix().since(&start.matrix).total();
        let time = self.engine().now() - start.time;
        let own = PreconditionRecord {
            requests: meter.host.requests,
            flash: FlashCounts::of(&counted),
            waf: waf(counted.programs(), sectors, meter.host.written_sectors),
            windows: None,
            steady: None,
            time_us: Some(us(time)),
        };
        let all = self.begun.written_sectors + written_sectors;
        let record = before.record.map_or(own, |first| first.and(&own, all, sectors));
        let told = |stopped: Stopped| Stopped {
            message: format!("in the loads of the tenants, {}", stopped.message),
            ..stopped
        };
        Ok(Preconditioned { record: Some(record), stopped: stopped.map(told), written_sectors, notices, ..before })
    }

    /// Why nothing can be measured, if the first tenant that is done ends the run, and what to say about the others.
    fn ended_in_their_loads(&self, ended: &[(usize, Option<Stopped>)]) -> (Option<Stopped>, Vec<String>) {
        let Some(tenants) = self.experiment.tenants() else { return (None, Vec::new()) };
        let mut notices = Vec::new();
        for tenant in &tenants.tenant {
            let Kind::Keys(keys) = tenant.workload.kind() else { continue };
            let name = &tenant.name;
            if keys.load() == 0 {
                notices.push(format!(
                    "precondition.load makes only the index of tenant {name}: its workload has no load, which ycsb and load_update have"
                ));
            } else if keys.operations() == Some(keys.load()) {
                notices.push(all_in_load(name));
            }
        }
        let mut first = None;
        for (at, stopped) in ended {
            let name = &tenants.tenant[*at].name;
            match stopped {
                Some(Stopped { why, message }) if tenants.until == Until::First => {
                    first.get_or_insert(Stopped { why: *why, message: format!("tenant {name} ended {message}") });
                }
                Some(_) => {}
                None => notices.push(all_in_load(name)),
            }
        }
        (first, notices)
    }
}

fn all_in_load(name: &str) -> String {
    format!("tenant {name} does all of its operations in its load: its workload has none behind it")
}

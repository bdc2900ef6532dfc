//! Notices about a job file, in sentences.

use super::job::Job;
use super::keys::Unfollowed;
use super::placing::Choice;
use crate::origins::origins;

/// Ignored settings, in sentences.
pub(super) fn notices(jobs: &[Job], unfollowed: &Unfollowed<'_>) -> Vec<String> {
    let mut said = Vec::new();
    if !unfollowed.keys.is_empty() {
        let keys = unfollowed.keys.iter().copied().collect::<Vec<_>>().join(", ");
        said.push(format!(
            "these keys of the job file concern the machine that fio runs on or what it prints, and change nothing here: {keys}"
        ));
    }
    if !unfollowed.told.is_empty() {
        let keys: Vec<String> = unfollowed.told.iter().map(|(key, what)| format!("{key} ({what})")).collect();
        said.push(format!("these keys of the job file are read and not followed: {}", keys.join(", ")));
    }
    let most = origins().count();
    if jobs.len() > most {
        let count = jobs.len() + 1 - most;
        said.push(format!(
            "{most} jobs can be told apart: [{}] and the jobs behind it, {count} in all, have one latency and one share of writes",
            jobs[most - 1].name
        ));
    }
    for name in jobs.iter().filter(|job| job.lacks_runtime).map(|job| &job.name) {
        said.push(format!("[{name}] is time_based without a runtime, so that its size ends it, as in fio"));
    }
    let has_none = |job: &&Job| job.placing.asks_the_device() && job.writes() && job.choice == Choice::None;
    for name in jobs.iter().filter(has_none).map(|job| &job.name) {
        said.push(format!(
            "[{name}] has fdp = 1, and the device lists no placement identifiers, so that its writes carry none; \
             ftl.page.placement.fdp and ftl.sector_map.fdp list some"
        ));
    }
    for job in jobs.iter().filter(|job| job.ramp > 0) {
        let (name, ramp) = (&job.name, job.ramp as f64 / 1e9);
        said.push(format!(
            "[{name}] has ramp_time = {ramp} s, by which its runtime is longer; its requests of that time count as all \
             others, and precondition.warm_up leaves the first ones out"
        ));
    }
    for (name, keys) in jobs.iter().filter_map(|job| Some((&job.name, job.zoning.idle()?))) {
        said.push(format!("[{name}] has keys that mean nothing without zonemode = zbd: {keys}"));
    }
    for job in jobs.iter().filter(|job| job.depth > 1) {
        let (name, depth) = (&job.name, job.depth);
        if let Some(engine) = &job.waits {
            said.push(format!(
                "[{name}] has iodepth = {depth}, but as in fio the engine {engine} waits for each request, so that one is \
                 outstanding; ioengine = libaio keeps {depth}"
            ));
        } else if job.batch.is_polling() {
            said.push(format!(
                "[{name}] has iodepth = {depth} and iodepth_batch_complete_min = 0, with which fio waits for each request, so \
                 that one is outstanding; iodepth_batch_complete_max = {depth} keeps {depth}"
            ));
        }
    }
    said
}

//! When each job begins, and what its end ends.
//!
//! init.c of fio 3.33, `add_job` and `wait_for_ok`; backend.c, `run_threads`; libfio.c, `fio_terminate_threads`.

use super::company::Ended;
use super::job::Job;
use super::Malformed;

/// A job among the others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Order {
    /// Jobs behind fewer walls end before it begins.
    pub(super) walls: usize,
    /// Its group; the jobs in a group end together.
    pub(super) group: usize,
    /// It begins after the end of the job with this number.
    pub(super) waits_for: Option<usize>,
    /// The jobs to end with it, and with its error.
    pub(super) ended: Option<Ended>,
    pub(super) ended_by_error: Option<Ended>,
}

impl Order {
    /// Whether this job's end ends another one.
    pub(super) fn ends(&self, ended: Ended, other: &Self, has_begun: bool) -> bool {
        match ended {
            Ended::Group => self.group == other.group,
            Ended::Running => has_begun,
            Ended::All => true,
        }
    }
}

/// Every job's place, in file order.
///
/// # Errors
/// A sentence about a job without the one it waits for.
pub(super) fn orders(jobs: &[Job]) -> Result<Vec<Order>, Malformed> {
    let ends_others = jobs.iter().any(|job| job.company.ends_others);
    let (mut walls, mut group) = (0, 0);
    let mut orders = Vec::new();
    for (number, job) in jobs.iter().enumerate() {
        let is_first = number == 0;
        walls += usize::from(job.is_behind_wall && !is_first);
        group += usize::from((job.is_behind_wall || job.company.begins_group) && !is_first);
        let ended = job.company.ended;
        orders.push(Order {
            walls,
            group,
            waits_for: waits_for(&jobs[..number], job)?,
            ended: ends_others.then_some(ended),
            ended_by_error: (ends_others || job.tolerance.ends_all).then_some(ended),
        });
    }
    Ok(orders)
}

fn waits_for(before: &[Job], job: &Job) -> Result<Option<usize>, Malformed> {
    let Some(name) = &job.company.waits_for else { return Ok(None) };
    let mut found = before.iter().enumerate().filter(|(_, other)| other.name == *name).map(|(number, _)| number);
    match (found.next(), found.next()) {
        (Some(number), None) => Ok(Some(number)),
        (None, _) => Err(job.wrong(&format!("wait_for = {name}, and no job before it has this name"))),
        _ => Err(job.wrong(&format!("wait_for = {name}, and several jobs have this name"))),
    }
}

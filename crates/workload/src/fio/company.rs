//! Keys about other jobs: `wait_for`, `exitall` and their kin.

use super::text::{switch, Entry};
use super::Malformed;

/// The keys, as a job has them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Company {
    /// Whether `exitall` stands there; it then counts for all jobs.
    pub(super) ends_others: bool,
    pub(super) ended: Ended,
    pub(super) begins_group: bool,
    /// It begins after this job's end.
    pub(super) waits_for: Option<String>,
}

/// The jobs to end with a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Ended {
    /// Its group.
    #[default]
    Group,
    /// The running ones.
    Running,
    All,
}

impl Company {
    /// Takes a key.
    pub(super) fn set(&mut self, entry: &Entry<'_>) -> Result<(), Malformed> {
        let value = entry.value.unwrap_or("");
        match entry.key {
            "exitall" => self.ends_others = switch(entry)?,
            "new_group" => self.begins_group = switch(entry)?,
            "wait_for" => self.waits_for = Some(value.to_owned()).filter(|name| !name.is_empty()),
            _ => {
                self.ended = match value {
                    "group" => Ended::Group,
                    "stonewall" => Ended::Running,
                    "all" => Ended::All,
                    _ => {
                        let what = "expected group, stonewall or all";
                        return Err(entry.wrong(format!("{} = {value} cannot work: {what}", entry.key)));
                    }
                }
            }
        }
        Ok(())
    }
}

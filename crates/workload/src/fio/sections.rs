//! The sections of a job file as jobs.

use super::job::Job;
use super::keys::Unfollowed;
use super::text::{KbBase, Section};
use super::Malformed;

/// The jobs in a file, and the keys without effect here.
pub(super) fn read_jobs<'a>(sections: &[Section<'a>]) -> Result<(Vec<Job>, Unfollowed<'a>), Malformed> {
    let mut global = Job::default();
    let mut global_base = KbBase(1024);
    let (mut jobs, mut unfollowed) = (Vec::new(), Unfollowed::default());
    for section in sections {
        let base = kb_base(section)?.unwrap_or(global_base);
        if section.name == "global" {
            global_base = base;
            global.take(&section.entries, base, &mut unfollowed)?;
            continue;
        }
        let mut job = Job { name: section.name.to_owned(), line: section.line, ..global.clone() };
        job.take(&section.entries, base, &mut unfollowed)?;
        // init.c of fio 3.33, `fixup_options`.
        job.lacks_runtime = job.is_time_based && job.runtime == 0;
        job.is_time_based &= !job.lacks_runtime;
        jobs.push(job);
    }
    Ok((jobs, unfollowed))
}

/// This section's value for `k`, if given.
fn kb_base(section: &Section<'_>) -> Result<Option<KbBase>, Malformed> {
    let entry = section.entries.iter().rev().find(|entry| entry.key == "kb_base");
    entry.map_or(Ok(None), |entry| match entry.value {
        Some("1000") => Ok(Some(KbBase(1000))),
        Some("1024") => Ok(Some(KbBase(1024))),
        _ => Err(entry.wrong(format!("kb_base = {} cannot work: expected 1000 or 1024", entry.value.unwrap_or("")))),
    })
}

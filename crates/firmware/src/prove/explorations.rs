//! Explorations in separate processes, side by side.

use super::explore::{ended, worker, Plan};
use super::finding::{Board, Noted};
use std::sync::atomic::Ordering;

/// Explores a script; returns the findings, without a cut first, and the case count.
pub(super) fn explored(plan: &Plan<'_>) -> (Vec<Noted>, u64) {
    let board = Board::new();
    let jobs = if plan.replay { 1 } else { plan.jobs };
    let workers: Vec<_> = (0..jobs)
        .map(|number| {
            // SAFETY: this process has one thread; the child never returns.
            let child = unsafe { libc::fork() };
            assert!(child >= 0, "no process for a script: {}", std::io::Error::last_os_error());
            if child == 0 {
                worker(*plan, board, number);
            }
            child
        })
        .collect();
    for child in workers {
        let mut status = 0;
        // SAFETY: this process's child.
        while unsafe { libc::waitpid(child, &mut status, 0) } < 0 {}
        if let Some(finding) = ended(status) {
            board.note(&finding, &[], plan.script.steps.len().saturating_sub(1));
        }
    }
    let mut notes = board.notes();
    // Each worker plays the whole script, so each has the findings without a cut.
    notes.sort_by_key(|noted| (noted.cuts.len(), noted.cuts.first().map(|cut| cut.operation), noted.finding.kind));
    notes.dedup();
    let cases = board.cases.load(Ordering::Relaxed);
    board.free();
    (notes, cases)
}

//! Shrinks a script to the shortest with a finding still, and the same kind.

use super::explorations::explored;
use super::explore::Plan;
use super::finding::Noted;
use super::script::{Script, Step};
use nandlab_nand::power_cut::Form;
use std::time::{Duration, Instant};

/// The shortest script found within the time, with its finding.
pub(super) fn shrunk(plan: &Plan<'_>, noted: &Noted, most: Duration) -> (Script, Noted) {
    let until = Instant::now() + most;
    let mut forms: Vec<Form> = noted.cuts.iter().map(|cut| cut.form).collect();
    forms.sort_unstable();
    forms.dedup();
    let depth = noted.cuts.len() as u32;
    let finds = |script: &Script| -> Option<Noted> {
        let kind = noted.finding.kind;
        let plan = Plan { script, forms: &forms, depth, until: Some(kind), ..*plan };
        let (found, _) = explored(&plan);
        found.into_iter().find(|found| found.finding.kind == kind)
    };
    let mut best = Script { cuts: Vec::new(), ..plan.script.clone() };
    let mut found = noted.clone();
    let end = (noted.step + 1).min(best.steps.len());
    let cut_short = Script { steps: best.steps[..end].to_vec(), ..best.clone() };
    if let Some(again) = finds(&cut_short) {
        (best, found) = (cut_short, again);
    }
    let mut size = best.steps.len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        let mut got = false;
        while at < best.steps.len() && Instant::now() < until {
            let mut shorter = best.clone();
            shorter.steps.drain(at..(at + size).min(best.steps.len()));
            if let Some(again) = finds(&shorter) {
                (best, found, got) = (shorter, again, true);
            } else {
                at += size;
            }
        }
        if Instant::now() >= until || size == 1 && !got {
            break;
        }
        size = (size / 2).max(1);
    }
    renumber(&mut best, &mut found, finds);
    best.cuts.clone_from(&found.cuts);
    (best, found)
}

/// Small sector numbers are easier to read; kept if the finding is still there.
fn renumber(best: &mut Script, found: &mut Noted, finds: impl Fn(&Script) -> Option<Noted>) {
    let mut seen = Vec::new();
    let mut number = |sector: u32| {
        let place = seen.iter().position(|&known| known == sector);
        place.unwrap_or_else(|| {
            seen.push(sector);
            seen.len() - 1
        }) as u32
    };
    let mut renumbered = best.clone();
    for step in &mut renumbered.steps {
        match step {
            Step::Write(sector) | Step::Trim(sector) => *sector = number(*sector),
            Step::Sync | Step::Mount | Step::File(_) => {}
        }
    }
    if let Some(again) = finds(&renumbered) {
        (*best, *found) = (renumbered, again);
    }
}

//! Findings, and the memory for the notes from all processes.

use nandlab_nand::power_cut::{CutPlan, Form};
use serde::Serialize;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Finding kinds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u32)]
pub enum Kind {
    /// A synced sector has older or other contents of its own.
    Lost,
    /// A sector has contents that nobody wrote there.
    Garbage,
    /// The mount failed.
    Mount,
    /// A sector cannot be read.
    Unreadable,
    /// A write, a trim or a sync failed.
    Refused,
    /// The firmware broke one chip rule.
    Rule,
    /// The firmware ended its process.
    Crash,
    /// The firmware did not come back.
    Hang,
}

/// A process's finding: its kind, and a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Finding {
    pub(super) kind: Kind,
    pub(super) sentence: String,
}

impl Finding {
    pub(super) fn new(kind: Kind, sentence: impl Into<String>) -> Self {
        Self { kind, sentence: sentence.into() }
    }
}

/// A finding with the place at which its script was cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Noted {
    pub(super) finding: Finding,
    pub(super) cuts: Vec<CutPlan>,
    /// The step under way at the first cut, or at the finding.
    pub(super) step: usize,
}

const NOTES: usize = 128;
const TEXT: usize = 300;
const CUTS: usize = 2;

#[repr(C)]
struct Note {
    ready: AtomicU32,
    kind: Kind,
    step: u32,
    cuts: [(u64, u32); CUTS],
    cut_count: u32,
    text: [u8; TEXT],
    text_bytes: u32,
}

/// Counts and notes in memory shared by all processes.
#[repr(C)]
pub(super) struct Board {
    pub(super) cases: AtomicU64,
    pub(super) by_kind: [AtomicU64; 8],
    taken: AtomicU64,
    notes: [Note; NOTES],
}

impl Board {
    /// Zeroed memory, shared by every process; one for each proof.
    pub(super) fn new() -> &'static Self {
        let (read_write, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: fresh zeroed pages; zero is a valid Board, and only atomics change after a fork but for a note, which
        // one process owns until `ready`.
        unsafe {
            let memory = libc::mmap(std::ptr::null_mut(), size_of::<Self>(), read_write, shared, -1, 0);
            assert!(memory != libc::MAP_FAILED, "memory for the board");
            &*memory.cast()
        }
    }

    /// Gives the memory back.
    pub(super) fn free(&'static self) {
        // SAFETY: the memory of `new`; the caller uses the board no more.
        unsafe { libc::munmap(std::ptr::from_ref(self).cast_mut().cast(), size_of::<Self>()) };
    }

    pub(super) fn count(&self, kind: Kind) -> u64 {
        self.by_kind[kind as usize].load(Ordering::Relaxed)
    }

    /// Notes a finding; beyond the room it is counted alone.
    pub(super) fn note(&self, finding: &Finding, cuts: &[CutPlan], step: usize) {
        self.by_kind[finding.kind as usize].fetch_add(1, Ordering::Relaxed);
        let place = self.taken.fetch_add(1, Ordering::Relaxed) as usize;
        if place >= NOTES {
            return;
        }
        let note = std::ptr::from_ref(&self.notes[place]).cast_mut();
        // SAFETY: this process alone took the place.
        unsafe {
            (*note).kind = finding.kind;
            (*note).step = step as u32;
            (*note).cut_count = cuts.len().min(CUTS) as u32;
            for (to, cut) in (*note).cuts.iter_mut().zip(cuts) {
                *to = (cut.operation, form_number(cut.form));
            }
            let bytes = finding.sentence.as_bytes();
            let length = bytes.len().min(TEXT);
            (&mut (*note).text)[..length].copy_from_slice(&bytes[..length]);
            (*note).text_bytes = length as u32;
            (*note).ready.store(1, Ordering::Release);
        }
    }

    /// The notes so far.
    pub(super) fn notes(&self) -> Vec<Noted> {
        let ready = self.notes.iter().filter(|note| note.ready.load(Ordering::Acquire) == 1);
        ready
            .map(|note| Noted {
                finding: Finding::new(
                    note.kind,
                    String::from_utf8_lossy(&note.text[..note.text_bytes as usize]).into_owned(),
                ),
                cuts: note.cuts[..note.cut_count as usize]
                    .iter()
                    .map(|&(operation, form)| CutPlan { operation, form: Form::ALL[form as usize] })
                    .collect(),
                step: note.step as usize,
            })
            .collect()
    }
}

fn form_number(form: Form) -> u32 {
    (0..).zip(Form::ALL).find(|&(_, known)| known == form).map_or(0, |(number, _)| number)
}

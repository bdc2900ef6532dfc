//! The next file, and the steps in a job's pattern.

use super::job::{Job, Steps};
use super::part::Part;
use super::skew::Skew;
use super::values::Service;
use nandlab_nand::random::Random;

/// Each file stands for so many places of a popularity, as in fio 3.33.
const PLACES_A_FILE: u64 = 1024;

/// The files' turns.
#[derive(Debug)]
pub(super) struct Turns {
    service: Service,
    skew: Option<(Skew, Random)>,
    next: usize,
    /// The file at work, and its requests until the next one.
    present: Option<usize>,
    left: u64,
    each: u64,
    /// Most files at work.
    most_open: usize,
    /// Requests until the next step.
    until_step: u64,
}

impl Turns {
    pub(super) fn new(job: &Job, files: usize, random: &Random) -> Self {
        let mut turns = Self {
            service: job.service.clone(),
            skew: None,
            next: 0,
            present: None,
            left: 0,
            each: job.service_requests.max(1),
            most_open: if job.open_files == 0 { files } else { files.min(job.open_files as usize) },
            until_step: job.steps.every,
        };
        if let Service::Skewed(distribution) = &turns.service {
            let mut own = random.clone();
            let skew = distribution.places(1, files as u64 * PLACES_A_FILE, 1, &mut own);
            turns.skew = skew.map(|skew| (skew.in_order(), own));
        }
        turns
    }

    /// A pass begins with the first draws.
    pub(super) fn repeat(&mut self, random: &Random) {
        if let Some((_, own)) = &mut self.skew {
            *own = random.clone();
        }
    }

    /// Whether some files come more often than others; they begin anew at their end.
    pub(super) fn is_uneven(&self) -> bool {
        matches!(self.service, Service::Skewed(_))
    }

    /// Whether this request is a step: each one, unless `rw` has a number behind it.
    pub(super) fn is_step(&mut self, steps: &Steps) -> bool {
        if self.until_step == 0 {
            return false;
        }
        self.until_step -= 1;
        let is_step = self.until_step == 0;
        if is_step {
            self.until_step = steps.every;
        }
        is_step
    }

    /// Opens the next file; `None` if none has more.
    pub(super) fn next(&mut self, parts: &mut [Part], random: &mut Random) -> Option<usize> {
        if let Some(present) = self.present.filter(|&present| parts[present].is_open) {
            if self.service == Service::Sequential {
                return Some(present);
            }
            if self.left > 0 {
                self.left -= 1;
                return Some(present);
            }
        }
        if parts.iter().all(|part| part.is_done) {
            return None;
        }
        let file = loop {
            let file = self.candidate(parts.len(), random);
            let open = parts.iter().filter(|part| part.is_open).count();
            if !parts[file].is_done && (parts[file].is_open || open < self.most_open) {
                break file;
            }
        };
        if !parts[file].is_open {
            parts[file].open();
        }
        (self.present, self.left) = (Some(file), self.each - 1);
        Some(file)
    }

    fn candidate(&mut self, files: usize, random: &mut Random) -> usize {
        if let Some((skew, own)) = &mut self.skew {
            return (skew.draw(own) / PLACES_A_FILE) as usize;
        }
        if self.service == Service::Random {
            return random.below(files as u64) as usize;
        }
        let file = self.next;
        self.next = (file + 1) % files;
        file
    }
}

//! Pages of a cell: types with times of their own, and pages that a die programs at once.

use super::Timed;
use crate::address::Ppa;
use crate::context::Time;
use crate::nand::Nand;
use crate::profile::Timing;

/// Times by page type, and each unit's gathered pages.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    /// By type; empty if all are alike.
    read: Vec<Time>,
    program: Vec<Time>,
    /// Pages that program at once.
    together: u32,
    /// By unit: pages that wait for the others.
    gathered: Vec<u32>,
}

impl Pages {
    /// `None` if all pages are alike and program one by one.
    pub(super) fn new(timing: &Timing, units: usize) -> Option<Self> {
        let types = timing.page_types;
        (types.is_some() || timing.program_pages > 1).then(|| Self {
            read: types.map_or(Vec::new(), |types| types.read_us.ns("read_us")),
            program: types.and_then(|types| types.program_us).map_or(Vec::new(), |times| times.ns("program_us")),
            together: timing.program_pages,
            gathered: vec![0; units],
        })
    }
}

impl<N: Nand, const EXTRAS: bool> Timed<N, EXTRAS> {
    /// Array time of a read of this page.
    #[inline]
    pub(super) fn array_read(&self, at: Ppa) -> Time {
        match &self.pages {
            Some(pages) if EXTRAS && !pages.read.is_empty() => self.of_type(at, &pages.read, self.times_at(at).read),
            _ => self.times_at(at).read,
        }
    }

    /// Array time of a program of this page; 0 if its unit still waits for pages that it programs at once.
    #[inline]
    pub(super) fn array_program(&mut self, at: Ppa, unit: usize) -> Time {
        let alike = self.times_at(at).program;
        if !EXTRAS {
            return alike;
        }
        let Some(pages) = &mut self.pages else { return alike };
        pages.gathered[unit] += 1;
        if pages.gathered[unit] < pages.together {
            return 0;
        }
        pages.gathered[unit] = 0;
        match &self.pages {
            Some(pages) if !pages.program.is_empty() => self.of_type(at, &pages.program, alike),
            _ => alike,
        }
    }

    /// A time by page type; `alike` in blocks of one bit a cell.
    fn of_type(&self, at: Ppa, by_type: &[Time], alike: Time) -> Time {
        if self.inner.is_slc(self.geometry.block_of(at)) {
            return alike;
        }
        by_type[self.geometry.page_in_block(at) as usize % by_type.len()]
    }
}

//! Wear along a run: what its lifetime is told from.

/// How much more must be written until the P/E cycles of each block are kept once more.
const GROWTH: f64 = 1.2;

/// P/E cycles of each block at one moment. Nothing is kept of a device that was never erased.
#[derive(Clone, Debug, Default)]
pub struct Cycles(Vec<u32>);

impl Cycles {
    /// These, by block.
    pub fn of(pe_cycles: &[u32]) -> Self {
        Self(if pe_cycles.iter().all(|&cycles| cycles == 0) { Vec::new() } else { pe_cycles.to_vec() })
    }

    /// All blocks' cycles, and zeros without an end behind them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied().chain(std::iter::repeat(0))
    }
}

/// How much a device was worn at moments of a run, against what the host had written.
#[derive(Clone, Debug, Default)]
pub struct Worn {
    /// Sectors written and pages worn, in ascending order; it begins with nothing.
    course: Vec<(u64, u64)>,
    /// Valid pages at these moments, without the first.
    valid: Vec<u64>,
    /// P/E cycles of each block when so many sectors were written, the earliest after a quarter of the last at most.
    kept: Vec<(u64, Cycles)>,
}

impl Worn {
    /// Notes a moment: `pages` were programmed since the start, or passed over and erased. They are pages per block x erases,
    /// and the pages that are programmed now, both since the start.
    pub fn see(&mut self, written_sectors: u64, pages: u64, valid_pages: u64, pe_cycles: &[u32]) {
        self.course.push((written_sectors, pages));
        self.valid.push(valid_pages);
        let last = self.kept.last().map_or(0, |&(written, _)| written);
        if written_sectors as f64 > last as f64 * GROWTH {
            self.kept.push((written_sectors, Cycles::of(pe_cycles)));
            let passed = self.kept.iter().take_while(|&&(written, _)| written < written_sectors / 4).count();
            self.kept.drain(..passed.saturating_sub(1));
        }
    }

    /// The last moment.
    pub(crate) fn end(&self) -> (u64, u64) {
        self.course.last().copied().unwrap_or_default()
    }

    /// The moment when about this share of the end's sectors were written.
    pub(crate) fn at(&self, share: f64) -> (u64, u64) {
        let wanted = (self.end().0 as f64 * share) as u64;
        self.course.iter().copied().min_by_key(|&(written, _)| written.abs_diff(wanted)).unwrap_or_default()
    }

    /// Valid pages in the middle, by sectors written, and at the end.
    pub(crate) fn valid(&self) -> (u64, u64) {
        let half = self.course.iter().position(|&moment| moment == self.at(0.5));
        let half = half.and_then(|at| self.valid.get(at));
        let end = self.valid.last().copied().unwrap_or_default();
        (half.copied().unwrap_or(end), end)
    }

    /// The P/E cycles of each block when about half of the end's sectors were written.
    pub(crate) fn half_way(&self) -> Option<(u64, &Cycles)> {
        let wanted = self.end().0 / 2;
        let nearest = self.kept.iter().min_by_key(|(written, _)| written.abs_diff(wanted))?;
        (nearest.0 < self.end().0).then_some((nearest.0, &nearest.1))
    }
}

//! What is counted in an epoch: writes, moves, and each group's victims.

/// Counts since the epoch began, and of victims since half of it.
#[derive(Debug)]
pub(super) struct Counts {
    /// Host pages, and the hot group's share among them.
    host: u64,
    hot: u64,
    moved: u64,
    /// By pool: pages moved out of its victims, and victims.
    victims: Vec<(u64, u64)>,
    /// Blocks in use on a die when a victim is chosen: their sum, and how often.
    in_use: (u64, u64),
}

impl Counts {
    pub(super) fn new(pools: u32) -> Self {
        Self { host: 0, hot: 0, moved: 0, victims: vec![(0, 0); pools as usize], in_use: (0, 0) }
    }

    #[inline]
    pub(super) fn written(&mut self, is_hot: bool) {
        self.host += 1;
        self.hot += u64::from(is_hot);
    }

    #[inline]
    pub(super) fn moved(&mut self, pool: usize) {
        self.moved += 1;
        self.victims[pool].0 += 1;
    }

    pub(super) fn emptied(&mut self, pool: usize) {
        self.victims[pool].1 += 1;
    }

    pub(super) fn in_use(&mut self, blocks: u32) {
        self.in_use.0 += u64::from(blocks);
        self.in_use.1 += 1;
    }

    pub(super) fn restart_victims(&mut self) {
        self.victims.fill((0, 0));
    }

    /// Write amplification; `None` without a write.
    pub(super) fn waf(&self) -> Option<f64> {
        part(self.host + self.moved, self.host)
    }

    /// The hot group's share in the host pages.
    pub(super) fn hot_share(&self) -> Option<f64> {
        part(self.hot, self.host)
    }

    /// Mean blocks in use on a die when a victim was chosen; `None` if none was.
    pub(super) fn blocks(&self) -> Option<f64> {
        part(self.in_use.0, self.in_use.1)
    }

    /// The valid part of a pool's victims, if there were so many.
    pub(super) fn valid(&self, pool: usize, fewest: u64, pages: u64) -> Option<f64> {
        let (moved, victims) = self.victims[pool];
        part(moved, victims * pages).filter(|_| victims >= fewest)
    }
}

fn part(some: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| some as f64 / all as f64)
}

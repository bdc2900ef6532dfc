//! WARCIP: clusters of pages with similar rewrite intervals.
//!
//! ## Idea
//! A page's rewrite interval is the time between its last two writes by the host, in host pages. Each cluster fills its
//! own blocks and has a centre, the mean interval of the pages in its open block. A host page goes to the cluster with the
//! nearest centre and moves this centre: k-means, one page at a time. Pages moved by garbage collection have a frontier of
//! their own. A page that was moved has lived longer than its cluster, so its age at that move is added to its next
//! interval.
//!
//! Every 128 blocks of host pages, a cluster that got less than a block is closed, and its pages go to the nearest other
//! one. If a cluster is closed, another one that got more than half of the pages is split: the closed one opens again
//! between its centre and the next higher one.
//!
//! ## Differences
//! The rules and numbers are those of the implementation with which the authors of SepBIT compared (fallfish/sepbit);
//! only the paper's abstract was read. Where this implementation leaves the first centres at 0 and takes 0 as the interval
//! of a page that was never written, here the first centres rise from a block to all logical pages by equal factors, and a
//! page without an interval goes to the cluster with the highest centre and does not move it. A new block's mean starts
//! with the old centre as its first page. A mount forgets the intervals.
//!
//! ## References
//! J. Yang, S. Pei, Q. Yang: WARCIP: Write Amplification Reduction by Clustering I/O Pages. SYSTOR 2019. Q. Wang, J. Li,
//! P. P. C. Lee, T. Ouyang, C. Shi, L. Huang: Separating Data via Block Invalidation Time Inference for Write Amplification
//! Reduction in Log-Structured Storage. FAST 2022.

use super::{Moved, PlacementPolicy, Written, MOST_FRONTIERS};
use crate::options::options;
use crate::{error, FtlError};
use nandlab_nand::{Geometry, Lpn};

options! {
    Options
    /// The option of WARCIP.
    #[derive(Eq)]
    {
        /// Clusters for host pages, 2 to 14. Default 5, as in the SepBIT paper.
        clusters: u32 = 5,
    }
}

impl Options {
    pub(super) fn check(self, key: &str) -> Result<(), FtlError> {
        error::in_range(&format!("{key}.warcip.clusters"), self.clusters, 2..=MOST_FRONTIERS - 1)
    }
}

/// Blocks of host pages between two looks at the sizes of clusters.
const PERIOD: u64 = 128;

/// Host pages with similar intervals.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    /// The mean interval of its open block's pages.
    centre: f64,
    /// Pages of this mean.
    pages: u32,
    /// Pages since the last look.
    written: u64,
    is_open: bool,
}

/// The clusters and the pages' last writes.
#[derive(Debug)]
pub(crate) struct Warcip {
    clusters: Vec<Cluster>,
    pages_per_block: u32,
    /// Host pages written.
    clock: u64,
    /// By page: the clock after its last write; 0: never.
    written: Vec<u64>,
    /// By page: its age at its last move since then.
    penalty: Vec<u32>,
}

impl Warcip {
    pub(super) fn new(options: Options, geometry: &Geometry, logical_pages: u32) -> Self {
        let pages_per_block = geometry.pages_per_block();
        let most = f64::from(logical_pages.max(pages_per_block));
        let factor = libm::pow(most / f64::from(pages_per_block), 1.0 / f64::from(options.clusters - 1));
        let centres = std::iter::successors(Some(f64::from(pages_per_block)), |centre| Some(centre * factor));
        let cluster = |centre| Cluster { centre, pages: 1, written: 0, is_open: true };
        Self {
            clusters: centres.take(options.clusters as usize).map(cluster).collect(),
            pages_per_block,
            clock: 0,
            written: vec![0; logical_pages as usize],
            penalty: vec![0; logical_pages as usize],
        }
    }

    /// The open clusters' numbers.
    fn open(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.clusters.len()).filter(|&at| self.clusters[at].is_open)
    }

    /// The open cluster with the nearest centre, and the page in its mean.
    fn nearest(&mut self, interval: f64) -> usize {
        let away = |at: &usize| (self.clusters[*at].centre - interval).abs();
        let at = self.open().min_by(|one, other| away(one).total_cmp(&away(other))).unwrap_or(0);
        let cluster = &mut self.clusters[at];
        if cluster.pages >= self.pages_per_block {
            cluster.pages = 1;
        }
        cluster.pages += 1;
        cluster.centre += (interval - cluster.centre) / f64::from(cluster.pages);
        at
    }

    /// The open cluster with the highest centre.
    fn coldest(&self) -> usize {
        let centre = |at: &usize| self.clusters[*at].centre;
        self.open().max_by(|one, other| centre(one).total_cmp(&centre(other))).unwrap_or(0)
    }

    /// Closes clusters without much to do, and splits one with too much.
    #[cold]
    fn look(&mut self) {
        let all: u64 = self.clusters.iter().map(|cluster| cluster.written).sum();
        for cluster in &mut self.clusters {
            cluster.is_open &= cluster.written >= u64::from(self.pages_per_block);
        }
        let large = self.open().find(|&at| self.clusters[at].written > all / 2);
        let closed = (0..self.clusters.len()).find(|&at| !self.clusters[at].is_open);
        if let (Some(large), Some(closed)) = (large, closed) {
            let centre = self.clusters[large].centre;
            let higher = self.open().map(|at| self.clusters[at].centre).filter(|&other| other > centre);
            let next = higher.min_by(f64::total_cmp).unwrap_or(2.0 * centre);
            self.clusters[closed] = Cluster { centre: (centre + next) / 2.0, pages: 1, written: 0, is_open: true };
        }
        self.clusters.iter_mut().for_each(|cluster| cluster.written = 0);
    }
}

impl PlacementPolicy for Warcip {
    fn written(&mut self, Written { at, .. }: Written) -> usize {
        self.clock += 1;
        let before = std::mem::replace(&mut self.written[at.index()], self.clock);
        let penalty = std::mem::take(&mut self.penalty[at.index()]);
        let cluster = match before {
            0 => self.coldest(),
            before => self.nearest((self.clock - before + u64::from(penalty)) as f64),
        };
        self.clusters[cluster].written += 1;
        if self.clock % (PERIOD * u64::from(self.pages_per_block)) == 0 {
            self.look();
        }
        cluster
    }

    fn moved(&mut self, _: Moved) -> usize {
        self.clusters.len()
    }

    fn copied(&mut self, Moved { at, .. }: Moved) {
        if let Some(&written) = self.written.get(at.index()).filter(|&&written| written > 0) {
            self.penalty[at.index()] = u32::try_from(self.clock - written).unwrap_or(u32::MAX);
        }
    }

    fn trimmed(&mut self, at: Lpn) {
        self.written[at.index()] = 0;
        self.penalty[at.index()] = 0;
    }

    fn bytes(&self) -> u64 {
        12 * self.written.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandlab_nand::{BlockId, Origin, PlacementId};

    fn warcip(clusters: u32) -> Warcip {
        Warcip::new(Options { clusters }, &Geometry::single_die(64, 4, 512).unwrap(), 400)
    }

    fn write(warcip: &mut Warcip, at: u32) -> usize {
        warcip.written(Written { at: Lpn(at), origin: Origin::HOST, placement: PlacementId::NONE, from: BlockId::NONE })
    }

    /// Centres 4, 40 and 400 at first; the mean of the pages in a block of 4, the old centre being the first of them.
    #[test]
    fn a_page_goes_to_the_nearest_centre_and_moves_it() {
        let mut warcip = warcip(3);
        assert_eq!(write(&mut warcip, 0), 2, "a new page");
        assert_eq!(write(&mut warcip, 0), 0);
        assert!((warcip.clusters[0].centre - 2.5).abs() < 1e-9, "between 4 and 1");
        (1..30).for_each(|at| assert!(write(&mut warcip, at) < 3));
        assert_eq!(write(&mut warcip, 0), 1);
        assert!((warcip.clusters[1].centre - 35.0).abs() < 1e-9, "between 40 and 30");
        assert!((warcip.clusters[2].centre - 400.0).abs() < 1e-9, "new pages move nothing");
        assert_eq!(warcip.moved(Moved { at: Lpn(0), from: BlockId(0) }), 3);
    }

    /// The age of 5 at the move comes on top of the interval of 10.
    #[test]
    fn a_moved_page_pays_for_it() {
        let mut warcip = warcip(3);
        write(&mut warcip, 0);
        (1..6).for_each(|at| assert!(write(&mut warcip, at) < 3));
        warcip.copied(Moved { at: Lpn(0), from: BlockId(0) });
        (6..10).for_each(|at| assert!(write(&mut warcip, at) < 3));
        assert_eq!(write(&mut warcip, 0), 0);
        assert!((warcip.clusters[0].centre - 9.5).abs() < 1e-9, "between 4 and 15");
        assert_eq!(warcip.penalty[0], 0);
    }

    /// Ten pages in turn between others written once in 200: the centres are the two intervals, as batch k-means has them.
    #[test]
    fn centres_find_the_intervals() {
        let mut warcip = warcip(2);
        let mut clusters = [[0; 2]; 2];
        for turn in 0..20_000 {
            let is_hot = turn % 2 == 0;
            let at = if is_hot { turn / 2 % 10 } else { 10 + turn / 2 % 100 };
            let cluster = write(&mut warcip, at);
            if turn > 2_000 {
                clusters[usize::from(is_hot)][cluster] += 1;
            }
        }
        assert_eq!((clusters[1][1], clusters[0][0]), (0, 0), "no page is in the other cluster");
        let centres = [0, 1].map(|at| warcip.clusters[at].centre);
        assert!((centres[0] - 20.0).abs() < 0.1 && (centres[1] - 200.0).abs() < 0.1, "{centres:?}");
    }

    /// 128 blocks of 4 pages: all writes go to one cluster of three, so the others close, and one opens again above it.
    #[test]
    fn an_empty_cluster_takes_from_a_full_one() {
        let mut warcip = warcip(3);
        (0..512).for_each(|turn| assert!(write(&mut warcip, turn % 3) < 3));
        let open: Vec<bool> = warcip.clusters.iter().map(|cluster| cluster.is_open).collect();
        assert_eq!(open, [true, true, false]);
        assert!((warcip.clusters[0].centre - 3.0).abs() < 1e-9 && (warcip.clusters[1].centre - 4.5).abs() < 1e-9);
        assert_eq!(write(&mut warcip, 9), 1, "the coldest of those that are open");
    }
}

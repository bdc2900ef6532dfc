//! Leveled compaction: each level below level 0 is one sorted run, some times larger than the one above.
//!
//! A level's score is its bytes over its target; for level 0 its tables over the trigger, or its bytes over the base if
//! that is more. The level with the highest score from 1 on gives one table to the level below, together with all
//! tables that it overlaps there. Level 0 gives its oldest table and all that overlap it, to the base level.
//! With dynamic sizes [`Backlog`] changes targets or scores while level 0 is behind.
//!
//! With fixed sizes the base level is 1, and each further target is `multiplier` times the one above. With dynamic ones
//! the largest level sets the others: each level above has its size over `multiplier`, up to the first that is no larger
//! than `base_bytes`, and that is the base level. No target is below `base_bytes`. The rules are RocksDB's.

use super::super::storage::FileId;
use super::super::version::{FileMeta, Version, LAST, LEVELS};
use super::{Backlog, Busy, FileChoice, Pick};

/// A pick takes more tables of its level without more below, up to this many tables' bytes.
const MOST_FILES: u64 = 25;
/// The least score if level 0 has as many bytes as the base level may.
const LEAST_DUE: f64 = 1.01;
/// Multiplies a score above 1, so it stays above 1 after the division by the bytes still to come down.
const SCALE: f64 = 10.0;

/// Leveled compaction.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Leveled {
    /// Tables of level 0 that start a compaction.
    pub(in super::super) trigger: u64,
    pub(in super::super) base_bytes: u64,
    pub(in super::super) multiplier: u64,
    pub(in super::super) dynamic: bool,
    pub(in super::super) file_bytes: u64,
    pub(in super::super) file_multiplier: u64,
    pub(in super::super) choice: FileChoice,
    pub(in super::super) backlog: Backlog,
}

/// Where level 0 goes, and the size each level may have.
#[derive(Clone, PartialEq, Debug)]
pub(in super::super) struct Sizes {
    pub(in super::super) base: usize,
    pub(in super::super) targets: [u64; LEVELS],
    /// Size of a level over the one above, from the base level on.
    multiplier: f64,
}

impl Leveled {
    /// The level sizes for a version.
    pub(in super::super) fn sizes(&self, version: &Version) -> Sizes {
        if !self.dynamic {
            return Sizes::new(1, self.base_bytes, self.multiplier as f64, 0);
        }
        let behind = if self.backlog == Backlog::Sizes { version.bytes(0) } else { 0 };
        let most = self.base_bytes.max(behind);
        let (base, first) = self.dynamic_base(version, most);
        let largest = (1..LEVELS).map(|level| version.bytes(level)).max().unwrap_or(0);
        let is_behind = behind > self.base_bytes || version.levels[0].len() as u64 / 2 >= self.trigger;
        if largest == 0 || behind <= first || !is_behind {
            return Sizes::new(base, first, self.multiplier as f64, most);
        }
        let steps = (LAST - base) as f64;
        let multiplier = if base == LAST { 1.0 } else { (largest as f64 / behind as f64).powf(1.0 / steps) };
        Sizes::new(base, behind, multiplier, most)
    }

    /// The base level and its size, from the largest level.
    fn dynamic_base(&self, version: &Version, most: u64) -> (usize, u64) {
        let Some(first) = (1..LEVELS).find(|&level| !version.levels[level].is_empty()) else {
            return (LAST, most);
        };
        let mut bytes = (first..LEVELS).map(|level| version.bytes(level)).max().unwrap_or(0);
        for _ in first..LAST {
            bytes /= self.multiplier;
        }
        let least = most / self.multiplier;
        if bytes <= least {
            return (first, least + 1);
        }
        let mut base = first;
        while base > 1 && bytes > most {
            (base, bytes) = (base - 1, bytes / self.multiplier);
        }
        (base, bytes.min(most))
    }

    /// Bytes that end a table of `level`.
    pub(in super::super) fn file_bytes_at(&self, level: usize, base: usize) -> u64 {
        let times = self.file_multiplier.saturating_pow(level.saturating_sub(base) as u32);
        self.file_bytes.saturating_mul(times)
    }

    pub(super) fn pick(&self, version: &Version, busy: &Busy) -> Option<Pick> {
        let sizes = self.sizes(version);
        let rest = if busy.is_empty() { None } else { Some(busy.rest(version)) };
        let rest = rest.as_ref().unwrap_or(version);
        let mut scores: Vec<(f64, usize)> = (0..LAST)
            .filter(|&level| !rest.levels[level].is_empty())
            .map(|level| (self.score(rest, &sizes, level), level))
            .filter(|&(score, _)| score >= 1.0)
            .collect();
        scores.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        scores.into_iter().find_map(|(_, level)| self.pick_from(version, &sizes, level, busy))
    }

    /// A compaction of `level` that can run beside those under way.
    fn pick_from(&self, version: &Version, sizes: &Sizes, level: usize, busy: &Busy) -> Option<Pick> {
        let firsts = match level {
            0 if busy.level_0 => return None,
            0 => vec![oldest(version)],
            _ => self.choices(version, level),
        };
        let output = if level == 0 { sizes.base } else { level + 1 };
        let picks = firsts.into_iter().map(|mut chosen| {
            let (smallest, largest) = span(version, level, &chosen);
            let below = version.overlapping(output, &smallest, &largest);
            if level > 0 {
                self.widen(version, level, &mut chosen, &below);
            }
            let (_, end) = span(version, level, &chosen);
            let below = below.into_iter().map(|id| (output, id));
            let inputs = chosen.into_iter().map(|id| (level, id)).chain(below).collect();
            let file_bytes = self.file_bytes_at(output, sizes.base);
            Pick { inputs, output, file_bytes, cursor: (level > 0).then_some((level, end)) }
        });
        picks.into_iter().find(|pick| busy.lets(pick))
    }

    /// Bytes that compaction has still to write, as RocksDB estimates them: what each level has over its target goes down
    /// with what lies below it on average.
    pub(super) fn pending_bytes(&self, version: &Version) -> u64 {
        let sizes = self.sizes(version);
        let level_0 = version.bytes(0);
        let is_due = version.levels[0].len() as u64 >= self.trigger || level_0 >= self.base_bytes;
        let mut coming = if is_due { level_0 } else { 0 };
        let mut pending = if is_due { level_0 + version.bytes(sizes.base) } else { 0 };
        for level in sizes.base..LAST {
            let bytes = version.bytes(level) + coming;
            coming = bytes.saturating_sub(sizes.targets[level]);
            let below = version.bytes(level + 1);
            if coming > 0 && below > 0 {
                pending += (coming as f64 * (below as f64 / bytes as f64 + 1.0)) as u64;
            }
        }
        pending
    }

    fn score(&self, version: &Version, sizes: &Sizes, level: usize) -> f64 {
        let bytes = version.bytes(level) as f64;
        let tables = version.levels[0].len() as f64 / self.trigger as f64;
        match (self.dynamic, self.backlog, level) {
            (true, Backlog::Scores, 0) => self.yielding_score_of_level_0(version, sizes, tables),
            (true, Backlog::Scores, _) => yielding_score(version, sizes, level),
            (true, Backlog::Sizes, 0) => {
                let least = sizes.targets[sizes.base] as f64 / sizes.multiplier;
                tables.max(bytes / least.max(self.base_bytes as f64))
            }
            (false, _, 0) => tables.max(bytes / self.base_bytes as f64),
            _ => bytes / sizes.targets[level] as f64,
        }
    }

    /// Level 0 goes first if it is larger than the base level.
    fn yielding_score_of_level_0(&self, version: &Version, sizes: &Sizes, tables: f64) -> f64 {
        let bytes = version.bytes(0);
        let target = sizes.targets[sizes.base];
        let mut score = tables;
        if bytes >= self.base_bytes {
            score = score.max(LEAST_DUE);
        }
        if bytes > target {
            score = score.max(bytes as f64 / target.max(version.bytes(sizes.base)) as f64);
        }
        if score > 1.0 {
            score * SCALE
        } else {
            score
        }
    }

    /// The tables of a level that may go down, the first choice first.
    fn choices(&self, version: &Version, level: usize) -> Vec<Vec<FileId>> {
        let files = &version.levels[level];
        match self.choice {
            FileChoice::RoundRobin => {
                let cursor = &version.cursors[level];
                let at = files.iter().position(|file| file.smallest > *cursor).unwrap_or(0);
                files[at..].iter().chain(&files[..at]).map(|file| vec![file.id]).collect()
            }
            FileChoice::LeastOverlap => {
                let ratio = |file: &FileMeta| below_bytes(version, level + 1, file) as f64 / file.bytes as f64;
                let mut files: Vec<(f64, FileId)> = files.iter().map(|file| (ratio(file), file.id)).collect();
                files.sort_by(|a, b| a.0.total_cmp(&b.0));
                files.into_iter().map(|(_, id)| vec![id]).collect()
            }
        }
    }

    /// Adds tables whose range needs no further table below: all that overlap the pick, or else all inside its range.
    fn widen(&self, version: &Version, level: usize, chosen: &mut Vec<FileId>, below: &[FileId]) {
        if below.is_empty() {
            return;
        }
        let (low, high) = span(version, level + 1, below);
        let (start, end) = span(version, level, chosen);
        let (low, high) = (low.min(start), high.max(end));
        let wider = version.overlapping(level, &low, &high);
        let (from, to) = span(version, level, &wider);
        let bytes: u64 = wider.iter().map(|&id| version.file(level, id).bytes).sum();
        let more: u64 = below.iter().map(|&id| version.file(level + 1, id).bytes).sum();
        if version.overlapping(level + 1, &from, &to) == below && bytes + more < MOST_FILES * self.file_bytes {
            *chosen = wider;
            return;
        }
        let inside = version.levels[level].iter().filter(|file| file.smallest >= low && file.largest <= high);
        let inside: Vec<&FileMeta> = inside.collect();
        let bytes: u64 = inside.iter().map(|file| file.bytes).sum();
        if inside.len() > chosen.len() && bytes + more < MOST_FILES * self.file_bytes {
            *chosen = inside.into_iter().map(|file| file.id).collect();
        }
    }
}

impl Sizes {
    /// Targets that grow from `first` bytes in level `base`; none is below `least`.
    fn new(base: usize, first: u64, multiplier: f64, least: u64) -> Self {
        let mut targets = [u64::MAX; LEVELS];
        let mut target = first;
        for slot in &mut targets[base..] {
            *slot = target.max(least);
            target = (target as f64 * multiplier) as u64;
        }
        Self { base, targets, multiplier }
    }
}

/// A level's bytes over the sum: its target, and the bytes still to come down. Far above 1 if the level is too large.
fn yielding_score(version: &Version, sizes: &Sizes, level: usize) -> f64 {
    let (bytes, target) = (version.bytes(level), sizes.targets[level]);
    if bytes < target {
        return bytes as f64 / target as f64;
    }
    let over = |above: usize| version.bytes(above).saturating_sub(sizes.targets[above]);
    let coming = version.bytes(0) + (1..level).map(over).sum::<u64>();
    bytes as f64 / (target as f64 + coming as f64) * SCALE
}

/// The oldest table of level 0, and all that overlap it or each other.
fn oldest(version: &Version) -> Vec<FileId> {
    let files = &version.levels[0];
    let mut chosen = vec![files.last().expect("level 0 has a score").id];
    loop {
        let (smallest, largest) = span(version, 0, &chosen);
        let wider = version.overlapping(0, &smallest, &largest);
        if wider.len() == chosen.len() {
            return chosen;
        }
        chosen = wider;
    }
}

/// The smallest and the largest key of some tables in a level.
pub(in super::super) fn span(version: &Version, level: usize, files: &[FileId]) -> (Vec<u8>, Vec<u8>) {
    let files = || files.iter().map(|&id| version.file(level, id));
    let smallest = files().map(|file| &file.smallest).min().expect("there is a table");
    let largest = files().map(|file| &file.largest).max().expect("there is a table");
    (smallest.clone(), largest.clone())
}

fn below_bytes(version: &Version, level: usize, file: &FileMeta) -> u64 {
    let below = version.levels[level].iter().filter(|other| other.overlaps(&file.smallest, &file.largest));
    below.map(|other| other.bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leveled() -> Leveled {
        Leveled {
            trigger: 4,
            base_bytes: 100,
            multiplier: 10,
            dynamic: true,
            file_bytes: 10,
            file_multiplier: 2,
            choice: FileChoice::LeastOverlap,
            backlog: Backlog::Scores,
        }
    }

    fn file(id: u64, bytes: u64, smallest: u8, largest: u8) -> FileMeta {
        FileMeta {
            id: FileId(id),
            age: id,
            bytes,
            records: 1,
            tombstones: 0,
            smallest: vec![smallest],
            largest: vec![largest],
            place: Vec::new(),
        }
    }

    #[test]
    fn the_last_level_sets_the_sizes_and_the_base_level_moves() {
        let mut version = Version::default();
        let leveled = leveled();
        assert_eq!(leveled.sizes(&version).base, 6, "an empty tree: level 0 goes to the last level");
        // A last level of 100 needs nothing above it; each level above has a tenth, up to the first of 100 or less.
        for (bytes, base, targets) in [
            (100, 6, [u64::MAX, u64::MAX, u64::MAX, 100]),
            (101, 5, [u64::MAX, u64::MAX, 100, 100]),
            (5_000, 4, [u64::MAX, 100, 500, 5_000]),
            (20_000, 3, [100, 200, 2_000, 20_000]),
        ] {
            version.levels[6] = vec![file(1, bytes, 0, 9)];
            let sizes = leveled.sizes(&version);
            assert_eq!(sizes.base, base, "{bytes}");
            assert_eq!(sizes.targets[3..], targets, "{bytes}");
        }
        // A table of level L has the base's size times the multiplier for each level below the base level.
        assert_eq!([4, 5, 6].map(|level| leveled.file_bytes_at(level, 4)), [10, 20, 40]);
        assert_eq!([5, 6].map(|level| leveled.file_bytes_at(level, 5)), [10, 20]);
    }

    #[test]
    fn sizes_that_give_way_grow_from_the_bytes_of_level_0() {
        let leveled = Leveled { backlog: Backlog::Sizes, ..leveled() };
        let mut version = Version::default();
        version.levels[6] = vec![file(1, 5_000, 0, 9)];
        version.levels[0] = vec![file(2, 90, 0, 9)];
        assert_eq!(leveled.sizes(&version).targets[4..], [100, 500, 5_000], "90 bytes are not over the base's 100");
        // 50 bytes in level 4 would be less than level 0 has; from 200 there are two steps of 5 to 5,000.
        version.levels[0] = vec![file(2, 200, 0, 9)];
        let sizes = leveled.sizes(&version);
        assert_eq!((sizes.base, &sizes.targets[4..]), (4, &[200, 1_000, 5_000][..]));
        assert!((leveled.score(&version, &sizes, 0) - 2.0).abs() < 1e-9, "200 over the base's 100");
        // Level 5 of 500 is enough below a level 0 of 500: the base level goes down.
        version.levels[0] = vec![file(2, 500, 0, 9)];
        assert_eq!(leveled.sizes(&version).base, 5);
    }

    #[test]
    fn scores_that_give_way_are_divided_by_what_comes_down() {
        let mut version = Version::default();
        version.levels[6] = vec![file(1, 5_000, 0, 9)];
        version.levels[4] = vec![file(2, 150, 0, 9)];
        version.levels[5] = vec![file(3, 600, 0, 9)];
        let leveled = leveled();
        let sizes = leveled.sizes(&version);
        assert_eq!(sizes.targets[4..], [100, 500, 5_000], "level 0 changes no target");
        let score = |version: &Version, level| (leveled.score(version, &sizes, level) * 1e4).round() / 1e4;
        // 150 / 100; 600 / (500 + 50), since level 4 is 50 over its target; both times 10.
        assert_eq!([4, 5].map(|level| score(&version, level)), [15.0, 10.9091]);
        version.levels[0] = vec![file(4, 200, 0, 9)];
        // 150 / (100 + 200); 600 / (500 + 200 + 50); 200 over the larger of level 4 and its target.
        assert_eq!([4, 5, 0].map(|level| score(&version, level)), [5.0, 8.0, 13.3333]);
    }

    #[test]
    fn tables_inside_the_range_go_too_if_those_at_its_ends_reach_further() {
        let mut version = Version::default();
        version.levels[4] = vec![file(1, 60, 10, 14), file(2, 20, 15, 18), file(3, 30, 19, 29)];
        version.levels[5] = vec![file(4, 40, 9, 20), file(5, 90, 25, 28)];
        let mut chosen = vec![FileId(1)];
        leveled().widen(&version, 4, &mut chosen, &[FileId(4)]);
        assert_eq!(chosen, [FileId(1), FileId(2)], "table 3 overlaps table 5");
    }

    #[test]
    fn fixed_sizes_grow_from_level_1() {
        let leveled = Leveled { dynamic: false, ..leveled() };
        let sizes = leveled.sizes(&Version::default());
        assert_eq!((sizes.base, &sizes.targets[1..4]), (1, &[100, 1000, 10_000][..]));
    }

    #[test]
    fn the_table_with_least_below_goes_down_and_the_round_robin_goes_on() {
        let mut version = Version::default();
        version.levels[5] = vec![file(1, 60, 0, 9), file(2, 60, 10, 19), file(3, 60, 20, 29)];
        version.levels[6] = vec![file(4, 900, 0, 9), file(5, 90, 10, 14), file(6, 90, 15, 18), file(7, 600, 19, 40)];
        let pick = leveled().pick(&version, &Busy::default()).unwrap();
        assert_eq!(pick.inputs[0], (5, FileId(3)), "600 / 60; the others have 900 / 60 and 780 / 60");
        assert_eq!((pick.output, &pick.inputs[1..]), (6, &[(6, FileId(7))][..]));
        let robin = Leveled { choice: FileChoice::RoundRobin, ..leveled() };
        assert_eq!(robin.pick(&version, &Busy::default()).unwrap().inputs[0], (5, FileId(1)));
        version.cursors[5] = vec![9];
        assert_eq!(robin.pick(&version, &Busy::default()).unwrap().inputs[0], (5, FileId(2)));
        version.cursors[5] = vec![29];
        assert_eq!(robin.pick(&version, &Busy::default()).unwrap().inputs[0], (5, FileId(1)));
    }

    #[test]
    fn a_pick_beside_another_shares_no_table_and_counts_the_rest() {
        let mut version = Version::default();
        version.levels[5] = vec![file(1, 200, 0, 9), file(2, 200, 10, 19), file(3, 200, 20, 29)];
        version.levels[6] = vec![file(4, 900, 0, 9), file(5, 90, 10, 14), file(6, 90, 15, 18), file(7, 600, 19, 40)];
        let mut busy = Busy::default();
        let inputs = |pick: Option<Pick>| pick.unwrap().inputs.iter().map(|(_, id)| id.0).collect::<Vec<_>>();
        let first = leveled().pick(&version, &busy).unwrap();
        busy.add(&first);
        assert_eq!(inputs(Some(first)), [3, 7]);
        assert_eq!(inputs(leveled().pick(&version, &busy)), [1, 4], "table 2 has less below, but needs table 7");
        // The target is 160: without table 3 there are 158.
        version.levels[5].iter_mut().for_each(|file| file.bytes = if file.id.0 == 3 { 200 } else { 79 });
        assert_eq!(leveled().pick(&version, &busy), None);
        version.levels[0] = (8..12).rev().map(|id| file(id, 5, 0, 9)).collect();
        let level_0 = leveled().pick(&version, &busy).unwrap();
        busy.add(&level_0);
        assert_eq!(inputs(Some(level_0)), [11, 10, 9, 8]);
        version.levels[0].insert(0, file(12, 500, 50, 60));
        assert_eq!(leveled().pick(&version, &busy), None, "level 0 has one compaction at a time");
    }

    /// Worked by hand after RocksDB's rule.
    #[test]
    fn bytes_still_to_be_written_go_down_level_by_level() {
        let mut version = Version::default();
        version.levels[6] = vec![file(1, 5_000, 0, 9)];
        version.levels[4] = vec![file(2, 150, 0, 9)];
        version.levels[5] = vec![file(3, 600, 0, 9)];
        // 50 over 100 go down to 600: 50 x (600 / 150 + 1); 150 over 500 then to 5,000: 150 x (5,000 / 650 + 1).
        assert_eq!(leveled().pending_bytes(&version), 250 + 1_303);
        // 100 bytes of level 0 are due: they and level 4's 150; then 150 x (600 / 250 + 1), 250 x (5,000 / 750 + 1).
        version.levels[0] = vec![file(4, 100, 0, 9)];
        assert_eq!(leveled().pending_bytes(&version), 250 + 510 + 1_916);
    }

    #[test]
    fn level_0_gives_what_overlaps_its_oldest_table() {
        let mut version = Version::default();
        version.levels[0] = vec![file(4, 5, 50, 60), file(3, 5, 8, 20), file(2, 5, 5, 9), file(1, 5, 1, 6)];
        version.levels[6] = vec![file(9, 50, 0, 3), file(8, 50, 21, 49)];
        let pick = leveled().pick(&version, &Busy::default()).unwrap();
        let ids: Vec<u64> = pick.inputs.iter().map(|(_, id)| id.0).collect();
        assert_eq!((ids, pick.output), (vec![3, 2, 1, 9], 6));
    }

    #[test]
    fn a_table_moves_only_where_nothing_overlaps() {
        let mut version = Version::default();
        version.levels[5] = vec![file(1, 170, 10, 19)];
        version.levels[6] = vec![file(2, 800, 0, 9), file(3, 800, 20, 29)];
        let pick = leveled().pick(&version, &Busy::default()).unwrap();
        assert!(pick.is_move(&version));
        version.levels[6][1].smallest = vec![19];
        assert!(!Pick { inputs: pick.inputs.clone(), ..pick.clone() }.is_move(&version), "key 19 is in both");
        version.levels[6][1].smallest = vec![20];
        version.levels[5][0].tombstones = 1;
        assert!(!pick.is_move(&version), "its deleted keys are dropped in the last level");
    }
}

//! Tiered compaction: sorted runs of like size are merged into one. The rules are those of RocksDB's universal
//! compaction, in their order.
//!
//! A table of level 0 is a run, and so is each level below that has tables. With `trigger` runs or more:
//!
//! 1. If all runs but the oldest have together at least `max_size_amplification_percent` of the oldest, all are merged.
//! 2. From the newest run on, the next older one joins as long as it is no larger than the joined ones plus
//!    `size_ratio_percent`. The first such group of two or more is merged.
//! 3. With more than `trigger` runs, the newest ones are merged until `trigger` are left.
//!
//! A result goes to the level above the next older run, and to the last level if there is none.

use super::super::version::{Version, LAST};
use super::Pick;
use crate::IndexError;

/// Options of `compaction = { tiered = { ... } }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// How much larger than the joined runs the next one may be, %, up to 1000.
    pub size_ratio_percent: u32,
    /// Bytes in all runs but the oldest over those of the oldest that make a merge of all, %, 1 to 100000.
    pub max_size_amplification_percent: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { size_ratio_percent: 1, max_size_amplification_percent: 200 }
    }
}

impl Options {
    pub(in super::super) fn check(&self) -> Result<(), IndexError> {
        let (ratio, amplification) = (self.size_ratio_percent, self.max_size_amplification_percent);
        if ratio > 1000 {
            return Err(IndexError::option("compaction.tiered.size_ratio_percent", &ratio, "0 to 1000 %"));
        }
        if !(1..=100_000).contains(&amplification) {
            let key = "compaction.tiered.max_size_amplification_percent";
            return Err(IndexError::option(key, &amplification, "1 to 100000 %"));
        }
        Ok(())
    }
}

/// Tiered compaction.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Tiered {
    /// Runs that start a compaction.
    pub(in super::super) trigger: usize,
    /// Bytes that end a table, in levels from 1 on.
    pub(in super::super) file_bytes: u64,
    pub(in super::super) options: Options,
}

impl Tiered {
    /// The runs to be merged, as positions from the newest; `sizes` are bytes, the newest first.
    pub(in super::super) fn choose(&self, sizes: &[u64]) -> Option<std::ops::Range<usize>> {
        let (&oldest, newer) = sizes.split_last()?;
        if sizes.len() < self.trigger {
            return None;
        }
        let percent = |bytes: u64, percent: u32| u128::from(bytes) * u128::from(percent);
        let amplification = self.options.max_size_amplification_percent;
        if percent(newer.iter().sum(), 100) >= percent(oldest, amplification) {
            return Some(0..sizes.len());
        }
        for first in 0..sizes.len() {
            let (mut end, mut joined) = (first + 1, sizes[first]);
            while end < sizes.len()
                && percent(joined, 100 + self.options.size_ratio_percent) >= percent(sizes[end], 100)
            {
                joined += sizes[end];
                end += 1;
            }
            if end - first > 1 {
                return Some(first..end);
            }
        }
        (sizes.len() > self.trigger).then(|| 0..sizes.len() - self.trigger + 1)
    }

    pub(super) fn pick(&self, version: &Version) -> Option<Pick> {
        let tables = version.levels[0].iter().map(|file| (0, vec![file.id], file.bytes));
        let levels = (1..=LAST)
            .filter(|&level| !version.levels[level].is_empty())
            .map(|level| (level, version.levels[level].iter().map(|file| file.id).collect(), version.bytes(level)));
        let runs: Vec<(usize, Vec<_>, u64)> = tables.chain(levels).collect();
        let sizes: Vec<u64> = runs.iter().map(|&(_, _, bytes)| bytes).collect();
        let chosen = self.choose(&sizes)?;
        let output = runs.get(chosen.end).map_or(LAST, |&(older, _, _)| older.saturating_sub(1));
        let inputs = runs[chosen].iter().flat_map(|(level, ids, _)| ids.iter().map(|&id| (*level, id))).collect();
        // A run of level 0 is one table.
        let file_bytes = if output == 0 { u64::MAX } else { self.file_bytes };
        Some(Pick { inputs, output, file_bytes, cursor: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiered(trigger: usize) -> Tiered {
        Tiered { trigger, file_bytes: 1, options: Options::default() }
    }

    #[test]
    fn the_published_example_comes_out_exactly() {
        let tiered = tiered(8);
        let (mut runs, mut written, mut single) = (Vec::new(), 0, Vec::new());
        for flush in 1..=26 {
            runs.insert(0, 1_u64);
            written += 1;
            while let Some(chosen) = tiered.choose(&runs) {
                let merged: u64 = runs.drain(chosen.clone()).sum();
                runs.insert(chosen.start, merged);
                written += merged;
            }
            if flush > 1 && runs.len() == 1 {
                single.push(flush);
            }
        }
        assert_eq!((single, written), (vec![8, 26], 73));
        assert!((73.0 / 26.0 - 2.8077_f64).abs() < 5e-5);
    }

    #[test]
    fn too_many_runs_of_unlike_size_are_merged_from_the_newest() {
        let tiered = tiered(3);
        assert_eq!(tiered.choose(&[1, 10, 100, 1000]), Some(0..2));
        assert_eq!(tiered.choose(&[1, 10, 100]), None);
        assert_eq!(tiered.choose(&[1, 100, 101, 1000]), Some(1..3), "101 is 1 % more than 100");
        assert_eq!(tiered.choose(&[1, 100, 102, 1000]), Some(0..2), "102 is more");
    }
}

//! How long a device lasts, told from the course of a run.

use super::worn::{Cycles, Worn};
use nandlab_nand::SECTOR_BYTES;
use serde::Serialize;

const DAYS_A_YEAR: f64 = 365.0;

/// Largest difference between the wear that a byte costs in the last two quarters of a run for its lifetime to be told.
const STEADY: f64 = 0.05;

/// The same while the device still fills: each page written for the first time takes spare room.
const STEADY_AND_FILLING: f64 = 0.02;

/// A device fills if its valid pages grew by more than this share in the second half; it is full up to this share.
const FILLING: f64 = 0.01;

/// P/E cycles of the most worn block in the second half of a run for the end of single blocks to be told.
const CYCLES_THAT_TELL: u32 = 5;

/// Least blocks that stand for the most worn ones.
const LEAST_GROUP: usize = 8;

/// A new device's lifetime if the workload goes on as at the end of this run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LifetimeRecord {
    /// Rated P/E cycles per block.
    pub endurance: u32,
    /// Mean P/E cycles of a block in this run; a block that is not erased yet counts by its programmed pages.
    pub cycles: f64,
    /// Until the mean over all blocks reaches the rating: ideal wear leveling, at the pace of this run's second half.
    /// Null if the run is too short to say: the last quarter wears the flash by over 5 % more or less a byte than the
    /// third (2 % while the device still fills).
    pub even: Option<LifeRecord>,
    /// Until the first block reaches it. Null if the run is too short to say: the most worn block had fewer than 5
    /// cycles in its second half.
    pub first_block: Option<LifeRange>,
    /// Until 1 % of the blocks, at least one, reach it. Null if the run is too short to say.
    pub one_percent: Option<LifeRange>,
    /// Bytes a day for the years: `host.daily`, or by the times in a trace at least a day long; null otherwise.
    pub daily_bytes: Option<f64>,
    /// Why the run is too short for one of them, as a sentence; null if it tells all.
    pub too_short: Option<String>,
}

/// Work done until end-of-life.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LifeRecord {
    /// Bytes written by the host.
    pub host_bytes: f64,
    /// Simulated time, s, at this run's pace; null without time.
    pub time_s: Option<f64>,
    /// Years (365 days each) at `daily_bytes` a day; null without them.
    pub years: Option<f64>,
}

/// Work done until end-of-life: at least, at most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LifeRange {
    /// Bytes written by the host.
    pub host_bytes: [f64; 2],
    /// Simulated time, s, at this run's pace; null without time.
    pub time_s: Option<[f64; 2]>,
    /// Years (365 days each) at `daily_bytes` a day; null without them.
    pub years: Option<[f64; 2]>,
}

/// What a lifetime is told from, beside the course of the run.
#[derive(Clone, Copy, Debug)]
pub struct Life<'a> {
    /// Rated P/E cycles per block.
    pub endurance: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Sectors of a page.
    pub sectors_per_page: u32,
    /// P/E cycles of each block when the run began and when it ended.
    pub pe_cycles: (&'a Cycles, &'a [u32]),
    /// Whether the FTL moves data so that blocks wear evenly.
    pub levels_wear: bool,
    /// The run's simulated time, us.
    pub time_us: Option<f64>,
    /// Bytes that the host writes a day.
    pub daily: Option<f64>,
    /// Logical pages, with an FTL.
    pub logical_pages: Option<u64>,
}

impl LifetimeRecord {
    /// `None` if nothing was written or no block was erased.
    pub fn of(worn: &Worn, life: &Life<'_>) -> Option<Self> {
        let (written, pages) = worn.end();
        let (before, after) = life.pe_cycles;
        if written == 0 || before.iter().zip(after).all(|(before, &after)| before == after) {
            return None;
        }
        let cycles = pages as f64 / (life.blocks() * f64::from(life.pages_per_block));
        let (even, mut too_short) = match life.even(worn) {
            Ok(sectors) => (Some(sectors), None),
            Err(why) => (None, Some(why)),
        };
        let ranges = even.and_then(|even| Ranges::of(worn, life, even));
        let (mut first_block, mut one_percent) = (None, None);
        if let Some(ranges) = ranges {
            first_block = ranges.until_worn(1);
            one_percent = ranges.until_worn(after.len().div_ceil(100));
            if first_block.is_none() || one_percent.is_none() {
                too_short = Some(ranges.too_few());
            }
        }
        Some(Self {
            endurance: life.endurance,
            cycles,
            even: even.map(|sectors| life.record(written, sectors)),
            first_block: first_block.map(|range| life.range(written, range)),
            one_percent: one_percent.map(|range| life.range(written, range)),
            daily_bytes: life.daily,
            too_short,
        })
    }
}

impl Life<'_> {
    fn blocks(&self) -> f64 {
        self.pe_cycles.1.len() as f64
    }

    /// Sectors that the host writes until the mean of the blocks is at the endurance, or why the run is too short.
    ///
    /// The wear up to the end of the run is known, and what a sector wears after it is taken from the second half, so that
    /// the first fill of a blank device does not count for ever.
    fn even(&self, worn: &Worn) -> Result<f64, String> {
        let [half, third, end] = [worn.at(0.5), worn.at(0.75), worn.end()];
        let wear = |from: (u64, u64), to: (u64, u64)| (to.1 - from.1) as f64 / (to.0 - from.0).max(1) as f64;
        let (written, pages) = (end.0 as f64, end.1 as f64);
        // Nothing was moved, and no page left unused: it is what the host wrote.
        let is_plain = (pages * f64::from(self.sectors_per_page) / written - 1.0).abs() < 1e-3;
        if let Some(why) = self.still_fills(worn).filter(|_| !is_plain) {
            return Err(why);
        }
        let (earlier, later) = (wear(half, third), wear(third, end));
        let rate = wear((0, 0), if is_plain { end } else { half });
        let rate = if is_plain { rate } else { wear(half, end) };
        let (valid_half, valid) = worn.valid();
        let flash_pages = self.blocks() * f64::from(self.pages_per_block);
        let fills = valid.saturating_sub(valid_half) as f64 > FILLING * flash_pages;
        let steady = if fills { STEADY_AND_FILLING } else { STEADY };
        if !is_plain && (rate <= 0.0 || (later - earlier).abs() > steady * rate) {
            let waf = |rate: f64| rate * f64::from(self.sectors_per_page);
            return Err(format!(
                "what a written byte wears still changes: {:.2} bytes of the flash in the third quarter of the run, and {:.2} \
                 in the last",
                waf(earlier),
                waf(later)
            ));
        }
        let all = f64::from(self.endurance) * flash_pages;
        Ok(after(written, pages, all, rate))
    }

    /// Why the device is not as it will be: pages still to be written for the first time take spare room, so a byte costs more
    /// from then on.
    fn still_fills(&self, worn: &Worn) -> Option<String> {
        let never = self.pe_cycles.1.iter().filter(|&&cycles| cycles == 0).count();
        let is_full = |logical: u64| worn.valid().1 as f64 >= (1.0 - FILLING) * logical as f64;
        (never > 0 && !is_full(self.logical_pages?)).then(|| {
            format!(
                "{never} of {} blocks were never erased, and a part of the device was never written: what a written byte wears \
                 is not steady before. precondition.fill writes every page before",
                self.blocks()
            )
        })
    }

    fn record(&self, written: u64, sectors: f64) -> LifeRecord {
        let range = self.range(written, [sectors; 2]);
        LifeRecord {
            host_bytes: range.host_bytes[0],
            time_s: range.time_s.map(|both| both[0]),
            years: range.years.map(|both| both[0]),
        }
    }

    fn range(&self, written: u64, sectors: [f64; 2]) -> LifeRange {
        let host_bytes = sectors.map(|sectors| sectors * f64::from(SECTOR_BYTES));
        LifeRange {
            host_bytes,
            time_s: self.time_us.map(|us| sectors.map(|sectors| us / 1e6 * (sectors / written as f64))),
            years: self.daily.map(|daily| host_bytes.map(|bytes| bytes / (daily * DAYS_A_YEAR))),
        }
    }
}

/// Sectors written when `wanted` is reached: `worn` of it by now, after `written` sectors, and `rate` for each one more.
fn after(written: f64, worn: f64, wanted: f64, rate: f64) -> f64 {
    if worn >= wanted {
        written * wanted / worn
    } else {
        written + (wanted - worn) / rate
    }
}

/// The wear of single blocks in a run and in its second half, from which bounds are told.
struct Ranges {
    endurance: f64,
    /// Sectors of the run, and of its second half.
    written: (f64, f64),
    /// P/E cycles of each block in the run, and in its second half; those with most in the first half come first.
    blocks: Vec<(u32, u32)>,
    /// Sectors until the mean of the blocks is at the endurance.
    even: f64,
    levels_wear: bool,
}

impl Ranges {
    fn of(worn: &Worn, life: &Life<'_>, even: f64) -> Option<Self> {
        let (half, at_half) = worn.half_way()?;
        let (written, _) = worn.end();
        let (before, after) = life.pe_cycles;
        let all = before.iter().zip(at_half.iter()).zip(after);
        let mut blocks: Vec<_> = all.map(|((start, half), &end)| (end - start, end - half)).collect();
        blocks.sort_by_key(|&(run, second)| std::cmp::Reverse(run - second));
        let (endurance, written) = (f64::from(life.endurance), (written as f64, (written - half) as f64));
        Some(Self { endurance, written, blocks, even, levels_wear: life.levels_wear })
    }

    /// Sectors, at least and at most, until `count` blocks are at the endurance; `None` if too few cycles tell it.
    ///
    /// At least: the block that has this place now goes on as the one of this place in the second half, and one erase and a
    /// standard deviation faster. Chance makes it the one with most, so what is to come is rather slower.
    /// At most: blocks that were chosen for their wear in the first half go on as in the second one, which chance did not
    /// choose them by; and the first blocks are no later than the mean.
    fn until_worn(&self, count: usize) -> Option<[f64; 2]> {
        let place = |mut cycles: Vec<u32>| {
            cycles.sort_unstable_by(|a, b| b.cmp(a));
            f64::from(cycles[count - 1])
        };
        let run = place(self.blocks.iter().map(|&(run, _)| run).collect());
        let second = place(self.blocks.iter().map(|&(_, second)| second).collect());
        if second < f64::from(CYCLES_THAT_TELL) {
            return None;
        }
        let (written, half) = self.written;
        let least = after(written, run, self.endurance, (second + 1.0 + second.sqrt()) / half);
        let most = if count == 1 { self.group_is_worn() } else { self.all_are_worn(count) };
        // Levelling may begin late, and then holds the most worn ones back.
        let most = if self.levels_wear { self.even } else { most.unwrap_or(self.even).min(self.even) };
        Some([least.min(most), most.max(least)])
    }

    /// Sectors until the mean of the blocks that were worn most in the first half is at the endurance.
    fn group_is_worn(&self) -> Option<f64> {
        let size = (self.blocks.len() / 100).max(LEAST_GROUP).min(self.blocks.len());
        let group = &self.blocks[..size];
        let count = size as f64;
        let mean = |of: fn(&(u32, u32)) -> u32| group.iter().map(|each| f64::from(of(each))).sum::<f64>() / count;
        let (run, second) = (mean(|each| each.0), mean(|each| each.1));
        let variance = group.iter().map(|each| (f64::from(each.1) - second).powi(2)).sum::<f64>() / count;
        let rate = (second - 2.0 * (variance / count).sqrt()) / self.written.1;
        (rate > 0.0).then(|| after(self.written.0, run, self.endurance, rate))
    }

    /// Sectors until all of the `count` blocks that were worn most in the first half are at the endurance.
    fn all_are_worn(&self, count: usize) -> Option<f64> {
        let until = |&(run, second): &(u32, u32)| {
            let second = f64::from(second);
            let rate = (second - second.sqrt() - 1.0) / self.written.1;
            (rate > 0.0).then(|| after(self.written.0, f64::from(run), self.endurance, rate))
        };
        self.blocks[..count].iter().map(until).try_fold(0.0, |latest: f64, each| Some(latest.max(each?)))
    }

    fn too_few(&self) -> String {
        let most = self.blocks.iter().map(|&(_, second)| second).max().unwrap_or(0);
        format!(
            "the most worn block had {most} P/E cycle{} in the second half of the run, and {CYCLES_THAT_TELL} are wanted to tell \
             when blocks are at their endurance",
            if most == 1 { "" } else { "s" }
        )
    }
}

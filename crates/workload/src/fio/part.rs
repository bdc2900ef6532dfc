//! A clone's places in one file.

use super::ask::Span;
use super::draws::Draws;
use super::job::{Generator, Job};
use super::map::Map;
use super::skew::Skew;
use super::values::Rules;
use super::zoning::Stride;
use crate::permutation::Permutation;
use nandlab_nand::random::Random;

/// A clone's part in one file.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) span: Span,
    /// Its beginning in the file, in bytes.
    offset: u64,
    places: Places,
    /// End of the last request, by direction.
    last_end: [u64; 3],
    /// Its start; `None` before the first request.
    pub(super) last_start: [Option<u64>; 3],
    /// Its ranges, with `zonemode=strided`.
    strides: Option<Strides>,
    /// Whether the pass is through with it, or has it open.
    pub(super) is_done: bool,
    pub(super) is_open: bool,
}

/// A part in ranges.
#[derive(Debug)]
struct Strides {
    each: Stride,
    /// Start of the present range in the part.
    base: u64,
    /// Bytes from the part's start to the file's end.
    reach: u64,
}

/// A place, and how it was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) is_random: bool,
    /// Whether the map ignores it.
    is_busy_ok: bool,
}

/// The choice among random places.
#[derive(Debug)]
enum Places {
    Anywhere,
    /// Free blocks in a map, while there are some.
    Free(Map),
    /// Each block once, in a repeating order.
    Once(Permutation, u64, u64),
    /// By popularity, with the file's draws.
    Skewed(Box<[Skew; 3]>, Random),
}

impl Part {
    pub(super) fn new(job: &Job, span: Span, (offset, reach): (u64, u64), random: &mut Random) -> Self {
        let strides = job.stride().map(|each| Strides { each, base: 0, reach });
        let places = Places::new(job, strides.as_ref().map_or(span.length, |own| own.each.range), random);
        let last_start = [None; 3];
        Self { span, offset, places, last_end: [0; 3], last_start, strides, is_done: false, is_open: false }
    }

    /// Opens it: its requests begin anew.
    pub(super) fn open(&mut self) {
        self.is_open = true;
        if let Some(strides) = &mut self.strides {
            strides.base = 0;
        }
        self.begin_anew();
    }

    /// The present range's start; without ranges the part's.
    fn base(&self) -> u64 {
        self.strides.as_ref().map_or(0, |strides| strides.base)
    }

    /// Bytes from a place to the file's end.
    pub(super) fn room(&self, place: Place) -> u64 {
        self.strides.as_ref().map_or(self.span.length, |strides| strides.reach).saturating_sub(place.offset)
    }

    /// Before a request: goes on to the next range, if so many bytes were asked for in this one (io_u.c of fio 3.33,
    /// `setup_strided_zone_mode`).
    pub(super) fn stride(&mut self, direction: usize, asked: &mut u64) {
        let Some(strides) = &mut self.strides else { return };
        let each = strides.each;
        if *asked >= each.asked {
            *asked = 0;
            strides.base += each.range + each.gap;
            if strides.base >= strides.reach {
                strides.base = 0;
            }
            self.last_end[direction] = strides.base;
        }
        if self.last_end[direction] >= strides.base + each.range {
            self.last_end[direction] = strides.base;
        }
        if *asked % each.range == 0 {
            self.begin_anew();
        }
    }

    pub(super) fn begin_anew(&mut self) {
        (self.last_end, self.last_start) = ([self.base(); 3], [None; 3]);
        match &mut self.places {
            Places::Free(map) => map.clear(),
            Places::Once(_, _, next) => *next = 0,
            Places::Anywhere | Places::Skewed(..) => {}
        }
    }

    /// Takes a request down.
    pub(super) fn note(&mut self, direction: usize, offset: u64, end: u64) {
        self.last_start[direction] = Some(offset);
        self.last_end[direction] = end;
    }

    /// A request ended behind another place than it was made for.
    pub(super) fn settle(&mut self, direction: usize, end: u64) {
        self.last_end[direction] = end;
    }

    /// The last trim's length.
    pub(super) fn trimmed(&self) -> u64 {
        self.last_end[2] - self.last_start[2].unwrap_or(0)
    }

    /// The next place; `None` if there is none. With `is_step` the job chooses a place; otherwise it goes on by `rw`.
    pub(super) fn place(&mut self, rules: &Rules, direction: usize, is_step: bool, draws: &mut Draws) -> Option<Place> {
        let in_order = |offset| Place { offset, is_random: false, is_busy_ok: true };
        let share = rules.random_share[direction];
        let is_in_random_job = rules.random_share != [0; 3] || rules.steps.is_random;
        let mut place = if rules.follows_trims && direction == 1 {
            // As fio 3.33 has it, a place gets the file's offset a second time.
            Place { is_random: true, ..in_order(self.last_start[2]? + self.offset) }
        } else if is_step && is_in_random_job {
            let is_random = share == 100 || draws.shares[direction].below(100) < share;
            let next = if is_random { None } else { self.next_in_order(rules, direction) };
            match next {
                Some(offset) => in_order(offset),
                None => {
                    let offset = self.at_random(rules, direction, draws)?;
                    Place { offset, is_random, is_busy_ok: !is_random }
                }
            }
        } else if is_step {
            in_order(self.next_in_order(rules, direction)?)
        } else if rules.steps.repeats {
            in_order(self.last_start[direction].unwrap_or(0))
        } else {
            match self.next_in_order(rules, direction) {
                Some(offset) => in_order(offset),
                None => in_order(self.at_random(rules, direction, draws)?),
            }
        };
        if self.room(place) == 0 {
            return None;
        }
        // A second trim at the same place counts as another one.
        if rules.follows_trims && direction == 2 && self.last_start[2] == Some(place.offset) {
            self.last_start[1] = Some(u64::MAX);
        }
        place.is_busy_ok |= !matches!(self.places, Places::Free(_));
        Some(place)
    }

    /// Uses the free space for a request so long; returns its length.
    pub(super) fn cut(&mut self, place: Place, length: u64, least: u64) -> u64 {
        let base = self.base();
        match &mut self.places {
            Places::Free(map) if !place.is_busy_ok => {
                length.min(map.take((place.offset - base) / least, length.div_ceil(least)).max(1) * least)
            }
            _ => length,
        }
    }

    fn next_in_order(&mut self, rules: &Rules, direction: usize) -> Option<u64> {
        let (length, base) = (self.span.length, self.base());
        let reach = self.strides.as_ref().map_or(length, |strides| strides.reach);
        if self.last_end[direction] >= length && rules.wraps {
            self.last_end[direction] = base;
        }
        let last = &mut self.last_end[direction];
        if *last >= reach {
            return None;
        }
        let add = rules.steps.add;
        if *last == base && self.offset + base > 0 && add < 0 {
            *last = length - self.offset.min(length);
        }
        if *last == base || add == 0 {
            return Some(*last);
        }
        // Beyond both ends it goes round.
        let next = i128::from(*last) - i128::from(base) + i128::from(add);
        let file = i128::from(reach + self.offset);
        let next = match next {
            next if (0..file).contains(&next) => next,
            _ if add > 0 => i128::from(self.offset + base),
            _ => i128::from(length) + i128::from(add),
        };
        u64::try_from(next).ok().map(|next| next + base)
    }

    fn at_random(&mut self, rules: &Rules, direction: usize, draws: &mut Draws) -> Option<u64> {
        let found = self.block(rules, direction, draws).or_else(|| {
            if !rules.goes_round {
                return None;
            }
            self.begin_anew();
            self.block(rules, direction, draws)
        });
        found.map(|block| block * rules.align[direction] + self.base())
    }

    fn block(&mut self, rules: &Rules, direction: usize, draws: &mut Draws) -> Option<u64> {
        let (align, least) = (rules.align[direction], rules.least[direction]);
        // As many as fit in whole.
        let room = self.strides.as_ref().map_or(self.span.length, |strides| strides.each.range);
        let blocks = room.saturating_sub(least.saturating_sub(align)) / align;
        match &mut self.places {
            Places::Skewed(skews, random) => {
                let skew = &skews[direction];
                Some(if skew.is_zoned() { skew.draw(&mut draws.places) } else { skew.draw(random) })
            }
            _ if blocks == 0 => None,
            Places::Anywhere => Some(draws.places.below(blocks)),
            Places::Free(map) => {
                let block = draws.places.below(blocks);
                if map.is_used(block) {
                    map.next_free(block)
                } else {
                    Some(block)
                }
            }
            Places::Once(order, blocks, next) => {
                let block = (*next < *blocks).then(|| order.apply(*next));
                *next += 1;
                block
            }
        }
    }
}

impl Places {
    fn new(job: &Job, room: u64, random: &mut Random) -> Self {
        if !job.is_random {
            return Self::Anywhere;
        }
        let mut own = Random::new(random.next_u64());
        let least = job.lengths.iter().map(super::job::Lengths::least).min().expect("there are three directions");
        let skewed = [0, 1, 2].map(|direction| {
            let align = job.alignment(direction);
            // fio 3.33 counts the places of a popularity in the shortest of all reads and writes.
            let block = job.lengths[0].least().min(job.lengths[1].least());
            let is_zoned = job.distribution.is_zoned();
            let blocks = if is_zoned { room / align } else { room.div_ceil(block) };
            job.distribution.places(direction, blocks.max(1), align, &mut own)
        });
        if let [Some(reads), Some(writes), Some(trims)] = skewed {
            return Self::Skewed(Box::new([reads, writes, trims]), own);
        }
        let blocks = room / least;
        match job.generator {
            Generator::Lfsr => Self::Once(Permutation::new(blocks.max(1), own.next_u64()), blocks, 0),
            Generator::Tausworthe if job.has_map() => Self::Free(Map::new(blocks)),
            Generator::Tausworthe => Self::Anywhere,
        }
    }
}

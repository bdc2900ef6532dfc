//! A clone's requests in order, without times: passes over its files, as fio 3.33 makes them.
//!
//! A pass ends when no file has a place, and with an engine that does not wait when it moved the job's size. At the start of
//! a pass all files are opened anew, and with `randrepeat` the draws begin anew as well. A job with `verify` reads back behind
//! each pass what it wrote. Each of these begins when all requests before it have ended.

use super::ask::{Ask, From, Span};
use super::draws::Draws;
use super::history::{History, Piece};
use super::job::{Asks, Job, Lengths};
use super::layout::Region;
use super::part::Part;
use super::placing::Placer;
use super::turns::Turns;
use super::values::Rules;
use nandlab_block::Op;
use nandlab_nand::random::Random;
use nandlab_nand::PlacementId;

const FLUSH: Ask = Ask {
    op: Op::Flush,
    offset: 0,
    length: 0,
    file: 0,
    placement: PlacementId::NONE,
    from: From::Pattern,
    is_alone: false,
};

/// A clone's requests.
#[derive(Debug)]
pub(super) struct Stream {
    asks: Asks,
    lengths: [Lengths; 3],
    /// Whether lengths go by places in order and at random, not by kinds.
    by_place: bool,
    rules: Rules,
    parts: Vec<Part>,
    turns: Turns,
    draws: Draws,
    /// The draws each pass begins with; `None` if they go on.
    first_draws: Option<Draws>,
    placer: Placer,
    /// Its beginning in each file, in bytes.
    offset: u64,
    ends: Ends,
    passes: Passes,
    mix: Mix,
    /// Two kinds: a flush after so many writes; 0: none.
    flushes: [u64; 2],
    was_flush: bool,
    /// Waiting flushes.
    waiting: usize,
    flushes_at_end: bool,
    /// Whether a flush follows each write, and comes next.
    is_durable: bool,
    follows_write: bool,
    /// Whether the drive reads in place of writing.
    reads_for_writes: bool,
    /// Whether the first request of a mix is a write, since nothing can be read from empty zones.
    begins_with_write: bool,
    /// Writes to read back, if it does.
    history: Option<History>,
    /// Whether it reads back now.
    is_checking: bool,
    /// Whether it only reads back, and writes nothing.
    is_dry: bool,
    /// Whether drives place its writes.
    is_placed_later: bool,
    /// Whether the next request waits for all before it.
    is_alone: bool,
}

/// Limits for a pass, and for the whole.
#[derive(Debug)]
struct Ends {
    /// Bytes in the files, and bytes to be moved.
    size: u64,
    io_size: Option<u64>,
    loops: u64,
    /// Requests; 0: as many as the bytes are.
    requests: u64,
    is_time_based: bool,
    /// Whether bytes end a pass.
    ends_passes: bool,
    /// Bytes a pass moves at most.
    of_pass: u64,
    /// The longest request.
    longest: u64,
    /// Whether finished files stay so in a further pass.
    stay_done: bool,
}

/// Progress.
#[derive(Debug, Default)]
struct Passes {
    begun: u64,
    is_under_way: bool,
    is_over: bool,
    /// Bytes in this pass, and by direction in all.
    moved: u64,
    all_moved: [u64; 3],
    /// Requests by direction.
    issued: [u64; 3],
    /// Finished files.
    done_files: usize,
    /// Bytes in the present range, with `zonemode=strided`.
    in_range: u64,
}

/// Reads and writes in turn.
#[derive(Debug)]
struct Mix {
    read_share: u64,
    direction: usize,
    /// It stays until this direction has so many requests.
    until: u64,
}

impl Stream {
    pub(super) fn new(job: &Job, region: &Region, mut random: Random) -> Self {
        let placer = Placer::new(&job.choice, region.starts.len(), &random);
        let draws = Draws::new(job, &mut random);
        let part = |&start: &u64| {
            let span = Span { start, length: region.length };
            Part::new(job, span, (region.offset, region.reach), &mut random)
        };
        let parts: Vec<Part> = region.starts.iter().map(part).collect();
        let write_all = job.is_random && job.writes() && !job.covers;
        let of_pass = if write_all { region.size.max(region.io_size.unwrap_or(0)) } else { region.size };
        // A trim and its write are one pass over the bytes.
        let twice = job.asks == Asks::TrimWrite;
        let more = if twice { region.io_size.unwrap_or(region.size).saturating_mul(job.loops) } else { 0 };
        let history = History::new(job);
        // Reads within a pass count in it.
        let has_backlog = history.as_ref().is_some_and(History::has_backlog);
        let more = if has_backlog { region.size.saturating_add(more) } else { more };
        let is_dry = job.checks.is_dry && job.writes();
        let ends_with_size = job.ends_with_size() || is_dry;
        Self {
            asks: job.asks,
            lengths: job.lengths.clone(),
            by_place: job.by_place,
            rules: job.rules(parts.len()),
            turns: Turns::new(job, parts.len(), &draws.files),
            parts,
            first_draws: job.repeats().then(|| draws.clone()),
            draws,
            placer,
            offset: region.offset,
            ends: Ends {
                size: region.size,
                io_size: region.io_size,
                loops: job.loops,
                requests: job.requests,
                is_time_based: job.is_time_based,
                ends_passes: !job.is_time_based || job.checks.is_on || is_dry,
                of_pass: if ends_with_size { of_pass.saturating_add(more) } else { u64::MAX },
                longest: job.lengths.iter().map(Lengths::most).max().expect("there are three directions"),
                stay_done: job.keeps_done(),
            },
            passes: Passes::default(),
            mix: Mix { read_share: job.read_share, direction: 0, until: 0 },
            flushes: [job.fsync, job.fdatasync],
            was_flush: false,
            waiting: 0,
            // A job without writes has nothing to flush.
            flushes_at_end: (job.end_fsync || job.fsync_on_close) && job.writes(),
            is_durable: job.is_durable,
            follows_write: false,
            reads_for_writes: job.reads_for_writes,
            begins_with_write: job.begins_with_write(),
            history,
            is_checking: false,
            is_dry,
            is_placed_later: job.zoning.is_on(),
            is_alone: false,
        }
    }

    /// Requests in all, about.
    pub(super) fn count(&self) -> u64 {
        let directions = self.asks.directions();
        let mean: u64 = directions.iter().map(|&direction| self.lengths[direction].mean()).sum();
        let each = if self.asks == Asks::TrimWrite { 2 } else { 1 };
        let bytes = self.ends.limit().saturating_mul(self.ends.loops) / (mean / directions.len() as u64).max(1);
        let bytes = bytes.saturating_mul(each);
        if self.ends.requests == 0 || self.ends.is_time_based {
            return bytes;
        }
        // With trims and writes each pass doubles it.
        let doubled = if each == 2 { self.ends.loops.min(63) } else { 0 };
        (self.ends.requests.saturating_mul(self.ends.loops).saturating_mul(1 << doubled)).min(bytes)
    }

    /// A job's work in a file.
    pub(super) fn span(&self, file: usize) -> Span {
        self.parts[file].span
    }

    /// The last request went to another place than the one it was made for: it moved so many bytes in place of `asked`,
    /// and a job in order goes on at `next`.
    pub(super) fn settle(&mut self, asked: Ask, (moved, next): (u64, u64), placed: Ask) {
        let direction = direction(asked.op);
        self.passes.moved = self.passes.moved - asked.length + moved;
        self.passes.all_moved[direction] = self.passes.all_moved[direction] - asked.length + moved;
        let part = &mut self.parts[asked.file];
        part.settle(direction, next - part.span.start);
        self.note(placed);
    }

    /// The last request found no place: nothing moved, and its pass over the file ends.
    pub(super) fn end_file(&mut self, asked: Ask) {
        let direction = direction(asked.op);
        self.passes.moved -= asked.length;
        self.passes.all_moved[direction] -= asked.length;
        self.passes.issued[direction] -= 1;
        self.file_is_done(asked.file);
    }

    /// The next request; `None` at the end.
    pub(super) fn next(&mut self) -> Option<Ask> {
        loop {
            if std::mem::take(&mut self.follows_write) {
                return Some(Ask { from: From::Check, ..FLUSH });
            }
            if self.waiting > 0 {
                self.waiting -= 1;
                return Some(Ask { is_alone: true, ..FLUSH });
            }
            if self.is_checking {
                match self.read_back(From::Check) {
                    Some(ask) => return Some(ask),
                    None => (self.is_checking, self.is_alone) = (false, true),
                }
            }
            if !self.passes.is_under_way && !self.begin_pass() {
                return None;
            }
            match self.next_of_pass() {
                Some(_) if self.is_dry => {}
                Some(ask) => return Some(Ask { is_alone: std::mem::take(&mut self.is_alone), ..ask }),
                None => self.end_pass(),
            }
        }
    }

    /// Reads the next piece in the history.
    fn read_back(&mut self, from: From) -> Option<Ask> {
        let history = self.history.as_mut()?;
        let piece = if from == From::Check { history.take() } else { history.take_backlog() };
        let Piece { file, offset, length } = piece?;
        self.passes.issued[0] += 1;
        self.passes.all_moved[0] += length;
        if from == From::Backlog {
            self.passes.moved += length;
        }
        let is_alone = std::mem::take(&mut self.is_alone);
        let offset = self.parts[file].span.start + offset;
        Some(Ask { op: Op::Read, offset, length, file, placement: PlacementId::NONE, from, is_alone })
    }

    /// Notes a request for reading back.
    fn note(&mut self, ask: Ask) {
        let Some(history) = &mut self.history else { return };
        history.pass(ask.op == Op::Read);
        if ask.op == Op::Write || history.has_trims && ask.op == Op::Trim {
            let offset = ask.offset - self.parts[ask.file].span.start;
            history.note(Piece { file: ask.file, offset, length: ask.length });
        }
    }

    /// Begins a further pass, if there is one.
    fn begin_pass(&mut self) -> bool {
        if self.passes.is_over || !self.goes_on() {
            self.passes.is_over = true;
            return false;
        }
        if self.passes.begun > 0 {
            for part in &mut self.parts {
                (part.is_done, part.is_open) = (false, false);
            }
            if !self.ends.stay_done {
                self.passes.done_files = 0;
            }
            (self.was_flush, self.mix.until) = (false, 0);
            if let Some(first) = &self.first_draws {
                self.draws = first.clone();
                self.turns.repeat(&self.draws.files);
            }
        }
        if self.asks == Asks::TrimWrite {
            // fio 3.33 doubles its count at the start of each pass, and compares it with the requests of all passes.
            self.ends.requests = self.ends.requests.saturating_mul(2);
        }
        if let Some(history) = &mut self.history {
            history.clear();
        }
        self.passes.begun += 1;
        self.passes.is_under_way = true;
        (self.passes.moved, self.passes.in_range) = (0, 0);
        true
    }

    /// Whether there is a further pass.
    fn goes_on(&self) -> bool {
        if self.ends.is_time_based || self.passes.begun < self.ends.loops {
            return true;
        }
        if self.has_all_requests() {
            return false;
        }
        let moved: u64 = self.passes.all_moved.iter().sum();
        // The rest may be too short for a request.
        let is_left = self.ends.limit().checked_sub(moved).is_some_and(|left| left > 0 && left >= self.ends.longest);
        let is_through = self.ends.io_size.is_none() && self.parts.iter().all(|part| part.is_done);
        is_left && !is_through
    }

    fn end_pass(&mut self) {
        self.passes.is_under_way = false;
        // A dry pass without reads behind it does nothing.
        self.passes.is_over |= self.passes.moved == 0 || self.is_dry && self.history.is_none();
        (self.is_checking, self.is_alone) = (self.history.is_some(), true);
        if self.flushes_at_end && !self.was_flush && !self.is_dry {
            self.waiting = self.parts.len();
        }
    }

    fn has_all_requests(&self) -> bool {
        let issued: u64 = self.passes.issued.iter().sum();
        self.ends.requests > 0 && issued >= self.ends.requests.saturating_mul(self.ends.loops)
    }

    fn next_of_pass(&mut self) -> Option<Ask> {
        if self.ends.ends_passes && self.passes.moved >= self.ends.of_pass {
            return None;
        }
        if !self.ends.is_time_based {
            let [reads, writes, trims] = self.passes.all_moved;
            let moved = match self.asks {
                Asks::Mix => reads + writes,
                Asks::TrimWrite | Asks::Only(Op::Write) => writes,
                Asks::Only(Op::Read) => reads,
                Asks::Only(_) => trims,
            };
            let is_through = moved >= self.ends.limit().saturating_mul(self.ends.loops);
            if is_through || self.has_all_requests() {
                return None;
            }
        }
        if let Some(ask) = self.read_back(From::Backlog) {
            return Some(ask);
        }
        loop {
            if self.passes.done_files >= self.parts.len() {
                return None;
            }
            let file = self.turns.next(&mut self.parts, &mut self.draws.files)?;
            let ask = self.ask_in(file);
            if ask.is_some() {
                return ask;
            }
            if self.turns.is_uneven() {
                self.parts[file].is_open = false;
            } else {
                self.file_is_done(file);
            }
        }
    }

    fn file_is_done(&mut self, file: usize) {
        let part = &mut self.parts[file];
        (part.is_done, part.is_open) = (true, false);
        self.passes.done_files += 1;
    }

    /// The next request in a file; `None` if there is no place.
    fn ask_in(&mut self, file: usize) -> Option<Ask> {
        let direction = self.direction_in(file);
        let Some(direction) = direction else {
            self.was_flush = true;
            return Some(FLUSH);
        };
        let is_step = self.turns.is_step(&self.rules.steps);
        let Self { parts, rules, draws, lengths, passes, .. } = self;
        let part = &mut parts[file];
        part.stride(direction, &mut passes.in_range);
        let place = part.place(rules, direction, is_step, draws)?;
        let room = part.room(place);
        let of = if self.by_place { usize::from(place.is_random) } else { direction };
        let length = if rules.follows_trims && direction == 1 {
            part.trimmed()
        } else {
            lengths[of].draw(&mut draws.lengths[direction], room)?
        };
        if length == 0 || length > room {
            return None;
        }
        let length = part.cut(place, length, rules.least[direction]);
        part.note(direction, place.offset, place.offset + length);
        let written = if self.reads_for_writes { Op::Read } else { Op::Write };
        let op = [Op::Read, written, Op::Trim][direction];
        self.follows_write = self.is_durable && op == Op::Write && !self.is_dry;
        self.was_flush = false;
        self.passes.moved += length;
        self.passes.in_range += length;
        self.passes.all_moved[direction] += length;
        self.passes.issued[direction] += 1;
        let in_file = self.offset + place.offset;
        let placement = if op == Op::Write { self.placer.next(file, in_file) } else { PlacementId::NONE };
        let offset = self.parts[file].span.start + place.offset;
        let ask = Ask { op, offset, length, file, placement, from: From::Pattern, is_alone: false };
        if !self.is_placed_later {
            self.note(ask);
        }
        Some(ask)
    }

    /// The next direction; `None` for a flush.
    fn direction_in(&mut self, file: usize) -> Option<usize> {
        if self.asks == Asks::TrimWrite {
            let [_, written, trimmed] = self.parts[file].last_start;
            return Some(if written == trimmed { 2 } else { 1 });
        }
        let writes = self.passes.issued[1];
        let is_due = |&every: &u64| every > 0 && writes > 0 && writes % every == 0;
        if !self.was_flush && self.flushes.iter().any(is_due) && self.asks != Asks::Only(Op::Trim) {
            return None;
        }
        let direction = match self.asks {
            Asks::Only(op) => direction(op),
            _ => self.mixed(),
        };
        Some(direction)
    }

    /// Reads or writes. A direction stays until its requests have their share.
    fn mixed(&mut self) -> usize {
        if self.begins_with_write && self.passes.issued[1] == 0 {
            return 1;
        }
        let Self { mix, passes, draws, .. } = self;
        if passes.issued[mix.direction] >= mix.until {
            let drawn = usize::from(draws.mix.below(100) >= mix.read_share);
            if drawn != mix.direction {
                let share = if drawn == 0 { mix.read_share } else { 100 - mix.read_share };
                mix.until = passes.issued[mix.direction] * share / 100;
            }
            mix.direction = drawn;
        }
        mix.direction
    }
}

impl Ends {
    fn limit(&self) -> u64 {
        self.io_size.unwrap_or(self.size)
    }
}

fn direction(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Trim => 2,
        Op::Flush | Op::UnitUpdate | Op::Append | Op::Zone(_) => unreachable!("a flush has no place"),
    }
}

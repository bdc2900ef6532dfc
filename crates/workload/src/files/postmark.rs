//! PostMark: small files as a mail server has them, created, read, appended to and deleted.
//!
//! ## Idea
//! Set-up creates `number` files with `size_low` to `size_high` bytes. A transaction reads a file or appends to one,
//! then creates a file or deletes one. Clean-up deletes the remaining files. The operations equal PostMark 1.51's one
//! for one, given the same options and seed; a test compares them.
//!
//! | option | PostMark | |
//! |---|---|---|
//! | `size_low`, `size_high` | `set size LOW HIGH` | a new file has `size_low` up to, but without, `size_high` bytes |
//! | `number` | `set number` | files at the start; never more than twice as many |
//! | `transactions` | `set transactions` | |
//! | `seed` | `set seed` | for its own generator, so the experiment's seed changes nothing |
//! | `subdirectories` | `set subdirectories` | `s0`, `s1` ...; 0 and 1 make none |
//! | `read_block`, `write_block` | `set read`, `set write` | bytes per call |
//! | `bias_read` | `set bias read` | so many transactions in 10 read, the others append; -1: neither |
//! | `bias_create` | `set bias create` | so many transactions in 10 create, the others delete; -1: neither |
//! | `buffered` | `set buffering` | through the C library |
//!
//! Operations are the calls as the file system sees them. With `buffered`, the C library gathers short blocks into
//! 4,096 bytes, and a read continues to the end of such a piece or of the file. Without it, one operation is one
//! block. A transaction without a free place creates nothing. Nothing is appended to a file with `size_high` bytes or
//! more.
//!
//! ## Differences
//! With fewer than 10 transactions the program divides by zero while it checks whether a tenth is over; here they are
//! carried out. With every file deleted, the program searches for one for ever; here the run ends with an error
//! message. Descending file sizes are refused here; the program takes either.
//!
//! ## References
//! J. Katcher: PostMark: a new file system benchmark. Network Appliance TR3022, 1997. M. Matsumoto and T. Nishimura:
//! Mersenne twister. ACM TOMACS 8(1), 1998; seeded as the authors' program of 1999 does.

use super::parts::{within, Direction, Part, Played, Steps, Transfer, FILE};
use super::{FileOp, FileOptions, FileSetting, FileWorkload};
use crate::{ByteCount, WorkloadError};
use std::collections::VecDeque;

/// Options of `[workload.postmark]`; the defaults are PostMark's.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The smallest new file.
    pub size_low: ByteCount,
    /// New files are shorter than this, unless it is `size_low`; longer files are not appended to.
    pub size_high: ByteCount,
    /// Files created before the transactions.
    pub number: u32,
    /// Transactions.
    pub transactions: u32,
    /// Seed of PostMark's own generator, 1 to 2147483647; the experiment's seed changes nothing.
    pub seed: u32,
    /// Directories that the files are spread over; 0 and 1: none.
    pub subdirectories: u32,
    /// Bytes that a call reads.
    pub read_block: ByteCount,
    /// Bytes that a call writes.
    pub write_block: ByteCount,
    /// Of 10 transactions so many read and the others append; -1: neither.
    pub bias_read: i32,
    /// Of 10 transactions so many create a file and the others delete one; -1: neither.
    pub bias_create: i32,
    /// Reads and writes go through the C library, which gathers short blocks.
    pub buffered: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            size_low: ByteCount(500),
            size_high: ByteCount(10_000),
            number: 500,
            transactions: 500,
            seed: 42,
            subdirectories: 0,
            read_block: ByteCount(512),
            write_block: ByteCount(512),
            bias_read: 5,
            bias_create: 5,
            buffered: true,
        }
    }
}

/// Largest number for the program's variables, and the largest whose double still fits.
const MOST: u64 = i32::MAX as u64;
const MOST_DOUBLED: u64 = MOST / 2;

impl FileOptions for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        within("size_low", self.size_low.0, 1, MOST_DOUBLED, "a file has")?;
        within("size_high", self.size_high.0, 1, MOST_DOUBLED, "a file has")?;
        if self.size_high < self.size_low {
            let why = format!("the largest size is at least the smallest (size_low = {})", self.size_low);
            return Err(WorkloadError::option("size_high", &self.size_high, why));
        }
        within("number", self.number.into(), 1, MOST_DOUBLED, "the number of files is")?;
        within("transactions", self.transactions.into(), 1, MOST, "the number of transactions is")?;
        within("seed", self.seed.into(), 1, MOST, "a seed is")?;
        within("subdirectories", self.subdirectories.into(), 0, MOST, "the number of directories is")?;
        within("read_block", self.read_block.0, 1, MOST, "the bytes of a call are")?;
        within("write_block", self.write_block.0, 1, MOST, "the bytes of a call are")?;
        for (key, bias) in [("bias_read", self.bias_read), ("bias_create", self.bias_create)] {
            if !(-1..=10).contains(&bias) {
                let why = "a bias is 0 to 10 of 10 transactions, or -1 for none";
                return Err(WorkloadError::option(key, &bias, why));
            }
        }
        Ok(())
    }

    fn transactions(&self) -> Option<u64> {
        Some(self.transactions.into())
    }

    fn open(&self, _: &FileSetting<'_>) -> Result<Box<dyn FileWorkload>, WorkloadError> {
        self.check()?;
        Ok(Box::new(Played::new(PostMark::new(self))))
    }
}

/// The Mersenne twister MT19937.
struct Twister {
    state: [u32; Self::WORDS],
    used: usize,
}

impl Twister {
    const WORDS: usize = 624;
    const MIDDLE: usize = 397;

    /// Seeded as in 1999: each word takes the high halves from two values in a congruential generator.
    fn new(seed: u32) -> Self {
        let mut value = seed;
        let mut half = || {
            let high = value >> 16;
            value = value.wrapping_mul(69_069).wrapping_add(1);
            high
        };
        Self { state: std::array::from_fn(|_| half() << 16 | half()), used: Self::WORDS }
    }

    fn twist(&mut self) {
        for at in 0..Self::WORDS {
            let joined = self.state[at] & 0x8000_0000 | self.state[(at + 1) % Self::WORDS] & 0x7FFF_FFFF;
            let odd = if joined & 1 == 1 { 0x9908_B0DF } else { 0 };
            self.state[at] = self.state[(at + Self::MIDDLE) % Self::WORDS] ^ joined >> 1 ^ odd;
        }
        self.used = 0;
    }

    fn draw(&mut self) -> u32 {
        if self.used == Self::WORDS {
            self.twist();
        }
        let mut word = self.state[self.used];
        self.used += 1;
        word ^= word >> 11;
        word ^= word << 7 & 0x9D2C_5680;
        word ^= word << 15 & 0xEFC6_0000;
        word ^ word >> 18
    }

    /// Passes over so many draws.
    fn skip(&mut self, mut draws: u64) {
        while draws > 0 {
            if self.used == Self::WORDS {
                self.twist();
            }
            let here = draws.min((Self::WORDS - self.used) as u64);
            self.used += here as usize;
            draws -= here;
        }
    }

    /// A number below `bound`; for 0 it is 0, and nothing is drawn.
    fn below(&mut self, bound: u32) -> u32 {
        if bound == 0 {
            0
        } else {
            self.draw() % bound
        }
    }
}

/// A place in the file table; size 0 means free.
#[derive(Clone, Copy, Default)]
struct Entry {
    size: u32,
    directory: u32,
    name: u32,
}

/// The next phase.
enum Phase {
    Begin,
    /// The directory to make.
    Directories(u32),
    /// Files still to be created.
    Files(u32),
    /// Transactions still to come.
    Transactions(u32),
    /// The place to look at for a file to delete.
    CleanUp(usize),
    /// The directory to take away.
    RemoveDirectories(u32),
}

struct PostMark {
    config: Config,
    low: u32,
    high: u32,
    random: Twister,
    phase: Phase,
    /// Places up to the highest ever used, at most 2 x number.
    table: Vec<Entry>,
    files: u64,
    /// Place for the file created last.
    last: usize,
    /// No place below this is free.
    first_free: usize,
    created: u32,
    done: u32,
}

impl PostMark {
    fn new(config: &Config) -> Self {
        // `check` made sure the sizes fit.
        let (low, high) = (config.size_low.0 as u32, config.size_high.0 as u32);
        Self {
            config: config.clone(),
            low,
            high,
            random: Twister::new(config.seed),
            phase: Phase::Begin,
            table: Vec::new(),
            files: 0,
            last: usize::MAX,
            first_free: 0,
            created: 0,
            done: 0,
        }
    }

    fn places(&self) -> u32 {
        2 * self.config.number
    }

    fn has_directories(&self) -> bool {
        self.config.subdirectories > 1
    }

    fn is_free(&self, place: usize) -> bool {
        self.table.get(place).is_none_or(|entry| entry.size == 0)
    }

    /// The place after the last one taken, or else the first free one.
    fn free_place(&mut self) -> Option<usize> {
        let places = self.places() as usize;
        let next = self.last.wrapping_add(1);
        if next < places && self.is_free(next) {
            return Some(next);
        }
        while self.first_free < places && !self.is_free(self.first_free) {
            self.first_free += 1;
        }
        (self.first_free < places).then_some(self.first_free)
    }

    /// Draws places until one has a file.
    fn used_place(&mut self) -> Result<usize, WorkloadError> {
        if self.files == 0 {
            let done = self.done;
            let why = format!(
                "in transaction {done} every file is deleted, and PostMark looks for one for ever: take more files or a \
                 larger bias_create"
            );
            return Err(WorkloadError::option("number", &self.config.number, why));
        }
        loop {
            let place = self.random.below(self.places()) as usize;
            if !self.is_free(place) {
                return Ok(place);
            }
        }
    }

    fn path(&self, entry: Entry) -> Box<str> {
        let Entry { directory, name, .. } = entry;
        if self.has_directories() {
            format!("s{directory}/{name}").into()
        } else {
            name.to_string().into()
        }
    }

    fn transfer(&self, direction: Direction, range: std::ops::Range<u32>) -> Part {
        let block = match direction {
            Direction::Read => self.config.read_block,
            Direction::Write => self.config.write_block,
        };
        let range = range.start.into()..range.end.into();
        let transfer = Transfer::new(direction, FILE, range, block.0 as u32);
        Part::Transfer(if self.config.buffered { transfer.buffered() } else { transfer })
    }

    fn create(&mut self, parts: &mut VecDeque<Part>) {
        let Some(place) = self.free_place() else { return };
        let directory = if self.has_directories() { self.random.below(self.config.subdirectories) } else { 0 };
        self.created += 1;
        let size = self.low + self.random.below(self.high - self.low);
        let entry = Entry { size, directory, name: self.created };
        if place >= self.table.len() {
            self.table.resize(place + 1, Entry::default());
        }
        self.table[place] = entry;
        self.last = place;
        self.files += 1;
        parts.push_back(Part::Op(FileOp::Create { file: FILE, path: self.path(entry) }));
        parts.push_back(self.transfer(Direction::Write, 0..size));
        parts.push_back(Part::Op(FileOp::Close(FILE)));
    }

    fn delete(&mut self, place: usize, parts: &mut VecDeque<Part>) {
        let path = self.path(self.table[place]);
        self.table[place].size = 0;
        self.first_free = self.first_free.min(place);
        self.files -= 1;
        parts.push_back(Part::Op(FileOp::Unlink(path)));
    }

    fn read(&mut self, parts: &mut VecDeque<Part>) -> Result<(), WorkloadError> {
        let place = self.used_place()?;
        let entry = self.table[place];
        parts.push_back(Part::Op(FileOp::Open { file: FILE, path: self.path(entry) }));
        parts.push_back(self.transfer(Direction::Read, 0..entry.size));
        parts.push_back(Part::Op(FileOp::Close(FILE)));
        Ok(())
    }

    fn append(&mut self, parts: &mut VecDeque<Part>) -> Result<(), WorkloadError> {
        let place = self.used_place()?;
        let entry = self.table[place];
        if entry.size < self.high {
            let size = entry.size + self.random.below(self.high - entry.size) + 1;
            self.table[place].size = size;
            parts.push_back(Part::Op(FileOp::Open { file: FILE, path: self.path(entry) }));
            parts.push_back(self.transfer(Direction::Write, entry.size..size));
            parts.push_back(Part::Op(FileOp::Close(FILE)));
        }
        Ok(())
    }

    fn transaction(&mut self, parts: &mut VecDeque<Part>) -> Result<(), WorkloadError> {
        const OF: u32 = 10;
        self.done += 1;
        parts.push_back(Part::Op(FileOp::Transaction));
        if let Ok(bias) = u32::try_from(self.config.bias_read) {
            if self.random.below(OF) < bias {
                self.read(parts)?;
            } else {
                self.append(parts)?;
            }
        }
        if let Ok(bias) = u32::try_from(self.config.bias_create) {
            if self.random.below(OF) < bias {
                self.create(parts);
            } else {
                let place = self.used_place()?;
                self.delete(place, parts);
            }
        }
        Ok(())
    }

    /// Deletes the next file from `place` on.
    fn clean_up(&mut self, mut place: usize, parts: &mut VecDeque<Part>) -> Phase {
        while place < self.table.len() && self.is_free(place) {
            place += 1;
        }
        if place == self.table.len() {
            return Phase::RemoveDirectories(0);
        }
        self.delete(place, parts);
        Phase::CleanUp(place + 1)
    }
}

impl Steps for PostMark {
    fn step(&mut self, parts: &mut VecDeque<Part>) -> Result<(), WorkloadError> {
        let directories = if self.has_directories() { self.config.subdirectories } else { 0 };
        while parts.is_empty() {
            self.phase = match self.phase {
                Phase::Begin => {
                    // The program draws its filler text first, letter by letter.
                    self.random.skip(2 * u64::from(self.high));
                    Phase::Directories(0)
                }
                Phase::Directories(n) if n < directories => {
                    parts.push_back(Part::Op(FileOp::Mkdir(format!("s{n}").into())));
                    Phase::Directories(n + 1)
                }
                Phase::Directories(_) => Phase::Files(self.config.number),
                Phase::Files(0) => Phase::Transactions(self.config.transactions),
                Phase::Files(left) => {
                    self.create(parts);
                    Phase::Files(left - 1)
                }
                Phase::Transactions(0) => {
                    parts.push_back(Part::Op(FileOp::CleanUp));
                    Phase::CleanUp(0)
                }
                Phase::Transactions(left) => {
                    self.transaction(parts)?;
                    Phase::Transactions(left - 1)
                }
                Phase::CleanUp(place) => self.clean_up(place, parts),
                Phase::RemoveDirectories(n) if n < directories => {
                    parts.push_back(Part::Op(FileOp::Rmdir(format!("s{n}").into())));
                    Phase::RemoveDirectories(n + 1)
                }
                Phase::RemoveDirectories(_) => return Ok(()),
            };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Twister;

    #[test]
    fn skipping_is_drawing() {
        let (mut drawn, mut skipped) = (Twister::new(42), Twister::new(42));
        for _ in 0..2_000 {
            drawn.draw();
        }
        skipped.skip(1_000);
        skipped.skip(1_000);
        assert_eq!(drawn.draw(), skipped.draw());
    }
}

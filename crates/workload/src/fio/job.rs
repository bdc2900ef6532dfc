//! A job file's section.

use super::keys::{find, Class, KEYS, SYNCHRONOUS};
use super::placing::{Choice, Placing};
use super::skew::Distribution;
use super::text::{amount, by_direction, bytes, number, switch, time, Amount, Entry, KbBase};
use super::zoning::Zoning;
use super::Malformed;
use nandlab_block::{nearest, Op};
use nandlab_nand::{Time, SECTOR_BYTES};
use std::collections::BTreeSet;

const US: Time = 1000;
const S: Time = 1_000_000 * US;
const SECTOR: u64 = SECTOR_BYTES as u64;
/// Largest request: its sector count has 32 bits.
const LONGEST: u64 = u32::MAX as u64 * SECTOR;
const MAX_DEPTH: u64 = 65_536;
const MAX_CLONES: u64 = 1024;

/// The kinds a job requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asks {
    Only(Op),
    /// Reads and writes.
    Mix,
    /// A trim, then a write of the same bytes, and so on.
    TrimWrite,
}

impl Asks {
    /// By number among reads, writes and trims.
    pub(super) fn directions(self) -> &'static [usize] {
        match self {
            Self::Only(Op::Read) => &[0],
            Self::Only(Op::Trim) => &[2],
            Self::Only(_) => &[1],
            Self::Mix => &[0, 1],
            Self::TrimWrite => &[2],
        }
    }
}

/// Request lengths in one direction, in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Lengths {
    Range(u64, u64),
    /// Lengths with their shares in per cent.
    Split(Vec<(u64, u64)>),
}

impl Lengths {
    pub(super) fn least(&self) -> u64 {
        match self {
            Self::Range(least, _) => *least,
            Self::Split(parts) => parts.iter().map(|&(bytes, _)| bytes).min().expect("a split has a part"),
        }
    }

    pub(super) fn most(&self) -> u64 {
        match self {
            Self::Range(_, most) => *most,
            Self::Split(parts) => parts.iter().map(|&(bytes, _)| bytes).max().expect("a split has a part"),
        }
    }
}

/// How fast a job may ask in one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rate {
    BytesPerS(u64),
    RequestsPerS(u64),
}

/// A section, with what `[global]` sets for it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Job {
    pub(super) name: String,
    pub(super) line: u64,
    pub(super) asks: Asks,
    pub(super) is_random: bool,
    /// For reads, writes and trims.
    pub(super) lengths: [Lengths; 3],
    pub(super) size: Option<Amount>,
    pub(super) io_size: Option<Amount>,
    pub(super) filesize: Option<u64>,
    pub(super) offset: Amount,
    pub(super) offset_increment: Amount,
    pub(super) offset_align: Option<u64>,
    /// File names; without one the job has its own file.
    pub(super) files: Vec<String>,
    /// How the next file is chosen, unless files come in turn.
    pub(super) service: Option<String>,
    pub(super) depth: u32,
    /// The engine, if it waits for each request.
    pub(super) waits: Option<String>,
    pub(super) clones: u32,
    /// Reads among reads and writes, in per cent.
    pub(super) read_share: u64,
    pub(super) seed: Option<u64>,
    pub(super) think: Time,
    pub(super) think_blocks: u64,
    pub(super) rates: [Option<Rate>; 3],
    pub(super) is_poisson: bool,
    pub(super) runtime: Time,
    pub(super) is_time_based: bool,
    pub(super) delay: Time,
    pub(super) loops: u64,
    /// Requests in all; 0: as many as the bytes are.
    pub(super) requests: u64,
    /// A flush after so many writes; 0: none.
    pub(super) fsync: u64,
    pub(super) end_fsync: bool,
    pub(super) fsync_on_close: bool,
    pub(super) is_behind_wall: bool,
    /// Whether random requests come to each place once before any comes twice.
    pub(super) covers: bool,
    pub(super) distribution: Distribution,
    /// Random requests in a random job, in per cent, by reads, writes and trims; the others continue after the last
    /// request.
    pub(super) random_share: [u64; 3],
    /// Alignment for random places, unless it is the smallest request.
    pub(super) align: [Option<u64>; 3],
    /// How much longer it runs, before fio measures.
    pub(super) ramp: Time,
    /// The keys for the placement identifiers of its writes, and what they choose.
    pub(super) placing: Placing,
    pub(super) choice: Choice,
    /// The keys about zones.
    pub(super) zoning: Zoning,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            name: String::new(),
            line: 0,
            asks: Asks::Only(Op::Read),
            is_random: false,
            lengths: [(); 3].map(|()| Lengths::Range(4096, 4096)),
            size: None,
            io_size: None,
            filesize: None,
            offset: Amount::Bytes(0),
            offset_increment: Amount::Bytes(0),
            offset_align: None,
            files: Vec::new(),
            service: None,
            depth: 1,
            waits: Some("psync".to_owned()),
            clones: 1,
            read_share: 50,
            seed: None,
            think: 0,
            think_blocks: 1,
            rates: [None; 3],
            is_poisson: false,
            runtime: 0,
            is_time_based: false,
            delay: 0,
            loops: 1,
            requests: 0,
            fsync: 0,
            end_fsync: false,
            fsync_on_close: false,
            is_behind_wall: false,
            covers: true,
            distribution: Distribution::Uniform,
            random_share: [100; 3],
            align: [None; 3],
            ramp: 0,
            placing: Placing::default(),
            choice: Choice::None,
            zoning: Zoning::default(),
        }
    }
}

impl Job {
    /// Takes a section's keys; keys without effect here go to `ignored`.
    pub(super) fn take<'a>(
        &mut self,
        entries: &[Entry<'a>],
        base: KbBase,
        ignored: &mut BTreeSet<&'a str>,
    ) -> Result<(), Malformed> {
        for entry in entries {
            match find(entry.key).map(|key| key.class) {
                Some(Class::Nothing) => {
                    ignored.insert(entry.key);
                }
                Some(Class::Refused { harmless, why }) => {
                    if !harmless.contains(&entry.value.unwrap_or("1")) {
                        let value = entry.value.map_or(String::new(), |value| format!(" = {value}"));
                        return Err(entry.wrong(format!("{}{value} is not followed: {why}", entry.key)));
                    }
                }
                Some(Class::Followed { .. }) => self.set(entry, base)?,
                None => return Err(unknown(entry)),
            }
        }
        Ok(())
    }

    fn set(&mut self, entry: &Entry<'_>, base: KbBase) -> Result<(), Malformed> {
        let value = entry.value.unwrap_or("");
        let wrong = |what: &str| entry.wrong(format!("{} = {value} cannot work: {what}", entry.key));
        if let Some(keyword) = ["$pagesize", "$mb_memory", "$ncpus"].iter().find(|keyword| value.contains(*keyword)) {
            return Err(wrong(&format!("{keyword} is a number of the machine that fio runs on; write the value")));
        }
        match entry.key {
            "kb_base" => {}
            "rw" | "readwrite" => (self.asks, self.is_random) = pattern(entry)?,
            "bs" | "blocksize" => {
                self.set_lengths(entry, |part| bytes(entry, part, base).map(|n| Lengths::Range(n, n)))?;
            }

            "bsrange" | "blocksize_range" => self.set_lengths(entry, |part| range(entry, part, base))?,
            "bssplit" => self.set_lengths(entry, |part| split(entry, part, base))?,
            "size" => self.size = Some(amount(entry, value, base)?),
            "io_size" | "io_limit" => self.io_size = Some(amount(entry, value, base)?),
            "filesize" => self.filesize = Some(bytes(entry, value, base)?).filter(|&bytes| bytes > 0),
            "offset" => self.offset = amount(entry, value, base)?,
            "offset_increment" => self.offset_increment = amount(entry, value, base)?,
            "offset_align" => self.offset_align = Some(bytes(entry, value, base)?).filter(|&bytes| bytes > 0),
            "filename" => self.files = files(entry)?,
            "file_service_type" => self.service = Some(value.to_owned()).filter(|value| value != "roundrobin"),
            "ioengine" => self.waits = SYNCHRONOUS.contains(&value).then(|| value.to_owned()),
            "iodepth" => self.depth = number(entry, 1, MAX_DEPTH)? as u32,
            "numjobs" => self.clones = number(entry, 1, MAX_CLONES)? as u32,
            "rwmixread" => self.read_share = number(entry, 0, 100)?,
            "rwmixwrite" => self.read_share = 100 - number(entry, 0, 100)?,
            "randseed" => self.seed = Some(number(entry, 0, u64::MAX)?),
            "thinktime" => self.think = time(entry, US)?,
            "thinktime_blocks" => self.think_blocks = number(entry, 1, 1 << 32)?,
            "rate" => self.set_rates(entry, |part| Ok(Rate::BytesPerS(bytes(entry, part, base)?)))?,
            "rate_iops" => self.set_rates(entry, |part| Ok(Rate::RequestsPerS(bytes(entry, part, base)?)))?,
            "rate_process" => {
                self.is_poisson = match value {
                    "linear" => false,
                    "poisson" => true,
                    _ => return Err(wrong("expected linear or poisson")),
                }
            }
            "runtime" | "timeout" => self.runtime = time(entry, S)?,
            "time_based" => self.is_time_based = switch(entry)?,
            "startdelay" => self.delay = time(entry, S)?,
            "loops" => self.loops = number(entry, 1, 1 << 32)?,
            "number_ios" => self.requests = number(entry, 0, 1 << 62)?,
            "fsync" | "fdatasync" => self.fsync = number(entry, 0, 1 << 32)?,
            "end_fsync" => self.end_fsync = switch(entry)?,
            "fsync_on_close" => self.fsync_on_close = switch(entry)?,
            "stonewall" | "wait_for_previous" => self.is_behind_wall = switch(entry)?,
            "norandommap" => self.covers = !switch(entry)?,
            "random_distribution" => self.distribution = Distribution::parse(entry, base)?,
            "percentage_random" | "blockalign" | "ba" => self.set_places(entry, base)?,
            "ramp_time" => self.ramp = time(entry, S)?,
            "fdp" | "dataplacement" | "data_placement" | "plids" | "fdp_pli" | "plid_select" | "fdp_pli_select"
            | "dp_scheme" => self.placing.set(entry)?,
            "zonemode"
            | "zonesize"
            | "zonecapacity"
            | "max_open_zones"
            | "job_max_open_zones"
            | "ignore_zone_limits"
            | "read_beyond_wp"
            | "zone_reset_threshold"
            | "zone_reset_frequency" => self.zoning.set(entry, base)?,
            _ => return Err(unknown(entry)),
        }
        Ok(())
    }

    /// Sets the choice for random places.
    fn set_places(&mut self, entry: &Entry<'_>, base: KbBase) -> Result<(), Malformed> {
        let wrong =
            |what: &str| entry.wrong(format!("{} = {} cannot work: {what}", entry.key, entry.value.unwrap_or("")));
        for (direction, part) in by_direction(entry)?.into_iter().enumerate() {
            let Some(part) = part else { continue };
            if entry.key == "percentage_random" {
                let percent = part.parse().ok().filter(|&percent: &u64| percent <= 100);
                self.random_share[direction] = percent.ok_or_else(|| wrong("expected per cents from 0 to 100"))?;
                continue;
            }
            let bytes = bytes(entry, part, base)?;
            if bytes == 0 || bytes % SECTOR != 0 {
                return Err(wrong("requests start at whole sectors of 512 bytes"));
            }
            self.align[direction] = Some(bytes);
        }
        Ok(())
    }

    fn set_lengths(
        &mut self,
        entry: &Entry<'_>,
        parse: impl Fn(&str) -> Result<Lengths, Malformed>,
    ) -> Result<(), Malformed> {
        for (lengths, part) in self.lengths.iter_mut().zip(by_direction(entry)?) {
            let Some(part) = part else { continue };
            let parsed = parse(part)?;
            let is_wrong = |&bytes: &u64| bytes == 0 || bytes % SECTOR != 0 || bytes > LONGEST;
            if let Some(bytes) = [parsed.least(), parsed.most()].into_iter().find(is_wrong) {
                let what = "a request is 512 bytes to 2 TiB - 512 long, in whole sectors of 512";
                let message = format!("{} = {part} cannot work: it is {bytes} bytes, and {what}", entry.key);
                return Err(entry.wrong(message));
            }
            *lengths = parsed;
        }
        Ok(())
    }

    fn set_rates(
        &mut self,
        entry: &Entry<'_>,
        parse: impl Fn(&str) -> Result<Rate, Malformed>,
    ) -> Result<(), Malformed> {
        for (rate, part) in self.rates.iter_mut().zip(by_direction(entry)?) {
            let Some(part) = part else { continue };
            // 0 is no limit.
            let parsed = parse(part)?;
            *rate = Some(parsed).filter(|rate| !matches!(rate, Rate::BytesPerS(0) | Rate::RequestsPerS(0)));
        }
        Ok(())
    }

    /// Requests outstanding at a time: one if the engine waits for each.
    pub(super) fn outstanding(&self) -> u32 {
        if self.waits.is_some() {
            1
        } else {
            self.depth
        }
    }

    /// Whether random requests visit each place once before any comes twice. Popular places come again, and other
    /// alignments have no map for visited places (HOWTO of fio 3.33, `random_distribution` and `blockalign`).
    pub(super) fn covers_once(&self) -> bool {
        let is_aligned =
            |(align, lengths): (&Option<u64>, &Lengths)| align.is_some_and(|align| align != lengths.least());
        let is_uniform = self.distribution == Distribution::Uniform;
        self.covers && is_uniform && !self.align.iter().zip(&self.lengths).any(is_aligned)
    }

    /// Whether some of its requests are writes.
    pub(super) fn writes(&self) -> bool {
        !matches!(self.asks, Asks::Only(Op::Read | Op::Trim))
    }

    /// Whether the first request of a mix has to be a write, as in fio.
    pub(super) fn begins_with_write(&self) -> bool {
        self.zoning.is_on() && !self.zoning.reads_beyond && self.read_share < 100
    }

    /// An error about the job as a whole.
    pub(super) fn wrong(&self, message: &str) -> Malformed {
        let message = format!("the job [{}] cannot work: {message}", self.name);
        Malformed { line: self.line, column: 1, message }
    }

    /// The job's shortest request.
    pub(super) fn least(&self) -> u64 {
        let shortest = self.asks.directions().iter().map(|&direction| self.lengths[direction].least()).min();
        shortest.expect("a job asks for something")
    }
}

fn pattern(entry: &Entry<'_>) -> Result<(Asks, bool), Malformed> {
    let value = entry.value.unwrap_or("");
    Ok(match value {
        "read" => (Asks::Only(Op::Read), false),
        "write" => (Asks::Only(Op::Write), false),
        "trim" => (Asks::Only(Op::Trim), false),
        "rw" | "readwrite" => (Asks::Mix, false),
        "trimwrite" => (Asks::TrimWrite, false),
        "randread" => (Asks::Only(Op::Read), true),
        "randwrite" => (Asks::Only(Op::Write), true),
        "randtrim" => (Asks::Only(Op::Trim), true),
        "randrw" => (Asks::Mix, true),
        "randtrimwrite" => (Asks::TrimWrite, true),
        _ => {
            let what = "expected one of read, write, trim, rw, trimwrite, randread, randwrite, randtrim, randrw, \
                        randtrimwrite, without steps";
            return Err(entry.wrong(format!("{} = {value} cannot work: {what}", entry.key)));
        }
    })
}

fn range(entry: &Entry<'_>, part: &str, base: KbBase) -> Result<Lengths, Malformed> {
    let (low, high) = part.split_once(['-', ':']).unwrap_or((part, part));
    let (low, high) = (bytes(entry, low.trim(), base)?, bytes(entry, high.trim(), base)?);
    Ok(Lengths::Range(low.min(high), low.max(high)))
}

/// `4k/10:64k/50:32k/40`; parts without a percentage share the rest.
fn split(entry: &Entry<'_>, part: &str, base: KbBase) -> Result<Lengths, Malformed> {
    let mut parts = Vec::new();
    let mut given = 0;
    for one in part.split(':') {
        let (size, share) = one.split_once('/').unwrap_or((one, ""));
        let size = bytes(entry, size.trim(), base)?;
        let share = match share.trim() {
            "" => None,
            share => Some(share.parse::<u64>().ok().filter(|&share| share <= 100).ok_or_else(|| {
                let what = "expected sizes with percentages such as 4k/10:64k/90";
                entry.wrong(format!("{} = {part} cannot work: {what}", entry.key))
            })?),
        };
        given += share.unwrap_or(0);
        parts.push((size, share));
    }
    let open = parts.iter().filter(|(_, share)| share.is_none()).count() as u64;
    if given > 100 || (open == 0 && given < 100) {
        return Err(
            entry.wrong(format!("{} = {part} cannot work: the percentages sum to {given}, not to 100", entry.key))
        );
    }
    let rest = (100 - given).checked_div(open).unwrap_or(0);
    let parts = parts.into_iter().map(|(size, share)| (size, share.unwrap_or(rest)));
    Ok(Lengths::Split(parts.filter(|&(_, share)| share > 0).collect()))
}

/// Names between colons; a backslash before a colon makes it a character in the name.
fn files(entry: &Entry<'_>) -> Result<Vec<String>, Malformed> {
    let value = entry.value.unwrap_or("");
    let mut files = vec![String::new()];
    let mut letters = value.chars().peekable();
    while let Some(letter) = letters.next() {
        let file = files.last_mut().expect("there is a name at all times");
        match letter {
            '\\' if letters.peek() == Some(&':') => file.extend(letters.next()),
            ':' => files.push(String::new()),
            other => file.push(other),
        }
    }
    if files.iter().any(String::is_empty) {
        let what = "expected names of files between colons; a colon of a name has a backslash before it";
        return Err(entry.wrong(format!("{} = {value} cannot work: {what}", entry.key)));
    }
    Ok(files)
}

fn unknown(entry: &Entry<'_>) -> Malformed {
    let key = entry.key;
    let known = KEYS.iter().flat_map(|key| key.names).copied();
    let hint = nearest(key, known).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    Malformed { line: entry.line, column: entry.column, message: format!("the key `{key}` is not known{hint}") }
}

//! A job's values: kinds, sizes, files, and their text.

use super::keys::KEYS;
use super::skew::Distribution;
use super::text::{bytes, number, Entry, KbBase};
use super::Malformed;
use nandlab_block::{nearest, Op};

/// How the next file is chosen.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Service {
    InTurn,
    /// One after the other.
    Sequential,
    Random,
    /// By popularity.
    Skewed(Distribution),
}

/// Rules for a place, besides the file.
#[derive(Debug)]
pub(super) struct Rules {
    /// Random requests in a random job, in per cent; 0 otherwise.
    pub(super) random_share: [u64; 3],
    /// Alignment for random places.
    pub(super) align: [u64; 3],
    /// Shortest requests.
    pub(super) least: [u64; 3],
    pub(super) steps: Steps,
    /// Whether a file begins anew at its end.
    pub(super) goes_round: bool,
    /// Whether requests in order do so as well.
    pub(super) wraps: bool,
    /// Whether each random trim is followed by a write at the same place.
    pub(super) follows_trims: bool,
}

/// The kinds a job requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asks {
    Only(Op),
    /// Reads and writes.
    Mix,
    /// A trim, then a write to the same bytes, and so on.
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

/// The number behind the colon in `rw`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Steps {
    /// In a random job one request in so many is at random; the others go on in order, or repeat.
    pub(super) every: u64,
    pub(super) repeats: bool,
    /// Bytes between requests in order.
    pub(super) add: i64,
    pub(super) is_random: bool,
}

impl Default for Steps {
    fn default() -> Self {
        Self { every: 1, repeats: false, add: 0, is_random: false }
    }
}

/// The source for random places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Generator {
    Tausworthe,
    /// One order for all places, without a map.
    Lfsr,
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

pub(super) fn pattern(entry: &Entry<'_>) -> Result<(Asks, bool), Malformed> {
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

pub(super) fn range(entry: &Entry<'_>, part: &str, base: KbBase) -> Result<Lengths, Malformed> {
    let (low, high) = part.split_once(['-', ':']).unwrap_or((part, part));
    let (low, high) = (bytes(entry, low.trim(), base)?, bytes(entry, high.trim(), base)?);
    Ok(Lengths::Range(low.min(high), low.max(high)))
}

/// `4k/10:64k/50:32k/40`; parts without a percentage share the rest.
pub(super) fn split(entry: &Entry<'_>, part: &str, base: KbBase) -> Result<Lengths, Malformed> {
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
    let mut parts: Vec<_> = parts.into_iter().map(|(size, share)| (size, share.unwrap_or(rest))).collect();
    // As fio 3.33 looks them up: the smallest share first.
    parts.sort_by_key(|part| part.1);
    Ok(Lengths::Split(parts))
}

/// A kind of service, with requests per file behind a colon, or with a popularity.
pub(super) fn service(entry: &Entry<'_>, base: KbBase) -> Result<(Service, u64), Malformed> {
    let value = entry.value.unwrap_or("");
    let (kind, count) = value.split_once(':').map_or((value, None), |(kind, count)| (kind, Some(count)));
    let service = match kind {
        "roundrobin" => Service::InTurn,
        "sequential" => Service::Sequential,
        "random" => Service::Random,
        "zipf" | "pareto" | "normal" => return Ok((Service::Skewed(Distribution::parse(entry, base)?), 1)),
        "gauss" => {
            let normal = value.replacen("gauss", "normal", 1);
            return Ok((Service::Skewed(Distribution::parse(&Entry { value: Some(&normal), ..*entry }, base)?), 1));
        }
        _ => {
            let what = "expected roundrobin, sequential, random, zipf, pareto or normal";
            return Err(entry.wrong(format!("{} = {value} cannot work: {what}", entry.key)));
        }
    };
    let count = count.map_or(Ok(1), |count| number(&Entry { value: Some(count), ..*entry }, 1, 1 << 32))?;
    Ok((service, count))
}

/// Whether a write ends when it is durable.
pub(super) fn synchronous(entry: &Entry<'_>) -> Result<bool, Malformed> {
    match entry.value.unwrap_or("1") {
        "0" | "none" => Ok(false),
        "1" | "sync" | "dsync" => Ok(true),
        value => Err(entry.wrong(format!("{} = {value} cannot work: expected none, sync, dsync, 0 or 1", entry.key))),
    }
}

/// Whether a write is a VERIFY command (SCSI, NVMe), so the drive reads.
pub(super) fn reads_for_writes(entry: &Entry<'_>) -> Result<bool, Malformed> {
    match (entry.key, entry.value.unwrap_or("")) {
        ("sg_write_mode", "verify_bytchk_00" | "verify_bytchk_01" | "verify_bytchk_11") => Ok(true),
        ("write_mode", "verify") => Ok(true),
        (_, "write") => Ok(false),
        (
            "sg_write_mode",
            "write_and_verify" | "verify" | "write_same" | "same" | "write_same_ndob" | "write_stream",
        ) => Ok(false),
        (key, value) => {
            Err(entry.wrong(format!("{key} = {value} is not followed: it neither writes data nor reads any")))
        }
    }
}

/// Names between colons; a backslash before a colon makes it a character in the name.
pub(super) fn files(entry: &Entry<'_>) -> Result<Vec<String>, Malformed> {
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

pub(super) fn unknown(entry: &Entry<'_>) -> Malformed {
    let key = entry.key;
    let known = KEYS.iter().flat_map(|key| key.names).copied();
    let hint = nearest(key, known).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    Malformed { line: entry.line, column: entry.column, message: format!("the key `{key}` is not known{hint}") }
}

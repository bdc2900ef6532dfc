//! The placement identifiers of a job's writes: keys, choices, and the scheme file.
//!
//! Numbers in `plids` are places in the device's list of identifiers, which has all groups of handle 0 first; without
//! `plids` it is the whole list. Stream i is handle i of the first reclaim group, and so is the number in a scheme. HOWTO
//! of fio (master of August 2026), `fdp`, `dataplacement`, `plid_select`, `plids`, `dp_scheme`; options.c and
//! dataplacement.c where it leaves a choice open: identifiers are sorted before their turns, and each file of a clone
//! has its own turn.

use super::source::{contents, Source};
use super::text::{whole_number, Entry};
use super::Malformed;
use crate::placement::HANDLES;
use crate::WorkloadError;
use nandlab_nand::random::Random;
use nandlab_nand::{PlacementId, PlacementIds};
use std::path::Path;

/// Most identifiers in a job's list, and most lines in its scheme, as in fio.
const MAX_IDS: usize = 128;
const MAX_RANGES: usize = 32;
/// Separates the draws for identifiers from those for places.
const OWN_DRAWS: u64 = 0x706C_6964;

/// A kind of directive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Interface {
    None,
    Fdp,
    Streams,
}

/// Which identifier comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Select {
    Random,
    #[default]
    RoundRobin,
    Scheme,
}

/// The keys as a job has them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Placing {
    fdp: bool,
    interface: Option<Interface>,
    ids: Vec<u8>,
    select: Select,
    scheme: Option<SchemeFile>,
}

/// The file that `dp_scheme` names, and where the key stands.
#[derive(Clone, PartialEq, Eq, Debug)]
struct SchemeFile {
    name: String,
    line: u64,
    column: usize,
}

/// A scheme's line: writes from `start` to before `end`, in bytes of the file, have this handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Range {
    start: u64,
    end: u64,
    handle: u8,
}

/// How a job's writes get their identifiers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Choice {
    /// They have none.
    #[default]
    None,
    RoundRobin(Vec<PlacementId>),
    Random(Vec<PlacementId>),
    Scheme(Vec<Range>),
}

impl Placing {
    /// Takes one of the keys.
    pub(super) fn set(&mut self, entry: &Entry<'_>) -> Result<(), Malformed> {
        let value = entry.value.unwrap_or("");
        let wrong = |what: &str| entry.wrong(format!("{} = {value} cannot work: {what}", entry.key));
        match entry.key {
            "fdp" => self.fdp = super::text::switch(entry)?,
            "dataplacement" | "data_placement" => {
                self.interface = Some(match value {
                    "none" => Interface::None,
                    "fdp" => Interface::Fdp,
                    "streams" => Interface::Streams,
                    _ => return Err(wrong("expected none, fdp or streams")),
                });
            }
            "plid_select" | "fdp_pli_select" => {
                self.select = match value {
                    "random" => Select::Random,
                    "roundrobin" => Select::RoundRobin,
                    "scheme" => Select::Scheme,
                    _ => return Err(wrong("expected random, roundrobin or scheme")),
                };
            }
            "dp_scheme" if value.is_empty() => return Err(wrong("it names a file with lines such as 0, 4096, 1")),
            "dp_scheme" => {
                self.scheme = Some(SchemeFile { name: value.to_owned(), line: entry.line, column: entry.column });
            }
            _ => self.ids = ids(value).map_err(|what| wrong(&what))?,
        }
        Ok(())
    }

    /// The choice for a job that `writes`, on a device with these identifiers, with its scheme read; a relative path
    /// starts at `folder`. `wrong` makes an error about the job as a whole.
    pub(super) fn choice(
        &self,
        (writes, placements): (bool, Option<PlacementIds>),
        (folder, source): (&Path, &Source),
        wrong: impl Fn(&str) -> Malformed,
    ) -> Result<Choice, WorkloadError> {
        let wrong = |message: &str| source.error(wrong(message));
        let interface = match (self.fdp, self.interface) {
            (true, Some(Interface::None | Interface::Streams)) => {
                return Err(wrong("fdp = 1 is dataplacement = fdp, and it has another one"));
            }
            (true, _) => Interface::Fdp,
            (false, interface) => interface.unwrap_or(Interface::None),
        };
        if interface == Interface::None || !writes {
            return Ok(Choice::None);
        }
        if self.select == Select::Scheme {
            let Some(file) = &self.scheme else {
                return Err(wrong("plid_select = scheme needs dp_scheme, the file with the scheme"));
            };
            return file.read(folder, source).map(Choice::Scheme);
        }
        let ids = match interface {
            Interface::Streams if self.ids.is_empty() => Err("plids names its streams, such as plids = 0-7".to_owned()),
            Interface::Streams => Ok(self.ids.iter().map(|&id| PlacementId::of(id)).collect()),
            Interface::None | Interface::Fdp => self.listed(placements),
        };
        let ids: Vec<PlacementId> = ids.map_err(|message| wrong(&message))?;
        if ids.is_empty() {
            return Ok(Choice::None);
        }
        Ok(if self.select == Select::Random { Choice::Random(ids) } else { Choice::RoundRobin(ids) })
    }

    /// Whether writes have identifiers by a list of the device.
    pub(super) fn asks_the_device(&self) -> bool {
        self.fdp || self.interface == Some(Interface::Fdp)
    }

    /// The identifiers at the places in `plids` of the device's list, or the first of all.
    ///
    /// # Errors
    /// A sentence about a place behind the list's end.
    fn listed(&self, placements: Option<PlacementIds>) -> Result<Vec<PlacementId>, String> {
        // An FTL without identifiers does not look at them.
        let Some(all) = placements else { return Ok(self.ids.iter().map(|&id| PlacementId::of(id)).collect()) };
        if self.ids.is_empty() {
            return Ok((0..).map_while(|place| all.nth(place)).take(MAX_IDS).collect());
        }
        let placed = |&id: &u8| {
            all.nth(id.into()).ok_or_else(|| {
                let last = all.count() - 1;
                format!(
                    "plids names place {id}, and the device's list of placement identifiers has the places 0 to {last}"
                )
            })
        };
        self.ids.iter().map(placed).collect()
    }
}

/// `1,2-4`, in ascending order; an identifier may come several times.
fn ids(value: &str) -> Result<Vec<u8>, String> {
    let mut ids = Vec::new();
    for part in value.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Some(first), Some(last)) = (whole_number(first.trim()), whole_number(last.trim())) else {
            return Err("expected numbers and ranges between commas, such as 1,2-4".to_owned());
        };
        if first > last {
            return Err(format!("the range {} ends before it starts", part.trim()));
        }
        if last >= PlacementId::HANDLES.into() {
            return Err(HANDLES.to_owned());
        }
        ids.extend(first as u8..=last as u8);
        if ids.len() > MAX_IDS {
            return Err(format!("a list has at most {MAX_IDS} identifiers"));
        }
    }
    ids.sort_unstable();
    Ok(ids)
}

impl SchemeFile {
    fn read(&self, folder: &Path, source: &Source) -> Result<Vec<Range>, WorkloadError> {
        let Self { name, line, column } = self;
        let text = contents(&folder.join(name)).map_err(|why| {
            let message = format!("dp_scheme = {name} cannot work: {why}");
            source.error(Malformed { line: *line, column: *column, message })
        })?;
        let mut ranges = Vec::new();
        for (line, whole) in (1..).zip(text.lines()).filter(|(_, whole)| !whole.trim().is_empty()) {
            let wrong = |message: String| WorkloadError::Record { file: name.clone(), line, column: 1, message };
            if ranges.len() == MAX_RANGES {
                return Err(wrong(format!("a scheme has at most {MAX_RANGES} lines, and this is one more")));
            }
            ranges.push(range(whole).map_err(wrong)?);
        }
        Ok(ranges)
    }
}

/// A scheme's line: `start, end, identifier`.
fn range(line: &str) -> Result<Range, String> {
    let cells: Vec<Option<u64>> = line.split(',').map(|cell| whole_number(cell.trim())).collect();
    let &[Some(start), Some(end), Some(handle)] = &cells[..] else {
        return Err(format!("expected start, end and identifier, such as 0, 4096, 1; found `{}`", line.trim()));
    };
    if start >= end {
        return Err(format!("the range from {start} to {end} has no byte; the end lies behind the start"));
    }
    if handle >= PlacementId::HANDLES.into() {
        return Err(format!("the identifier {handle} cannot work: {HANDLES}"));
    }
    Ok(Range { start, end, handle: handle as u8 })
}

/// Gives a clone's writes their identifiers.
#[derive(Debug)]
pub(super) struct Placer {
    choice: Choice,
    /// The next turn in each file.
    turns: Vec<usize>,
    random: Random,
}

impl Placer {
    /// For a clone with so many files; `random` is what its places are drawn from, and stays as it is.
    pub(super) fn new(choice: &Choice, files: usize, random: &Random) -> Self {
        let random = Random::new(random.clone().next_u64() ^ OWN_DRAWS);
        Self { choice: choice.clone(), turns: vec![0; files], random }
    }

    /// The identifier of a write at `offset` bytes in a file.
    pub(super) fn next(&mut self, file: usize, offset: u64) -> PlacementId {
        match &self.choice {
            Choice::None => PlacementId::NONE,
            Choice::RoundRobin(ids) => {
                let turn = self.turns[file];
                self.turns[file] = (turn + 1) % ids.len();
                ids[turn]
            }
            Choice::Random(ids) => ids[self.random.below(ids.len() as u64) as usize],
            Choice::Scheme(ranges) => {
                let found = ranges.iter().find(|range| (range.start..range.end).contains(&offset));
                PlacementId::of(found.map_or(0, |range| range.handle))
            }
        }
    }
}

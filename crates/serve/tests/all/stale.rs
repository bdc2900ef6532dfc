//! A disk whose image was put back in part to an older state tells so: a checksum proves a record whole, never current.
//!
//! Each case changes one image in one way: parts of it become as they were at an earlier clean end, exchange their places,
//! or become zeros. Then the disk is refused, warns, or reads as flushed. `make test-damage` runs many more cases.

use crate::support::{act, create, ftls, open, sentence, Act, Acts, NVRAM_BUFFERS, SECTOR};
use nandlab_lab::served::{Access, Served};
use nandlab_nand::random::Random;
use nandlab_serve::{Disk, Export, Options};
use std::ops::Range;
use std::path::Path;

/// Sectors read at a time, and looked at alone if that fails.
const TOGETHER: usize = 128;
/// Bytes that a host's disk writes at once.
const PAGE: usize = 4096;

/// An image at two clean ends, and its contents at the second one.
struct Aged {
    old: Vec<u8>,
    new: Vec<u8>,
    contents: Vec<u8>,
    /// By sector: whether it was trimmed since its last write.
    is_trimmed: Vec<bool>,
    parts: Parts,
}

/// Where the parts of an image begin.
#[derive(Clone, Copy, Debug)]
struct Parts {
    settled: usize,
    nvram: usize,
    blocks: usize,
    pages: usize,
    /// From a record to its second copy.
    second: usize,
    data: usize,
}

impl Parts {
    fn of(path: &Path, image: &[u8]) -> Self {
        let info = Served::info(path).unwrap();
        let count = |key: &str| info[key].as_u64().unwrap() as usize;
        let (blocks, page_bytes) = (count("blocks"), count("page_bytes"));
        let flash_pages = blocks * count("pages_per_block");
        // A header has 76 bytes beside its text. Behind it come two states.
        let header = u32::from_le_bytes(image[12..16].try_into().unwrap()) as usize + 76;
        let settled = header.next_multiple_of(PAGE) + (512 << 10);
        let nvram = settled + PAGE;
        let first_block = (nvram + count("nvram_bytes") * 2).next_multiple_of(PAGE);
        let pages = (first_block + blocks * 128).next_multiple_of(PAGE);
        let slot = (36 + 4 * (page_bytes / SECTOR - 1)).next_power_of_two().clamp(64, 512);
        let second = (pages + flash_pages * slot).next_multiple_of(PAGE) - settled;
        Self { settled, nvram, blocks: first_block, pages, second, data: settled + 2 * second }
    }

    /// The parts with two copies: marks, NVRAM, records of blocks, records of pages.
    fn doubled(&self) -> [Range<usize>; 4] {
        [
            self.settled..self.nvram,
            self.nvram..self.blocks,
            self.blocks..self.pages,
            self.pages..self.settled + self.second,
        ]
    }
}

/// Writes until blocks were collected, and ends; `acts` are the numbers of the acts.
fn write(path: &Path, acts: Range<u64>, is_trimmed: &mut Vec<bool>) -> Vec<u8> {
    let disk = open(path);
    let sectors = disk.size() / SECTOR as u64;
    is_trimmed.resize(sectors as usize, false);
    let mut random = Acts::new(acts.start, sectors);
    for number in acts {
        let next = random.next();
        act(&disk, next, number).unwrap();
        let (Act::Write { sector, sectors } | Act::Trim { sector, sectors }) = next else { continue };
        is_trimmed[sector as usize..(sector + sectors) as usize].fill(matches!(next, Act::Trim { .. }));
    }
    act(&disk, Act::Flush, 0).unwrap();
    disk.close().unwrap();
    drop(disk);
    std::fs::read(path).unwrap()
}

fn aged(path: &Path, ftl: &str, sets: &[&str]) -> Aged {
    let all: Vec<&str> = ["device.capacity=4MiB"].iter().chain(sets).copied().collect();
    create(path, ftl, &all);
    let mut is_trimmed = Vec::new();
    let old = write(path, 1..300, &mut is_trimmed);
    let new = write(path, 300..600, &mut is_trimmed);
    let disk = open(path);
    let mut contents = vec![0; disk.size() as usize];
    disk.read(0, &mut contents).unwrap();
    assert_eq!(disk.notices(), [""; 0]);
    drop(disk);
    Aged { parts: Parts::of(path, &new), old, new, contents, is_trimmed }
}

/// What is done to an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A sector becomes old.
    Sector,
    /// 4 KiB become old.
    Page,
    /// Two sectors exchange their places.
    Swapped,
    /// One copy of a part becomes old as a whole.
    OneCopy,
    /// Both copies of some sectors in a part become old.
    BothCopies,
    /// Both copies of a part become old as a whole.
    BothParts,
    /// Both copies of some sectors become zeros.
    Zeroed,
    /// A range becomes old.
    Range,
    /// One half becomes old.
    Half,
    /// Both copies of a mark become old, or of all marks.
    Marks,
}

const KINDS: [Kind; 10] = [
    Kind::Sector,
    Kind::Page,
    Kind::Swapped,
    Kind::OneCopy,
    Kind::BothCopies,
    Kind::BothParts,
    Kind::Zeroed,
    Kind::Range,
    Kind::Half,
    Kind::Marks,
];

/// A place, a multiple of `step`, in `within` where the image changed since it was old.
fn changed(aged: &Aged, within: Range<usize>, step: usize, random: &mut Random) -> Option<usize> {
    let places: Vec<usize> =
        within.step_by(step).filter(|&at| aged.old[at..at + step] != aged.new[at..at + step]).collect();
    (!places.is_empty()).then(|| places[random.below(places.len() as u64) as usize])
}

/// A changed image, and the ranges that were changed; none if the parts of this kind are as they were.
fn harm(aged: &Aged, kind: Kind, random: &mut Random) -> Option<(Vec<u8>, Vec<Range<usize>>)> {
    let (parts, end) = (aged.parts, aged.new.len());
    let mut image = aged.new.clone();
    let part = parts.doubled()[random.below(4) as usize].clone();
    let both = |range: Range<usize>| vec![range.clone(), range.start + parts.second..range.end + parts.second];
    let around = if random.chance(0.5) { part.clone() } else { 0..end };
    let sectors = |at: usize, part: &Range<usize>, random: &mut Random| {
        let length = [1, 1, 2, 8, 64][random.below(5) as usize] * SECTOR;
        at..(at + length).min(part.end)
    };
    let ranges = match kind {
        Kind::Sector => changed(aged, around, SECTOR, random).map(|at| vec![at..at + SECTOR])?,
        Kind::Page => changed(aged, around, PAGE, random).map(|at| vec![at..at + PAGE])?,
        Kind::Swapped => {
            let (one, other) = (changed(aged, part, SECTOR, random)?, changed(aged, 0..end, SECTOR, random)?);
            (0..SECTOR).for_each(|byte| image.swap(one + byte, other + byte));
            return Some((image, vec![one..one + SECTOR, other..other + SECTOR]));
        }
        Kind::OneCopy => vec![both(part)[random.below(2) as usize].clone()],
        Kind::BothCopies => {
            let at = changed(aged, part.clone(), SECTOR, random)?;
            both(sectors(at, &part, random))
        }
        Kind::BothParts => both(part),
        Kind::Zeroed => {
            let at = changed(aged, part.clone(), SECTOR, random)?;
            let ranges = both(sectors(at, &part, random));
            ranges.iter().for_each(|range| image[range.clone()].fill(0));
            return Some((image, ranges));
        }
        Kind::Range => {
            let start = random.below((end / SECTOR) as u64) as usize * SECTOR;
            let length = (random.below((end / SECTOR) as u64) as usize + 1) * SECTOR;
            vec![start..(start + length).min(end)]
        }
        Kind::Half => {
            let middle = (end / 2).next_multiple_of(PAGE);
            vec![[0..middle, middle..end][random.below(2) as usize].clone()]
        }
        Kind::Marks => {
            let marks = parts.settled;
            let of = [marks..marks + SECTOR, marks + SECTOR..marks + 2 * SECTOR, marks..marks + PAGE];
            both(of[random.below(3) as usize].clone())
        }
    };
    ranges.iter().for_each(|range| image[range.clone()].copy_from_slice(&aged.old[range.clone()]));
    Some((image, ranges))
}

/// What became of the cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    cases: u64,
    refused: u64,
    warned: u64,
    silent: u64,
}

/// Sectors that read without an error, and not as flushed. Without the page of its note a trim is undone: such a sector
/// is none of them if `loses_notes`.
fn wrong(disk: &Disk, aged: &Aged, loses_notes: bool) -> usize {
    let mut wrong = 0;
    let mut bytes = vec![0; TOGETHER * SECTOR];
    for (first, part) in (0..).step_by(TOGETHER).zip(aged.contents.chunks(TOGETHER * SECTOR)) {
        let whole = disk.read((first * SECTOR) as u64, &mut bytes[..part.len()]).is_ok();
        for (sector, expected) in (first..).zip(part.chunks_exact(SECTOR)) {
            let place = (sector - first) * SECTOR;
            let is_read = whole || disk.read((sector * SECTOR) as u64, &mut bytes[place..place + SECTOR]).is_ok();
            let is_free = loses_notes && aged.is_trimmed[sector];
            wrong += usize::from(is_read && !is_free && bytes[place..place + SECTOR] != *expected);
        }
    }
    wrong
}

/// One case: `None` if it changes nothing.
fn case(path: &Path, aged: &Aged, kind: Kind, random: &mut Random) -> Option<(Count, String)> {
    let (image, ranges) = harm(aged, kind, random).filter(|(image, _)| *image != aged.new)?;
    std::fs::write(path, &image).unwrap();
    let mut count = Count { cases: 1, ..Count::default() };
    let Ok(disk) = Disk::open(path, Options::default()) else {
        return Some((Count { refused: 1, ..count }, String::new()));
    };
    // A notice that the right copy counts is a promise.
    let warns = disk.notices().iter().any(|notice| !notice.contains("the other one counts"));
    let loses_notes = ranges.iter().any(|range| range.end > aged.parts.data);
    let wrong = wrong(&disk, aged, loses_notes);
    count.warned = u64::from(warns);
    count.silent = u64::from(!warns && wrong > 0);
    Some((count, format!("{kind:?} {ranges:?} of {:?}: {wrong} sectors {:?}", aged.parts, disk.notices())))
}

/// Every FTL, and every buffer in NVRAM on a page map.
fn stacks() -> Vec<(&'static str, &'static str, &'static [&'static str])> {
    let ftls = ftls().into_iter().map(|ftl| (ftl, ftl, &[][..]));
    ftls.chain(NVRAM_BUFFERS.iter().map(|&sets| (sets[0], "page", sets))).collect()
}

/// Runs so many cases of each kind on each stack; NANDLAB_DAMAGE_SEED sets another seed.
fn every_kind(cases: u64) {
    let seed: u64 = std::env::var("NANDLAB_DAMAGE_SEED").map_or(1, |seed| seed.parse().expect("a seed is a number"));
    let mut counts = [Count::default(); KINDS.len()];
    let mut silent = Vec::new();
    for (name, ftl, sets) in stacks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.img");
        let aged = aged(&path, ftl, sets);
        for (number, kind) in KINDS.into_iter().enumerate() {
            for one in 0..cases {
                let mut random = Random::new(seed << 32 | (number as u64) << 16 | one);
                let Some((count, what)) = case(&path, &aged, kind, &mut random) else { continue };
                let sum = &mut counts[number];
                sum.cases += count.cases;
                sum.refused += count.refused;
                sum.warned += count.warned;
                sum.silent += count.silent;
                silent.extend((count.silent > 0).then(|| format!("{name}, seed {seed}: {what}")));
            }
        }
    }
    KINDS.iter().zip(counts).for_each(|(kind, count)| println!("{kind:?}: {count:?}"));
    let told = silent.iter().take(12).map(|one| &one[..one.len().min(400)]).collect::<Vec<_>>();
    assert!(silent.is_empty(), "{} cases are wrong in silence: {told:#?}", silent.len());
    assert!(counts.iter().all(|count| count.cases > 0), "each kind of damage was made");
}

#[test]
fn a_part_put_back_is_told() {
    every_kind(if std::env::var_os("NANDLAB_LONG").is_some() { 8 } else { 1 });
}

/// Both copies of the pages' records are old: the refusal writes nothing, and a rescue reads.
#[test]
fn an_old_image_is_refused_and_can_be_rescued() {
    for ftl in ["page", "fast", "sector_map"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.img");
        let Aged { old, mut new, contents, parts, .. } = aged(&path, ftl, &[]);
        for range in [parts.pages..parts.settled + parts.second, parts.pages + parts.second..parts.data] {
            new[range.clone()].copy_from_slice(&old[range]);
        }
        std::fs::write(&path, &new).unwrap();
        for access in [Access::Write, Access::WriteDurably, Access::Read] {
            let refused = sentence(Disk::open(&path, Options { access, ..Options::default() }));
            assert!(
                refused.contains("is not current: its records tell of ") && refused.contains("--rescue"),
                "{refused}"
            );
        }
        let disk = Disk::open(&path, Options { access: Access::Rescue, ..Options::default() }).unwrap();
        assert!(disk.is_read_only() && disk.notices()[0].contains("is not current"), "{:?}", disk.notices());
        let mut sector = [0; SECTOR];
        let right = contents.chunks_exact(SECTOR).enumerate().filter(|(number, expected)| {
            disk.read((number * SECTOR) as u64, &mut sector).is_ok() && sector == **expected
        });
        assert!(2 * right.count() > contents.len() / SECTOR, "{ftl}: most of it is there");
        drop(disk);
        assert!(std::fs::read(&path).unwrap() == new, "{ftl}: it was not written");
    }
}

/// Nothing in the file tells that all of it is old.
#[test]
fn a_whole_old_image_is_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.img");
    let Aged { old, .. } = aged(&path, "page", &[]);
    std::fs::write(&path, &old).unwrap();
    assert_eq!(open(&path).notices(), [""; 0]);
}

//! A disk whose image was put back in part to an older state tells so: a checksum proves a record whole, never current.
//!
//! Each case changes one image in one way: parts of it become as they were at an earlier clean end, exchange their places,
//! or become zeros. Then the disk is refused, warns, or reads as flushed. `make test-damage` runs many more cases.

mod files;

use crate::support::{act, contents, create, ftls, open, sentence, Act, Acts, NVRAM_BUFFERS, SECTOR};
use nandlab_lab::served::{Access, Served};
use nandlab_nand::random::Random;
use nandlab_serve::{Disk, Export, Options};
use std::ops::Range;
use std::path::Path;

/// Sectors read at a time, and looked at alone if that fails.
const TOGETHER: usize = 128;
/// Bytes that a host's disk writes at once.
const PAGE: usize = 4096;

/// An image at two clean ends.
struct Images {
    old: Vec<u8>,
    new: Vec<u8>,
    parts: Parts,
}

impl Images {
    fn of(path: &Path, old: Vec<u8>, new: Vec<u8>) -> Self {
        Self { parts: Parts::of(path, &new), old, new }
    }
}

/// A disk's images, and its contents at the second end.
struct Aged {
    images: Images,
    contents: Vec<u8>,
    /// By sector: whether it was trimmed since its last write.
    is_trimmed: Vec<bool>,
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
    Aged { images: Images::of(path, old, new), contents, is_trimmed }
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
fn changed(images: &Images, within: Range<usize>, step: usize, random: &mut Random) -> Option<usize> {
    let places: Vec<usize> =
        within.step_by(step).filter(|&at| images.old[at..at + step] != images.new[at..at + step]).collect();
    (!places.is_empty()).then(|| places[random.below(places.len() as u64) as usize])
}

/// A changed image, and the ranges that were changed; none if the parts of this kind are as they were.
fn harm(images: &Images, kind: Kind, random: &mut Random) -> Option<(Vec<u8>, Vec<Range<usize>>)> {
    let (parts, end) = (images.parts, images.new.len());
    let mut image = images.new.clone();
    let part = parts.doubled()[random.below(4) as usize].clone();
    let alone = |range: Range<usize>| -> Vec<Range<usize>> { std::iter::once(range).collect() };
    let both = |range: Range<usize>| vec![range.clone(), range.start + parts.second..range.end + parts.second];
    let around = if random.chance(0.5) { part.clone() } else { 0..end };
    let sectors = |at: usize, part: &Range<usize>, random: &mut Random| {
        let length = [1, 1, 2, 8, 64][random.below(5) as usize] * SECTOR;
        at..(at + length).min(part.end)
    };
    let ranges = match kind {
        Kind::Sector => changed(images, around, SECTOR, random).map(|at| alone(at..at + SECTOR))?,
        Kind::Page => changed(images, around, PAGE, random).map(|at| alone(at..at + PAGE))?,
        Kind::Swapped => {
            let (one, other) = (changed(images, part, SECTOR, random)?, changed(images, 0..end, SECTOR, random)?);
            (0..SECTOR).for_each(|byte| image.swap(one + byte, other + byte));
            return Some((image, vec![one..one + SECTOR, other..other + SECTOR]));
        }
        Kind::OneCopy => vec![both(part)[random.below(2) as usize].clone()],
        Kind::BothCopies => {
            let at = changed(images, part.clone(), SECTOR, random)?;
            both(sectors(at, &part, random))
        }
        Kind::BothParts => both(part),
        Kind::Zeroed => {
            let at = changed(images, part.clone(), SECTOR, random)?;
            let ranges = both(sectors(at, &part, random));
            ranges.iter().for_each(|range| image[range.clone()].fill(0));
            return Some((image, ranges));
        }
        Kind::Range => {
            let start = random.below((end / SECTOR) as u64) as usize * SECTOR;
            let length = (random.below((end / SECTOR) as u64) as usize + 1) * SECTOR;
            alone(start..(start + length).min(end))
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
    ranges.iter().for_each(|range| image[range.clone()].copy_from_slice(&images.old[range.clone()]));
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

impl Count {
    const REFUSED: Self = Self { cases: 1, refused: 1, warned: 0, silent: 0 };

    /// A case that was not refused.
    fn of(warns: bool, wrong: usize) -> Self {
        Self { cases: 1, refused: 0, warned: warns.into(), silent: (!warns && wrong > 0).into() }
    }
}

/// Tries so many cases of each kind on an image; `open` gives what became of a case, and tells of it.
fn every_kind_on(
    name: &str,
    images: &Images,
    cases: u64,
    mut open: impl FnMut(&[u8], &[Range<usize>]) -> (Count, String),
) -> [Count; KINDS.len()] {
    let seed: u64 = std::env::var("NANDLAB_DAMAGE_SEED").map_or(1, |seed| seed.parse().expect("a seed is a number"));
    let mut counts = [Count::default(); KINDS.len()];
    for (number, kind) in KINDS.into_iter().enumerate() {
        for one in 0..cases {
            let mut random = Random::new(seed << 32 | (number as u64) << 16 | one);
            let harmed = harm(images, kind, &mut random).filter(|(image, _)| *image != images.new);
            let Some((image, ranges)) = harmed else { continue };
            let (count, what) = open(&image, &ranges);
            let place = || format!("{name}, seed {seed}, case {one}: {kind:?} {ranges:?} of {:?}", images.parts);
            assert!(count.silent == 0, "wrong in silence: {}: {what:.400}", place());
            let sum = &mut counts[number];
            sum.cases += count.cases;
            sum.refused += count.refused;
            sum.warned += count.warned;
        }
    }
    counts
}

/// Whether something but a promise was said: a notice that the other copy counts is one.
fn warns(notices: &[String]) -> bool {
    notices.iter().any(|notice| !notice.contains("the other one counts"))
}

/// Cases of each kind on a stack.
fn cases() -> u64 {
    if std::env::var_os("NANDLAB_LONG").is_some() {
        8
    } else {
        1
    }
}

/// What became of the cases, for all stacks together.
fn tell(stacks: &[[Count; KINDS.len()]]) {
    for (number, kind) in KINDS.into_iter().enumerate() {
        let sum = |of: fn(&Count) -> u64| stacks.iter().map(|counts| of(&counts[number])).sum::<u64>();
        let (cases, refused, warned) = (sum(|one| one.cases), sum(|one| one.refused), sum(|one| one.warned));
        println!("{kind:?}: {cases} cases, {refused} refused, {warned} with a warning, none wrong in silence");
        assert!(cases > 0, "{kind:?}: this kind of damage was made");
    }
}

/// Every FTL, and every buffer in NVRAM on a page map.
fn stacks() -> Vec<(&'static str, &'static str, &'static [&'static str])> {
    let ftls = ftls().into_iter().map(|ftl| (ftl, ftl, &[][..]));
    ftls.chain(NVRAM_BUFFERS.iter().map(|&sets| (sets[0], "page", sets))).collect()
}

#[test]
fn a_part_put_back_is_told() {
    let counts = stacks().into_iter().map(|(name, ftl, sets)| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.img");
        let aged = aged(&path, ftl, sets);
        every_kind_on(name, &aged.images, cases(), |image, ranges| {
            std::fs::write(&path, image).unwrap();
            let Ok(disk) = Disk::open(&path, Options::default()) else { return (Count::REFUSED, String::new()) };
            let loses_notes = ranges.iter().any(|range| range.end > aged.images.parts.data);
            let wrong = wrong(&disk, &aged, loses_notes);
            (Count::of(warns(&disk.notices()), wrong), format!("{wrong} sectors {:?}", disk.notices()))
        })
    });
    tell(&counts.collect::<Vec<_>>());
}

/// Both copies of the pages' records are old: the refusal writes nothing, and a rescue reads.
#[test]
fn an_old_image_is_refused_and_can_be_rescued() {
    for ftl in ["page", "fast", "sector_map"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.img");
        let Aged { images: Images { old, mut new, parts }, contents, .. } = aged(&path, ftl, &[]);
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

/// Pages stand in the second half, behind their records. The end of the file alone tells that they are old as a group.
#[test]
fn an_old_second_half_is_refused_and_a_lost_end_is_told() {
    for ftl in ["page", "fast"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.img");
        let Images { old, new, .. } = aged(&path, ftl, &[]).images;
        let middle = (new.len() / 2).next_multiple_of(PAGE);
        let image = [&new[..middle], &old[middle..]].concat();
        std::fs::write(&path, &image).unwrap();
        for access in [Access::Write, Access::WriteDurably, Access::Read] {
            let refused = sentence(Disk::open(&path, Options { access, ..Options::default() }));
            assert!(
                refused.contains("its end is older than its beginning") && refused.contains("--rescue"),
                "{refused}"
            );
        }
        let disk = Disk::open(&path, Options { access: Access::Rescue, ..Options::default() }).unwrap();
        assert!(disk.is_read_only() && disk.notices()[0].contains("is not current"), "{:?}", disk.notices());
        drop(disk);
        assert!(std::fs::read(&path).unwrap() == image, "{ftl}: it was not written");

        let mark = (middle..new.len()).rev().step_by(SECTOR).find(|&at| {
            let sector = at + 1 - SECTOR..at + 1;
            old[sector.clone()] != new[sector]
        });
        let mut image = new;
        let at = mark.expect("the second disk was closed later");
        image[at + 1 - SECTOR..=at].fill(0);
        std::fs::write(&path, &image).unwrap();
        let disk = open(&path);
        assert!(
            !disk.is_read_only() && disk.notices()[0].contains("the end of the file is lost"),
            "{:?}",
            disk.notices()
        );
    }
}

/// Nothing in the file tells that all of it is old.
#[test]
fn a_whole_old_image_is_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.img");
    let old = aged(&path, "page", &[]).images.old;
    std::fs::write(&path, &old).unwrap();
    assert_eq!(open(&path).notices(), [""; 0]);
}

/// A file elsewhere tells it.
#[test]
fn a_whole_old_image_is_refused_where_a_file_has_its_age() {
    for (ftl, sets) in [("page", &[][..]), ("page", NVRAM_BUFFERS[0]), ("fast", &[])] {
        let folder = tempfile::tempdir().unwrap();
        let (path, epoch) = (folder.path().join("my.img"), folder.path().join("epoch"));
        create(&path, ftl, &[&["device.capacity=4MiB"], sets].concat());
        let serve = |access| Disk::open_with_epoch(&path, Options { access, ..Options::default() }, &epoch);
        let written = |number| {
            let disk = serve(Access::Write).unwrap();
            assert_eq!(disk.notices(), [""; 0]);
            act(&disk, Act::Write { sector: 0, sectors: 64 }, number).unwrap();
            act(&disk, Act::Flush, 0).unwrap();
            disk
        };
        written(1).close().unwrap();
        let old = std::fs::read(&path).unwrap();
        written(2).close().unwrap();
        // The end of a process.
        drop(written(3));
        let (new, age) = (std::fs::read(&path).unwrap(), std::fs::read(&epoch).unwrap());

        std::fs::write(&path, &old).unwrap();
        for access in [Access::Write, Access::Read] {
            let refused = sentence(serve(access));
            assert!(refused.contains("is older than") && refused.contains("--rescue"), "{refused}");
        }
        let disk = serve(Access::Rescue).unwrap();
        let mut sector = [0; SECTOR];
        disk.read(0, &mut sector).unwrap();
        assert!(disk.notices().iter().any(|notice| notice.contains("is older than")), "{:?}", disk.notices());
        assert_eq!(sector, contents(0, 1));
        disk.close().unwrap();
        drop(disk);
        assert!(std::fs::read(&path).unwrap() == old && std::fs::read(&epoch).unwrap() == age, "nothing was written");

        std::fs::write(&path, &new).unwrap();
        let disk = serve(Access::Write).unwrap();
        disk.read(0, &mut sector).unwrap();
        assert_eq!(sector, contents(0, 3));
        disk.close().unwrap();
        drop(disk);
        for text in ["", "7", "7 programs, x stores\n", "7 programs, 7 stores\n\n"] {
            std::fs::write(&epoch, text).unwrap();
            assert!(sentence(serve(Access::Write)).contains("this is no file of --epoch"), "{text}");
        }
    }
}

/// Of each NVRAM word the newer copy counts, wherever a host's disk lost a write: 256 sectors were written and flushed
/// twice, and then one sector of the words is as after the first flush.
#[test]
fn an_old_sector_of_the_nvram_changes_nothing() {
    for sets in NVRAM_BUFFERS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.img");
        create(&path, "page", sets);
        let [old, new] = [1, 2].map(|number| {
            let disk = open(&path);
            act(&disk, Act::Write { sector: 0, sectors: 256 }, number).unwrap();
            act(&disk, Act::Flush, 0).unwrap();
            disk.close().unwrap();
            drop(disk);
            std::fs::read(&path).unwrap()
        });
        let parts = Parts::of(&path, &new);
        for copy in [parts.nvram..parts.blocks, parts.nvram + parts.second..parts.blocks + parts.second] {
            let changed = copy.step_by(SECTOR).filter(|&at| old[at..at + SECTOR] != new[at..at + SECTOR]);
            let changed: Vec<usize> = changed.collect();
            // The first words describe the others.
            let tried = changed.iter().take(4).chain(changed.iter().step_by(changed.len().div_ceil(8)));
            for &at in tried {
                let mut image = new.clone();
                image[at..at + SECTOR].copy_from_slice(&old[at..at + SECTOR]);
                std::fs::write(&path, &image).unwrap();
                let disk = open(&path);
                let mut found = vec![0; 256 * SECTOR];
                disk.read(0, &mut found).unwrap();
                let right = (0..).zip(found.chunks_exact(SECTOR)).filter(|&(sector, it)| *it == contents(sector, 2));
                assert_eq!(right.count(), 256, "{}: the sector at {at} is old, {:?}", sets[0], disk.notices());
            }
            assert!(changed.len() >= 2, "{}: {} sectors of words changed", sets[0], changed.len());
        }
    }
}

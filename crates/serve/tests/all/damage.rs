//! A disk whose image was changed on the host tells so, and never answers with something else in silence.
//!
//! Each case changes one place of an image that ended cleanly: a byte, a zeroed sector, or two exchanged sectors. Then each
//! flushed sector reads as written or fails. `make test-damage` runs many more cases.

use crate::support::{act, contents, create, ftls, open, Act, Acts, NVRAM_BUFFERS, SECTOR};
use nandlab_lab::config::{Experiment, Format};
use nandlab_lab::served::{Access, Rescued, Served};
use nandlab_nand::random::Random;
use nandlab_serve::{copy, rescue, Disk, Export, Options};
use std::path::Path;

/// Sectors read at a time, and looked at alone if that fails.
const TOGETHER: usize = 128;

/// By sector: the number of its last write, and whether it was trimmed since.
type Last = Vec<(u64, bool)>;

/// An image, and what it holds.
struct Written {
    image: Vec<u8>,
    last: Last,
}

/// Writes until blocks were collected, flushes and ends.
fn written(path: &Path, ftl: &str, sets: &[&str]) -> Written {
    let all: Vec<&str> = ["device.capacity=4MiB"].iter().chain(sets).copied().collect();
    create(path, ftl, &all);
    let disk = open(path);
    let sectors = disk.size() / SECTOR as u64;
    let mut last = vec![(0, false); sectors as usize];
    let mut acts = Acts::new(5, sectors);
    for number in 1..=600 {
        let next = acts.next();
        act(&disk, next, number).unwrap();
        match next {
            Act::Write { sector, sectors } => last[sector as usize..(sector + sectors) as usize].fill((number, false)),
            Act::Trim { sector, sectors } => {
                last[sector as usize..(sector + sectors) as usize]
                    .iter_mut()
                    .for_each(|(_, is_trimmed)| *is_trimmed = true);
            }
            Act::Flush => {}
        }
    }
    act(&disk, Act::Flush, 0).unwrap();
    disk.close().unwrap();
    drop(disk);
    Written { image: std::fs::read(path).unwrap(), last }
}

/// Changes one place where the image holds something.
fn harm(image: &mut [u8], random: &mut Random) -> String {
    let sectors = (image.len() / SECTOR) as u64;
    let full = |image: &[u8], at: usize| image[at..at + SECTOR].iter().any(|&byte| byte != 0);
    let mut pick = |image: &[u8]| loop {
        // A third of the harms hit the parts in front of the pages.
        let below = if random.chance(0.33) { sectors.min(2400) } else { sectors };
        let at = random.below(below) as usize * SECTOR;
        if full(image, at) {
            return at;
        }
    };
    let at = pick(image);
    let other = pick(image);
    match random.below(3) {
        0 => {
            let byte = at + random.below(SECTOR as u64) as usize;
            image[byte] ^= 1 << random.below(8);
            format!("a bit of byte {byte} flipped")
        }
        1 => {
            image[at..at + SECTOR].fill(0);
            format!("the sector at {at} zeroed")
        }
        _ => {
            for byte in 0..SECTOR {
                image.swap(at + byte, other + byte);
            }
            format!("the sectors at {at} and {other} exchanged")
        }
    }
}

/// What reading the whole disk found.
#[derive(Debug, Default)]
struct Found {
    failed: u64,
    silent: Vec<String>,
}

fn look(disk: &Disk, last: &[(u64, bool)]) -> Found {
    let mut found = Found::default();
    let mut bytes = vec![0; TOGETHER * SECTOR];
    for (first, part) in (0..).step_by(TOGETHER).zip(last.chunks(TOGETHER)) {
        let whole = disk.read(first * SECTOR as u64, &mut bytes[..part.len() * SECTOR]).is_ok();
        for (place, &(number, is_trimmed)) in part.iter().enumerate() {
            let sector = first + place as u64;
            let mut alone = [0; SECTOR];
            if whole {
                alone.copy_from_slice(&bytes[place * SECTOR..][..SECTOR]);
            } else if disk.read(sector * SECTOR as u64, &mut alone).is_err() {
                found.failed += 1;
                continue;
            }
            // Without the note of a trim it may hold what it held before.
            let is_as_trimmed = || is_trimmed && (0..=number).any(|older| alone == contents(sector, older));
            if alone != contents(sector, number) && !is_as_trimmed() {
                let older = (0..number).rev().find(|&older| alone == contents(sector, older));
                found.silent.push(format!("sector {sector}: {older:?} and not {number}"));
            }
        }
    }
    found
}

/// Changes images of one stack so many times; gives refused opens and failed sectors.
fn harmed(name: &str, (ftl, sets): (&str, &[&str]), cases: u64, seed: u64) -> (u64, u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.img");
    let Written { image, last } = written(&path, ftl, sets);
    let (mut refused, mut failed) = (0, 0);
    for case in 0..cases {
        let mut random = Random::new(seed << 32 | case);
        let mut changed = image.clone();
        let what = harm(&mut changed, &mut random);
        std::fs::write(&path, &changed).unwrap();
        let disk = match Disk::open(&path, Options::default()) {
            Ok(disk) => disk,
            Err(error) => {
                println!("{name}, seed {seed}, case {case}: {what}: refused: {error}");
                refused += 1;
                continue;
            }
        };
        let found = look(&disk, &last);
        assert!(found.silent.is_empty(), "{name}, seed {seed}, case {case}: {what}: {:#?}", found.silent);
        failed += found.failed;
    }
    (refused, failed)
}

/// An image that is only read answers as the other way, takes no write, and stays as it is.
#[test]
fn an_image_opened_to_be_read_stays_as_it_is() {
    for ftl in ["page", "fast", "sector_map"] {
        let folder = tempfile::tempdir().unwrap();
        let (path, out) = (folder.path().join("my.img"), folder.path().join("out.raw"));
        let Written { mut image, last } = written(&path, ftl, &[]);
        let options = Options { access: Access::Read, ..Options::default() };
        let disk = Disk::open(&path, options).unwrap();
        assert!(look(&disk, &last).silent.is_empty() && disk.is_read_only());
        for refused in
            [disk.write(0, &[1; SECTOR], false), disk.trim(0, 4096, false), disk.write_zeroes(0, 4096, true, false)]
        {
            assert_eq!(refused.map(drop).unwrap_err().kind(), std::io::ErrorKind::ReadOnlyFilesystem);
        }
        assert_eq!(copy(&disk, &out).unwrap(), []);
        assert_eq!(copy(&disk, &out).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
        disk.close().unwrap();
        drop(disk);
        assert!(std::fs::read(&path).unwrap() == image, "{ftl}: it was not written");
        let raw = std::fs::read(&out).unwrap();
        let is_right = |(sector, &(number, is_trimmed)): (usize, &(u64, bool))| {
            is_trimmed || raw[sector * SECTOR..][..SECTOR] == contents(sector as u64, number)
        };
        assert!(raw.len() == last.len() * SECTOR && last.iter().enumerate().all(is_right), "{ftl}");

        // Half of the pages are gone, and a header.
        image[20] ^= 1;
        image.truncate(image.len() * 3 / 4);
        std::fs::write(&path, &image).unwrap();
        assert!(Disk::open(&path, options).is_err(), "{ftl}: the other header was at the end");
        image[20] ^= 1;
        std::fs::write(&path, &image).unwrap();
        assert!(Disk::open(&path, Options::default()).is_err(), "{ftl}: it is too short");
        let disk = Disk::open(&path, options).unwrap();
        assert!(disk.notices().iter().any(|notice| notice.contains("bytes, the device in its header needs")));
        let found = look(&disk, &last);
        assert!(found.silent.is_empty() && found.failed > 0, "{ftl}: {found:?}");
        std::fs::remove_file(&out).unwrap();
        let bad: u64 = copy(&disk, &out).unwrap().iter().map(|range| range.end - range.start).sum();
        assert_eq!(bad, found.failed * SECTOR as u64, "{ftl}");
    }
}

/// Every stack with so many changes; NANDLAB_DAMAGE_SEED sets another seed.
fn every_stack(cases: u64) {
    let seed = std::env::var("NANDLAB_DAMAGE_SEED").map_or(1, |seed| seed.parse().expect("a seed is a number"));
    let mut refused = 0;
    let ftls = ftls();
    let stacks: Vec<(String, (&str, &[&str]))> = ftls
        .iter()
        .map(|&ftl| (ftl.to_owned(), (ftl, &[][..])))
        .chain(NVRAM_BUFFERS.iter().map(|&sets| (sets[0].to_owned(), ("page", sets))))
        .collect();
    for (name, stack) in &stacks {
        let (refusals, failed) = harmed(name, *stack, cases, seed);
        println!("{name}: {cases} changes, {refusals} refused, {failed} sectors that fail");
        refused += refusals;
    }
    let all = cases * stacks.len() as u64;
    assert!(20 * refused <= all, "{refused} of {all} changes are refused");
}

#[test]
fn a_changed_image_is_told() {
    every_stack(if std::env::var_os("NANDLAB_LONG").is_some() { 60 } else { 12 });
}

/// A damaged header is told before something repairs it.
#[test]
fn info_tells_a_damaged_header() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.img");
    create(&path, "page", &["device.capacity=4MiB"]);
    let notices = || Served::info(&path).unwrap()["notices"].clone();
    let whole = std::fs::read(&path).unwrap();
    // The end tells where the second header begins.
    let second = u64::from_le_bytes(whole[whole.len() - 16..whole.len() - 8].try_into().unwrap()) as usize;
    for (which, place) in [("first", 20), ("second", second + 20)] {
        let mut image = whole.clone();
        image[place] ^= 1;
        std::fs::write(&path, &image).unwrap();
        let told =
            format!("the {which} of two headers is damaged: the next `nandlab disk serve` or `check` repairs it");
        assert_eq!(notices(), serde_json::json!([told]));
        assert_eq!(notices(), serde_json::json!([told]), "info repairs nothing");
        drop(Served::open(&path, Access::Read).unwrap());
        assert_eq!(notices(), serde_json::json!([told]), "a read-only mount repairs nothing");
        drop(Served::open(&path, Access::Write).unwrap());
        assert_eq!(notices(), serde_json::json!([]));
    }
}

/// Damages both copies of the records of every other used block. A record of a block takes 128 bytes.
fn lose_blocks(image: &mut [u8]) {
    // A header has 76 bytes beside its text. Behind it come two states and the number of settled programs.
    let header = u32::from_le_bytes(image[12..16].try_into().unwrap()) as usize + 76;
    let first = header.next_multiple_of(4096) + (512 << 10) + 4096;
    let records = (first..).step_by(128).take(256).filter(|&at| image[at..at + 128] != [0; 128]).step_by(2);
    for at in records.collect::<Vec<_>>() {
        let record = image[at..at + 128].to_vec();
        let copies: Vec<usize> =
            (first..image.len()).step_by(128).filter(|&copy| image[copy..copy + 128] == record).collect();
        assert_eq!(copies.len(), 2);
        copies.into_iter().for_each(|copy| image[copy] ^= 1);
    }
}

/// Sectors in `raw` as they were written last; the others are as they were before, if `may_be_older`.
fn right(raw: &[u8], last: &[(u64, bool)], may_be_older: bool) -> usize {
    assert_eq!(raw.len(), last.len() * SECTOR);
    let is_right = |(sector, &(number, is_trimmed)): &(usize, &(u64, bool))| {
        let found = &raw[sector * SECTOR..][..SECTOR];
        let is_older = || (0..number).any(|older| found == contents(*sector as u64, older));
        let is_last = found == contents(*sector as u64, number);
        assert!(is_last || (is_trimmed || may_be_older) && is_older(), "sector {sector} of write {number}");
        is_last
    };
    last.iter().enumerate().filter(is_right).count()
}

/// An FTL without enough good blocks is refused, and what the other blocks hold is there.
#[test]
fn a_disk_with_lost_blocks_is_rescued() {
    for ftl in ["page", "fast", "sector_map"] {
        let folder = tempfile::tempdir().unwrap();
        let (path, out) = (folder.path().join("my.img"), folder.path().join("out.raw"));
        let Written { mut image, last } = written(&path, ftl, &[]);
        lose_blocks(&mut image);
        std::fs::write(&path, &image).unwrap();
        let options = Options { access: Access::Read, ..Options::default() };
        assert!(Disk::open(&path, options).is_err(), "{ftl} has too few blocks");
        let rescued = Rescued::open(&path).unwrap();
        assert!(rescued.notices().iter().any(|notice| notice.contains(" bad blocks and ")), "{:?}", rescued.notices());
        rescue(rescued, &out).unwrap();
        let right = right(&std::fs::read(&out).unwrap(), &last, true);
        assert!(4 * right > last.len(), "{ftl}: {right} of {}", last.len());
    }
}

/// Without a mount, every sector with an undamaged newest copy is as it was flushed.
#[test]
fn a_disk_whose_ftl_is_refused_is_rescued() {
    for ftl in ftls() {
        let folder = tempfile::tempdir().unwrap();
        let (path, out) = (folder.path().join("my.img"), folder.path().join("out.raw"));
        let Written { mut image, last } = written(&path, ftl, &[]);
        let rescued = Rescued::open(&path).unwrap();
        assert!(rescued.notices().iter().any(|notice| notice.contains("without the FTL's rules")), "{ftl}");
        assert_eq!(rescue(rescued, &out).unwrap(), [], "{ftl}");
        let raw = std::fs::read(&out).unwrap();
        right(&raw, &last, false);
        assert!(std::fs::read(&path).unwrap() == image, "{ftl}: it was not written");

        // The bytes of a page in use.
        let damaged = last.iter().position(|&(number, is_trimmed)| number > 0 && !is_trimmed).unwrap();
        let held = contents(damaged as u64, last[damaged].0);
        let places = (0..image.len() / SECTOR).map(|sector| sector * SECTOR);
        places
            .filter(|&at| image[at..at + SECTOR] == held)
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|at| image[at] ^= 1);
        std::fs::write(&path, &image).unwrap();
        std::fs::remove_file(&out).unwrap();
        let bad = rescue(Rescued::open(&path).unwrap(), &out).unwrap();
        assert!(bad.iter().any(|range| range.contains(&((damaged * SECTOR) as u64))), "{ftl}: {bad:?}");
        assert!(bad.iter().all(|range| range.end - range.start <= 16 * SECTOR as u64), "{ftl}: {bad:?}");
    }
}

/// A YAFFS that scans the flash finds a name in its header alone.
#[test]
fn a_file_without_its_name_is_told_and_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.img");
    let sets = ["fs=yaffs", "fs.yaffs.checkpoint=false", "device.capacity=4MiB"].map(String::from);
    let experiment = Experiment::parse_disk("", Format::Toml, "", Path::new(""), &sets).unwrap();
    Served::create(&path, &experiment).unwrap();
    let name = "a name for one file";
    let mut served = Served::open(&path, Access::Write).unwrap();
    served.on_files(|fs| {
        let file = fs.create(name).unwrap();
        fs.write(file, 0, b"held").unwrap();
        fs.close(file).unwrap();
        None
    });
    served.image().sync().unwrap();
    drop(served);

    let mut image = std::fs::read(&path).unwrap();
    let headers: Vec<usize> =
        (0..image.len() - name.len()).filter(|&at| image[at..].starts_with(name.as_bytes())).collect();
    assert!(!headers.is_empty());
    headers.into_iter().for_each(|at| image[at] ^= 1);
    std::fs::write(&path, &image).unwrap();
    let mut served = Served::open(&path, Access::Write).unwrap();
    assert_eq!(served.notices(), ["1 file or directory has no readable header and is in lost+found: obj257"]);
    served.on_files(|fs| {
        let file = fs.open("lost+found/obj257").unwrap();
        let mut held = [0; 9];
        assert_eq!((fs.read(file, 0, &mut held).unwrap(), &held[..4]), (4, &b"held"[..]));
        None
    });
}

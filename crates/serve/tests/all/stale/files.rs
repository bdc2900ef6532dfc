//! The same for YAFFS and MiNV on bare flash: a file reads as it was stored, its read fails, or the mount tells.

use super::{cases, every_kind_on, tell, warns, Count, Images};
use crate::support::SECTOR;
use nandlab_fs::{FileSystem, FsError};
use nandlab_lab::config::{Experiment, Format};
use nandlab_lab::served::{Access, Served};
use nandlab_nand::random::Random;
use std::collections::BTreeMap;
use std::path::Path;

/// Contents by name.
type Files = BTreeMap<String, Vec<u8>>;

const SETS: [&[&str]; 3] = [&["fs=yaffs"], &["fs=yaffs", "fs.yaffs.checkpoint=false"], &["fs=minv"]];
const FILES: u64 = 24;

fn open(path: &Path) -> Served {
    Served::open(path, Access::Write).unwrap()
}

/// Stores parts of files until blocks were collected, and ends. No file gets shorter or loses its name: the note of such
/// a change is in a page, whose damage undoes it.
fn write(path: &Path, seed: u64, files: &mut Files) -> Vec<u8> {
    let mut served = open(path);
    let mut random = Random::new(seed);
    for _ in 0..400 {
        let number = random.below(FILES);
        let name = format!("d{}/file {number}", number % 3);
        let at = random.below(20_000);
        let bytes: Vec<u8> = (0..1 + random.below(9000)).map(|_| random.below(256) as u8).collect();
        let held = files.entry(name.clone()).or_default();
        held.resize(held.len().max(at as usize + bytes.len()), 0);
        held[at as usize..at as usize + bytes.len()].copy_from_slice(&bytes);
        served.on_files(|fs| {
            let file = fs.open(&name).or_else(|_| fs.create(&name)).unwrap();
            fs.write(file, at, &bytes).unwrap();
            fs.close(file).unwrap();
            None
        });
    }
    served.on_files(|fs| {
        fs.sync_all().unwrap();
        None
    });
    served.save_last().unwrap();
    served.image().close().unwrap();
    drop(served);
    std::fs::read(path).unwrap()
}

fn read(fs: &mut dyn FileSystem, name: &str) -> Result<Vec<u8>, FsError> {
    let file = fs.open(name)?;
    let mut held = vec![0; fs.len(file)? as usize + SECTOR];
    let read = fs.read(file, 0, &mut held);
    fs.close(file)?;
    held.truncate(read?);
    Ok(held)
}

/// Files that read without an error, and not as they were stored, or that are not there.
fn wrong(served: &mut Served, files: &Files) -> Vec<String> {
    let mut wrong = Vec::new();
    served.on_files(|fs| {
        for (name, expected) in files {
            match read(fs, name) {
                Ok(found) if found != *expected => wrong.push(format!("{name}: other bytes")),
                Err(FsError::NotFound { .. }) => wrong.push(format!("{name}: not there")),
                _ => {}
            }
        }
        None
    });
    wrong
}

/// Two clean ends of an image, and its files at the second one.
fn aged(path: &Path, sets: &[&str]) -> (Images, Files) {
    let sets: Vec<String> = ["device.capacity=4MiB"].iter().chain(sets).map(ToString::to_string).collect();
    let experiment = Experiment::parse_disk("", Format::Toml, "", Path::new(""), &sets).unwrap();
    Served::create(path, &experiment).unwrap();
    let mut served = open(path);
    served.on_files(|fs| {
        (0..3).for_each(|number| fs.mkdir(&format!("d{number}")).unwrap());
        None
    });
    served.image().close().unwrap();
    drop(served);
    let mut files = Files::new();
    let old = write(path, 1, &mut files);
    let new = write(path, 2, &mut files);
    let mut served = open(path);
    assert_eq!(wrong(&mut served, &files), [""; 0]);
    assert_eq!(served.notices(), [""; 0]);
    drop(served);
    (Images::of(path, old, new), files)
}

#[test]
fn an_old_part_of_files_on_bare_flash_is_told() {
    let counts = SETS.map(|sets| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.img");
        let (images, files) = aged(&path, sets);
        every_kind_on(&format!("{sets:?}"), &images, 4 * cases(), |image, _| {
            std::fs::write(&path, image).unwrap();
            let Ok(mut served) = Served::open(&path, Access::Write) else { return (Count::REFUSED, String::new()) };
            let wrong = wrong(&mut served, &files);
            (Count::of(warns(served.notices()), wrong.len()), format!("{wrong:?} {:?}", served.notices()))
        })
    });
    tell(&counts);
}

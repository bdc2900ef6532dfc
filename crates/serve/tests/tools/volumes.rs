//! Regions in file systems made by mke2fs and mkfs.xfs, compared with dumpe2fs, debugfs and xfs_db.

use crate::support::{create, open};
use nandlab_nand::Origin;
use nandlab_serve::volume::{find, Volume};
use nandlab_serve::{Disk, Export as _};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

/// A program's output; `None` if it is not installed.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    if !std::env::split_paths(&path).any(|folder| folder.join(program).is_file()) {
        eprintln!("skipped: {program} is not installed");
        return None;
    }
    let output = Command::new(program).args(arguments).env("PATH", path).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

fn volume(image: &Path) -> Volume {
    let file = std::fs::File::open(image).unwrap();
    let size = file.metadata().unwrap().len();
    find(size, &mut |offset, out| file.read_exact_at(out, offset)).unwrap().expect("there is a file system")
}

/// Makes a zero-filled file.
fn image(folder: &Path, mebibytes: u64) -> std::path::PathBuf {
    let image = folder.join("image");
    std::fs::File::create(&image).unwrap().set_len(mebibytes << 20).unwrap();
    image
}

/// First and last number in a range such as `12` or `12-34`.
fn range(text: &str) -> (u64, u64) {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    (first.parse().unwrap(), last.parse().unwrap())
}

/// Each block's origin according to dumpe2fs and debugfs.
fn as_told(dump: &str, journal: &str) -> Vec<Origin> {
    let field = |name: &str| -> u64 {
        let line = dump.lines().find(|line| line.starts_with(name)).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    let mut origins = vec![Origin::FILE_DATA; field("Block count:") as usize];
    if field("First block:") == 1 {
        origins[0] = Origin::SUPERBLOCK;
    }
    let marks = [
        ("superblock at ", Origin::SUPERBLOCK),
        ("Group descriptors at ", Origin::SUPERBLOCK),
        ("Group descriptor at ", Origin::SUPERBLOCK),
        ("Reserved GDT blocks at ", Origin::SUPERBLOCK),
        ("Block bitmap at ", Origin::BITMAP),
        ("Inode bitmap at ", Origin::BITMAP),
        ("Inode table at ", Origin::INODE),
    ];
    for (mark, origin) in marks {
        for (at, _) in dump.match_indices(mark) {
            let text = dump[at + mark.len()..].split([' ', ',', '\n']).next().unwrap();
            let (first, last) = range(text);
            origins[first as usize..=last as usize].fill(origin);
        }
    }
    for block in journal.split_whitespace() {
        origins[block.parse::<usize>().unwrap()] = Origin::JOURNAL;
    }
    origins
}

#[test]
fn ext_file_systems_are_read_as_dumpe2fs_reads_them() {
    let cases: [(&str, u64, &[&str]); 9] = [
        ("ext4", 64, &["-t", "ext4", "-b", "4096"]),
        ("ext4", 64, &["-t", "ext4", "-b", "1024"]),
        ("ext4", 700, &["-t", "ext4"]),
        ("ext4", 300, &["-t", "ext4", "-O", "^64bit,^flex_bg", "-b", "2048"]),
        ("ext4", 300, &["-t", "ext4", "-O", "meta_bg,^resize_inode", "-b", "1024"]),
        ("ext4", 300, &["-t", "ext4", "-O", "sparse_super2", "-b", "1024"]),
        ("ext3", 128, &["-t", "ext3", "-b", "1024"]),
        ("ext2", 64, &["-t", "ext2"]),
        ("ext2", 64, &["-t", "ext2", "-r", "0", "-O", "none", "-b", "1024"]),
    ];
    for (kind, mebibytes, options) in cases {
        let folder = tempfile::tempdir().unwrap();
        let image = image(folder.path(), mebibytes);
        let name = image.to_str().unwrap();
        let made = output("mke2fs", &[&["-q", "-F"], options, &[name]].concat());
        let Some(dump) = made.and_then(|_| output("dumpe2fs", &[name])) else { return };
        let journal =
            if kind == "ext2" { String::new() } else { output("debugfs", &["-R", "blocks <8>", name]).unwrap() };
        let told = as_told(&dump, &journal);
        let found = volume(&image);
        assert_eq!(found.kind, kind, "{options:?}");
        let bytes = (mebibytes << 20) / told.len() as u64;
        let mut at = 0;
        for part in &found.parts {
            assert_eq!(part.offset, at, "{options:?}: the parts follow one another");
            at += part.length;
            // The bytes before the superblock share its block if blocks are large.
            for block in part.offset.div_ceil(bytes)..at.div_ceil(bytes) {
                assert_eq!(part.origin.name(), told[block as usize].name(), "{options:?}: block {block}");
            }
        }
        assert_eq!(at, told.len() as u64 * bytes);
    }
}

#[test]
fn xfs_is_read_as_xfs_db_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let image = image(folder.path(), 320);
    let name = image.to_str().unwrap();
    let Some(_) = output("mkfs.xfs", &["-q", name]) else { return };
    let ask = |command: &str| output("xfs_db", &["-r", "-c", command, name]).unwrap();
    let value = |text: &str| -> u64 { text.split(['=', '(', ')']).nth(1).unwrap().trim().parse().unwrap() };
    let field = |name: &str| {
        value(
            &output("xfs_db", &["-r", "-c", "sb 0", "-c", &format!("print {name}"), image.to_str().unwrap()]).unwrap(),
        )
    };
    let found = volume(&image);
    assert_eq!(found.kind, "xfs");
    let origin = |byte: u64| found.parts.iter().rev().find(|part| part.offset <= byte).unwrap().origin;
    let log = value(&ask(&format!("convert fsblock {} byte", field("logstart"))));
    let log_bytes = field("logblocks") * field("blocksize");
    assert!(found
        .parts
        .iter()
        .any(|part| (part.offset, part.length, part.origin) == (log, log_bytes, Origin::JOURNAL)));
    let root = value(&ask(&format!("convert inode {} byte", field("rootino"))));
    assert_eq!(origin(root), Origin::INODE);
    let inodes: u64 = found.parts.iter().filter(|part| part.origin == Origin::INODE).map(|part| part.length).sum();
    // One chunk with 64 inodes, and an inode tree block in each group.
    assert_eq!(inodes, 64 * field("inodesize") + field("agcount") * field("blocksize"));
    for group in 0..field("agcount") {
        assert_eq!(origin(group * field("agblocks") * field("blocksize")), Origin::SUPERBLOCK);
    }
}

/// Writes what is in an image, without its zeros.
fn copy(image: &Path, disk: &Disk) {
    for (piece, at) in std::fs::read(image).unwrap().chunks(64 << 10).zip((0..).step_by(64 << 10)) {
        if piece.iter().any(|&byte| byte != 0) {
            disk.write(at, piece, false).unwrap();
        }
    }
}

/// A disk counts the regions of each file system that is made on it, from the flush behind it on.
#[test]
fn regions_follow_the_file_system_that_is_made_on_a_served_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk");
    create(&path, "page", &["device.capacity=320MiB", "device.shape.pages_per_block=256"]);
    let disk = open(&path);
    let programs = |origin: &str| -> u64 {
        let stats = disk.stats();
        let rows = stats["matrix"].as_array().unwrap().iter().filter(|row| row["origin"] == origin);
        rows.map(|row| row["programs"].as_u64().unwrap()).sum()
    };
    let reads = || disk.stats()["host"]["reads"].as_u64().unwrap();
    assert_eq!(disk.follow_regions().unwrap(), None);
    let made = [
        ("mke2fs", &["-q", "-F", "-t", "ext4"][..]),
        ("mkfs.xfs", &["-q"][..]),
        ("mke2fs", &["-q", "-F", "-t", "ext3", "-b", "1024"][..]),
    ];
    for (program, options) in made {
        let image = image(folder.path(), 320);
        if output(program, &[options, &[image.to_str().unwrap()]].concat()).is_none() {
            continue;
        }
        let volume = volume(&image);
        let journal = volume.parts.iter().find(|part| part.origin == Origin::JOURNAL).unwrap();
        // The page of an older file system's superblock is not that of a new one.
        disk.write(0, &[0; 4096], false).unwrap();
        copy(&image, &disk);
        disk.flush().unwrap();
        let (before, reads_before) = (programs("journal"), reads());
        disk.write(journal.offset, &[1; 16 << 10], true).unwrap();
        assert!(programs("journal") >= before + 4, "{program} {options:?}");
        // A mount changes the superblock, and another label does: it is the same file system.
        let mut first = vec![0; 4096];
        image_bytes(&image, &mut first);
        first[1024 + 120] = b'x';
        disk.write(0, &first, true).unwrap();
        assert_eq!(reads(), reads_before, "{program}: nothing is looked for");
    }
    disk.write(0, &[0; 4096], true).unwrap();
    let before = programs("host");
    disk.write(8 << 20, &[1; 4096], true).unwrap();
    assert_eq!(programs("host"), before + 1, "without a file system, the host asks");
}

fn image_bytes(image: &Path, out: &mut [u8]) {
    std::fs::File::open(image).unwrap().read_exact_at(out, 0).unwrap();
}

/// Whatever stands in the metadata, the search ends, with regions or with an error.
#[test]
fn spoilt_metadata_ends_in_an_error_or_in_regions() {
    let folder = tempfile::tempdir().unwrap();
    let image = image(folder.path(), 64);
    let name = image.to_str().unwrap();
    if output("mke2fs", &["-q", "-F", "-t", "ext4", "-b", "1024", name]).is_none() {
        return;
    }
    let sound = std::fs::read(&image).unwrap();
    for byte in (1024..2048).chain(2048..2048 + 256) {
        for value in [0, 0x7f, 0xff] {
            let read = |offset: u64, out: &mut [u8]| {
                let start = offset as usize;
                out.copy_from_slice(&sound[start..start + out.len()]);
                if (start..start + out.len()).contains(&byte) {
                    out[byte - start] = value;
                }
                Ok(())
            };
            if let Ok(Some(found)) = find(sound.len() as u64, &mut { read }) {
                let end: u64 = found.parts.iter().map(|part| part.length).sum();
                assert!(end <= sound.len() as u64, "byte {byte}");
            }
        }
    }
}

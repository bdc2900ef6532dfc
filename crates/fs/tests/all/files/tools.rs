//! Volumes as seen by other programs: dosfstools checks and makes them, mtools reads and writes them. If
//! these are not installed, the tests say so and do nothing.

use super::conformance::fats;
use super::disk::Disk;
use super::model::{assert_same, tree_of, Model, Node, Tree};
use nandlab_block::Error;
use nandlab_fs::fat::Config;
use nandlab_fs::{FileSystem, FsError};
use nandlab_nand::random::Random;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Whether all these programs are installed; reports the missing ones.
pub(super) fn are_installed(programs: &[&str]) -> bool {
    let missing: Vec<&&str> = programs.iter().filter(|name| program(name).is_none()).collect();
    if !missing.is_empty() {
        eprintln!("SKIPPED: {missing:?} not installed (packages dosfstools and mtools)");
    }
    missing.is_empty()
}

/// Path of a program; file system tools are not always on a user's path.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn run(name: &str, arguments: &[&str]) -> Output {
    // mtools would otherwise refuse a geometry without cylinders.
    Command::new(program(name).unwrap())
        .args(arguments)
        .env("MTOOLS_SKIP_CHECK", "1")
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap()
}

pub(super) fn expect_success(name: &str, arguments: &[&str], case: &str) -> String {
    let output = run(name, arguments);
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{case}: {name} {arguments:?} says\n{text}");
    text
}

/// Contents of a folder on this machine.
fn tree_on_disk(folder: &Path) -> Tree {
    let mut posix = nandlab_fs::posix::Posix::at(folder).unwrap();
    tree_of(&mut posix)
}

#[test]
fn fsck_finds_nothing_and_mtools_reads_what_was_written() {
    if !are_installed(&["fsck.vfat", "mcopy", "mdir"]) {
        return;
    }
    for (n, (config, bytes)) in fats().into_iter().enumerate() {
        let case = format!("{config:?}");
        let folder = tempfile::tempdir().unwrap();
        let (image, out) = (folder.path().join("image"), folder.path().join("out"));
        std::fs::create_dir(&out).unwrap();
        let mut disk = Disk::new(bytes);
        let mut model = Model::new(n as u64 + 1, 4000);
        config.format(&mut disk).unwrap();
        let image_name = image.to_str().unwrap();
        let check = |disk: &Disk, model: &Model| {
            std::fs::write(&image, &disk.bytes).unwrap();
            expect_success("fsck.vfat", &["-n", "-v", image_name], &case);
            if !model.tree.is_empty() {
                std::fs::remove_dir_all(&out).unwrap();
                std::fs::create_dir(&out).unwrap();
                expect_success("mcopy", &["-s", "-n", "-i", image_name, "::/", out.to_str().unwrap()], &case);
                assert_same(&tree_on_disk(&out), &model.tree, &case);
            }
        };
        check(&disk, &model);
        for _ in 0..3 {
            config.mounted(&mut disk, |fs| (0..1000).for_each(|_| model.step(fs))).unwrap();
            model.unmounted();
            check(&disk, &model);
        }
        let listing = expect_success("mdir", &["-/", "-b", "-i", image_name, "::/"], &case);
        for (path, node) in &model.tree {
            let line = format!("::/{path}{}", if *node == Node::Directory { "/" } else { "" });
            assert!(listing.lines().any(|listed| listed == line), "{case}: mdir does not list {path}\n{listing}");
        }
    }
}

#[test]
fn volumes_of_mkfs_are_read_and_written() {
    if !are_installed(&["mkfs.vfat", "fsck.vfat", "mcopy", "mmd"]) {
        return;
    }
    for (bits, kib) in [("12", "1440"), ("16", "20000"), ("32", "40000")] {
        let case = format!("mkfs.vfat -F{bits}");
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        let image_name = image.to_str().unwrap();
        let text = folder.path().join("text");
        let contents: Vec<u8> = (0..30_000_u32).map(|n| (n * n / 7) as u8).collect();
        std::fs::write(&text, &contents).unwrap();
        let small = if bits == "32" { "1" } else { "4" };
        expect_success("mkfs.vfat", &["-F", bits, "-s", small, "-n", "LABEL", "-C", image_name, kib], &case);
        expect_success("mmd", &["-i", image_name, "::/Folder of mtools"], &case);
        let target = "::/Folder of mtools/a text.bin";
        expect_success("mcopy", &["-i", image_name, text.to_str().unwrap(), target], &case);
        let mut disk = Disk::of(std::fs::read(&image).unwrap());
        let mut model = Model::new(9, 3000);
        model.tree.insert("Folder of mtools".to_owned(), Node::Directory);
        model.tree.insert("Folder of mtools/a text.bin".to_owned(), Node::File(contents));
        Config::default()
            .mounted(&mut disk, |fs| {
                assert_eq!(format!("FAT{}", fs.shape().fat_bits), format!("FAT{bits}"));
                assert_same(&tree_of(fs), &model.tree, &case);
                (0..1000).for_each(|_| model.step(fs));
                let file = fs.create("from here").unwrap();
                fs.write(file, 0, b"written after mkfs").unwrap();
            })
            .unwrap();
        model.tree.insert("from here".to_owned(), Node::File(b"written after mkfs".to_vec()));
        std::fs::write(&image, &disk.bytes).unwrap();
        expect_success("fsck.vfat", &["-n", "-v", image_name], &case);
        let out = folder.path().join("out");
        std::fs::create_dir(&out).unwrap();
        expect_success("mcopy", &["-s", "-n", "-i", image_name, "::/", out.to_str().unwrap()], &case);
        assert_same(&tree_on_disk(&out), &model.tree, &case);
    }
}

/// Works on files until an operation fails.
fn work(fs: &mut dyn FileSystem, random: &mut Random) -> Result<(), FsError> {
    for n in 0.. {
        let (path, other) = (format!("work/{}", random.below(12)), format!("work/d/{}", random.below(12)));
        let done = match random.below(6) {
            0 => fs.unlink(&path),
            1 => fs.rename(&path, &other),
            2 if n % 5 == 0 => fs.mkdir("work/d"),
            3 => fs.unlink(&other),
            _ => fs.create(if random.chance(0.3) { &other } else { &path }).and_then(|file| {
                fs.write(file, 0, &vec![n as u8; random.below(9000) as usize])?;
                fs.close(file)
            }),
        };
        match done {
            Ok(())
            | Err(
                FsError::NotFound { .. } | FsError::Exists { .. } | FsError::Full { .. } | FsError::NvramFull { .. },
            ) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads everything; returns the number of unreadable files.
fn look_at_all(fs: &mut dyn FileSystem) -> u32 {
    let mut damaged = 0;
    for folder in ["", "work", "work/d", "kept"] {
        let names = match fs.list(folder) {
            Err(FsError::NotFound { .. }) => continue,
            listed => listed.unwrap_or_else(|_| {
                damaged += 1;
                Vec::new()
            }),
        };
        for name in names {
            let path = format!("{folder}/{name}");
            let read = fs.open(&path).and_then(|file| {
                let read = fs.read(file, 0, &mut vec![0; 20_000]);
                fs.close(file).and(read)
            });
            damaged += u32::from(!matches!(read, Ok(_) | Err(FsError::WrongKind { .. })));
        }
    }
    damaged
}

#[test]
fn fsck_repairs_what_a_cut_leaves_and_what_was_synced_before_is_there() {
    if !are_installed(&["fsck.vfat"]) {
        return;
    }
    let mut dirty = 0;
    for case in 0..96 {
        let (config, bytes) = fats().swap_remove(case as usize % 12);
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        let image_name = image.to_str().unwrap();
        let mut random = Random::stream(case, 8);
        let mut disk = Disk::new(bytes);
        config.format(&mut disk).unwrap();
        let kept = |n: u8| vec![n; 300 * usize::from(n)];
        config
            .mounted(&mut disk, |fs| {
                ["kept", "work"].iter().for_each(|path| fs.mkdir(path).unwrap());
                for n in 0..9 {
                    let file = fs.create(&format!("kept/file {n}")).unwrap();
                    fs.write(file, 0, &kept(n)).unwrap();
                    fs.close(file).unwrap();
                }
            })
            .unwrap();
        disk.left = 5 + random.below(400);
        let ended = config.mounted(&mut disk, |fs| work(fs, &mut random));
        assert!(matches!(ended, Ok(Err(FsError::Device(Error::PowerLost))) | Err(_)), "{config:?}: {ended:?}");
        // The device keeps write order. Otherwise a directory could hold stale data.
        disk.left = u64::MAX;
        std::fs::write(&image, &disk.bytes).unwrap();
        assert_eq!(config.mounted(&mut disk, |fs| look_at_all(fs)), Ok(0), "{config:?}, case {case}, cut");
        // Status 1: errors were found and repaired; a repair may be an error to the next pass, up to the
        // third.
        let passes: Vec<Option<i32>> = (0..3).map(|_| run("fsck.vfat", &["-a", image_name]).status.code()).collect();
        assert!(passes.iter().all(|status| matches!(status, Some(0 | 1))), "{config:?}, case {case}: {passes:?}");
        dirty += u32::from(passes[0] == Some(1));
        expect_success("fsck.vfat", &["-n", image_name], &format!("{config:?}, case {case}, mended"));
        let mut disk = Disk::of(std::fs::read(&image).unwrap());
        config
            .mounted(&mut disk, |fs| {
                assert_eq!(look_at_all(fs), 0, "{config:?}, case {case}, mended");
                for n in 0..9 {
                    let file = fs.open(&format!("kept/file {n}")).unwrap();
                    let mut read = vec![0xEE; 3000];
                    let length = fs.read(file, 0, &mut read).unwrap();
                    assert!(read[..length] == kept(n), "{config:?}, case {case}: file {n}");
                }
            })
            .unwrap();
    }
    println!("fsck mended {dirty} of 96 volumes");
    assert!(dirty > 48, "only {dirty} cuts left something to mend");
}

#[test]
fn what_is_no_volume_is_refused() {
    let mut disk = Disk::new(1 << 20);
    let error = Config::default().mounted(&mut disk, |_| ()).unwrap_err().to_string();
    assert_eq!(error, "the file system is damaged: its first sector is no boot sector");
    let mut whole = Disk::new(1 << 20);
    Config::default().format(&mut whole).unwrap();
    let mut half = Disk::of(whole.bytes[..1 << 19].to_vec());
    let error = Config::default().mounted(&mut half, |_| ()).unwrap_err().to_string();
    assert!(error.contains("it has 2048 sectors, more than the 1024 of the device"), "{error}");
}

//! Volumes as other programs see them: dosfstools checks and makes them, mtools reads and writes them. Where these are
//! not installed the tests say so and do nothing.

use crate::conformance::fats;
use crate::disk::Disk;
use crate::model::{assert_same, tree_of, Model, Node, Tree};
use nandlab_fs::fat::Config;
use nandlab_fs::FileSystem;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("nandlab-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether all these programs are there; says so where one is not.
fn are_installed(programs: &[&str]) -> bool {
    let missing: Vec<&&str> = programs.iter().filter(|name| program(name).is_none()).collect();
    if !missing.is_empty() {
        eprintln!("SKIPPED: {missing:?} not installed (packages dosfstools and mtools)");
    }
    missing.is_empty()
}

/// Where a program is; file system tools are not always on the path of users.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn run(name: &str, arguments: &[&str]) -> Output {
    // mtools would refuse a geometry that has no cylinders to count.
    Command::new(program(name).unwrap())
        .args(arguments)
        .env("MTOOLS_SKIP_CHECK", "1")
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap()
}

fn expect_success(name: &str, arguments: &[&str], case: &str) -> String {
    let output = run(name, arguments);
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{case}: {name} {arguments:?} says\n{text}");
    text
}

/// What is in a folder of this machine.
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
        let folder = Folder::new(&format!("fsck-{n}"));
        let (image, out) = (folder.0.join("image"), folder.0.join("out"));
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
        let folder = Folder::new(&format!("mkfs-{bits}"));
        let image = folder.0.join("image");
        let image_name = image.to_str().unwrap();
        let text = folder.0.join("text");
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
        let out = folder.0.join("out");
        std::fs::create_dir(&out).unwrap();
        expect_success("mcopy", &["-s", "-n", "-i", image_name, "::/", out.to_str().unwrap()], &case);
        assert_same(&tree_on_disk(&out), &model.tree, &case);
    }
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

//! Random operations on every file system, compared with the model one by one.

use super::disk::Disk;
use super::model::{assert_same, tree_of, Model, Node};
use nandlab_block::{BlockDevice, ByteCount};
use nandlab_drive::on;
use nandlab_fs::fat::{Config, FatType, WriteThrough};
use nandlab_fs::posix::Posix;
use nandlab_fs::{FileSystem, FsConfig, FsError};
use nandlab_ftl::FtlConfig;
use nandlab_nand::backed::Backed;
use nandlab_nand::{Geometry, Rules};
use std::collections::BTreeMap;

/// `sessions` mounts with `steps` operations each, on a nearly full volume if `fills` is set. Returns the
/// final model.
fn play(fs: &FsConfig, device: &mut dyn BlockDevice, seed: u64, sessions: u32, steps: u32, fills: bool) -> Model {
    let most = if seed % 2 == 0 { 3000 } else { 20_000 };
    let mut model = Model::new(seed, most);
    let mut free = None;
    for session in 0..sessions {
        fs.mounted(device, |fs| {
            let space = fs.space().unwrap();
            // Free space tracked during a session must equal the count at the next mount.
            assert!(free.is_none_or(|free| free == space), "{free:?}, counted again: {space:?}");
            assert_same(&tree_of(fs), &model.tree, &format!("seed {seed}, after mount {session}"));
            if fills && !model.tree.contains_key("filler") {
                let file = fs.create("filler").unwrap();
                let bytes = vec![7; fs.space().unwrap().free_bytes.saturating_sub(60_000) as usize];
                fs.write(file, 0, &bytes).unwrap();
                fs.close(file).unwrap();
                model.tree.insert("filler".to_owned(), Node::File(bytes));
            }
            for _ in 0..steps {
                model.step(fs);
            }
            assert_same(&tree_of(fs), &model.tree, &format!("seed {seed}, session {session}"));
            fs.sync_all().unwrap();
            free = Some(fs.space().unwrap());
        })
        .unwrap();
        model.unmounted();
    }
    model
}

/// FAT with 12, 16 and 32 bits, in each write-through mode, with a device size in bytes.
pub fn fats() -> Vec<(Config, usize)> {
    let ways = [WriteThrough::Entry, WriteThrough::Sector, WriteThrough::Operation];
    let shapes = [
        (Config { fat: FatType::Fat12, root_entries: 64, ..Config::default() }, 300 << 10),
        (Config { fat: FatType::Fat12, cluster_bytes: Some(ByteCount(2048)), fats: 1, ..Config::default() }, 1 << 20),
        (Config { fat: FatType::Fat16, cluster_bytes: Some(ByteCount(512)), ..Config::default() }, 3 << 20),
        (
            Config {
                fat: FatType::Fat32,
                cluster_bytes: Some(ByteCount(512)),
                cache_bytes: ByteCount(2048),
                trim: true,
                ..Config::default()
            },
            34 << 20,
        ),
    ];
    let with = |(config, bytes): &(Config, usize)| {
        let (config, bytes) = (config.clone(), *bytes);
        ways.map(|write_through| (Config { write_through, ..config.clone() }, bytes))
    };
    shapes.iter().flat_map(with).collect()
}

#[test]
fn fat_does_what_the_model_does() {
    let (mut full, mut errors) = (0, BTreeMap::new());
    for (n, (config, bytes)) in fats().into_iter().enumerate() {
        let mut disk = Disk::new(bytes);
        let fs = FsConfig::Fat(config);
        fs.format(&mut disk).unwrap();
        for seed in [n as u64, n as u64 + 100] {
            fs.format(&mut disk).unwrap();
            let model = play(&fs, &mut disk, seed, 4, 250, bytes < 4 << 20 && seed >= 100);
            errors.extend(model.errors);
            full += model.full;
        }
    }
    assert_eq!(errors.len(), 6, "{errors:?}");
    assert!(full > 80, "only {full} operations found a full volume");
}

#[test]
fn a_real_directory_does_what_the_model_does() {
    let folder = std::env::temp_dir().join(format!("nandlab-posix-{}", std::process::id()));
    let mut errors = BTreeMap::new();
    for seed in 0..6 {
        std::fs::create_dir_all(&folder).unwrap();
        let mut model = Model::new(seed, 5000);
        for session in 0..3 {
            let mut fs = Posix::at(&folder).unwrap();
            for _ in 0..250 {
                model.step(&mut fs);
            }
            assert_same(&tree_of(&mut fs), &model.tree, &format!("seed {seed}, session {session}"));
            model.unmounted();
        }
        assert_eq!(model.full, 0);
        errors.extend(model.errors);
        std::fs::remove_dir_all(&folder).unwrap();
    }
    assert_eq!(errors.len(), 6, "{errors:?}");
}

#[test]
fn a_real_directory_is_not_left() {
    let folder = std::env::temp_dir().join(format!("nandlab-posix-out-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("in")).unwrap();
    let _ = std::os::unix::fs::symlink(&folder, folder.join("in").join("link"));
    let mut fs = Posix::at(&folder.join("in")).unwrap();
    for path in ["../secret", "link/secret", "link", "a/../../secret", "./x"] {
        let refused = fs.create(path);
        assert!(matches!(refused, Err(FsError::BadName { .. } | FsError::NotFound { .. })), "{path}: {refused:?}");
        assert!(fs.unlink(path).is_err() && fs.mkdir(path).is_err() && fs.rename(path, "b").is_err(), "{path}");
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// FAT on an FTL, on 4 MiB in 2 KiB pages; `false` if the FTL refuses the device.
fn plays_over(ftl: &FtlConfig, seed: u64) -> bool {
    let geometry = Geometry::single_die(64, 32, 2048).unwrap();
    let rules = Rules::default();
    let Ok(pages) = ftl.max_logical_pages(&geometry, &rules) else { return false };
    if pages < 1300 {
        return false;
    }
    let mut disk = on(ftl, Box::new(Backed::ram(geometry, rules)), 1300).map_err(|not| not.error).unwrap();
    for (fat, cluster, trim) in [(FatType::Fat12, 2048, true), (FatType::Fat16, 512, false)] {
        let cluster_bytes = Some(ByteCount(cluster));
        let fs = FsConfig::Fat(Config { fat, trim, cluster_bytes, ..Config::default() });
        fs.format(&mut *disk).unwrap();
        play(&fs, &mut *disk, seed, 3, 150, false);
    }
    true
}

#[test]
fn fat_keeps_its_bytes_over_every_translation_layer() {
    let taken: Vec<&str> = FtlConfig::all()
        .iter()
        .zip(0..)
        .filter(|(config, seed)| plays_over(config, *seed))
        .map(|(config, _)| config.name())
        .collect();
    println!("over {taken:?}");
    assert!(taken.contains(&"page") && taken.contains(&"bast") && taken.contains(&"fast"), "{taken:?}");
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_written() {
    let config = Config { fat: FatType::Fat12, root_entries: 16, ..Config::default() };
    let mut disk = Disk::new(100 << 10);
    config.format(&mut disk).unwrap();
    let (before, after) = config
        .mounted(&mut disk, |fs| {
            for n in 0..8 {
                let file = fs.create(&format!("file {n}")).unwrap();
                fs.close(file).unwrap();
            }
            fs.mkdir("ninth").unwrap_err();
            let error = fs.create("ninth").unwrap_err().to_string();
            assert_eq!(
                error,
                "the file system is full: the root directory of 16 entries has no 2 in a row for 'ninth'"
            );
            let file = fs.open("file 0").unwrap();
            fs.write(file, 0, &[1; 1000]).unwrap();
            let before = fs.space().unwrap();
            let error = fs.write(file, 500_000, &[2]).unwrap_err().to_string();
            assert!(
                error.contains("975 clusters of 512 bytes are needed, and ") && error.contains(" are free"),
                "{error}"
            );
            assert_eq!(fs.len(file), Ok(1000));
            fs.truncate(file, u64::from(u32::MAX) + 1).unwrap_err();
            (before, fs.space().unwrap())
        })
        .unwrap();
    assert_eq!(before, after);
}

#[test]
fn names_that_fat_has_no_room_for_are_refused() {
    let config = Config::default();
    let mut disk = Disk::new(1 << 20);
    config.format(&mut disk).unwrap();
    config
        .mounted(&mut disk, |fs| {
            let long = "n".repeat(256);
            for path in [
                "a:b",
                "a*",
                "a?",
                "a<",
                "a>",
                "a|",
                "a\\b",
                "a\"b",
                "a\tb",
                "space ",
                ".",
                "..",
                "...",
                &long,
                "\u{1F600}",
            ] {
                assert!(matches!(fs.create(path), Err(FsError::BadName { .. })), "{path}");
                assert!(matches!(fs.mkdir(path), Err(FsError::BadName { .. })), "{path}");
            }
            let file = fs.create("Upper").unwrap();
            assert_eq!(fs.unlink("UPPER"), Err(FsError::Busy { path: "UPPER".to_owned() }));
            fs.close(file).unwrap();
            fs.unlink("uPPER").unwrap();
            assert_eq!(fs.unlink("upper"), Err(FsError::NotFound { path: "upper".to_owned() }));
        })
        .unwrap();
}

#[test]
fn options_that_cannot_work_say_what_can() {
    let refused = |config: Config| config.plan(100 * 2048).unwrap_err().to_string();
    let cases = [
        (Config { cluster_bytes: Some(ByteCount(3000)), ..Config::default() }, "cluster_bytes = 3000 B cannot work"),
        (Config { root_entries: 100, ..Config::default() }, "root_entries = 100 cannot work"),
        (Config { fats: 3, ..Config::default() }, "1 or 2 copies"),
        (Config { volume_bytes: Some(ByteCount(1 << 30)), ..Config::default() }, "the device has 104857600 bytes"),
        (Config { volume_bytes: Some(ByteCount(4096)), ..Config::default() }, "FAT does not fit there"),
        (
            Config { fat: FatType::Fat32, cluster_bytes: Some(ByteCount(4096)), ..Config::default() },
            "25570 clusters of 4096 bytes make it FAT16",
        ),
        (
            Config { align_data: Some(ByteCount(100 << 20)), ..Config::default() },
            "align_data = 100 MiB cannot work: it leaves 512 bytes of the device, and FAT does not fit there",
        ),
        (Config { cache_bytes: ByteCount(512), ..Config::default() }, "4 sectors (2 KiB) to 1 GiB"),
    ];
    for (config, sentence) in cases {
        let error = refused(config);
        assert!(error.contains(sentence), "{error}");
    }
}

#[test]
fn the_option_is_blamed_without_which_a_volume_could_be_made() {
    let bytes = |bytes| Some(ByteCount(bytes));
    // Each case also sets the cluster size, which fits on 100 MiB.
    let clusters = || Config { cluster_bytes: bytes(4096), ..Config::default() };
    for (config, blamed) in [
        (Config { align_data: bytes(100 << 20), ..clusters() }, "align_data = 100 MiB cannot work: it leaves 512"),
        (Config { volume_bytes: bytes(1024), ..clusters() }, "volume_bytes = 1024 cannot work: FAT does not fit there"),
        (
            Config { volume_bytes: bytes(1 << 20), root_entries: 65_520, ..clusters() },
            "root_entries = 65520 cannot work: a volume of 1048576 bytes cannot be divided so",
        ),
        (
            Config { volume_bytes: bytes(40 << 10), cluster_bytes: bytes(65_536), ..Config::default() },
            "cluster_bytes = 64 KiB cannot work: a volume of 40960 bytes cannot be divided so",
        ),
    ] {
        let error = config.plan(100 * 2048).unwrap_err().to_string();
        assert!(error.starts_with(blamed), "{error}\n{blamed}");
    }
}

#[test]
fn entries_of_the_root_directory_of_fat32_have_no_effect_and_a_notice_says_so() {
    let fat32 = Config { fat: FatType::Fat32, cluster_bytes: Some(ByteCount(512)), ..Config::default() };
    assert_eq!(fat32.notices(100 * 2048), [""; 0]);
    let told = Config { root_entries: 256, ..fat32 }.notices(100 * 2048);
    assert_eq!(told, ["root_entries = 256 has no effect: the root directory of FAT32 grows"]);
    let fat16 = Config { fat: FatType::Fat16, root_entries: 256, ..Config::default() };
    assert_eq!(fat16.notices(100 * 2048), [""; 0]);
}

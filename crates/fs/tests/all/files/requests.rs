//! Device requests: origin, size and time.

use super::disk::Disk;
use nandlab_block::{ByteCount, Op, Request};
use nandlab_fs::fat::{Config, FatType, TimeStamps, WriteThrough};
use nandlab_fs::FileSystem;
use nandlab_nand::Origin;

/// A FAT16 volume, 104 MiB in 4 KiB clusters: 1 boot sector, 2 x 104 sectors of FAT, 32 of the root directory.
fn fat16(write_through: WriteThrough) -> Config {
    Config { fat: FatType::Fat16, cluster_bytes: Some(ByteCount(4096)), write_through, ..Config::default() }
}

const BYTES: usize = 104 << 20;

/// Writes as "origin xsectors", in order.
fn writes(requests: &[Request]) -> Vec<String> {
    let writes = requests.iter().filter(|request| request.op == Op::Write);
    writes.map(|request| format!("{} x{}", request.origin.name(), request.sectors)).collect()
}

fn count(requests: &[Request], op: Op, origin: Origin) -> usize {
    requests.iter().filter(|request| request.op == op && request.origin == origin).count()
}

#[test]
fn formatting_writes_every_sector_of_the_tables_and_of_the_root_directory_in_runs() {
    for write_through in [WriteThrough::Entry, WriteThrough::Sector, WriteThrough::Operation] {
        let mut disk = Disk::new(BYTES);
        let shape = fat16(write_through).format(&mut disk).unwrap();
        assert_eq!((shape.fat_bits, shape.fat_sectors, shape.root_sectors, shape.clusters), (16, 104, 32, 26_593));
        assert_eq!(writes(&disk.requests), ["boot x1", "fat x208", "root_directory x32"]);
        // In 2 KiB pages this is 61, the basis of the event recorder's result in the migration paper.
        assert_eq!((1 + 208 + 32_u32).div_ceil(4), 61);
    }
}

#[test]
fn the_data_area_begins_where_it_is_to_be_aligned() {
    let align = 256 << 10;
    let config = Config { align_data: Some(ByteCount(align)), ..fat16(WriteThrough::Sector) };
    let mut disk = Disk::new(BYTES);
    let shape = config.format(&mut disk).unwrap();
    // The boot sector, tables and root directory, 61 pages, come right before the data.
    assert_eq!((disk.requests[0].sector, shape.fat_sectors), (512 - 241, 104));
    disk.requests.clear();
    config
        .mounted(&mut disk, |fs| {
            let file = fs.create("file").unwrap();
            fs.write(file, 0, &[7; 512]).unwrap();
        })
        .unwrap();
    let data = disk.requests.iter().find(|request| request.origin == Origin::FILE_DATA && request.op == Op::Write);
    assert_eq!(data.unwrap().sector * 512, align);
    let refused = Config { align_data: Some(ByteCount(0)), ..config.clone() }.check();
    assert!(refused.unwrap_err().to_string().contains("align_data"));
    let small = Config { volume_bytes: Some(ByteCount(BYTES as u64)), ..config };
    assert!(small.plan(BYTES as u64 / 512).unwrap_err().to_string().contains("align_data"));
}

/// Creates a file in a directory, writes 10,000 bytes in two pieces, and closes it; returns the writes of
/// each step.
fn small_file(write_through: WriteThrough) -> Vec<Vec<String>> {
    let config = fat16(write_through);
    let mut disk = Disk::new(BYTES);
    config.format(&mut disk).unwrap();
    let mut steps = Vec::new();
    config
        .mounted(&mut disk, |fs| {
            fs.mkdir("folder").unwrap();
            let file = fs.create("folder/file").unwrap();
            fs.close(file).unwrap();
        })
        .unwrap();
    for step in 0..3 {
        disk.requests.clear();
        config
            .mounted(&mut disk, |fs| {
                let file = fs.open("folder/file").unwrap();
                match step {
                    0 => fs.write(file, 0, &[1; 6000]).unwrap(),
                    1 => fs.write(file, 6000, &[2; 4000]).unwrap(),
                    _ => {
                        // A later time stamp than the previous write's.
                        fs.truncate(file, 10_000).unwrap();
                        fs.write(file, 100, &[3; 50]).unwrap();
                    }
                }
                fs.close(file).unwrap();
            })
            .unwrap();
        steps.push(writes(&disk.requests));
    }
    steps
}

#[test]
fn a_sector_is_written_when_the_library_moves_on() {
    let steps = small_file(WriteThrough::Sector);
    // The mark in the boot sector, two clusters of data, both copies of one FAT sector, the entry; the mark again.
    assert_eq!(steps[0], ["file_data x12", "boot x1", "fat x1", "fat x1", "directory x1", "boot x1"]);
    // Continues the last sector, then adds one cluster.
    assert_eq!(steps[1], ["file_data x9", "boot x1", "fat x1", "fat x1", "directory x1", "boot x1"]);
    // In place: no FAT.
    assert_eq!(steps[2], ["file_data x1", "boot x1", "directory x1", "boot x1"]);
}

#[test]
fn an_operation_writes_each_sector_once() {
    let steps = small_file(WriteThrough::Operation);
    assert_eq!(steps[0], ["file_data x12", "boot x1", "fat x1", "fat x1", "directory x1", "boot x1"]);
}

#[test]
fn an_entry_is_written_at_once() {
    let steps = small_file(WriteThrough::Entry);
    // Two entries in both copies, and the link from the first to the second.
    let fat = steps[0].iter().filter(|write| *write == "fat x1").count();
    assert_eq!(fat, 6, "{:?}", steps[0]);
    assert_eq!(steps[0].iter().filter(|write| *write == "directory x1").count(), 1, "{:?}", steps[0]);
    assert!(steps[0].iter().any(|write| write == "file_data x8"), "{:?}", steps[0]);
}

#[test]
fn fixed_time_stamps_leave_the_entry_of_a_file_that_is_overwritten_alone() {
    for (time_stamps, entries) in [(TimeStamps::Counted, 3), (TimeStamps::Fixed, 0)] {
        let config = Config { time_stamps, ..fat16(WriteThrough::Sector) };
        let mut disk = Disk::new(BYTES);
        config.format(&mut disk).unwrap();
        let save = |fs: &mut dyn FileSystem, fresh: bool| {
            let file = if fresh { fs.create("file") } else { fs.open("file") }.unwrap();
            fs.write(file, 0, &[1; 700]).unwrap();
            fs.close(file).unwrap();
        };
        config.mounted(&mut disk, |fs| save(fs, true)).unwrap();
        disk.requests.clear();
        config
            .mounted(&mut disk, |fs| {
                save(fs, false);
                save(fs, false);
                save(fs, false);
            })
            .unwrap();
        let written = count(&disk.requests, Op::Write, Origin::ROOT_DIRECTORY);
        assert_eq!(written, entries, "{time_stamps:?}: {:?}", writes(&disk.requests));
    }
}

#[test]
fn freed_clusters_are_trimmed_where_that_is_asked_for() {
    for trim in [false, true] {
        let config = Config { trim, ..fat16(WriteThrough::Sector) };
        let mut disk = Disk::new(BYTES);
        config.format(&mut disk).unwrap();
        config
            .mounted(&mut disk, |fs| {
                let file = fs.create("file").unwrap();
                fs.write(file, 0, &[1; 20_000]).unwrap();
                fs.truncate(file, 5000).unwrap();
                fs.close(file).unwrap();
                fs.unlink("file").unwrap();
            })
            .unwrap();
        let trims: Vec<(u64, u32)> =
            disk.requests.iter().filter(|one| one.op == Op::Trim).map(|one| (one.sector, one.sectors)).collect();
        // Clusters 4 to 6, then 2 and 3, with 8 sectors each, behind 241 sectors.
        assert_eq!(trims, if trim { vec![(257, 24), (241, 16)] } else { vec![] });
    }
}

#[test]
fn the_root_directory_of_fat32_is_known_as_it_grows() {
    let config = Config { fat: FatType::Fat32, cluster_bytes: Some(ByteCount(512)), ..Config::default() };
    let mut disk = Disk::new(34 << 20);
    config.format(&mut disk).unwrap();
    for session in 0..2 {
        disk.requests.clear();
        config
            .mounted(&mut disk, |fs| {
                for n in 0..40 {
                    let file = fs.create(&format!("file {session} {n}")).unwrap();
                    fs.close(file).unwrap();
                }
            })
            .unwrap();
        let sectors: std::collections::BTreeSet<u64> = disk
            .requests
            .iter()
            .filter(|one| one.op == Op::Write && one.origin == Origin::ROOT_DIRECTORY)
            .map(|one| one.sector)
            .collect();
        assert!(sectors.len() >= 5, "{sectors:?}");
        assert_eq!(count(&disk.requests, Op::Write, Origin::DIRECTORY), 0);
        assert_eq!(count(&disk.requests, Op::Write, Origin::FILE_DATA), 0);
    }
}

#[test]
fn a_long_read_is_one_request_a_cluster_and_metadata_is_kept() {
    let config = fat16(WriteThrough::Sector);
    let mut disk = Disk::new(BYTES);
    config.format(&mut disk).unwrap();
    config
        .mounted(&mut disk, |fs| {
            let file = fs.create("file").unwrap();
            fs.write(file, 0, &vec![1; 40_960]).unwrap();
        })
        .unwrap();
    disk.requests.clear();
    config
        .mounted(&mut disk, |fs| {
            let file = fs.open("file").unwrap();
            for _ in 0..3 {
                assert_eq!(fs.read(file, 0, &mut vec![0; 50_000]), Ok(40_960));
            }
        })
        .unwrap();
    assert_eq!(count(&disk.requests, Op::Read, Origin::FILE_DATA), 30);
    // The mount reads the whole table in one request; one of its sectors is read again for the chain.
    assert_eq!(count(&disk.requests, Op::Read, Origin::FAT), 2);
    assert_eq!(count(&disk.requests, Op::Read, Origin::ROOT_DIRECTORY), 1);
}

#[test]
fn an_append_reads_only_the_sector_that_it_goes_on_in() {
    let config = fat16(WriteThrough::Sector);
    let mut disk = Disk::new(BYTES);
    config.format(&mut disk).unwrap();
    disk.requests.clear();
    config
        .mounted(&mut disk, |fs| {
            let file = fs.create("file").unwrap();
            for n in 0..50 {
                fs.write(file, n * 300, &[1; 300]).unwrap();
            }
            fs.close(file).unwrap();
        })
        .unwrap();
    assert_eq!(count(&disk.requests, Op::Read, Origin::FILE_DATA), 0);
    disk.requests.clear();
    config
        .mounted(&mut disk, |fs| {
            let file = fs.open("file").unwrap();
            fs.write(file, 15_000, &[2; 300]).unwrap();
            fs.close(file).unwrap();
        })
        .unwrap();
    assert_eq!(count(&disk.requests, Op::Read, Origin::FILE_DATA), 1);
}

//! Mount reads by file system: a scan, a checkpoint, or almost nothing.

use super::phone::{set_up, transaction};
use super::rig::Lent;
use nandlab_fs::minv::{self, Minv};
use nandlab_fs::yaffs::{self, Yaffs};
use nandlab_fs::FileSystem;
use nandlab_nand::backed::Backed;
use nandlab_nand::nvm::{Nvm, NvmCost, Nvram};
use nandlab_nand::plain::WithContent;
use nandlab_nand::random::Random;
use nandlab_nand::{BlockId, Cause, Cell, Counting, Geometry, Nand, ProgramOrder, Rules};

fn used(fs: &mut dyn FileSystem) {
    let (mut random, mut slots) = (Random::new(3), [0; 3]);
    set_up(fs).expect("there is room");
    for _ in 0..40 {
        transaction(fs, &mut random, &mut slots).expect("there is room");
    }
    fs.sync_all().expect("there is room");
}

fn flash(page_bytes: u32) -> WithContent<Counting> {
    let rules = Rules { program_order: ProgramOrder::Any, partial_programs: 3, ..Rules::default() };
    WithContent::new(Counting::new(Geometry::single_die(128, 32, page_bytes).expect("the shape is sound"), rules))
}

/// Operations during mounts.
fn at_mounts(nand: &mut WithContent<Counting>) -> Cell {
    nand.ctx().matrix().sum(|_, cause| cause == Cause::Mount)
}

/// Reads of a device's second mount.
fn yaffs_mount(page_bytes: u32, config: &yaffs::Config) -> (Cell, Counting) {
    let mut nand = flash(page_bytes);
    used(&mut Yaffs::mount(&mut nand as Lent<'_>, config).unwrap_or_else(|error| panic!("{error}")));
    let before = nand.ctx().matrix().clone();
    let mut fs = Yaffs::mount(&mut nand as Lent<'_>, config).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(fs.list("").map(|names| names.len()), Ok(5));
    drop(fs);
    let cell = nand.ctx().matrix().since(&before).sum(|_, cause| cause == Cause::Mount);
    (cell, nand.into_inner())
}

#[test]
fn yaffs1_reads_two_spare_areas_of_each_block_and_all_of_those_in_use() {
    let (cell, nand) = yaffs_mount(512, &yaffs::Config::default());
    let in_use: Vec<u32> = (0..128).map(|block| nand.high_water(BlockId(block))).filter(|&pages| pages > 0).collect();
    // In the open block, the scan ends at the first erased page.
    let spares: u32 = in_use.iter().map(|&pages| (pages + 1).min(32)).sum();
    assert_eq!(cell.spare_reads, u64::from(2 * 128 + spares));
    // Five headers, and at most the last page of each block.
    assert!(cell.meta_reads == 5 && cell.page_reads <= 5 + in_use.len() as u64, "{cell:?}");
    assert_eq!(
        (cell.page_programs, cell.copies, cell.spare_programs, cell.erase_shares),
        (0, 0, 0, 0),
        "a clean mount"
    );
}

#[test]
fn a_checkpoint_of_yaffs2_spares_the_scan() {
    let (scan, nand) = yaffs_mount(1024, &yaffs::Config { checkpoint: false, ..yaffs::Config::default() });
    let in_use = (0..128).filter(|&block| nand.high_water(BlockId(block)) > 0).count() as u64;
    assert_eq!(scan.spare_reads, 128 + 32 * in_use);
    let (restored, _) = yaffs_mount(1024, &yaffs::Config::default());
    // The first page of each block, then the checkpoint pages.
    assert_eq!(restored.spare_reads, 128 + restored.page_reads);
    assert!(restored.spare_reads + restored.page_reads < scan.spare_reads / 2, "{restored:?}, a scan {scan:?}");
    assert_eq!(restored.page_reads, restored.meta_reads);
}

#[test]
fn minv_reads_one_spare_area() {
    let config = minv::Config { objects: 64, ..minv::Config::default() };
    let mut nvram = Nvram::new(1 << 18, NvmCost::default());
    let mut nand = flash(512);
    used(&mut Minv::mount(&mut nand as Lent<'_>, &mut nvram, &config).unwrap_or_else(|error| panic!("{error}")));
    let (before, words) = (at_mounts(&mut nand), nvram.usage().reads);
    let mut fs = Minv::mount(&mut nand as Lent<'_>, &mut nvram, &config).unwrap_or_else(|error| panic!("{error}"));
    assert!(fs.nvm().usage().reads - words < 30, "the mount reads {} words", fs.nvm().usage().reads - words);
    assert_eq!(fs.list("").map(|names| names.len()), Ok(5));
    let after = at_mounts(&mut nand);
    assert_eq!((after.spare_reads - before.spare_reads, after.page_reads - before.page_reads), (1, 0));
}

/// Pages programmed in a call, by who wrote them: object headers, and all.
fn programs(fs: &mut Yaffs<Lent<'_>>, call: impl FnOnce(&mut Yaffs<Lent<'_>>)) -> (u64, u64) {
    let headers = |fs: &mut Yaffs<Lent<'_>>| {
        let matrix = fs.nand_mut().ctx().matrix().clone();
        let of = matrix.sum(|origin, _| origin == nandlab_nand::Origin::OBJECT_HEADER).programs();
        (of, matrix.total().programs())
    };
    let before = headers(fs);
    call(fs);
    let after = headers(fs);
    (after.0 - before.0, after.1 - before.1)
}

/// yaffs2's `yaffs_flush_file` writes the cached data, then one header; with `data_sync` it returns before the header.
#[test]
fn an_fsync_writes_one_object_header_and_an_fdatasync_none() {
    for short_op_cache in [0, 10] {
        let config = yaffs::Config { short_op_cache, ..yaffs::Config::default() };
        let geometry = Geometry::single_die(128, 32, 2048).expect("the shape is sound");
        let mut nand = Backed::ram(geometry, Rules { program_order: ProgramOrder::AscendingDense, ..Rules::default() });
        let mut fs = Yaffs::mount(&mut nand as Lent<'_>, &config).unwrap_or_else(|error| panic!("{error}"));
        let file = fs.create("a").unwrap();
        fs.write(file, 0, &[1; 100]).unwrap();
        fs.sync(file).unwrap();
        fs.write(file, 0, &[2; 6000]).unwrap();
        let attributes = fs.attributes("a").unwrap().unwrap();
        let (headers, _) = programs(&mut fs, |fs| {
            // As a mounted directory stores the time of the write before it syncs.
            fs.set_attributes("a", nandlab_fs::Attributes { changed_ns: 7, ..attributes }).unwrap();
            fs.sync(file).unwrap();
        });
        assert_eq!(headers, 1, "a cache of {short_op_cache}");
        assert_eq!(programs(&mut fs, |fs| fs.sync(file).unwrap()), (0, 0), "nothing has changed");
        fs.write(file, 5000, &[3; 3000]).unwrap();
        let (headers, _) = programs(&mut fs, |fs| fs.sync_data(file).unwrap());
        assert_eq!(headers, 0, "a cache of {short_op_cache}");
        drop(fs);
        // The length is found again without a header.
        let mut fs = Yaffs::mount(&mut nand as Lent<'_>, &config).unwrap_or_else(|error| panic!("{error}"));
        let file = fs.open("a").unwrap();
        assert_eq!(fs.len(file), Ok(8000));
        let mut bytes = vec![0; 8000];
        fs.read(file, 0, &mut bytes).unwrap();
        assert!(bytes[..5000].iter().all(|&byte| byte == 2) && bytes[5000..].iter().all(|&byte| byte == 3));
    }
}

//! Power cuts: synced data survives. FAT has no journal, so later data has no guarantee.

use super::disk::Disk;
use super::model::{assert_same, tree_of, Model};
use nandlab_block::{ByteCount, Error};
use nandlab_drive::{inside, on};
use nandlab_fs::fat::{Config, WriteThrough};
use nandlab_fs::{FileSystem, FsError};
use nandlab_ftl::FtlConfig;
use nandlab_nand::backed::Backed;
use nandlab_nand::power_cut::{CutPlan, Form, PowerCut};
use nandlab_nand::random::Random;
use nandlab_nand::{Geometry, Rules};

type Flash = PowerCut<Backed>;

fn config(write_through: WriteThrough) -> Config {
    Config { cluster_bytes: Some(ByteCount(1024)), root_entries: 64, write_through, ..Config::default() }
}

#[test]
fn what_was_synced_is_there_after_the_power_went() {
    let mut lost = 0;
    for case in 0..60 {
        let ways = [WriteThrough::Entry, WriteThrough::Sector, WriteThrough::Operation];
        let config = config(ways[case as usize % 3]);
        let mut disk = Disk::new(400 << 10);
        config.format(&mut disk).unwrap();
        let mut model = Model::new(case, 3000);
        let mut random = Random::stream(case, 3);
        for _ in 0..3 {
            let mut synced = None;
            let outcome = config.mounted(&mut disk, |fs| {
                (0..random.below(60)).for_each(|_| model.step(fs));
                fs.sync_all().unwrap();
                synced = Some(model.tree.clone());
            });
            outcome.unwrap();
            model.unmounted();
            // The cut may only affect the unmount after the sync.
            disk.power_up(&mut random);
            config.mounted(&mut disk, |fs| assert_same(&tree_of(fs), &model.tree, "after a cut")).unwrap();
            lost += 1;
        }
    }
    assert_eq!(lost, 180);
}

/// Syncs, then cuts at the next operation, on an FTL with real flash rules.
fn cuts_over(ftl: &FtlConfig, cases: u64) -> u64 {
    let geometry = Geometry::single_die(64, 16, 1024).unwrap();
    let rules = Rules::default();
    let Ok(pages) = ftl.max_logical_pages(&geometry, &rules) else { return 0 };
    let pages = pages.min(600);
    if pages < 300 {
        return 0;
    }
    let mount = |nand: Flash| on(ftl, Box::new(nand), pages).map_err(|not| not.error).unwrap();
    let mut cuts = 0;
    for case in 0..cases {
        let config = config(WriteThrough::Sector);
        let mut disk = mount(PowerCut::new(Backed::ram(geometry, rules)));
        config.format(&mut *disk).unwrap();
        let mut model = Model::new(case, 2000);
        config.mounted(&mut *disk, |fs| (0..60).for_each(|_| model.step(fs))).unwrap();
        model.unmounted();
        // The cut comes at the first program after this one, of the in-use mark in the boot sector.
        let form = Form::USUAL[case as usize % Form::USUAL.len()];
        let flash: &mut Flash = disk.nand_mut().as_any_mut().downcast_mut().unwrap();
        flash.arm(CutPlan { operation: 1, form });
        let lost = config.mounted(&mut *disk, |fs| {
            let lost = fs.create("new").and_then(|file| fs.write(file, 0, &[7; 100]).and_then(|()| fs.sync(file)));
            assert_eq!(lost, Err(FsError::Device(Error::PowerLost)));
            fs.create("another")
        });
        assert_eq!(lost, Ok(Err(FsError::Device(Error::PowerLost))), "nothing is done without power");
        cuts += 1;
        let mut nand: Flash = inside(disk.into_nand());
        nand.restore();
        let mut disk = mount(nand);
        config
            .mounted(&mut *disk, |fs| {
                let mut tree = tree_of(fs);
                tree.remove("new");
                assert_same(&tree, &model.tree, &format!("case {case}"));
            })
            .unwrap();
    }
    cuts
}

#[test]
fn what_was_synced_is_there_after_a_cut_on_every_translation_layer() {
    for config in FtlConfig::all() {
        let cuts = cuts_over(&config, 20);
        println!("{}: {cuts} cuts", config.name());
        assert!(cuts == 20 || config.name() != "page");
    }
}

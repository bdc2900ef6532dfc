//! Tests for the store under any scheme, with the block map as an example.

use crate::block::{BlockMap, Config};
use crate::tests::{flash, submit, two_dies, write, Flash};
use crate::{Disk, Ftl};
use nandlab_block::{BlockDevice, Op, Payload, Request};
use nandlab_nand::power_cut::{CutPlan, Form};
use nandlab_nand::random::Random;
use nandlab_nand::{BlockId, Content, Geometry, Lpn, Nand, Rules, SectorMask};

type Lab = Disk<BlockMap, Flash>;

#[test]
fn notes_of_many_segments_stay_within_their_blocks() {
    // 512-byte pages: a note covers 4096 logical pages, so 5 segments need 3 blocks of 4 pages.
    let geometry = Geometry::single_die(4700, 4, 512).unwrap();
    let pages = 4 * 4096 + 100;
    let config = Config::default();
    let mut disk = Lab::mount(flash(geometry, Rules::default()), pages, &config).unwrap();
    assert_eq!(disk.ftl().store.notes.most_blocks(), 3);
    write(&mut disk, 0..pages.into());
    let mut random = Random::new(8);
    let mut trimmed = std::collections::BTreeSet::new();
    for round in 0..60 {
        for _ in 0..=random.below(3) {
            let page = random.below(5) * 4096 + random.below(90);
            trimmed.insert(page);
            submit(&mut disk, Op::Trim, page, 1);
        }
        submit(&mut disk, Op::Flush, 0, 0);
        assert!(disk.ftl().store.notes.blocks().len() <= 3, "round {round}");
        if round % 5 == 0 {
            disk = Lab::mount(disk.into_nand(), pages, &config).unwrap();
        }
    }
    disk.check();
    for page in 0..pages {
        let mapped = disk.ftl().store.lookup(Lpn(page)).is_some();
        assert_eq!(mapped, !trimmed.contains(&page.into()), "page {page}");
    }
}

fn is_mapped<N: Nand>(disk: &Disk<BlockMap, N>, page: u64) -> bool {
    disk.ftl().store.lookup(Lpn(page as u32)).is_some()
}

#[test]
fn notes_survive_a_cut_anywhere_in_the_renewal_of_their_blocks() {
    let geometry = Geometry::single_die(5300, 4, 512).unwrap();
    let pages = 5 * 4096 + 100;
    let nand = flash(geometry, Rules::default());
    let mut disk = Disk::<BlockMap, _>::mount(nand, pages, &Config::default()).unwrap();
    write(&mut disk, 0..pages.into());
    // Six segments, three full blocks, each with two live notes: a cut can leave four.
    let trimmed: Vec<u64> =
        (0..).zip([1, 2, 0, 0, 3, 4, 0, 0, 5, 0, 0, 0]).map(|(at, segment)| segment * 4096 + at).collect();
    for &page in &trimmed {
        submit(&mut disk, Op::Trim, page, 1);
        submit(&mut disk, Op::Flush, 0, 0);
    }
    assert_eq!(disk.ftl().store.notes.blocks().len(), 3);
    let full = disk.into_nand();
    let mount = |nand| Disk::<BlockMap, _>::mount(nand, pages, &Config::default()).unwrap();
    let mut cuts = 0;
    for form in Form::ALL {
        for operation in 1.. {
            let mut disk = mount(full.clone());
            [90, 3 * 4096 + 90].into_iter().for_each(|page| submit(&mut disk, Op::Trim, page, 1));
            disk.nand_mut().arm(CutPlan { operation, form });
            if disk.submit(&Request::new(Op::Flush, 0, 0), Payload::None).is_ok() {
                break;
            }
            cuts += 1;
            let mut nand = disk.into_nand();
            nand.restore();
            let mut disk = mount(nand);
            assert!(disk.ftl().store.notes.blocks().len() <= 3, "{form} at {operation}");
            assert!(trimmed.iter().all(|&page| !is_mapped(&disk, page)), "{form} at {operation}");
            submit(&mut disk, Op::Trim, 91, 1);
            submit(&mut disk, Op::Flush, 0, 0);
            assert!(!is_mapped(&mount(disk.into_nand()), 91), "{form} at {operation}");
        }
    }
    assert!(cuts > 30, "{cuts}");
}

#[test]
fn a_failed_note_moves_the_live_notes_of_its_block() {
    let geometry = Geometry::single_die(1100, 4, 512).unwrap();
    let nand = flash(geometry, Rules::default());
    let mut disk = Disk::<BlockMap, _>::mount(nand, 4200, &Config::default()).unwrap();
    write(&mut disk, 0..4200);
    let trim = |disk: &mut Disk<BlockMap, _>, page| {
        submit(disk, Op::Trim, page, 1);
        submit(disk, Op::Flush, 0, 0);
    };
    [1, 4097].into_iter().for_each(|page| trim(&mut disk, page));
    let failing = disk.ftl().store.notes.blocks().to_vec();
    disk.nand_mut().inner_mut().fail_program(1);
    trim(&mut disk, 2);
    disk.check();
    assert!(disk.ftl().store.free.is_bad(failing[0]) && disk.ftl().events().retired_blocks == 1);
    let mut disk = Disk::<BlockMap, _>::mount(disk.into_nand(), 4200, &Config::default()).unwrap();
    disk.check();
    assert!([1, 2, 4097].into_iter().all(|page| !is_mapped(&disk, page)));
}

#[test]
fn a_note_that_drops_a_page_waits_for_the_write_that_mapped_it() {
    let mut nand = two_dies();
    let mut ftl = BlockMap::mount(&mut nand, 16, &Config::default()).unwrap();
    let page = SectorMask(1);
    (0..16).for_each(|at| ftl.write(&mut nand, Lpn(at), page, &Content(None)).unwrap());
    ftl.trim(&mut nand, Lpn(7), page).unwrap();
    ftl.flush(&mut nand).unwrap();
    // Both are in the replacement block of their logical block, on its die, and the test keeps that die busy.
    ftl.write(&mut nand, Lpn(5), page, &Content(None)).unwrap();
    let near = ftl.store.geometry.block_of(ftl.store.lookup(Lpn(5)));
    let die = ftl.store.geometry.die_of(near);
    let free = |die: u32| {
        let on_die = |block: &BlockId| ftl.store.geometry.die_of(*block) == die;
        ftl.store.free.iter().map(|free| free.block).find(on_die).expect("a die has free blocks")
    };
    let (busy, idle) = (free(die), free(1 - die));
    for _ in 0..9 {
        nand.erase(busy).unwrap();
    }
    ftl.write(&mut nand, Lpn(7), page, &Content(None)).unwrap();
    let written = nand.ctx().last();
    ftl.trim(&mut nand, Lpn(9), page).unwrap();
    ftl.store.write_notes(&mut nand).unwrap();
    let note = ftl.store.notes.live().next().expect("a note was written").1;
    assert_ne!(ftl.store.geometry.die_of(ftl.store.geometry.block_of(note)), die, "the note is on the other die");
    assert!(nand.ctx().settled() < written && nand.ctx().last() < written);
    assert!(ftl.store.erase(&mut nand, idle).unwrap());
    assert!(nand.ctx().settled() >= written, "an erase after the note waits for the write");
}

//! Trim notes under any block-mapped scheme, with the block map as an example.

use crate::lab::{blocks_in_use, device, flash, is_mapped, mount, mount_again, restored, submit, write, Flash, Lab};
use nandlab_block::{BlockDevice, Op, Payload, Request};
use nandlab_drive::inside;
use nandlab_ftl::block::{BlockMap, Config};
use nandlab_ftl::Ftl;
use nandlab_nand::power_cut::{CutPlan, Form};
use nandlab_nand::random::Random;
use nandlab_nand::{BlockId, Counting, Geometry, Kind, Rules};

/// The layer that stores the device's pages.
fn counting(disk: &mut Lab) -> &Counting {
    device::<Flash>(disk).inner().inner().inner().inner()
}

/// The blocks with notes.
fn blocks_of_notes(disk: &mut Lab) -> Vec<BlockId> {
    let used = blocks_in_use(disk);
    used.into_iter().filter(|&block| counting(disk).first_kind(block) == Some(Kind::TrimNote)).collect()
}

#[test]
fn notes_of_many_segments_stay_within_their_blocks() {
    // 512-byte pages: a note covers 4096 logical pages, so 5 segments need 3 blocks with 4 pages each.
    let geometry = Geometry::single_die(4700, 4, 512).unwrap();
    let pages = 4 * 4096 + 100;
    let config = Config::default();
    let most = |config: &Config| BlockMap::max_logical_pages(&geometry, &Rules::default(), config).unwrap();
    let of_notes = most(&Config { durable_trim: false, ..config.clone() }) - most(&config);
    assert_eq!(of_notes, 3 * 4);
    let mut disk = mount(flash(geometry, Rules::default()), pages, &config);
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
        assert!(blocks_of_notes(&mut disk).len() <= 3, "round {round}");
        if round % 5 == 0 {
            disk = mount_again(disk, pages, &config);
        }
    }
    disk.check();
    for page in 0..pages {
        let mapped = is_mapped(&mut disk, page.into());
        assert_eq!(mapped, !trimmed.contains(&page.into()), "page {page}");
    }
}

#[test]
fn notes_survive_a_cut_anywhere_in_the_renewal_of_their_blocks() {
    let geometry = Geometry::single_die(5300, 4, 512).unwrap();
    let pages = 5 * 4096 + 100;
    let mut disk = mount(flash(geometry, Rules::default()), pages, &Config::default());
    write(&mut disk, 0..pages.into());
    // Six segments, three full blocks, each with two live notes: a cut can leave four.
    let trimmed: Vec<u64> =
        (0..).zip([1, 2, 0, 0, 3, 4, 0, 0, 5, 0, 0, 0]).map(|(at, segment)| segment * 4096 + at).collect();
    for &page in &trimmed {
        submit(&mut disk, Op::Trim, page, 1);
        submit(&mut disk, Op::Flush, 0, 0);
    }
    assert_eq!(blocks_of_notes(&mut disk).len(), 3);
    let full: Flash = inside(disk.into_nand());
    let mount = |nand: Flash| mount(nand, pages, &Config::default());
    let mut cuts = 0;
    for form in Form::ALL {
        for operation in 1.. {
            let mut disk = mount(full.clone());
            [90, 3 * 4096 + 90].into_iter().for_each(|page| submit(&mut disk, Op::Trim, page, 1));
            device::<Flash>(&mut disk).arm(CutPlan { operation, form });
            if disk.submit(&Request::new(Op::Flush, 0, 0), Payload::None).is_ok() {
                break;
            }
            cuts += 1;
            let mut disk = mount(restored(disk));
            assert!(blocks_of_notes(&mut disk).len() <= 3, "{form} at {operation}");
            assert!(trimmed.iter().all(|&page| !is_mapped(&mut disk, page)), "{form} at {operation}");
            submit(&mut disk, Op::Trim, 91, 1);
            submit(&mut disk, Op::Flush, 0, 0);
            assert!(!is_mapped(&mut mount(inside(disk.into_nand())), 91), "{form} at {operation}");
        }
    }
    assert!(cuts > 30, "{cuts}");
}

#[test]
fn a_failed_note_moves_the_live_notes_of_its_block() {
    let geometry = Geometry::single_die(1100, 4, 512).unwrap();
    let mut disk = mount(flash(geometry, Rules::default()), 4200, &Config::default());
    write(&mut disk, 0..4200);
    let trim = |disk: &mut Lab, page| {
        submit(disk, Op::Trim, page, 1);
        submit(disk, Op::Flush, 0, 0);
    };
    [1, 4097].into_iter().for_each(|page| trim(&mut disk, page));
    let failing = blocks_of_notes(&mut disk);
    device::<Flash>(&mut disk).inner_mut().fail_program(1);
    trim(&mut disk, 2);
    disk.check();
    assert!(counting(&mut disk).is_bad(failing[0]) && disk.events().retired_blocks == 1);
    let mut disk = mount_again(disk, 4200, &Config::default());
    disk.check();
    assert!([1, 2, 4097].into_iter().all(|page| !is_mapped(&mut disk, page)));
}

//! A cut program of an upper page destroys the lower page of its pair.

use crate::support::{geometry, oob, program, read};
use nandlab_nand::backed::Backed;
use nandlab_nand::power_cut::{CutPlan, Form, PowerCut};
use nandlab_nand::{BlockId, Nand, NandError, Ppa, ProgramOrder, Rules};

type Device = PowerCut<Backed>;

const LOST: NandError = NandError::PowerLost;

/// Blocks of ten pages with the pairs 0-2, 1-3, 4-6 and 5-7. Pages 8 and 9 are lower ones without an upper one.
const RULES: Rules = Rules {
    program_order: ProgramOrder::Ascending,
    partial_programs: 1,
    endurance: 1000,
    bits_per_cell: 2,
    pair_distance: 2,
    unstable_pages: false,
};

fn device(rules: Rules) -> Device {
    PowerCut::new(Backed::ram(geometry(2, 10), rules))
}

/// The pages of block 1 that cannot be read after a cut of the program of its page `at` by `act`, below all pages programmed.
fn lost(mut device: Device, form: Form, at: u32, act: impl Fn(&mut Device) -> Result<(), NandError>) -> Vec<u32> {
    (0..at).for_each(|page| program(&mut device, 10 + page).unwrap());
    device.ctx().fence();
    device.arm(CutPlan { operation: 1, form });
    assert_eq!(act(&mut device), Err(LOST));
    device.restore();
    let readable = |device: &mut Device, page: u32| match device.read_spare(Ppa(10 + page)) {
        Ok(None) => true,
        Ok(Some(_)) => read(device, 10 + page).is_ok(),
        Err(_) => false,
    };
    (0..10).filter(|&page| !readable(&mut device, page)).collect()
}

#[test]
fn pairs_are_at_their_distance() {
    let geometry = geometry(2, 10);
    let uppers: Vec<_> = (10..20).map(|at| RULES.upper_of(&geometry, Ppa(at)).map(|upper| upper.0 - 10)).collect();
    let none = None;
    assert_eq!(uppers, [Some(2), Some(3), none, none, Some(6), Some(7), none, none, none, none]);
    for at in (10..20).map(Ppa) {
        let lower = RULES.lower_of(&geometry, at);
        assert!(lower.is_none_or(|lower| RULES.upper_of(&geometry, lower) == Some(at)), "{at}");
        assert_eq!(lower.is_some(), [2, 3, 6, 7].contains(&(at.0 - 10)), "{at}");
    }
}

#[test]
fn a_cut_upper_page_takes_its_lower_page_along() {
    for at in 0..10 {
        let cut = |form| lost(device(RULES), form, at, |device| program(device, 10 + at));
        let pair = RULES.lower_of(&geometry(2, 10), Ppa(10 + at)).map_or(Vec::new(), |lower| vec![lower.0 - 10, at]);
        assert_eq!(cut(Form::PairedPage), pair, "page {at}");
        assert_eq!(cut(Form::TornSpare), [at], "another form leaves the lower page alone");
    }
    let copied = |device: &mut Device| device.copy(Ppa(10), Ppa(17), oob(0, 99)).map(drop);
    assert_eq!(lost(device(RULES), Form::PairedPage, 7, copied), [5, 7]);
}

#[test]
fn a_device_without_pairs_knows_no_such_form() {
    for rules in [Rules { pair_distance: 0, ..RULES }, Rules { bits_per_cell: 1, pair_distance: 0, ..RULES }] {
        assert_eq!(lost(device(rules), Form::PairedPage, 3, |device| program(device, 13)), [0; 0]);
    }
    let mut one_bit = device(RULES);
    one_bit.set_slc(BlockId(1), true);
    assert_eq!(lost(one_bit, Form::PairedPage, 3, |device| program(device, 13)), [0; 0], "a block of one bit a cell");
}

/// A program that is not yet certain was under way, so it takes the lower page along.
#[test]
fn a_lost_upper_page_takes_its_lower_page_along() {
    let erase = |device: &mut Device| device.erase(BlockId(0)).map(drop);
    let cut = |is_fenced: bool| {
        lost(device(RULES), Form::LostTail, 2, move |device| {
            device.arm(CutPlan { operation: 2, form: Form::LostTail });
            program(device, 12)?;
            if is_fenced {
                device.ctx().fence();
            }
            erase(device)
        })
    };
    assert_eq!((cut(false), cut(true)), (vec![0, 2], vec![]));
}

#[test]
fn a_skipped_lower_page_stays_erased_and_an_erase_makes_a_lost_one_whole() {
    let mut device = device(RULES);
    [10, 13].iter().for_each(|&at| program(&mut device, at).unwrap());
    device.arm(CutPlan { operation: 1, form: Form::PairedPage });
    // Pages 14 and 15 are skipped; page 14 is the lower one of page 16.
    assert_eq!(program(&mut device, 16), Err(LOST));
    device.restore();
    assert_eq!(device.read_spare(Ppa(14)), Ok(None));
    assert_eq!(device.read_spare(Ppa(16)), Err(NandError::Uncorrectable(Ppa(16))));
    device.erase(BlockId(1)).unwrap();
    (10..20).for_each(|at| program(&mut device, at).unwrap());
    assert!((10..20).all(|at| read(&mut device, at).is_ok()));
}

//! The chip beside the stack of devices for our FTLs, its rules, and its times in closed form.

use super::*;
use crate::backed::Backed;
use crate::content::{Content, PageBuf};
use crate::faulty::Faulty;
use crate::nand::Nand;
use crate::oob::Oob;
use crate::power_cut::PowerCut;
use crate::random::Random;
use crate::rules::ProgramOrder;
use crate::{Lpn, Origin, Seq};

const SHAPE: (u32, u32, u32) = (4, 4, 512);

fn timing(copy: &str) -> Timing {
    serde_from(&format!(
        "read_us = 10\nprogram_us = 100\nerase_us = 1000\ntransfer_ns_per_byte = 2\nspare_program_us = 50\n\
         spare_read_us = 5\ncopy = {copy}"
    ))
}

fn serde_from(text: &str) -> Timing {
    toml::from_str(text).expect("a timing table")
}

fn chip(rules: Rules, faults: Faults) -> Chip {
    let (blocks, pages, bytes) = SHAPE;
    let geometry = Geometry::single_die(blocks, pages, bytes).unwrap();
    Chip::new(geometry, rules, &timing("\"copyback\""), Options::default(), faults).unwrap()
}

fn rules(program_order: ProgramOrder, partial_programs: u8) -> Rules {
    Rules { program_order, partial_programs, ..Rules::default() }
}

fn sentence<T: std::fmt::Debug>(answer: Result<T, ChipError>) -> String {
    match answer {
        Err(ChipError::Rule(sentence)) => sentence,
        other => panic!("{other:?} is no broken rule"),
    }
}

const PAGE: (u32, &[u8]) = (0, &[0x5A; 512]);
const SPARE: (u32, &[u8]) = (0, &[0xA5; 16]);

#[test]
fn erased_bytes_read_as_ff_and_parts_stand_beside_each_other() {
    let mut chip = chip(rules(ProgramOrder::Ascending, 4), Faults::default());
    let spare_bytes = chip.geometry().shape().spare_bytes as usize;
    let (mut page, mut spare) = (vec![0; 512], vec![0; spare_bytes]);
    chip.read(Ppa(3), 0, &mut page).unwrap();
    chip.read_spare(Ppa(3), 0, &mut spare).unwrap();
    assert!(page.iter().chain(&spare).all(|&byte| byte == 0xFF));
    assert!(chip.is_erased(Ppa(3)).unwrap());
    chip.program(Ppa(0), (0, &[1; 128]), (0, &[2; 4])).unwrap();
    chip.program(Ppa(0), (256, &[3; 128]), (4, &[0xF0; 4])).unwrap();
    chip.program_spare(Ppa(0), (4, &[0x3C; 4])).unwrap();
    chip.read(Ppa(0), 0, &mut page).unwrap();
    chip.read_spare(Ppa(0), 0, &mut spare).unwrap();
    assert_eq!((page[127], page[128], page[256], page[384]), (1, 0xFF, 3, 0xFF));
    assert_eq!(spare[..9], [2, 2, 2, 2, 0x30, 0x30, 0x30, 0x30, 0xFF], "a spare byte keeps its cleared bits");
    let mut part = [0; 2];
    chip.read(Ppa(0), 127, &mut part).unwrap();
    assert_eq!(part, [1, 0xFF]);
    assert!(!chip.is_erased(Ppa(0)).unwrap());
}

#[test]
fn each_broken_rule_has_its_sentence_and_changes_nothing() {
    let faults = Faults { factory_bad_blocks: vec![3], ..Faults::default() };
    let mut dense = chip(rules(ProgramOrder::AscendingDense, 2), faults);
    let spare_bytes = dense.geometry().shape().spare_bytes;
    dense.program(Ppa(0), PAGE, SPARE).unwrap();
    dense.program(Ppa(1), PAGE, SPARE).unwrap();
    let before = (dense.operations(), *dense.counts(), dense.time_ns());
    let mut byte = [0; 2];
    for (told, wanted) in [
        (sentence(dense.read(Ppa(16), 0, &mut byte)), "read of page 16: the chip has pages 0 to 15"),
        (sentence(dense.read(Ppa(0), 511, &mut byte)), "bytes 511 to 512 reach beyond the 512 bytes of its data"),
        (sentence(dense.read_spare(Ppa(0), spare_bytes, &mut byte)), "bytes of its spare area"),
        (sentence(dense.program(Ppa(0), PAGE, SPARE)), "program of page 0: byte 0 is programmed already"),
        (sentence(dense.program(Ppa(3), PAGE, SPARE)), "this chip programs without gaps, page 2 is next"),
        (sentence(dense.program(Ppa(12), PAGE, SPARE)), "program of page 12: block 3 is bad"),
        (sentence(dense.erase(BlockId(3))), "erase of block 3: the block is bad"),
        (sentence(dense.erase(BlockId(4))), "erase of block 4: the chip has blocks 0 to 3"),
        (sentence(dense.mark_bad(BlockId(4))), "bad-block mark of block 4"),
        (sentence(dense.is_bad(BlockId(9))), "bad-block check of block 9"),
        (sentence(dense.copy(Ppa(0), Ppa(1))), "copy to page 1: the page is programmed already"),
        (sentence(dense.copy(Ppa(0), Ppa(3))), "page 2 is next"),
    ] {
        assert!(told.contains(wanted), "{told:?} is not {wanted:?}");
    }
    assert_eq!((dense.operations(), *dense.counts(), dense.time_ns()), before, "a refused command costs nothing");
    dense.program_spare(Ppa(0), SPARE).unwrap();
    assert!(sentence(dense.program_spare(Ppa(0), SPARE)).contains("allows 2 programs of a page between erases"));
    assert_eq!(dense.read(Ppa(12), 0, &mut byte), Err(NandError::BadBlock(BlockId(3)).into()));

    let mut ascending = chip(rules(ProgramOrder::Ascending, 1), Faults::default());
    ascending.program(Ppa(2), PAGE, SPARE).unwrap();
    assert!(sentence(ascending.program(Ppa(1), PAGE, SPARE)).contains("pages of block 0 below page 3 are spent"));
}

#[test]
fn times_and_counts_are_the_sum_of_the_data_sheet() {
    let mut chip = chip(rules(ProgramOrder::Ascending, 4), Faults::default());
    let mut part = [0; 100];
    let mut expected = 0;
    let mut step = |chip: &Chip, ns: Time, what: &str| {
        expected += ns;
        assert_eq!(chip.time_ns(), expected, "{what}");
    };
    chip.program(Ppa(0), PAGE, SPARE).unwrap();
    step(&chip, 100_000 + 2 * (512 + 16), "program");
    chip.read(Ppa(0), 7, &mut part).unwrap();
    step(&chip, 10_000 + 2 * 100, "partial read");
    chip.read_spare(Ppa(0), 0, &mut part[..8]).unwrap();
    step(&chip, 5_000 + 2 * 8, "spare read");
    chip.program_spare(Ppa(0), SPARE).unwrap();
    step(&chip, 50_000 + 2 * 16, "spare program");
    chip.copy(Ppa(0), Ppa(1)).unwrap();
    step(&chip, 110_000, "copyback");
    chip.erase(BlockId(1)).unwrap();
    step(&chip, 1_000_000, "erase");
    chip.mark_bad(BlockId(1)).unwrap();
    step(&chip, 50_000 + 2, "bad-block mark");
    assert!(chip.is_bad(BlockId(1)).unwrap());
    step(&chip, 5_000 + 2, "bad-block check");
    let Counts { reads, spare_reads, programs, spare_programs, copies, erases, .. } = *chip.counts();
    assert_eq!((reads, spare_reads, programs, spare_programs, copies, erases), (1, 2, 1, 2, 1, 1));
    assert_eq!((chip.counts().read_bytes, chip.counts().programmed_bytes), (109, 545));
}

#[test]
fn wrong_bits_are_corrected_up_to_the_ecc() {
    let mut chip = chip(rules(ProgramOrder::Ascending, 1), Faults::default());
    let mut page = vec![0; 512];
    chip.program(Ppa(0), PAGE, SPARE).unwrap();
    chip.flip_bits(Ppa(0), 8).unwrap();
    chip.read(Ppa(0), 0, &mut page).unwrap();
    assert_eq!((page[0], chip.counts().corrected_bits), (0x5A, 8));
    chip.flip_bits(Ppa(0), 1).unwrap();
    assert_eq!(chip.read(Ppa(0), 0, &mut page), Err(NandError::Uncorrectable(Ppa(0)).into()));
    assert_eq!(chip.copy(Ppa(0), Ppa(1)), Err(NandError::Uncorrectable(Ppa(0)).into()));
    chip.read_spare(Ppa(0), 0, &mut page[..4]).unwrap();
    chip.erase(BlockId(0)).unwrap();
    chip.read(Ppa(0), 0, &mut page).unwrap();
    assert_eq!(page[0], 0xFF);
}

#[test]
fn a_cached_program_is_lost_before_the_fence_alone() {
    for fenced in [false, true] {
        let geometry = Geometry::single_die(4, 4, 512).unwrap();
        let options = Options { cached_programs: true, ..Options::default() };
        let mut chip =
            Chip::new(geometry, Rules::default(), &timing("\"copyback\""), options, Faults::default()).unwrap();
        chip.program(Ppa(0), PAGE, SPARE).unwrap();
        if fenced {
            chip.fence().unwrap();
        }
        chip.arm(CutPlan { operation: 1, form: Form::LostTail });
        assert_eq!(chip.program(Ppa(1), PAGE, SPARE), Err(NandError::PowerLost.into()));
        chip.restore();
        assert_eq!(chip.read(Ppa(0), 0, &mut [0; 1]).is_ok(), fenced);
        assert!(chip.is_erased(Ppa(1)).unwrap());
    }
}

/// What a page gives: its first byte, an error, or none if it reads as erased.
#[derive(PartialEq, Debug)]
enum Seen {
    Erased,
    Byte(u8),
    Unreadable,
    Bad,
}

type Stack = PowerCut<Faulty<Backed>>;

fn seen_in_stack(stack: &mut Stack, at: Ppa) -> Seen {
    match stack.read_spare(at) {
        Ok(None) => Seen::Erased,
        Err(NandError::BadBlock(_)) => Seen::Bad,
        _ => {
            let mut page = Content::zeroed(512);
            let byte = |page: &Content| Seen::Byte(page.bytes().expect("bytes")[0]);
            stack.read(at, &mut page).map_or(Seen::Unreadable, |_| byte(&page))
        }
    }
}

fn seen_in_chip(chip: &mut Chip, at: Ppa) -> Seen {
    let mut byte = [0];
    match (chip.is_erased(at), chip.read(at, 0, &mut byte)) {
        (_, Err(ChipError::Nand(NandError::BadBlock(_)))) => Seen::Bad,
        (Ok(true), _) => Seen::Erased,
        (_, Err(_)) => Seen::Unreadable,
        (_, Ok(())) => Seen::Byte(byte[0]),
    }
}

/// Random legal commands on both devices, with cuts or with failures: answers and contents agree.
///
/// Not both at once: in the stack a failed program's page stays unreadable after a cut erase.
#[test]
fn cuts_and_failures_leave_the_same_flash_as_on_the_stack() {
    let mut cuts = 0;
    for seed in 0..600 {
        let mut random = Random::new(seed);
        let fails = seed % 2 == 0;
        let failing = if fails { vec![9] } else { vec![] };
        let faults = Faults { factory_bad_blocks: vec![2], failing_programs: failing, ..Faults::default() };
        let mut chip = chip(rules(ProgramOrder::Ascending, 1), faults.clone());
        let geometry = Geometry::single_die(4, 4, 512).unwrap();
        let backed = Backed::ram(geometry, rules(ProgramOrder::Ascending, 1));
        let mut stack = PowerCut::new(Faulty::new(backed, faults).unwrap());
        if fails {
            chip.fail_erase(7);
            stack.inner_mut().fail_erase(7);
        }
        for step in 0..40 {
            if !fails && random.chance(0.2) {
                let mut forms: Vec<Form> = Form::ALL.into_iter().filter(|form| !form.is_of_stack_alone()).collect();
                forms.retain(|&form| form != Form::LostTail);
                let form = forms[random.below(forms.len() as u64) as usize];
                let plan = CutPlan { operation: 1 + random.below(3), form };
                chip.arm(plan);
                stack.arm(plan);
            }
            let block = [0, 1, 3][random.below(3) as usize];
            let at = Ppa(block * 4 + random.below(4) as u32);
            let answer = if random.chance(0.3) {
                if chip.blocks[block as usize].bad {
                    continue;
                }
                let expected = stack.erase(BlockId(block)).map(drop);
                (chip.erase(BlockId(block)), expected)
            } else {
                let bytes = [step; 512];
                let answer = chip.program(at, (0, &bytes), (0, &[]));
                if matches!(answer, Err(ChipError::Rule(_))) {
                    continue;
                }
                stack.ctx().fence();
                let oob = Oob::data(Lpn(at.0), Seq(u64::from(step)), Origin::HOST);
                (answer, stack.program(at, &Content(Some(bytes.into())), &[], oob).map(drop))
            };
            assert_eq!(answer.0, answer.1.map_err(ChipError::from), "seed {seed}, step {step}");
            if chip.cut_operation().is_some() {
                cuts += 1;
                chip.restore();
                stack.restore();
            }
            for page in 0..16 {
                let expected = seen_in_stack(&mut stack, Ppa(page));
                assert_eq!(seen_in_chip(&mut chip, Ppa(page)), expected, "seed {seed}, step {step}, page {page}");
            }
        }
    }
    assert!(cuts > 1000, "only {cuts} cuts");
}

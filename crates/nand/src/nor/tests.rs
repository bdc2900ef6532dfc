use super::*;

const SMALL: Options = Options {
    blocks: 2,
    block_bytes: 64,
    page_bytes: 16,
    word_bytes: 4,
    programs_once: false,
    read_us: 1.0,
    program_us: 30.0,
    program_byte_us: 2.0,
    erase_us: 1000.0,
    transfer_ns_per_byte: 10.0,
    seed: 7,
};

fn chip() -> Nor {
    Nor::new(SMALL).unwrap()
}

fn bytes<const N: usize>(nor: &mut Nor, address: u32) -> [u8; N] {
    let mut to = [0; N];
    nor.read(address, &mut to).unwrap();
    to
}

fn sentence(answer: Result<(), ChipError>) -> String {
    match answer {
        Err(ChipError::Rule(sentence)) => sentence,
        other => panic!("{other:?} is no broken rule"),
    }
}

fn cut(nor: &mut Nor, form: Form) {
    nor.arm(CutPlan { operation: 1, form });
}

#[test]
fn bits_go_from_1_to_0_until_the_erase() {
    let mut nor = chip();
    nor.program(4, &[0xF0; 4]).unwrap();
    nor.program(4, &[0x3F; 4]).unwrap();
    assert_eq!(bytes::<6>(&mut nor, 3), [0xFF, 0x30, 0x30, 0x30, 0x30, 0xFF]);
    nor.erase(0).unwrap();
    assert_eq!((bytes::<4>(&mut nor, 4), nor.pe_cycles(0), nor.pe_cycles(1)), ([0xFF; 4], Some(1), Some(0)));
    assert_eq!((nor.counts().programs, nor.counts().programmed_bytes, nor.counts().erases), (2, 8, 1));
}

#[test]
fn each_broken_rule_has_its_sentence_and_changes_nothing() {
    let mut nor = chip();
    let mut once = Nor::new(Options { programs_once: true, ..SMALL }).unwrap();
    once.program(0, &[0x0F; 4]).unwrap();
    once.program(0, &[0; 4]).unwrap();
    for (answer, words) in [
        (nor.program(2, &[0; 4]), "whole words of 4 bytes"),
        (nor.program(0, &[0; 3]), "whole words"),
        (nor.program(0, &[]), "whole words"),
        (nor.program(12, &[0; 8]), "crosses a page of 16 bytes"),
        (nor.program(128, &[0; 4]), "the chip has 128 bytes"),
        (nor.read(125, &mut [0; 4]), "the chip has 128 bytes"),
        (nor.erase(2), "blocks 0 to 1"),
        (once.program(0, &[0x0E; 4]), "the word at 0 is programmed already"),
    ] {
        assert!(sentence(answer).contains(words), "{words}");
    }
    assert_eq!((nor.operations(), nor.time_ns(), nor.counts().reads), (0, 0, 0));
    for wrong in [
        Options { word_bytes: 3, ..SMALL },
        Options { page_bytes: 48, ..SMALL },
        Options { blocks: 0, ..SMALL },
        Options { blocks: u32::MAX, ..SMALL },
    ] {
        assert!(Nor::new(wrong).unwrap_err().to_string().contains("divide"));
    }
}

#[test]
fn the_time_is_the_sum_of_words_bytes_and_erases() {
    let mut nor = chip();
    nor.program(0, &[0; 4]).unwrap();
    assert_eq!(nor.time_ns(), 30_000 + 40);
    nor.program(16, &[0; 16]).unwrap();
    assert_eq!(nor.time_ns(), 30_040 + 30_000 + 12 * 2000 + 160);
    let before = nor.time_ns();
    nor.erase(0).unwrap();
    assert_eq!(nor.time_ns() - before, 1_000_000);
    bytes::<8>(&mut nor, 0);
    assert_eq!(nor.time_ns() - before, 1_000_000 + 1080);
}

#[test]
fn a_cut_program_leaves_its_form() {
    for (form, expected) in [
        (Form::Clean, [0xFF; 8]),
        (Form::WeakPage, [0xFF; 8]),
        (Form::Done, [0; 8]),
        (Form::TornPage, [0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF]),
    ] {
        let mut nor = chip();
        cut(&mut nor, form);
        assert_eq!(nor.program(0, &[0; 8]), Err(NandError::PowerLost.into()), "{form:?}");
        assert_eq!(nor.read(0, &mut [0]), Err(NandError::PowerLost.into()), "{form:?}");
        assert_eq!(nor.cut_operation(), Some(Operation::Program));
        nor.restore();
        assert_eq!(bytes::<8>(&mut nor, 0), expected, "{form:?}");
    }
    let mut nor = chip();
    cut(&mut nor, Form::TornSpare);
    nor.program(0, &[0xF0; 16]).unwrap_err();
    nor.restore();
    let found = bytes::<16>(&mut nor, 0);
    assert!(found.iter().all(|&byte| byte & 0xF0 == 0xF0), "bits stay that no program clears");
    assert!(found != [0xF0; 16] && found != [0xFF; 16], "{found:?}");
}

#[test]
fn a_cut_erase_leaves_half_a_block_or_bits_between() {
    for (form, first, last) in
        [(Form::Clean, 0, 0), (Form::TornErasePrefix, 0xFF, 0), (Form::Done, 0xFF, 0xFF), (Form::TornEraseWeak, 0, 0)]
    {
        let mut nor = chip();
        (0..4).for_each(|page| nor.program(page * 16, &[0; 16]).unwrap());
        cut(&mut nor, form);
        nor.erase(0).unwrap_err();
        nor.restore();
        assert_eq!((bytes::<32>(&mut nor, 0), bytes::<32>(&mut nor, 32)), ([first; 32], [last; 32]), "{form:?}");
    }
    let mut nor = chip();
    nor.program(0, &[0x0F; 16]).unwrap();
    cut(&mut nor, Form::TornEraseUnreadable);
    nor.erase(0).unwrap_err();
    nor.restore();
    let found = bytes::<16>(&mut nor, 0);
    assert!(found.iter().all(|&byte| byte & 0x0F == 0x0F), "an erase clears nothing");
    assert!(found != [0x0F; 16] && found != [0xFF; 16], "{found:?}");
}

//! Failures last until erase or retirement, and depend on the seed alone.

use crate::support::{apply, geometry, oob, page, program, read, rules, Script};
use nandlab_nand::backed::Backed;
use nandlab_nand::faulty::{BitErrors, Config, Faulty};
use nandlab_nand::{BlockId, Content, Counting, Geometry, Nand, NandError, Oob, PageBuf, Ppa, ProgramOrder, Rules};

type Device = Faulty<Backed>;

fn device(config: Config) -> Device {
    Faulty::new(Backed::ram(geometry(8, 4), rules(ProgramOrder::Ascending)), config).unwrap()
}

fn is_unreadable<N: Nand<Buf = Content>>(device: &mut N, at: u32) {
    let lost = NandError::Uncorrectable(Ppa(at));
    assert_eq!(read(device, at), Err(lost));
    assert_eq!(device.read_spare(Ppa(at)), Err(lost));
    assert_eq!(device.read_tail(Ppa(at), &mut []), Err(lost));
}

#[test]
fn without_faults_it_is_the_device_inside() {
    let (g, r) = (geometry(9, 5), rules(ProgramOrder::Any));
    let mut script = Script::new(1, g, r);
    let (mut plain, mut faulty) = (Backed::ram(g, r), Faulty::new(Backed::ram(g, r), Config::default()).unwrap());
    for _ in 0..5_000 {
        let step = script.step();
        assert_eq!(apply(&mut plain, &step), apply(&mut faulty, &step), "{step:?}");
    }
    assert_eq!(plain.ctx().matrix(), faulty.ctx().matrix());
    assert_eq!(faulty.counts(), &Default::default());
}

#[test]
fn factory_bad_blocks_are_told_by_their_spare_areas() {
    let mut device = device(Config { factory_bad_blocks: vec![2, 5], ..Config::default() });
    assert_eq!(device.factory_bad_blocks().collect::<Vec<_>>(), [BlockId(2), BlockId(5)]);
    for at in 0..32 {
        let expected = if [2, 5].contains(&(at / 4)) { Err(NandError::BadBlock(BlockId(at / 4))) } else { Ok(None) };
        assert_eq!(device.read_spare(Ppa(at)), expected);
    }
    assert_eq!(device.ctx().matrix().total().spare_reads, 32, "a mark is found at the price of a read");
    assert_eq!(device.ctx().matrix().total().spare_programs, 0, "the factory's marks cost nothing");
}

#[test]
#[should_panic(expected = "program of page 1 in block 2: the block is bad")]
fn a_factory_bad_block_is_not_programmed() {
    let _ = program(&mut device(Config { factory_bad_blocks: vec![2], ..Config::default() }), 9);
}

#[test]
#[should_panic(expected = "program of page 0 in block 2: the block is bad")]
fn nothing_is_copied_to_a_factory_bad_block() {
    let mut device = device(Config { factory_bad_blocks: vec![2], ..Config::default() });
    program(&mut device, 0).unwrap();
    let _ = device.copy(Ppa(0), Ppa(8), oob(0, 1));
}

#[test]
#[should_panic(expected = "erase of block 2: the block is bad")]
fn a_factory_bad_block_is_not_erased() {
    let _ = device(Config { factory_bad_blocks: vec![2], ..Config::default() }).erase(BlockId(2));
}

#[test]
fn a_failed_program_spends_its_page_and_no_other() {
    let mut device = device(Config { failing_programs: vec![2], ..Config::default() });
    program(&mut device, 0).unwrap();
    assert_eq!(program(&mut device, 1), Err(NandError::ProgramFailed(Ppa(1))));
    is_unreadable(&mut device, 1);
    assert_eq!(device.copy(Ppa(1), Ppa(4), oob(1, 5)), Err(NandError::Uncorrectable(Ppa(1))));
    assert_eq!(device.read_spare(Ppa(4)), Ok(None), "the target of a copy without a source stays erased");
    program(&mut device, 2).unwrap();
    assert_eq!((read(&mut device, 0).unwrap().1, read(&mut device, 2).unwrap().1), (0, 2));
    device.erase(BlockId(0)).unwrap();
    program(&mut device, 0).unwrap();
    program(&mut device, 1).unwrap();
    assert_eq!(read(&mut device, 1).unwrap().1, 1, "the erase makes the page whole");
    assert_eq!(device.counts().failed_programs, 1);
    assert_eq!(device.ctx().matrix().total().page_programs, 5, "a failed program costs a program");
}

#[test]
#[should_panic(expected = "program of page 1 in block 0: descending, pages below 2 are spent")]
fn a_page_whose_program_failed_is_spent() {
    let mut device = device(Config { failing_programs: vec![2], ..Config::default() });
    program(&mut device, 0).unwrap();
    let _ = program(&mut device, 1);
    let _ = program(&mut device, 1);
}

#[test]
fn a_failed_copy_spends_its_target_and_leaves_its_source() {
    let mut device = device(Config::default());
    program(&mut device, 0).unwrap();
    device.fail_program(1);
    assert_eq!(device.copy(Ppa(0), Ppa(4), oob(0, 7)), Err(NandError::ProgramFailed(Ppa(4))));
    is_unreadable(&mut device, 4);
    assert_eq!(read(&mut device, 0).unwrap().1, 0);
    device.copy(Ppa(0), Ppa(5), oob(0, 8)).unwrap();
    assert_eq!(read(&mut device, 5).unwrap().0.seq.0, 8);
}

#[test]
fn a_failed_spare_program_takes_its_page_along() {
    let mut device = device(Config::default());
    program(&mut device, 0).unwrap();
    program(&mut device, 1).unwrap();
    device.fail_program(2);
    device.program_spare(Ppa(0), oob(9, 9)).unwrap();
    assert_eq!(device.program_spare(Ppa(1), oob(9, 10)), Err(NandError::ProgramFailed(Ppa(1))));
    is_unreadable(&mut device, 1);
    assert_eq!(device.read_spare(Ppa(0)).unwrap().unwrap().lpn.0, 9);
}

#[test]
fn a_failed_erase_leaves_a_block_that_can_only_be_retired() {
    let mut device = device(Config { failing_erases: vec![2], ..Config::default() });
    program(&mut device, 4).unwrap();
    device.erase(BlockId(0)).unwrap();
    assert_eq!(device.erase(BlockId(1)), Err(NandError::EraseFailed(BlockId(1))));
    for at in 4..8 {
        is_unreadable(&mut device, at);
    }
    assert_eq!(device.erase(BlockId(1)), Err(NandError::EraseFailed(BlockId(1))), "no second chance");
    assert_eq!(program(&mut device, 4), Err(NandError::ProgramFailed(Ppa(4))));
    program(&mut device, 0).unwrap();
    assert_eq!(device.copy(Ppa(0), Ppa(5), oob(0, 5)), Err(NandError::ProgramFailed(Ppa(5))));
    device.retire(BlockId(1)).unwrap();
    assert_eq!(device.read_spare(Ppa(4)), Err(NandError::BadBlock(BlockId(1))));
    assert_eq!(device.counts().failed_erases, 2);
    assert_eq!(device.ctx().matrix().total().erases(), 3.0, "a failed erase costs an erase");
}

#[test]
fn scripts_count_from_now() {
    let mut device = device(Config::default());
    program(&mut device, 0).unwrap();
    device.erase(BlockId(7)).unwrap();
    device.fail_program(3);
    device.fail_erase(2);
    let programs: Vec<_> = (1..5).map(|at| program(&mut device, at).is_ok()).collect();
    let erases: Vec<_> = (4..7).map(|block| device.erase(BlockId(block)).is_ok()).collect();
    assert_eq!((programs, erases), (vec![true, true, false, true], vec![true, false, true]));
    assert_eq!((device.programs(), device.erases()), (5, 4));
}

/// Failed shares among programs and erases over `rounds` fillings on a device without contents.
fn failing_shares(config: Config, rounds: u32) -> (f64, f64) {
    let g = geometry(64, 16);
    let mut device = Faulty::new(Counting::<nandlab_nand::counting::Full>::new(g, Rules::default()), config).unwrap();
    let mut dead = [false; 64];
    let (mut programs, mut erases, mut seq) = (0, 0, 0);
    for _ in 0..rounds {
        for block in (0..64).filter(|&block| !dead[block as usize]).collect::<Vec<_>>() {
            for page in 0..16 {
                seq += 1;
                programs += 1;
                let _ = device.program(g.page(BlockId(block), page), &(), &[], oob(0, seq));
            }
            erases += 1;
            dead[block as usize] = device.erase(BlockId(block)).is_err();
        }
    }
    let counts = device.counts();
    (counts.failed_programs as f64 / f64::from(programs), counts.failed_erases as f64 / f64::from(erases))
}

#[test]
fn random_failures_come_at_their_rates_and_grow_with_wear() {
    let config = Config { program_failure_rate: 0.01, erase_failure_rate: 0.002, ..Config::default() };
    let (programs, erases) = failing_shares(config.clone(), 100);
    // 100,000 programs, 6,400 erases: within four standard errors.
    assert!((programs - 0.01).abs() < 0.0013, "{programs}");
    assert!((erases - 0.002).abs() < 0.0023, "{erases}");
    let worn = Config { failure_growth: 2, initial_pe_cycles: 100_000, ..config.clone() };
    let (programs, _) = failing_shares(worn, 100);
    assert!(
        (programs - 0.04).abs() < 0.004,
        "at the endurance of 100,000, a rate to the power of 2 is four times as high: {programs}"
    );
    assert_eq!(failing_shares(config.clone(), 10), failing_shares(config.clone(), 10));
    assert_ne!(failing_shares(config.clone(), 10), failing_shares(Config { seed: 1, ..config }, 10));
}

/// A filled device with 4 KiB pages and bit errors.
fn with_bit_errors(errors: BitErrors, pe_cycles: u32, seed: u64) -> Faulty<Counting> {
    let g = Geometry::single_die(64, 16, 4096).unwrap();
    let config = Config { seed, initial_pe_cycles: pe_cycles, bit_errors: Some(errors), ..Config::default() };
    let mut device = Faulty::new(Counting::new(g, Rules { endurance: 1000, ..Rules::default() }), config).unwrap();
    for at in 0..g.pages() {
        device.program(Ppa(at), &(), &[at as u8; 8], oob(at, at.into())).unwrap();
    }
    device
}

fn reads<N: Nand>(device: &mut N, pages: impl Iterator<Item = u32>) -> Vec<(u32, Result<Oob, NandError>)> {
    let mut buffer = N::Buf::zeroed(device.geometry().page_bytes());
    pages.map(|at| (at, device.read(Ppa(at), &mut buffer))).collect()
}

const ERRORS: BitErrors = BitErrors { rber: 1e-3, growth: 2, ecc_bits: 8, codeword_bytes: 512 };

#[test]
fn bit_errors_within_the_ecc_are_corrected_and_counted() {
    let mut device = with_bit_errors(BitErrors { ecc_bits: 60, ..ERRORS }, 0, 0);
    assert!(reads(&mut device, 0..1024).iter().all(|(_, result)| result.is_ok()));
    let expected = 1024.0 * 4096.0 * 8.0 * 1e-3;
    let corrected = device.counts().corrected_bits as f64;
    // The standard deviation is the expectation's root: the limit is four such deviations.
    assert!((corrected - expected).abs() < 4.0 * f64::sqrt(expected), "{corrected} {expected}");
}

#[test]
fn bit_errors_beyond_the_ecc_are_as_frequent_as_the_binomial_says() {
    // P(more than 8 of 4096 bits at 1e-3) = 0.024297 for a codeword; eight codewords a page: 0.17863.
    let mut device = with_bit_errors(ERRORS, 0, 0);
    let lost = reads(&mut device, 0..1024).iter().filter(|(_, result)| result.is_err()).count();
    assert!((lost as f64 / 1024.0 - 0.17863).abs() < 4.0 * 0.012, "{lost}");
    // At the endurance, four times the rate: hardly a page survives.
    let mut device = with_bit_errors(ERRORS, 1000, 0);
    let lost = reads(&mut device, 0..1024).iter().filter(|(_, result)| result.is_err()).count();
    assert!(lost > 1020, "{lost}");
}

#[test]
fn bit_errors_stay_until_the_erase_whatever_is_read_when() {
    let mut device = with_bit_errors(ERRORS, 0, 0);
    let forwards = reads(&mut device, 0..1024);
    let mut backwards = reads(&mut device, (0..1024).rev());
    backwards.reverse();
    assert_eq!(forwards, backwards);
    assert_eq!(reads(&mut with_bit_errors(ERRORS, 0, 0), 500..600), forwards[500..600]);
    assert_ne!(reads(&mut with_bit_errors(ERRORS, 0, 1), 0..1024), forwards);

    let (lost, error) = forwards.iter().find(|(_, result)| result.is_err()).unwrap();
    assert_eq!(error, &Err(NandError::Uncorrectable(Ppa(*lost))));
    assert_eq!(device.read_spare(Ppa(*lost)).unwrap().unwrap().lpn.0, *lost, "the spare area has a code of its own");
    device.erase(BlockId(0)).unwrap();
    let mut fresh = with_bit_errors(ERRORS, 0, 0);
    let block = |device: &mut Faulty<Counting>| {
        device.erase(BlockId(0)).unwrap();
        for at in 0..16 {
            device.program(Ppa(at), &(), &[0], oob(at, 5000 + u64::from(at))).unwrap();
        }
        reads(device, 0..16).iter().map(|(_, result)| result.is_err()).collect::<Vec<_>>()
    };
    let generations: Vec<_> = (0..20).map(|_| block(&mut fresh)).collect();
    assert!(generations.iter().any(|errors| errors != &generations[0]), "each program draws anew");
    assert!(generations.iter().flatten().any(|&lost| !lost), "an erase clears what was uncorrectable");
}

#[test]
fn a_tail_is_lost_with_its_own_codeword_only() {
    let mut device = with_bit_errors(ERRORS, 0, 0);
    let (mut both, mut page_only) = (0, 0);
    for at in 0..1024 {
        let mut tail = [0xEE; 8];
        let read_tail = device.read_tail(Ppa(at), &mut tail);
        let read = device.read(Ppa(at), &mut ());
        match (read, read_tail) {
            (Err(_), Err(_)) => {
                assert_eq!(tail, [0; 8], "nothing leaks of what is lost");
                both += 1;
            }
            (Err(_), Ok(_)) => page_only += 1,
            (Ok(_), tail_read) => assert_eq!((tail_read.is_ok(), tail), (true, [at as u8; 8])),
        }
    }
    assert!(both > 5 && page_only > 60, "{both} {page_only}");
}

#[test]
fn the_copy_of_an_uncorrectable_page_leaves_its_target_erased() {
    let mut device = with_bit_errors(ERRORS, 0, 0);
    let lost = reads(&mut device, 16..1024).iter().find(|(_, result)| result.is_err()).unwrap().0;
    device.erase(BlockId(0)).unwrap();
    let before = device.ctx().matrix().total();
    assert_eq!(device.copy(Ppa(lost), Ppa(0), oob(0, 9999)), Err(NandError::Uncorrectable(Ppa(lost))));
    assert_eq!(device.read_spare(Ppa(0)), Ok(None));
    let total = device.ctx().matrix().total();
    assert_eq!((total.copies, total.page_reads), (before.copies, before.page_reads + 1), "half of a copy is a read");
    device.program(Ppa(0), &(), &[], oob(0, 9999)).unwrap();
}

#[test]
fn nothing_of_an_unreadable_page_reaches_the_reader() {
    let mut device = device(Config { failing_programs: vec![1], ..Config::default() });
    let _ = device.program(Ppa(0), &page(7), &[], oob(0, 1));
    let mut into = page(9);
    assert!(device.read(Ppa(0), &mut into).is_err());
    assert_eq!(into, page(9));
}

#[test]
fn impossible_faults_are_refused_with_the_value() {
    let errors = |change: fn(&mut BitErrors)| {
        let mut errors = ERRORS;
        change(&mut errors);
        Config { bit_errors: Some(errors), ..Config::default() }
    };
    for (config, sentence) in [
        (
            Config { factory_bad_share: 1.5, ..Config::default() },
            "factory_bad_share = 1.5 cannot work: it lies between 0 and 1",
        ),
        (Config { program_failure_rate: -0.1, ..Config::default() }, "program_failure_rate = -0.1 cannot work"),
        (Config { erase_failure_rate: f64::NAN, ..Config::default() }, "erase_failure_rate = NaN cannot work"),
        (
            Config { factory_bad_blocks: vec![8], ..Config::default() },
            "factory_bad_blocks = 8 cannot work: the device has blocks 0 to 7",
        ),
        (
            Config { failing_erases: vec![3, 0], ..Config::default() },
            "failing_erases = 0 cannot work: operations are counted from 1",
        ),
        (errors(|e| e.rber = 0.2), "bit_errors.rber = 0.2 cannot work: it lies between 0 and 0.1"),
        (
            errors(|e| e.codeword_bytes = 1024),
            "bit_errors.codeword_bytes = 1024 cannot work: a codeword has 512 or 1024 bytes and fits a page of 512 B",
        ),
        (errors(|e| e.codeword_bytes = 100), "bit_errors.codeword_bytes = 100 cannot work"),
    ] {
        let refused = Faulty::new(Backed::ram(geometry(8, 4), Rules::default()), config).unwrap_err().to_string();
        assert!(refused.starts_with(sentence), "{refused}");
    }
}

#[test]
fn the_configuration_reads_from_toml_and_refuses_misspelt_keys() {
    let text = "seed = 3\nfactory_bad_share = 0.02\n[bit_errors]\nrber = 1e-5\necc_bits = 24\n";
    let config: Config = toml::from_str(text).unwrap();
    let errors = BitErrors { rber: 1e-5, growth: 2, ecc_bits: 24, codeword_bytes: 512 };
    assert_eq!(config, Config { seed: 3, factory_bad_share: 0.02, bit_errors: Some(errors), ..Config::default() });
    assert_eq!(toml::from_str::<Config>(&toml::to_string(&config).unwrap()).unwrap(), config);
    assert!(toml::from_str::<Config>("sede = 3").is_err());
    assert!(toml::from_str::<Config>("[bit_errors]\nrber = 0.1\necc_bits = 1\nretention = 2").is_err());
}

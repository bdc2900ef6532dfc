//! Raw bit errors against an ECC: the first retry, its cost, and uncorrectable pages. All expected figures are
//! closed forms, worked out by hand; powers of two make them exact.

use crate::support::{apply, geometry, oob, program, read, rules, Script};
use nandlab_nand::aging::{Aging, Config};
use nandlab_nand::backed::Backed;
use nandlab_nand::profile::{Suspend, Timing};
use nandlab_nand::timed::Timed;
use nandlab_nand::{
    scoped, BlockId, Cause, Counting, Lpn, Nand, NandError, Oob, Origin, PageBuf, Ppa, ProgramOrder, Seq, Strain, Time,
};

const DAY: Time = 86_400_000_000_000;
const SECOND: Time = 1_000_000_000;

/// Bits per codeword of 512 B, and the ECC limit.
const BITS: f64 = 4096.0;
const ECC: u32 = 8;

/// No errors, at 1,000 P/E cycles.
fn clean() -> Config {
    Config { initial_pe_cycles: 1000, codeword_bytes: 512, ..Config::new(ECC) }
}

/// This many wrong bits in a freshly programmed codeword.
fn fresh(errors: f64) -> Config {
    Config { rber: errors / BITS, ..clean() }
}

fn device(config: Config) -> Aging<Backed> {
    let mut device = Aging::new(Backed::ram(geometry(8, 4), rules(ProgramOrder::Ascending)), config).unwrap();
    (0..8).for_each(|at| program(&mut device, at).unwrap());
    device
}

/// Page-1 reads up to and including the first with a retry.
fn reads_until_retry(device: &mut Aging<Backed>) -> u64 {
    (1..10_000).find(|_| read(device, 1).is_ok() && device.counts().retries > 0).expect("reads disturb")
}

fn needs_retry(device: &mut Aging<Backed>) -> bool {
    let before = device.counts().retries;
    read(device, 1).unwrap();
    device.counts().retries > before
}

#[test]
fn without_errors_it_is_the_device_inside() {
    let (g, r) = (geometry(9, 5), rules(ProgramOrder::Any));
    let mut script = Script::new(1, g, r);
    let mut aging = Aging::new(Backed::ram(g, r), clean()).unwrap();
    let mut plain = Backed::ram(g, r);
    for _ in 0..5_000 {
        let step = script.step();
        assert_eq!(apply(&mut plain, &step), apply(&mut aging, &step), "{step:?}");
    }
    assert_eq!(plain.ctx().matrix(), aging.ctx().matrix());
    assert_eq!(aging.counts(), &Default::default());
}

#[test]
fn the_first_retry_comes_after_as_many_reads_as_the_ecc_corrects() {
    // Each read adds 2^-15 per bit, an eighth of a bit per codeword: 64 reads make 8 bits, the ECC limit, so
    // the read after 65 others is the first with a retry.
    let disturbed = Config { read_disturb: (-15_f64).exp2(), ..clean() };
    let mut nand = device(disturbed.clone());
    assert_eq!(reads_until_retry(&mut nand), 66);
    assert_eq!(nand.reads(BlockId(0)), 67, "the one that was repeated counts twice");
    // Reads on the block's other pages count, reads on other blocks do not.
    let mut nand = device(disturbed.clone());
    for _ in 0..30 {
        read(&mut nand, 2).unwrap();
        read(&mut nand, 5).unwrap();
        nand.read_spare(Ppa(3)).unwrap();
    }
    assert_eq!(reads_until_retry(&mut nand), 66 - 60);
    // Twice the P/E cycles, half the reads; with an exponent of 2, a quarter.
    let worn = Config { initial_pe_cycles: 2000, ..disturbed };
    assert_eq!(reads_until_retry(&mut device(worn.clone())), 34);
    let worn = Config { read_disturb_wear_exponent: 2.0, ..worn };
    assert_eq!(reads_until_retry(&mut device(worn.clone())), 18);
    // By the square of the reads: half a bit x reads^2.
    let quadratic = Config { read_disturb_exponent: 2.0, ..worn };
    assert_eq!(reads_until_retry(&mut device(quadratic)), 6, "4 reads make 8 bits, and 5 more than that");
}

#[test]
fn an_erase_undoes_what_reads_did_but_not_wear() {
    let disturbed = Config { read_disturb: (-15_f64).exp2(), initial_pe_cycles: 999, ..clean() };
    let mut nand = device(disturbed);
    reads_until_retry(&mut nand);
    nand.erase(BlockId(0)).unwrap();
    nand.read_spare(Ppa(2)).unwrap();
    assert_eq!(nand.reads(BlockId(0)), 0, "an empty block has nothing to disturb");
    (0..4).for_each(|at| program(&mut nand, at).unwrap());
    let before = nand.counts().retries;
    let reads = (1..1000).find(|_| read(&mut nand, 1).is_ok() && nand.counts().retries > before);
    assert_eq!(reads, Some(66), "at 1,000 P/E cycles");
}

#[test]
fn the_first_retry_comes_after_as_many_days_as_the_ecc_corrects() {
    // 2 bits per codeword after a day, by the square root in days: 8 after 16.
    let retention = Config { retention: (-11_f64).exp2(), retention_exponent: 0.5, ..clean() };
    let mut nand = device(retention.clone());
    nand.lie(16 * DAY);
    assert!(!needs_retry(&mut nand));
    nand.lie(SECOND);
    assert!(needs_retry(&mut nand));
    // Copied and newly programmed pages are fresh.
    nand.copy(Ppa(1), Ppa(8), Oob::renewed(0, Seq(100))).unwrap();
    program(&mut nand, 9).unwrap();
    nand.lie(16 * DAY);
    let before = nand.counts().retries;
    (8..10).for_each(|at| assert!(read(&mut nand, at).is_ok()));
    assert_eq!(nand.counts().retries, before);
    // At 4,000 P/E cycles, to the power of one half, twice the bits: 8 after 4 days.
    let mut nand = device(Config { initial_pe_cycles: 4000, retention_wear_exponent: 0.5, ..retention });
    nand.lie(4 * DAY);
    assert!(!needs_retry(&mut nand));
    nand.lie(SECOND);
    assert!(needs_retry(&mut nand));
}

#[test]
fn the_time_of_the_run_counts() {
    let retention = Config { retention: (-11_f64).exp2(), retention_exponent: 0.5, ..clean() };
    let mut nand = Aging::new(
        Timed::new(Counting::<nandlab_nand::counting::Full>::new(geometry(8, 4), rules(ProgramOrder::Any)), &TIMING),
        retention,
    )
    .unwrap();
    nand.program(Ppa(0), &(), &[], oob(0, 0)).unwrap();
    for (arrival, retries) in [(16 * DAY, 0), (16 * DAY + SECOND, 1)] {
        nand.ctx().begin(Origin::HOST, arrival);
        nand.read(Ppa(0), &mut ()).unwrap();
        assert_eq!(nand.counts().retries, retries);
    }
}

#[test]
fn the_first_retry_comes_at_as_many_cycles_as_the_ecc_corrects() {
    // 2 bits at 1,000 P/E cycles, by the square: 8 at 2,000.
    let worn = |initial_pe_cycles| Config { wear: (-11_f64).exp2(), wear_exponent: 2.0, initial_pe_cycles, ..clean() };
    assert!(!needs_retry(&mut device(worn(2000))));
    assert!(needs_retry(&mut device(worn(2001))));
    let mut nand = device(worn(2000));
    nand.erase(BlockId(0)).unwrap();
    (0..4).for_each(|at| program(&mut nand, at).unwrap());
    assert!(needs_retry(&mut nand), "an erase is one of them");
}

#[test]
fn rates_add_up_and_end_at_one_half() {
    let all = Config { rber: 1e-4, wear: 2e-4, wear_exponent: 2.0, retention: 3e-5, read_disturb: 1e-8, ..clean() };
    let all = Config { retention_exponent: 0.5, retention_wear_exponent: 0.0, ..all };
    let expected = 1e-4 + 2e-4 * 9.0 + 3e-5 * 10.0 + 1e-8 * 3.0 * 5000.0;
    assert!((all.rber_at(3000, 100.0, 5000) / expected - 1.0).abs() < 1e-12);
    assert_eq!(Config { rber: 0.4, wear: 0.4, ..clean() }.rber_at(3000, 0.0, 0), 0.5);
    assert_eq!(Config { wear: 1e-3, wear_exponent: 0.0, ..clean() }.rber_at(0, 0.0, 0), 1e-3, "any wear alike");
}

#[test]
fn each_step_halves_what_is_left() {
    let ecc = f64::from(ECC);
    let after = |errors: f64| {
        let mut nand = device(fresh(errors));
        let read = read(&mut nand, 1);
        (read.is_ok(), nand.counts().retries, nand.ctx().matrix().sum(|_, cause| cause == Cause::ReadRetry).page_reads)
    };
    for steps in 0..5_u32 {
        let most = ecc * f64::from(1_u32 << steps);
        assert_eq!(after(most), (true, steps.into(), steps.into()));
        assert_eq!(after(most + 1.0 / 64.0), (true, u64::from(steps) + 1, u64::from(steps) + 1));
    }
    assert_eq!(after(ecc * 32.0), (true, 5, 5), "the last step");
    assert_eq!(after(ecc * 32.0 + 1.0 / 64.0), (false, 5, 5), "all steps were tried");
    let counts = |errors| {
        let mut nand = device(fresh(errors));
        (0..3).for_each(|_| assert_eq!(read(&mut nand, 1).is_ok(), errors < 256.0));
        *nand.counts()
    };
    let counted = counts(300.0);
    assert_eq!((counted.retried_reads, counted.uncorrectable_reads, counted.most_retries), (3, 3, 5));
    assert_eq!(counted.most_errors, 300.0);
    assert_eq!(counts(20.0).retries, 6);
}

#[test]
fn what_no_step_corrects_cannot_be_read_by_any_command() {
    let mut nand = device(fresh(300.0));
    nand.program(Ppa(8), &crate::support::page(8), &[1, 2, 3, 4], oob(8, 8)).unwrap();
    assert_eq!(read(&mut nand, 1), Err(NandError::Uncorrectable(Ppa(1))));
    let lost = NandError::Uncorrectable(Ppa(8));
    let (mut tail, mut page) = ([7; 4], crate::support::page(7));
    assert_eq!(nand.read_tail(Ppa(8), &mut tail), Err(lost));
    assert_eq!(tail, [0; 4]);
    tail = [7; 4];
    assert_eq!(nand.read_with_tail(Ppa(8), &mut page, &mut tail), Err(lost));
    assert_eq!(tail, [0; 4]);
    assert!(page.bytes().unwrap().iter().all(|&byte| byte == 0), "nothing of the page comes out");
    let reads = nand.ctx().matrix().total().page_reads;
    assert_eq!(nand.copy(Ppa(8), Ppa(12), Oob::renewed(0, Seq(100))), Err(lost));
    assert_eq!(nand.ctx().matrix().total().page_reads, reads + 6, "the read of the copy and five more");
    assert_eq!(nand.read_spare(Ppa(12)), Ok(None), "the target stays erased");
    assert_eq!(nand.read_spare(Ppa(1)).unwrap().map(|oob| oob.lpn), Some(Lpn(1)), "the spare area has its own code");
}

const TIMING: Timing = Timing { transfer_ns_per_byte: 10.0, ..Timing::array(50.0, 500.0, 3000.0) };
/// A read's array time.
const READ: Time = 50_000;

type Clock = Aging<Timed<Counting>>;

fn write_two<N: Nand<Buf = ()>>(nand: &mut N) {
    (0..2).for_each(|at| assert!(nand.program(Ppa(at), &(), &[], oob(at, at.into())).is_ok()));
}

fn timed(errors: f64) -> Clock {
    let counting = Counting::new(geometry(8, 4), rules(ProgramOrder::Ascending));
    let mut nand = Aging::new(Timed::new(counting, &TIMING), fresh(errors)).unwrap();
    write_two(&mut nand);
    nand
}

/// When a host read ends that arrives at an idle device.
fn host_read<N: Nand<Buf = ()>>(nand: &mut N, arrival: Time) -> Time {
    nand.ctx().begin(Origin::HOST, arrival);
    nand.read(Ppa(1), &mut ()).unwrap();
    nand.ctx().finish() - arrival
}

#[test]
fn a_read_with_retries_takes_as_long_as_so_many_reads() {
    let once = host_read(&mut timed(0.0), 10 * SECOND);
    assert!(once > READ, "the transfer comes on top");
    for (errors, retries) in [(8.0, 0), (9.0, 1), (33.0, 3), (256.0, 5)] {
        let mut nand = timed(errors);
        assert_eq!(host_read(&mut nand, 10 * SECOND), (retries + 1) * once, "{errors} wrong bits");
        let matrix = nand.ctx().matrix();
        assert_eq!(matrix.cell(Origin::HOST, Cause::ReadRetry).page_reads, retries);
        assert_eq!(matrix.cell(Origin::HOST, Cause::Host).page_reads, 1);
        assert_eq!(nand.inner().unit_busy_ns()[0] - timed(errors).inner().unit_busy_ns()[0], (retries + 1) * once);
        assert_eq!((nand.ctx().cause(), nand.ctx().ready()), (Cause::Host, 10 * SECOND), "all as it was before");
    }
}

#[test]
fn nobody_waits_for_retries_in_the_background_but_the_die() {
    let once = host_read(&mut timed(0.0), 10 * SECOND);
    let mut plain = timed(0.0);
    let mut nand = timed(33.0);
    let mut ends = [0; 2];
    for (nand, end) in [&mut plain, &mut nand].into_iter().zip(&mut ends) {
        nand.ctx().begin(Origin::HOST, 10 * SECOND);
        let acknowledged = nand.ctx().acknowledged();
        scoped(nand, Cause::Gc, |nand| nand.copy(Ppa(1), Ppa(4), Oob::renewed(0, Seq(100)))).unwrap();
        assert_eq!((nand.ctx().finish(), nand.ctx().acknowledged()), (10 * SECOND, acknowledged));
        *end = nand.ctx().horizon();
    }
    assert_eq!(ends[1], ends[0] + 3 * once, "three retries, then the copy");
    let gc = nand.ctx().matrix().sum(|_, cause| cause == Cause::Gc);
    let retries = nand.ctx().matrix().sum(|_, cause| cause == Cause::ReadRetry);
    assert_eq!((gc.copies, gc.page_reads, retries.page_reads), (1, 0, 3));
}

#[test]
fn retries_of_the_host_go_in_front_of_a_suspended_erase_and_others_do_not() {
    let suspend = Suspend { suspend_us: 20.0, resume_us: 30.0, most_reads: 16, programs: false, slice_us: None };
    let arrival = 10 * SECOND + 1_000_000;
    let timing = Timing { suspend: Some(suspend), ..TIMING };
    let erasing = |errors: f64| {
        let counting: Counting = Counting::new(geometry(8, 4), rules(ProgramOrder::Ascending));
        let mut nand = Aging::new(Timed::with_extras(counting, &timing), fresh(errors)).unwrap();
        write_two(&mut nand);
        nand.ctx().follow_events();
        nand.ctx().begin(Origin::HOST, 10 * SECOND);
        scoped(&mut nand, Cause::Gc, |nand| nand.erase(BlockId(3))).unwrap();
        nand
    };
    let alone = |nand: &mut Aging<Timed<Counting, true>>, cause: Cause| {
        nand.ctx().begin(Origin::HOST, arrival);
        nand.ctx().open_alone(arrival);
        scoped(nand, cause, |nand| nand.read(Ppa(1), &mut ())).unwrap();
        nand.ctx().close_alone();
    };
    let once = host_read(&mut timed(0.0), 10 * SECOND);
    let mut nand = erasing(33.0);
    alone(&mut nand, Cause::Host);
    assert_eq!(nand.ctx().finish(), arrival + 20_000 + 4 * once);
    let mut nand = erasing(33.0);
    alone(&mut nand, Cause::Gc);
    nand.ctx().wait_for_all();
    assert_eq!(nand.ctx().horizon(), 10 * SECOND + 3_000_000 + 4 * once, "behind the erase");
}

#[test]
fn a_read_tells_how_near_the_page_is_to_its_end() {
    let strain = |errors: f64| {
        let mut nand = device(fresh(errors));
        assert_eq!(nand.ctx().take_strain(), None);
        let _ = read(&mut nand, 5);
        let strain = nand.ctx().take_strain();
        assert_eq!(nand.ctx().take_strain(), None, "it is told once");
        strain
    };
    for (errors, percent) in [(0.0, 0), (7.99, 99), (8.0, 100), (9.0, 112), (300.0, 3750)] {
        assert_eq!(strain(errors), Some(Strain { block: BlockId(1), percent, of_wear: percent }));
    }
}

#[test]
fn values_out_of_range_are_refused_with_a_sentence() {
    let refused = |config: Config| {
        let backed = Backed::ram(geometry(8, 4), rules(ProgramOrder::Ascending));
        Aging::new(backed, config).map(drop).unwrap_err().to_string()
    };
    for (config, sentence) in [
        (Config { rber: -1e-9, ..clean() }, "rber = -0.000000001 cannot work: it lies between 0 and 0.5"),
        (Config { wear: 0.6, ..clean() }, "wear = 0.6 cannot work: it lies between 0 and 0.5"),
        (Config { retention: f64::NAN, ..clean() }, "retention = NaN cannot work: it lies between 0 and 0.5"),
        (
            Config { read_disturb: f64::INFINITY, ..clean() },
            "read_disturb = inf cannot work: it lies between 0 and 0.5",
        ),
        (Config { wear_exponent: 11.0, ..clean() }, "wear_exponent = 11 cannot work: it lies between 0 and 10"),
        (
            Config { retention_exponent: -0.5, ..clean() },
            "retention_exponent = -0.5 cannot work: it lies between 0 and 10",
        ),
        (
            Config { retention_wear_exponent: f64::NAN, ..clean() },
            "retention_wear_exponent = NaN cannot work: it lies between 0 and 10",
        ),
        (
            Config { read_disturb_exponent: -1.0, ..clean() },
            "read_disturb_exponent = -1 cannot work: it lies between 0 and 10",
        ),
        (
            Config { read_disturb_wear_exponent: 10.5, ..clean() },
            "read_disturb_wear_exponent = 10.5 cannot work: it lies between 0 and 10",
        ),
        (Config { retry_factor: 1.5, ..clean() }, "retry_factor = 1.5 cannot work: it lies between 0 and 1"),
        (
            Config { retry_steps: 101, ..clean() },
            "retry_steps = 101 cannot work: a page is read again at most 100 times",
        ),
        (
            Config { codeword_bytes: 0, ..clean() },
            "codeword_bytes = 0 cannot work: a page of 512 B is a whole number of codewords",
        ),
        (
            Config { codeword_bytes: 1024, ..clean() },
            "codeword_bytes = 1024 cannot work: a page of 512 B is a whole number of codewords",
        ),
        (
            Config { ecc_bits: 0, ..clean() },
            "ecc_bits = 0 cannot work: it is at least 1 and less than the 4096 bits of a codeword",
        ),
        (
            Config { ecc_bits: 4096, ..clean() },
            "ecc_bits = 4096 cannot work: it is at least 1 and less than the 4096 bits of a codeword",
        ),
    ] {
        assert_eq!(refused(config), sentence);
    }
}

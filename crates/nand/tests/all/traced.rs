//! Every operation is reported as counted, and the whole stack composes.

use crate::support::{apply, geometry, oob, page, program, read, rules, Script, Step};
use nandlab_nand::backed::Backed;
use nandlab_nand::counting::{Full, Lean};
use nandlab_nand::faulty::{Config, Faulty};
use nandlab_nand::operation::Operation;
use nandlab_nand::plain::WithContent;
use nandlab_nand::power_cut::{CutPlan, Form, PowerCut};
use nandlab_nand::profile::Timing;
use nandlab_nand::timed::Timed;
use nandlab_nand::traced::{OpRecord, Traced};
use nandlab_nand::{
    BlockId, Cause, Content, Counting, Geometry, Nand, NandError, Oob, Origin, Ppa, ProgramOrder, ERASE_SHARE,
};
use std::sync::Arc;
use std::sync::Mutex;

type Log = Arc<Mutex<Vec<OpRecord>>>;

fn traced<N: Nand>(inner: N) -> (Traced<N>, Log) {
    let log = Log::default();
    let sink = log.clone();
    (Traced::new(inner, Box::new(move |record: &OpRecord| sink.lock().unwrap().push(*record))), log)
}

fn timing() -> Timing {
    toml::from_str("read_us = 25\nprogram_us = 300\nerase_us = 2000\ntransfer_ns_per_byte = 0").unwrap()
}

fn timed<N: Nand>(inner: N) -> Timed<N> {
    Timed::new(inner, &timing())
}

#[test]
fn a_line_says_what_happened() {
    let (mut device, log) = traced(timed(Backed::ram(geometry(8, 4), rules(ProgramOrder::Ascending))));
    device.ctx().begin(Origin::JOURNAL, 1_000_000);
    device.program(Ppa(4), &page(1), &[], Oob { origin: Origin::FILE_DATA, ..oob(77, 1) }).unwrap();
    device.ctx().set_cause(Cause::Gc);
    device.copy(Ppa(4), Ppa(9), Oob { origin: Origin::FTL, ..oob(77, 2) }).unwrap();
    device.erase(BlockId(1)).unwrap();
    read(&mut device, 9).unwrap();
    device.read_spare(Ppa(31)).unwrap();
    device.retire(BlockId(7)).unwrap();
    let lines: Vec<_> = log.lock().unwrap().iter().map(ToString::to_string).collect();
    // Program 300 us from 1 ms on; copy 325, erase 2000, read 25, spare read 25, mark 300 after one another.
    let expected = [
        "1000000,1300000,program,0,1,4,,77,file_data,host,ok",
        "1000000,1625000,copy,0,2,9,4,77,file_data,gc,ok",
        "1000000,3625000,erase,0,1,,,,journal,gc,ok",
        "1000000,3650000,read,0,2,9,,77,journal,gc,ok",
        "1000000,3675000,spare_read,0,7,31,,,journal,gc,ok",
        "1000000,3975000,retire,0,7,,,,journal,gc,ok",
    ];
    assert_eq!(lines, expected);
    let fields = OpRecord::CSV_HEADER.split(',').count();
    assert!(lines.iter().all(|line| line.split(',').count() == fields));
}

#[test]
fn failures_are_reported_as_such() {
    let faults =
        Config { failing_programs: vec![2], failing_erases: vec![1], factory_bad_blocks: vec![6], ..Config::default() };
    let inner = Faulty::new(Backed::ram(geometry(8, 4), rules(ProgramOrder::Ascending)), faults).unwrap();
    let (mut device, log) = traced(PowerCut::new(inner));
    program(&mut device, 0).unwrap();
    program(&mut device, 1).unwrap_err();
    read(&mut device, 1).unwrap_err();
    device.read_spare(Ppa(24)).unwrap_err();
    device.erase(BlockId(1)).unwrap_err();
    device.inner_mut().arm(CutPlan { operation: 1, form: Form::Clean });
    device.erase(BlockId(2)).unwrap_err();
    let results: Vec<_> = log.lock().unwrap().iter().map(ToString::to_string).collect();
    let results: Vec<_> = results.iter().map(|line| line.rsplit(',').next().unwrap()).collect();
    assert_eq!(results, ["ok", "program_failed", "uncorrectable", "bad_block", "erase_failed", "power_lost"]);
}

#[test]
fn the_log_adds_up_to_the_counts() {
    let (g, r) = (geometry(9, 5), rules(ProgramOrder::Any));
    let mut script = Script::new(5, g, r);
    let (mut device, log) = traced(Counting::<Full>::new(g, r));
    for _ in 0..5_000 {
        apply(&mut device, &script.step());
    }
    let matrix = device.ctx().matrix().clone();
    let count = |operations: &[Operation], origin, cause| {
        let log = log.lock().unwrap();
        let mine = log.iter().filter(|record| (record.origin, record.cause) == (origin, cause));
        mine.filter(|record| operations.contains(&record.operation)).count() as u64
    };
    use Operation::{Copy, Erase, Program, Read, Retire, SpareProgram, SpareRead, TailRead};
    for origin in (0..18).map(Origin) {
        for cause in Cause::ALL {
            let cell = matrix.cell(origin, cause);
            assert_eq!(cell.page_reads, count(&[Read, TailRead], origin, cause));
            assert_eq!(cell.page_programs, count(&[Program], origin, cause));
            assert_eq!(cell.copies, count(&[Copy], origin, cause), "a copy is its author's");
            assert_eq!(cell.spare_reads, count(&[SpareRead], origin, cause));
            assert_eq!(cell.spare_programs, count(&[SpareProgram, Retire], origin, cause));
            assert_eq!(cell.meta_reads, count(&[TailRead], origin, cause));
        }
    }
    for cause in Cause::ALL {
        let erases: u64 = (0..18).map(|origin| count(&[Erase], Origin(origin), cause)).sum();
        assert_eq!(matrix.sum(|_, other| other == cause).erase_shares, erases * ERASE_SHARE);
    }
}

type Boxed = Box<dyn Nand<Buf = Content>>;

/// Every possible stack of these parts, without failures.
fn stacks(g: Geometry, order: ProgramOrder) -> Vec<Boxed> {
    let r = rules(order);
    let faulty = |inner| Faulty::new(inner, Config::default()).unwrap();
    let boxed: Boxed = Box::new(Backed::ram(g, r));
    vec![
        Box::new(Backed::ram(g, r)),
        Box::new(WithContent::new(Counting::<Full>::new(g, r))),
        Box::new(WithContent::new(timed(Counting::<Lean>::new(g, r)))),
        Box::new(PowerCut::new(faulty(timed(Backed::ram(g, r))))),
        Box::new(traced(PowerCut::new(timed(WithContent::new(Counting::<Full>::new(g, r))))).0),
        Box::new(traced(Faulty::new(boxed, Config::default()).unwrap()).0),
    ]
}

#[test]
fn every_stack_counts_alike() {
    for order in crate::support::ORDERS {
        let g = geometry(9, 5);
        let mut script = Script::new(8, g, rules(order));
        let mut stacks = stacks(g, order);
        for _ in 0..3_000 {
            let step = script.step();
            let answers: Vec<_> =
                stacks.iter_mut().map(|stack| apply(stack, &step).0.map(|oob| oob.map(|oob| oob.lpn))).collect();
            assert!(answers.iter().all(|answer| answer == &answers[0]), "{step:?}: {answers:?}");
            if let Step::Begin(..) = step {
                for stack in &mut stacks {
                    stack.ctx().fence();
                }
            }
        }
        let first = stacks[0].ctx().matrix().clone();
        assert!(stacks.iter_mut().all(|stack| stack.ctx().matrix() == &first));
    }
}

#[test]
fn a_device_without_bytes_shows_none() {
    let mut device: Boxed = Box::new(WithContent::new(Counting::<Full>::new(geometry(8, 4), rules(ProgramOrder::Any))));
    device.program(Ppa(0), &page(7), &[1, 2], oob(3, 1)).unwrap();
    let mut into = page(9);
    assert_eq!(device.read(Ppa(0), &mut into).unwrap(), oob(3, 1));
    assert_eq!(into, Content(None), "not the bytes of an earlier read");
    let mut tail = [0; 2];
    device.read_tail(Ppa(0), &mut tail).unwrap();
    assert_eq!(tail, [1, 2]);
}

#[test]
fn a_cut_and_a_fault_meet_in_one_stack() {
    let faults = Config { failing_programs: vec![2], ..Config::default() };
    let inner = Faulty::new(timed(Backed::ram(geometry(8, 4), rules(ProgramOrder::Ascending))), faults).unwrap();
    let mut device = PowerCut::new(inner);
    program(&mut device, 0).unwrap();
    device.arm(CutPlan { operation: 1, form: Form::TornPage });
    assert_eq!(program(&mut device, 1), Err(NandError::PowerLost), "nobody hears of the failure");
    device.restore();
    let lost = Err(NandError::Uncorrectable(Ppa(1)));
    assert_eq!(device.read_spare(Ppa(1)), lost, "the program had failed besides");
    assert_eq!(read(&mut device, 1), lost.map(|_: Option<Oob>| unreachable!()));
    device.erase(BlockId(0)).unwrap();
    (0..4).for_each(|at| program(&mut device, at).unwrap());
    assert_eq!(read(&mut device, 1).unwrap().1, 1);
    assert_eq!(device.inner().counts().failed_programs, 1);
    let horizon = device.ctx().horizon();
    assert_eq!(horizon, (300 * 6 + 2000 + 25 * 3) * 1000, "six programs, an erase, three reads: {horizon}");
}

//! What a device knows beside its operations comes through every wrapper.

use nandlab_drive::{BlockKind, Busy, Chip, Device};
use nandlab_nand::aging::{Aging, AgingCounts};
use nandlab_nand::backed::{Backed, Verified};
use nandlab_nand::damaged::Damaged;
use nandlab_nand::faulty::{FaultCounts, Faulty};
use nandlab_nand::plain::WithContent;
use nandlab_nand::power_cut::PowerCut;
use nandlab_nand::profile::Timing;
use nandlab_nand::slc::Metered;
use nandlab_nand::timed::Timed;
use nandlab_nand::traced::Traced;
use nandlab_nand::{as_inside, Counting, Geometry, Nand, NandError, Ppa, Rules, Time};

/// A device with an answer to every question.
struct Informed<N> {
    inner: N,
    full: Counting,
    lain: Time,
}

impl<N> Informed<N> {
    fn new(inner: N) -> Self {
        Self { inner, full: Counting::new(geometry(), Rules::default()), lain: 0 }
    }
}

fn geometry() -> Geometry {
    Geometry::single_die(4, 4, 2048).unwrap()
}

impl<N: Nand> Nand for Informed<N> {
    type Buf = N::Buf;

    as_inside!(inner: geometry, rules, is_known_erased, is_settled, read, read_spare, program, read_tail, read_with_tail, copy, program_spare, erase,
        retire, set_slc, is_slc, ctx);
}

impl<N> Chip for Informed<N> {
    fn inside(&self) -> Option<&dyn Chip> {
        None
    }
    fn inside_mut(&mut self) -> Option<&mut dyn Chip> {
        None
    }
    fn pe_cycles(&self) -> &[u32] {
        &[1, 2, 3, 4]
    }
    fn programmed_pages(&self) -> u64 {
        self.lain
    }
    fn unused_at_erase(&self) -> u64 {
        6
    }
    fn full(&self) -> Option<&Counting> {
        Some(&self.full)
    }
    fn busy(&self) -> Option<Busy> {
        Some(Busy { units: vec![7], channels: vec![8] })
    }
    fn faults(&self) -> Option<FaultCounts> {
        Some(FaultCounts { failed_programs: 9, ..FaultCounts::default() })
    }
    fn aging(&self) -> Option<AgingCounts> {
        Some(AgingCounts { retried_reads: 10, ..AgingCounts::default() })
    }
    fn lie(&mut self, ns: Time) {
        self.lain += ns;
    }
    fn verify(&mut self) -> Option<Result<Verified, NandError>> {
        Some(Ok(Verified { pages: 11, spoilt: Vec::new() }))
    }
    fn uses(&self) -> Vec<BlockKind> {
        vec![BlockKind::Map]
    }
}

/// Every answer by its question; after the device has lain for a time, its programmed pages tell so.
fn answers(chip: &mut dyn Chip) -> Vec<(&'static str, String)> {
    chip.lie(5);
    let verified = format!("{:?}", chip.verify());
    vec![
        ("pe_cycles", format!("{:?}", chip.pe_cycles())),
        ("lie", chip.programmed_pages().to_string()),
        ("unused_at_erase", chip.unused_at_erase().to_string()),
        ("full", chip.full().is_some().to_string()),
        ("busy", format!("{:?}", chip.busy())),
        ("faults", format!("{:?}", chip.faults())),
        ("aging", format!("{:?}", chip.aging())),
        ("verify", verified),
        ("uses", format!("{:?}", chip.uses())),
    ]
}

/// Asserts that `wrapper` passes on every answer, and has another one to the questions in `own`.
fn assert_passes(mut wrapper: impl Chip, own: &[&str]) {
    let name = std::any::type_name_of_val(&wrapper).to_owned();
    let inner = answers(&mut Informed::new(()));
    for ((question, given), (_, inner)) in answers(&mut wrapper).into_iter().zip(inner) {
        assert_eq!(given != inner, own.contains(&question), "{question} of {name}: {given}, and inside {inner}");
    }
}

#[test]
fn every_answer_comes_through_every_wrapper() {
    let timing = Timing::array(1.0, 2.0, 3.0);
    let inner = || Informed::new(Backed::ram(geometry(), Rules::default()));
    assert_passes(Timed::new(inner(), &timing), &["busy"]);
    assert_passes(Timed::with_extras(inner(), &timing), &["busy"]);
    assert_passes(Faulty::new(inner(), nandlab_nand::faulty::Config::default()).unwrap(), &["faults"]);
    // Its cells age while it lies, and nothing inside does.
    assert_passes(Aging::new(inner(), nandlab_nand::aging::Config::new(8)).unwrap(), &["aging", "lie"]);
    assert_passes(Damaged::new(inner(), Ppa(0)), &[]);
    assert_passes(Metered::new(inner()), &[]);
    assert_passes(PowerCut::new(inner()), &[]);
    assert_passes(Traced::new(inner(), Box::new(|_: &_| {})), &[]);
    let counting: Counting = Counting::new(geometry(), Rules::default());
    assert_passes(WithContent::new(Informed::new(counting)), &[]);
    assert_passes(Box::new(inner()) as Box<dyn Device>, &[]);
}

#[test]
fn a_device_with_bytes_is_not_kept_without_them() {
    let bytes = Backed::ram(geometry(), Rules::default());
    let plain: Counting = Counting::new(geometry(), Rules::default());
    assert!(Chip::full(&bytes).is_none());
    assert_eq!(Chip::uses(&bytes), [BlockKind::Erased; 4]);
    assert!(Chip::full(&plain).is_some());
}

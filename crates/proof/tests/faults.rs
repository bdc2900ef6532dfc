//! Failing programs and erases, and bad blocks from the factory, on every FTL of the list.
//!
//! With the default options every program and every erase fails in turn; with the others each eighth one, with
//! `NANDLAB_LONG=1` every one as well.

use nandlab_proof::conformance::devices;
use nandlab_proof::faults::{Bench, Fault, Outcome};
use nandlab_proof::{subjects, Subject};

const STRIDE: usize = 8;

/// Runs that ended in each way.
#[derive(Clone, Copy, Default)]
struct Ends {
    retired: u64,
    worn_out: u64,
}

/// Lets one operation after the other fail, from `first` on.
fn in_turn(bench: &Bench, first: u64, stride: usize, fault: fn(u64) -> Fault, ends: &mut Ends) {
    for number in (first..).step_by(stride) {
        match bench.one(fault(number)) {
            Some(Outcome::Retired) => ends.retired += 1,
            Some(Outcome::WornOut) => ends.worn_out += 1,
            Some(Outcome::NotReached) | None => return,
        }
    }
}

fn fail_in_turn(subject: &Subject, place: usize) -> [Ends; 2] {
    let all = subject.is_default() || std::env::var_os("NANDLAB_LONG").is_some();
    let stride = if all { 1 } else { STRIDE };
    let [mut programs, mut erases] = [Ends::default(); 2];
    for (at, device) in devices().iter().enumerate() {
        let bench = Bench { subject, device, seed: 1 };
        let first = 1 + ((at + place) % stride) as u64;
        in_turn(&bench, first, stride, Fault::Program, &mut programs);
        in_turn(&bench, first, stride, Fault::Erase, &mut erases);
    }
    [programs, erases]
}

#[test]
fn every_program_and_every_erase_fails_once() {
    for (place, subject) in subjects().iter().flat_map(|ftl| ftl.iter().enumerate()) {
        let [programs, erases] = fail_in_turn(subject, place);
        let worn_out = programs.worn_out + erases.worn_out;
        println!(
            "{subject}: {} programs and {} erases failed, each in a run of its own; {worn_out} wore the device out",
            programs.retired, erases.retired
        );
        let share = if subject.is_default() { 1 } else { STRIDE as u64 };
        assert!(
            programs.retired > 500 / share && erases.retired > 50 / share,
            "{subject}: only {} programs and {} erases",
            programs.retired,
            erases.retired
        );
        assert!(worn_out == 0 || subject.is_tight, "{subject}: worn out by one fault");
    }
}

#[test]
fn factory_bad_blocks_are_never_used() {
    for subject in subjects().iter().flatten() {
        let (mut mounted, mut refused) = (0, 0);
        for device in &devices() {
            let bench = Bench { subject, device, seed: 5 };
            for (bad, full) in [(&[0][..], false), (&[3], false), (&[0, 1, 2], true)] {
                match bench.factory_bad(bad, full) {
                    Some(true) => mounted += 1,
                    Some(false) => refused += 1,
                    None => {}
                }
            }
        }
        assert!(mounted >= 4 && refused >= 2, "{subject}: {mounted} mounted, {refused} refused");
    }
}

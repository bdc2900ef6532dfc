//! Failing programs and erases, and factory bad blocks, on every listed FTL.
//!
//! With the default options every second program and erase on the tiny devices fails in turn, with the others each
//! twelfth one, and on the larger devices a third as many; with `NANDLAB_LONG=1` every one. Each device and option set begins
//! at another operation.

use nandlab_proof::device::{devices, Device};
use nandlab_proof::faults::{Bench, Fault, Outcome};
use nandlab_proof::{on_all_cores, subjects, Subject};

/// Pages above which a device counts as large.
const LARGE: u32 = 200;

/// Step between failing operations.
fn stride(subject: &Subject, device: &Device) -> usize {
    if std::env::var_os("NANDLAB_LONG").is_some() {
        return 1;
    }
    let usual = if subject.is_default() { 2 } else { 12 };
    usual * if device.geometry.pages() > LARGE { 3 } else { 1 }
}

/// Runs by outcome.
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
    let [mut programs, mut erases] = [Ends::default(); 2];
    for (at, device) in devices().iter().enumerate() {
        let bench = Bench { subject, device, seed: 1 };
        let stride = stride(subject, device);
        let first = 1 + ((at + place) % stride) as u64;
        in_turn(&bench, first, stride, Fault::Program, &mut programs);
        in_turn(&bench, first, stride, Fault::Erase, &mut erases);
    }
    [programs, erases]
}

#[test]
fn every_program_and_every_erase_fails_once() {
    let subjects: Vec<_> = subjects().into_iter().flat_map(|ftl| ftl.into_iter().enumerate()).collect();
    on_all_cores(&subjects, |(place, subject)| {
        let [programs, erases] = fail_in_turn(subject, *place);
        let worn_out = programs.worn_out + erases.worn_out;
        let (programs, erases) = (programs.retired, erases.retired);
        println!(
            "{subject}: {programs} programs and {erases} erases failed, each in a run of its own; {worn_out} wore the \
             device out"
        );
        let (least_programs, least_erases) = if subject.is_default() { (250, 25) } else { (40, 4) };
        assert!(
            programs > least_programs && erases > least_erases,
            "{subject}: only {programs} programs and {erases} erases"
        );
        assert!(worn_out == 0 || subject.is_tight, "{subject}: worn out by one fault");
    });
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

//! Failing programs and erases, and bad blocks from the factory, on every FTL of the list.

use nandlab_ftl::{Ftl, Visitor};
use nandlab_proof::conformance::{devices, Device};
use nandlab_proof::faults::{factory_bad, run, Fault, Outcome};
use nandlab_proof::{exportable, for_each_ftl};

/// Pages that leave room for one more block to go bad on each die.
fn pages_with_a_spare_block<F: Ftl>(device: &Device, config: &F::Config) -> Option<u32> {
    let pages = exportable::<F>(&device.geometry, &device.rules, config)?;
    let spare = 2 * device.geometry.pages_per_block() * device.geometry.dies();
    pages.checked_sub(spare).filter(|&pages| pages > 0)
}

#[derive(Clone)]
struct OneFault;

impl Visitor for OneFault {
    type Out = (u64, u64);

    fn visit<F: Ftl>(self, config: &F::Config) -> Self::Out {
        let (mut programs, mut erases) = (0, 0);
        for device in devices() {
            let Some(pages) = pages_with_a_spare_block::<F>(&device, config) else { continue };
            let programs_here =
                (1..).take_while(|&n| run::<F>(&device, config, pages, 1, Fault::Program(n)) == Outcome::Retired);
            programs += programs_here.count() as u64;
            let erases_here =
                (1..).take_while(|&n| run::<F>(&device, config, pages, 1, Fault::Erase(n)) == Outcome::Retired);
            erases += erases_here.count() as u64;
        }
        (programs, erases)
    }
}

#[test]
fn every_program_and_every_erase_fails_once() {
    for (name, (programs, erases)) in for_each_ftl(&OneFault) {
        println!("{name}: {programs} programs and {erases} erases failed, each in a run of its own");
        assert!(programs > 500 && erases > 50, "{name}: only {programs} programs and {erases} erases");
    }
}

#[derive(Clone)]
struct FactoryBad;

impl Visitor for FactoryBad {
    type Out = (usize, usize);

    fn visit<F: Ftl>(self, config: &F::Config) -> Self::Out {
        let (mut mounted, mut refused) = (0, 0);
        for device in devices() {
            let Some(pages) = exportable::<F>(&device.geometry, &device.rules, config) else { continue };
            let less = pages_with_a_spare_block::<F>(&device, config).unwrap_or(pages);
            for (pages, bad) in [(less, vec![0]), (less, vec![3]), (pages, vec![0, 1, 2])] {
                match factory_bad::<F>(&device, config, pages, &bad) {
                    true => mounted += 1,
                    false => refused += 1,
                }
            }
        }
        (mounted, refused)
    }
}

#[test]
fn factory_bad_blocks_are_never_used() {
    for (name, (mounted, refused)) in for_each_ftl(&FactoryBad) {
        assert!(mounted >= 4 && refused >= 2, "{name}: {mounted} mounted, {refused} refused");
    }
}

//! Random operations with mounts in between, full devices, and every program and erase failing once.

use super::model::Op;
use super::rig::{device, systems, Rig, Subject};
use nandlab_nand::random::Random;

/// Number of seeds; more with `NANDLAB_LONG`.
pub(crate) fn seeds(quick: u64, long: u64) -> u64 {
    if std::env::var("NANDLAB_LONG").is_ok() {
        long
    } else {
        quick
    }
}

fn play(subject: &Subject, seed: u64, steps: usize, large: bool) -> Rig {
    let mut rig = Rig::new(subject, device(subject));
    let script = super::model::script(seed, steps, large);
    for (at, op) in script.iter().enumerate() {
        rig.mounted(|rig| rig.step(op))
            .unwrap_or_else(|error| panic!("{subject} seed {seed} step {at} {op:?}: {error}"));
    }
    rig
}

/// Several operations between two mounts, with everything checked after each.
#[test]
fn random_operations_match_the_model() {
    for subject in systems() {
        for seed in 0..seeds(6, 200) {
            let mut rig = Rig::new(&subject, device(&subject));
            let mut random = Random::stream(seed, 77);
            let script = super::model::script(seed, 400, seed % 3 == 0);
            let mut rest = &script[..];
            while !rest.is_empty() {
                let (now, later) = rest.split_at(rest.len().min(1 + random.below(60) as usize));
                rest = later;
                rig.session(now).unwrap_or_else(|error| panic!("{subject} seed {seed}: {error}"));
            }
        }
    }
}

/// Mounts after every operation: no state is in memory only.
#[test]
fn everything_survives_a_mount_after_each_operation() {
    for subject in systems() {
        for seed in 100..100 + seeds(2, 40) {
            play(&subject, seed, 150, seed % 2 == 0);
        }
    }
}

/// Bytes of a page behind the end of its file stay void when the file grows, also after copies of the page. A
/// copy used to claim the file's length at copy time.
#[test]
fn what_was_cut_off_stays_away_over_collections_and_mounts() {
    for subject in systems() {
        let mut rig = Rig::new(&subject, device(&subject));
        let cut = [Op::Create("a".into()), Op::Write("a".into(), 0, 500, 7), Op::Truncate("a".into(), 100)];
        let churn: Vec<Op> = (0..80).map(|seed| Op::Write("b".into(), 0, 3000, seed)).collect();
        let grow = [Op::Write("a".into(), 4000, 10, 9)];
        for ops in [&cut[..], &[Op::Create("b".into())], &churn, &grow, &churn, &[]] {
            rig.session(ops).unwrap_or_else(|error| panic!("{subject}: {error}"));
        }
    }
}

#[test]
fn a_failed_program_or_erase_costs_a_block_and_nothing_else() {
    for subject in systems() {
        let script = super::model::script(5, 120, true);
        for program in (1..).step_by(seeds(7, 1) as usize) {
            let mut rig = Rig::new(&subject, device(&subject));
            rig.device.flash.inner_mut().fail_program(program);
            rig.fault(&script).unwrap_or_else(|error| panic!("{subject} program {program}: {error}"));
            if rig.device.flash.inner().counts().failed_programs == 0 {
                assert!(program > 20, "{subject}: the script programs enough");
                break;
            }
        }
        for erase in 1.. {
            let mut rig = Rig::new(&subject, device(&subject));
            rig.device.flash.inner_mut().fail_erase(erase);
            rig.fault(&script).unwrap_or_else(|error| panic!("{subject} erase {erase}: {error}"));
            if rig.device.flash.inner().counts().failed_erases == 0 {
                assert!(erase > 3, "{subject}: the script erases enough");
                break;
            }
        }
    }
}

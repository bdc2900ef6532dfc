//! Power cuts: at every flash operation in every form, and at random ones, several in a row.

use super::model::{script, Model, Op};
use super::operations::seeds;
use super::rig::{device, systems, Rig, Subject};
use nandlab_fs::FsError;
use nandlab_nand::power_cut::{CutPlan, Form};
use nandlab_nand::random::Random;

/// A rig without power, and the allowed states.
struct Cut {
    rig: Rig,
    before: Model,
    after: Model,
}

/// Plays the script until the cut; `None` if it ended first.
fn cut(mut rig: Rig, plan: CutPlan, script: &[Op]) -> Option<Cut> {
    rig.device.flash.arm(plan);
    let (before, after) = rig.until_cut(script)?;
    Some(Cut { rig, before, after })
}

/// Restores power and checks; the device must keep working.
fn recovered(cut: &Cut, tail: &[Op]) -> Rig {
    let mut rig = cut.rig.clone();
    rig.device.restore();
    rig.recover(&cut.before, &cut.after).expect("the power is back");
    rig.session(tail).expect("the power is back");
    rig
}

fn named<T>(subject: &Subject, seed: u64, cuts: &[CutPlan], run: impl FnOnce() -> T) -> T {
    let text = || {
        let cuts: Vec<String> = cuts.iter().map(ToString::to_string).collect();
        format!("{subject} seed {seed} {}", cuts.join("/"))
    };
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let why = panic.downcast_ref::<String>().cloned();
        panic!("{}: {}", text(), why.or(panic.downcast_ref::<&str>().map(|&s| s.to_owned())).unwrap_or_default())
    })
}

/// Cuts at every operation from `from` on, in every form; the long form follows each cut with every second
/// one.
fn exhaust(subject: &Subject, seed: u64, steps: usize, stride: usize, depth: u32) -> u64 {
    let ops = script(seed, steps, seed % 2 == 1);
    let tail = script(seed + 1000, 6, false);
    let mut cases = 0;
    for operation in (1..).step_by(stride) {
        let mut hit = None;
        for form in Form::WITHOUT_WEAK {
            let plan = CutPlan { operation, form };
            if hit.is_some_and(|hit| !form.applies_to(hit)) {
                continue;
            }
            let first = Rig::new(subject, device(subject));
            let Some(cut) = named(subject, seed, &[plan], || cut(first, plan, &ops)) else { return cases };
            hit = cut.rig.device.flash.cut_operation();
            named(subject, seed, &[plan], || recovered(&cut, &tail));
            cases += 1;
            if depth > 1 {
                cases += again(subject, seed, plan, &cut, &tail);
            }
        }
    }
    cases
}

/// Cuts the mount and later operations once more, at every operation.
fn again(subject: &Subject, seed: u64, first: CutPlan, lost: &Cut, tail: &[Op]) -> u64 {
    let mut cases = 0;
    for operation in 1.. {
        for form in Form::WITHOUT_WEAK {
            let plan = CutPlan { operation, form };
            let reached = named(subject, seed, &[first, plan], || {
                let mut rig = lost.rig.clone();
                rig.device.restore();
                rig.device.flash.arm(plan);
                let (before, after) = match rig.recover(&lost.before, &lost.after) {
                    Err(FsError::Device(_)) => (lost.before.clone(), lost.after.clone()),
                    Err(error) => panic!("{error}"),
                    Ok(()) => match rig.until_cut(tail) {
                        Some(models) => models,
                        None => return false,
                    },
                };
                recovered(&Cut { rig, before, after }, tail);
                true
            });
            if !reached {
                return cases;
            }
            cases += 1;
        }
    }
    cases
}

#[test]
fn nothing_durable_is_lost_wherever_the_power_goes() {
    let mut cases = 0;
    for subject in systems() {
        for seed in 0..seeds(2, 8) {
            cases += exhaust(&subject, seed, 60, seeds(3, 1) as usize, 1);
        }
    }
    assert!(cases > 500, "only {cases} cuts");
}

#[test]
fn a_cut_in_the_mount_after_a_cut_loses_nothing() {
    let mut cases = 0;
    for subject in systems() {
        cases += exhaust(&subject, 3, 40, seeds(17, 3) as usize, 2);
    }
    assert!(cases > 200, "only {cases} cuts");
}

/// Cuts between any two NVRAM stores, and in the mount after some of these cuts.
#[test]
fn nothing_is_lost_between_two_words_of_the_nvram() {
    for subject in systems().into_iter().filter(|subject| subject.name.starts_with("minv")) {
        let mut cases = 0;
        for seed in 0..seeds(2, 8) {
            let ops = script(seed, 60, seed % 2 == 1);
            let tail = script(seed + 1000, 6, false);
            for words in (0..).step_by(seeds(5, 1) as usize) {
                let mut rig = Rig::new(&subject, device(&subject));
                rig.device.nvram.cut_after(words);
                let Some((before, after)) = rig.until_cut(&ops) else { break };
                cases += 1;
                let lost = Cut { rig, before, after };
                let plan = CutPlan { operation: words + 1, form: Form::Clean };
                named(&subject, seed, &[plan], || recovered(&lost, &tail));
                for again in (0..30).step_by(if words % 3 == 0 { 1 } else { 30 }) {
                    let mut rig = lost.rig.clone();
                    rig.device.restore();
                    rig.device.nvram.cut_after(again);
                    let (before, after) = match rig.recover(&lost.before, &lost.after) {
                        Ok(()) => rig.until_cut(&tail).unwrap_or((rig.model.clone(), rig.model.clone())),
                        Err(_) => (lost.before.clone(), lost.after.clone()),
                    };
                    named(&subject, seed, &[plan], || recovered(&Cut { rig, before, after }, &tail));
                }
            }
        }
        assert!(cases > 100, "only {cases} cuts");
    }
}

#[test]
fn nothing_durable_is_lost_in_random_cuts_one_after_another() {
    for subject in systems() {
        for seed in 0..seeds(40, 2000) {
            let mut random = Random::stream(seed, 0xC0);
            let mut rig = Rig::new(&subject, device(&subject));
            let mut plans = Vec::new();
            for round in 0..4 {
                let form = Form::WITHOUT_WEAK[random.below(Form::WITHOUT_WEAK.len() as u64) as usize];
                let plan = CutPlan { operation: 1 + random.below(150), form };
                plans.push(plan);
                if seed % 3 == 0 && round == 0 {
                    // A block goes bad near the cut.
                    rig.device.flash.inner_mut().fail_program(1 + random.below(80));
                    rig.device.flash.inner_mut().fail_erase(1 + random.below(6));
                }
                rig.device.nvram.cut_after(if random.below(2) == 0 { random.below(3000) } else { u64::MAX - 1 });
                let ops = script(seed * 10 + round, 150, random.below(2) == 0);
                rig = named(&subject, seed, &plans, || match cut(rig, plan, &ops) {
                    Some(cut) => recovered(&cut, &[]),
                    None => Rig::new(&subject, device(&subject)),
                });
            }
        }
    }
}

/// A file was cut and grew again in the cache; a copy of its last page used to claim the cut bytes, and whole pages behind
/// it to reach flash before the last page lost them.
#[test]
fn what_was_cut_off_stays_away_when_the_file_grows_in_the_cache() {
    let name = |text: &str| text.to_owned();
    let growths = [(2190, 625), (1950, 5000), (4096, 2048)];
    for (subject, (at, len)) in systems().iter().flat_map(|subject| growths.map(|growth| (subject.clone(), growth))) {
        for operation in 1..120 {
            let mut ops = vec![Op::Create(name("c")), Op::Write(name("c"), 0, 2048, 52), Op::Open(name("c"))];
            ops.extend([Op::Truncate(name("c"), 1944), Op::Write(name("c"), at, len, 137), Op::Create(name("b"))]);
            ops.extend((0..60).map(|seed| Op::Write(name("b"), 0, 1500, seed)));
            let plan = CutPlan { operation, form: Form::Clean };
            let Some(lost) = cut(Rig::new(&subject, device(&subject)), plan, &ops) else { break };
            named(&subject, 0, &[plan], || recovered(&lost, &[]));
        }
    }
}

/// A header keeps the number of the object it replaced. Once this number was reused and a second rename was
/// cut, the mount used to complete the first rename again and remove the newer file.
#[test]
fn a_cut_rename_under_a_number_that_was_given_out_again_keeps_the_newer_file() {
    let name = |text: &str| text.to_owned();
    let file = |path: &str, seed| [Op::Create(name(path)), Op::Write(name(path), 0, 700, seed)];
    for subject in systems().into_iter().filter(|subject| subject.name.starts_with("yaffs")) {
        let mut ready = Rig::new(&subject, device(&subject));
        // The replaced file is empty: its number is free at once, and the mount forgets it.
        let first = [&file("new", 1)[..], &[Op::Create(name("old")), Op::Rename(name("new"), name("old"))]].concat();
        ready.session(&first).expect("the device is good");
        let second = [&file("new", 2)[..], &[Op::Rename(name("new"), name("old")), Op::Create(name("c"))]].concat();
        let mut cuts = 0;
        for operation in 1.. {
            let mut hit = false;
            for form in Form::WITHOUT_WEAK {
                let plan = CutPlan { operation, form };
                let Some(lost) = cut(ready.clone(), plan, &second) else { continue };
                hit = true;
                named(&subject, 0, &[plan], || recovered(&lost, &[]));
            }
            if !hit {
                break;
            }
            cuts += 1;
        }
        assert!(cuts > 3, "{subject}: only {cuts} operations");
    }
}

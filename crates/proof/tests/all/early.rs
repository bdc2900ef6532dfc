//! Power cuts with a controller's write buffer and its early answers, over every FTL, with protection and without.
//!
//! After a cut the model allows only the option's losses: with protection the newest answered data must be there,
//! without it any unflushed data may be gone. `NANDLAB_LONG=1` cuts at every operation.

use nandlab_ftl::FtlConfig;
use nandlab_nand::power_cut::{CutPlan, Form};
use nandlab_nand::random::Random;
use nandlab_proof::device::{devices, timed_devices};
use nandlab_proof::early::{Bench, Fallen};
use nandlab_proof::on_all_cores;

fn is_long() -> bool {
    std::env::var("NANDLAB_LONG").is_ok_and(|text| text != "0")
}

fn sum(one: Fallen, other: Fallen) -> Fallen {
    Fallen { cuts: one.cuts + other.cuts, lost: one.lost + other.lost, kept: one.kept + other.kept }
}

/// Both buffer kinds do as named.
fn check(name: &str, fallen: Fallen, is_protected: bool) {
    println!("{name}, protected: {is_protected}: {fallen:?}");
    assert!(fallen.cuts > 60, "{name}: only {fallen:?}");
    let (some, none) = if is_protected { (fallen.kept, fallen.lost) } else { (fallen.lost, fallen.kept) };
    assert!(some > 20 && none == 0, "{name}, protected: {is_protected}: {fallen:?}");
}

#[test]
fn a_cut_at_any_operation_takes_what_the_option_says() {
    let every = if is_long() { 1 } else { 5 };
    on_all_cores(&FtlConfig::all(), |ftl| {
        for is_protected in [false, true] {
            let mut all = Fallen::default();
            for device in [devices()[0], devices()[2]] {
                let bench = Bench { ftl, device, pages: 6, is_protected, seed: 3 };
                for operation in (1..).step_by(every) {
                    let cut = |form| bench.cut(&[CutPlan { operation, form }]);
                    let Some(first) = cut(Form::USUAL[0]) else { break };
                    if first.cuts == 0 {
                        break;
                    }
                    all = Form::USUAL[1..].iter().filter_map(|&form| cut(form)).fold(sum(all, first), sum);
                }
            }
            check(ftl.name(), all, is_protected);
        }
    });
}

#[test]
fn a_row_of_random_cuts_takes_what_the_option_says() {
    let cases = if is_long() { 3_000 } else { 150 };
    let devices = [devices(), timed_devices()].concat();
    on_all_cores(&FtlConfig::all(), |ftl| {
        for is_protected in [false, true] {
            let mut all = Fallen::default();
            for number in 0..cases {
                let mut random = Random::stream(number, 0xEA7);
                let device = devices[random.below(devices.len() as u64) as usize];
                let cuts: Vec<CutPlan> = (0..1 + random.below(4))
                    .map(|_| CutPlan {
                        operation: 1 + random.below(60),
                        form: Form::USUAL[random.below(Form::USUAL.len() as u64) as usize],
                    })
                    .collect();
                let pages = 1 + random.below(20) as u32;
                let bench = Bench { ftl, device, pages, is_protected, seed: random.next_u64() >> 40 };
                all = bench.cut(&cuts).map_or(all, |fallen| sum(all, fallen));
            }
            check(ftl.name(), all, is_protected);
        }
    });
}

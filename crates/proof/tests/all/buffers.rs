//! Every buffer on the list, with every option set, over FTLs: conformance, and power cuts.
//!
//! `NANDLAB_CUTS=N` sets the random cases for each option set, `NANDLAB_REPLAY=<id>` runs one case printed by a
//! failure. With `NANDLAB_LONG=1` the search cuts at every operation and word, not only at each third and twentieth.

use nandlab_ftl::FtlConfig;
use nandlab_nand::power_cut::{CutPlan, Form};
use nandlab_nand::random::Random;
use nandlab_proof::buffers::{subjects, Bench, Case, Cut, Subject};
use nandlab_proof::device::{devices, timed_devices, Device};
use nandlab_proof::on_all_cores;

fn number(variable: &str, default: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")),
        Err(_) => default,
    }
}

/// One FTL that writes anywhere, and one with log blocks, sensitive to order.
fn ftls() -> Vec<FtlConfig> {
    FtlConfig::all().into_iter().filter(|ftl| ["page", "bast"].contains(&ftl.name())).collect()
}

fn all_devices() -> Vec<Device> {
    [devices(), timed_devices()].concat()
}

fn has_nvram(subject: &Subject, device: &Device) -> bool {
    subject.config.sized(1 << 20, &device.geometry).nvram_bytes(&device.geometry) > 0
}

#[test]
fn every_buffer_over_an_ftl_answers_as_the_model_does() {
    let sizes = [1, 5, 12, 400].map(subjects).concat();
    on_all_cores(&sizes, |subject| {
        let mut hits = 0;
        for (seed, device) in devices().into_iter().enumerate() {
            for ftl in ftls() {
                let bench = Bench { subject: subject.clone(), ftl, device, seed: seed as u64 };
                hits += bench.conform(250).map_or(0, |counts| counts.hits());
            }
        }
        assert!(hits > 40 || subject.config.name() == "pass_through", "{subject}: only {hits} hits");
    });
}

/// Every NAND operation and every NVRAM word, or a regular sample.
#[test]
fn nothing_is_lost_or_stale_at_any_operation_or_word() {
    let long = number("NANDLAB_LONG", 0) > 0;
    let (operations, words) = if long { (1, 1) } else { (3, 20) };
    let all: Vec<Subject> = subjects(12).into_iter().filter(|subject| long || subject.is_default()).collect();
    on_all_cores(&all, |subject| {
        let device = devices()[0];
        for ftl in ftls() {
            let bench = Bench { subject: subject.clone(), ftl, device, seed: 1 };
            let mut cases = 0;
            for operation in (1..).step_by(operations) {
                let cut = |form| bench.cut(&[Cut::Nand(CutPlan { operation, form })]);
                let Some(fallen) = cut(Form::USUAL[0]) else { return };
                if fallen == 0 {
                    break;
                }
                cases += 1 + Form::USUAL[1..].iter().filter_map(|&form| cut(form)).sum::<usize>();
            }
            assert!(cases > 20 || subject.pages > 100, "{subject} over {}: only {cases} cuts", bench.ftl.name());
            if has_nvram(subject, &device) {
                let fell = |words: &u64| bench.cut(&[Cut::Words(*words)]) == Some(1);
                let cut = (0..).step_by(words).take_while(fell).count();
                assert!(cut > 50, "{subject}: only {cut} cuts between words");
            }
        }
    });
}

#[test]
fn nothing_is_lost_or_stale_at_random_cuts() {
    let cases = number("NANDLAB_CUTS", 150);
    let (devices, ftls) = (all_devices(), ftls());
    on_all_cores(&[2, 9, 40].map(subjects).concat(), |subject| {
        let mut fallen = 0;
        for number in 0..cases {
            let mut random = Random::stream(number, 0xB0F);
            let device = devices[random.below(devices.len() as u64) as usize];
            let ftl = ftls[random.below(ftls.len() as u64) as usize].clone();
            let seed = random.next_u64() >> 40;
            let cuts: Vec<Cut> = (0..1 + random.below(4))
                .map(|_| {
                    let form = Form::USUAL[random.below(Form::USUAL.len() as u64) as usize];
                    match has_nvram(subject, &device) && random.chance(0.5) {
                        true => Cut::Words(random.below(3_000)),
                        false => Cut::Nand(CutPlan { operation: 1 + random.below(60), form }),
                    }
                })
                .collect();
            fallen += Bench { subject: subject.clone(), ftl, device, seed }.cut(&cuts).unwrap_or(0) as u64;
        }
        assert!(fallen > cases / 4, "{subject}: only {fallen} cuts fell");
    });
}

#[test]
fn a_named_case_replays() {
    let replay = |text: &str| text.parse::<Case>().unwrap_or_else(|error| panic!("{text}: {error}")).replay();
    match std::env::var("NANDLAB_REPLAY") {
        Ok(text) => println!("{text}: {:?} cuts fell", replay(&text)),
        Err(_) => assert_eq!(replay("hybrid_lru:lend:9/page/9x3x1024-dense/7/words:300/cut:3:clean"), Some(2)),
    }
    for wrong in ["lru:default:9/page", "lru:none:9/page/8x4x512-any/1/words:3", "lru:default:9/page/x/1/words:3"] {
        assert!(wrong.parse::<Case>().is_err(), "{wrong} names no case");
    }
}

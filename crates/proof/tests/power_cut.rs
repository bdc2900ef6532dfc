//! Power cuts on every FTL of the list.
//!
//! `NANDLAB_CUTS=N` sets the number of random cuts (2,000 without it), `NANDLAB_CUT_DEPTH` how often the
//! exhaustive search cuts again (1 without it), `NANDLAB_REPLAY=<id>` runs one case that a failure printed.

use nandlab_ftl::{Ftl, FtlConfig, Visitor};
use nandlab_proof::conformance::devices;
use nandlab_proof::cuts::{random_case, Bench, Case, Outcome};

fn number(variable: &str, default: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")),
        Err(_) => default,
    }
}

struct Exhaust<'a> {
    ftl: &'a str,
    device: &'a str,
    depth: usize,
}

impl Visitor for Exhaust<'_> {
    type Out = u64;

    fn visit<F: Ftl>(self, config: &F::Config) -> u64 {
        let device = devices().into_iter().find(|device| device.name == self.device).expect("a device of the list");
        let bench = Bench { ftl: self.ftl, config, device, seed: 1, faults: &[] };
        if bench.fits::<F>() {
            bench.exhaust::<F>(self.depth)
        } else {
            0
        }
    }
}

#[test]
fn nothing_flushed_is_lost_at_any_operation() {
    let depth = number("NANDLAB_CUT_DEPTH", 1) as usize;
    for config in FtlConfig::all() {
        let ftl = config.name();
        let mut cases = 0;
        for device in ["8x4x512-ascending", "8x4x512-any", "9x3x1024-dense"] {
            cases += config.dispatch(Exhaust { ftl, device, depth });
        }
        println!("{ftl}: {cases} cases, depth {depth}");
        assert!(cases > 300, "{ftl}: only {cases} cases");
    }
}

#[derive(Clone, Copy)]
struct Random<'a> {
    ftl: &'a str,
    cuts: u64,
}

impl Visitor for Random<'_> {
    type Out = u64;

    fn visit<F: Ftl>(self, config: &F::Config) -> u64 {
        (0..self.cuts).filter(|&case| random_case::<F>(self.ftl, config, case) == Outcome::Survived).count() as u64
    }
}

#[test]
fn nothing_flushed_is_lost_at_random_operations() {
    let cuts = number("NANDLAB_CUTS", 2_000);
    for config in FtlConfig::all() {
        let survived = config.dispatch(Random { ftl: config.name(), cuts });
        println!("{}: {survived} of {cuts} random cases reached their last cut", config.name());
        assert!(survived > cuts / 4, "{}: only {survived} of {cuts} cuts fell", config.name());
    }
}

struct Replay<'a>(&'a Case);

impl Visitor for Replay<'_> {
    type Out = Outcome;

    fn visit<F: Ftl>(self, config: &F::Config) -> Outcome {
        self.0.replay::<F>(config).unwrap_or_else(|error| panic!("{error}"))
    }
}

#[test]
fn a_named_case_replays() {
    // Without a case to replay, one that must always survive: its text is read and found.
    let text =
        std::env::var("NANDLAB_REPLAY").unwrap_or_else(|_| "page/9x3x1024-dense/1/program:9/cut:30:torn_page".into());
    let case: Case = text.parse().unwrap_or_else(|error| panic!("{error}"));
    let config = FtlConfig::all().into_iter().find(|config| config.name() == case.ftl);
    let config = config.unwrap_or_else(|| panic!("there is no FTL {}", case.ftl));
    let outcome = config.dispatch(Replay(&case));
    println!("{text}: {outcome:?}");
    assert_eq!(outcome, Outcome::Survived);
    assert!("page/8x4x512-ascending/1".parse::<Case>().is_err(), "a case without a cut");
}

//! Every FTL on the list against the plain model.

use nandlab_ftl::{Ftl, Visitor};
use nandlab_proof::{conformance, for_each_ftl};

/// Accepted devices and blocks erased over all runs.
#[derive(Clone)]
struct Conformance {
    seeds: std::ops::Range<u64>,
    steps: usize,
}

impl Visitor for Conformance {
    type Out = (usize, u64);

    fn visit<F: Ftl>(self, config: &F::Config) -> Self::Out {
        let (mut devices, mut erased) = (0, 0);
        for device in conformance::devices() {
            let mut accepted = false;
            for seed in self.seeds.clone() {
                if let Some(erases) = conformance::run::<F>(&device, config, seed, self.steps) {
                    accepted = true;
                    erased += erases;
                }
            }
            devices += usize::from(accepted);
        }
        (devices, erased)
    }
}

#[test]
fn every_ftl_answers_as_the_model_does() {
    for (name, (devices, erased)) in for_each_ftl(&Conformance { seeds: 0..12, steps: 400 }) {
        assert!(devices >= 4, "{name} accepts only {devices} of the devices");
        assert!(erased > 1_000, "{name}: only {erased} erases, the runs do not exercise reclaiming");
    }
}

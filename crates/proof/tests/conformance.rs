//! Every FTL on the list against the plain model, with every set of its options.

use nandlab_proof::conformance::{devices, run};
use nandlab_proof::{on_all_cores, subjects};

const STEPS: usize = 400;
/// Scripts on each device, with the default options and with the others.
const SEEDS: [u64; 2] = [12, 3];

#[test]
fn every_ftl_answers_as_the_model_does() {
    on_all_cores(&subjects().concat(), |subject| {
        let seeds = SEEDS[usize::from(!subject.is_default())];
        let (mut accepted, mut erased) = (0, 0);
        for device in devices() {
            let erases: Option<u64> = (0..seeds).map(|seed| run(subject, &device, seed, STEPS)).sum();
            accepted += usize::from(erases.is_some());
            erased += erases.unwrap_or(0);
        }
        println!("{subject}: {accepted} devices accepted, {erased} erases");
        let least = if subject.is_default() { 6 } else { 4 };
        assert!(accepted >= least, "{subject} accepts only {accepted} of the devices");
        assert!(erased > 80 * seeds, "{subject}: only {erased} erases, the runs do not exercise reclaiming");
    });
}

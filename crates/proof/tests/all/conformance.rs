//! Every FTL on the list against the plain model, with every option set.

use nandlab_proof::conformance::{run, Ran};
use nandlab_proof::device::{device_of_a_map, devices, Device};
use nandlab_proof::{assert_pages_map, on_all_cores, subjects};

const STEPS: usize = 400;
/// Scripts on each device: with the options that page a map most, with the default ones, with others for a paged map,
/// and with others for other maps. The quick form, and that of `NANDLAB_LONG=1`.
const SEEDS: [[u64; 4]; 2] = [[36, 8, 4, 2], [60, 12, 6, 3]];
/// The options that rewrite blocks for their bit errors.
const REFRESHED: &str = "page:refresh";

#[test]
fn every_ftl_answers_as_the_model_does() {
    let all = subjects();
    let is_long = std::env::var_os("NANDLAB_LONG").is_some();
    let seeds = SEEDS[usize::from(is_long)];
    let ran = on_all_cores(&all.concat(), |subject| {
        let seeds = match subject {
            subject if subject.pages_most() => seeds[0],
            subject if subject.is_default() => seeds[1],
            subject if subject.pages_map() => seeds[2],
            _ => seeds[3],
        };
        let (mut accepted, mut ran) = (0, Ran::default());
        let runs =
            |device: &Device| (0..seeds).map(|seed| run(subject, device, seed, STEPS)).collect::<Option<Vec<Ran>>>();
        for device in &devices() {
            let runs = runs(device);
            accepted += usize::from(runs.is_some());
            ran = runs.into_iter().flatten().fold(ran, Ran::and);
        }
        if subject.pages_most() {
            let runs = runs(&device_of_a_map()).expect("a plain device");
            ran = runs.into_iter().fold(ran, Ran::and);
        }
        println!("{subject}: {accepted} devices accepted, {} erases", ran.erases);
        let least = if subject.is_default() { 6 } else { 4 };
        assert!(accepted >= least, "{subject} accepts only {accepted} of the devices");
        assert!(ran.erases > 80 * seeds, "{subject}: only {} erases, the runs do not exercise reclaiming", ran.erases);
        if subject.to_string() == REFRESHED {
            let refreshes = ran.events.refreshes;
            assert!(refreshes > 50 * seeds, "{subject}: only {refreshes} blocks were rewritten");
        }
        ran.events
    });
    assert_pages_map(&all, &ran);
}

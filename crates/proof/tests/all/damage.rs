//! One damaged page costs that page, with an error, in every FTL with every option set.
//!
//! `NANDLAB_LONG=1` takes more devices and seeds.

use nandlab_proof::damage::every_page;
use nandlab_proof::device::devices;
use nandlab_proof::{on_all_cores, subjects, Subject};

#[test]
fn a_damaged_page_costs_that_page() {
    let is_long = std::env::var("NANDLAB_LONG").is_ok_and(|value| value != "0");
    let subjects: Vec<(usize, Subject)> = subjects().into_iter().flat_map(|ftl| ftl.into_iter().enumerate()).collect();
    on_all_cores(&subjects, |(place, subject)| {
        let (mut pages, mut failed, mut older) = (0, 0, 0);
        for (at, device) in devices().iter().enumerate() {
            // The quick form: a few devices for each option set, in turn.
            if !is_long && !subject.is_default() && (at + place) % 4 != 0 {
                continue;
            }
            let ends = [0, 12]
                .into_iter()
                .flat_map(|behind| (1..=if is_long { 5 } else { 1 }).map(move |seed| (seed, behind)));
            for found in ends.filter_map(|(seed, behind)| every_page(subject, device, seed, behind)) {
                pages += found.pages;
                failed += found.failed;
                older += found.older;
            }
        }
        println!("{subject}: {pages} pages, {failed} sectors fail, {older} are older");
    });
}

//! Page maps over dies that lose blocks.

use super::*;

/// A page map's options, the usual ones first, without those where a fault may leave no room.
fn page_maps() -> Vec<Variant<page::Config>> {
    let usual = Variant::safe("default", page::Config::default());
    std::iter::once(usual).chain(PageMap::variants().into_iter().filter(|variant| !variant.is_tight)).collect()
}

#[test]
fn page_maps_pass_over_dies_with_bad_blocks_from_the_factory() {
    on_all_cores(&page_maps(), |variant| {
        let mut mounted = 0;
        for dies in 1..=DIES {
            let case = page_map(variant, BLOCKS, dies);
            for bad in [&[0][..], &[3], &[1, 2], &[0, 1, 3]] {
                let counts = (0..=BLOCKS).filter(|&count| case.factory_bad(last_of(bad, count)));
                mounted += counts.count();
            }
        }
        println!("{}: {mounted} mounted", variant.name);
    });
}

#[test]
fn a_page_map_ends_when_the_dies_that_are_left_have_too_few_blocks() {
    on_all_cores(&page_maps(), |variant| {
        for dies in 1..=DIES {
            for what in [Failing::Erases, Failing::Programs] {
                fail_in_turn(&page_map(variant, BLOCKS, dies), what, &[3, 1, 0, 2], (DIES - dies) as usize);
            }
        }
    });
}

/// A die loses many blocks before it is weak, and the others take its data.
#[test]
fn a_die_of_many_blocks_leaves_what_it_holds_to_the_others() {
    let case = page_map(&page_maps()[0], 4 * BLOCKS, 2);
    for dies in [[0, 1, 2, 3], [3, 1, 0, 2]] {
        fail_in_turn(&case, Failing::Erases, &dies, 2);
    }
}

/// Works on a device whose programs and erases fail at random, until its good blocks are too few.
fn wear_out(case: &Case, faults: Faults) {
    let context = format!("{} with {} pages, {faults:?}", case.name, case.pages);
    let script = steps(faults.seed, case.pages, 100 * STEPS);
    let mut rig = Rig::new(Weak::new(&case.device, faults), case.pages, &case.config).unwrap();
    for (at, step) in script.into_iter().enumerate() {
        match rig.step(step) {
            Err(Error::WornOut(_)) => return case.end(rig, step, &context),
            done => done.unwrap_or_else(|error| panic!("{context}: step {at}, {step:?}: {error}")),
        }
        if at % 16 == 0 {
            rig.disk_mut().check();
        }
    }
    panic!("{context}: it does not wear out");
}

#[test]
fn a_page_map_ends_when_too_few_good_blocks_are_left_anywhere() {
    on_all_cores(&page_maps(), |variant| {
        for (seed, (erase_failure_rate, program_failure_rate)) in (0..).zip([(0.05, 0.01), (0.3, 0.0), (0.0, 0.1)]) {
            let case = page_map(variant, BLOCKS, 1 + seed as u32);
            wear_out(&case, Faults { erase_failure_rate, program_failure_rate, seed, ..Faults::default() });
        }
    });
}

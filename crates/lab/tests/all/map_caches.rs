//! DFTL's map caches on recorded requests, at an equal budget.

use crate::support::record;

/// A real SQLite's requests, on a device with 16 map pages.
fn experiment(trace: &str, cache: &str, entries: u32) -> String {
    format!(
        "[workload.trace]\npath = \"bundled:sqlite-{trace}\"\n[ftl.dftl]\ncache = \"{cache}\"\ncmt_entries = {entries}\n[device]\n\
         profile = \"generic\"\ncapacity = \"64 MiB\"\nover_provisioning = 0.28\nmodel = \"counting\"\n[device.shape]\n\
         pages_per_block = 64\n"
    )
}

/// TPFTL reads and writes no more map pages than DFTL, as the paper measures on its traces.
#[test]
fn tpftl_costs_no_more_than_dftl_on_sqlite() {
    for trace in ["rollback", "wal"] {
        for entries in [512, 2_048] {
            let [dftl, tpftl] = ["segmented", "tpftl"].map(|cache| {
                let record = record(&experiment(trace, cache, entries), &[]);
                println!("{trace}, {entries}, {cache}: {:?}, {:?}", record.flash, record.map);
                (record.flash.meta_reads, record.flash.meta_programs)
            });
            assert!(tpftl.0 <= dftl.0 && tpftl.1 <= dftl.1, "{trace}, {entries}: {tpftl:?} against {dftl:?}");
        }
    }
}

/// A name alone takes the defaults; an option for one cache is refused with another.
#[test]
fn a_cache_is_chosen_by_its_name() {
    let few = &["workload.uniform.requests=2000", "device.capacity=16MiB", "precondition.fill=\"sequential\""];
    let text =
        "[workload.uniform]\n[precondition]\n[ftl.dftl]\n[device]\nprofile = \"generic\"\nover_provisioning = 0.5\n";
    for cache in ["segmented", "tpftl", "cdftl", "sftl", "leaftl", "learned"] {
        let set = format!("ftl.dftl.cache=\"{cache}\"");
        let map = record(text, &[few.as_slice(), &[&set]].concat()).map.unwrap();
        assert_eq!(map.hits + map.misses, 2_000, "{cache}");
    }
    let refused = |sets: &[&str]| crate::support::refused(text, &[few.as_slice(), sets].concat()).to_string();
    let why = refused(&["ftl.dftl.cache=\"tpftl\"", "ftl.dftl.protected_percent=50"]);
    assert!(why.contains("protected_percent = 50 is for ftl.dftl.cache = \"segmented\""), "{why}");
    let why = refused(&["ftl.dftl.cache=\"sftl\"", "ftl.dftl.cmt_entries=400"]);
    assert!(why.contains("cmt_entries = 400: it is at least 606 with ftl.dftl.cache = \"sftl\""), "{why}");
}

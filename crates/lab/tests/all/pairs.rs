//! Pairs of pages and unstable pages in a run: blank pages in the record, and who refuses such a device.

use crate::support::{record, refused};

/// Random writes to a device of two bits a cell.
const TEXT: &str = r#"
[workload.uniform]
requests = 20_000
[ftl.page]
[device]
capacity = "16 MiB"
over_provisioning = 0.3
[device.shape]
pages_per_block = 64
[device.rules]
bits_per_cell = 2
"#;

const PAIRS: &str = "device.rules.pair_distance=4";

#[test]
fn blank_pages_have_a_cause_of_their_own() {
    let programs = |sets: &[&str]| {
        let record = record(TEXT, sets);
        let of =
            |cause: &str| record.matrix.iter().filter(|row| row.cause == cause).map(|row| row.programs).sum::<u64>();
        (of("host"), of("padding"))
    };
    let (host, blank) = programs(&[PAIRS]);
    assert!(blank > 0, "erases wait for open pairs");
    assert_eq!(programs(&[PAIRS, "device.model=counting"]), (host, blank));
    assert_eq!(programs(&[]), (host, 0));
}

#[test]
fn who_knows_no_pairs_refuses_them() {
    for (sets, why) in [
        (&[PAIRS, "device.rules.bits_per_cell=3"][..], "set device.rules.bits_per_cell = 2"),
        (&[PAIRS, "ftl=bast"], "take ftl.page, or a device without pairs"),
        (&[PAIRS, "ftl.page.reserve_blocks=1"], "reserve_blocks of at least 2"),
    ] {
        let error = refused(TEXT, sets).to_string();
        assert!(error.contains(why), "{sets:?}: {error}");
    }
}

#[test]
fn who_does_not_survive_unstable_pages_refuses_them() {
    const UNSTABLE: &str = "device.rules.unstable_pages=true";
    let takes = &["ftl.page.reserve_blocks=2"][..];
    assert_eq!(
        record(TEXT, &[takes, &[UNSTABLE]].concat()).matrix,
        record(TEXT, takes).matrix,
        "no mount finds written flash"
    );
    for (sets, why) in [
        (&[UNSTABLE, "ftl=fast"][..], "take ftl.page, or a device without unstable pages"),
        (&[UNSTABLE, "ftl.page.placement.fdp.handles=2"], "through which handle"),
    ] {
        let error = refused(TEXT, sets).to_string();
        assert!(error.contains(why), "{sets:?}: {error}");
    }
}

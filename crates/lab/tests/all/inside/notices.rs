//! Tests of `src/run/notices.rs`.

use nandlab_lab::inside::{fell_behind, Pace};
use nandlab_nand::Time;

const MS: Time = 1_000_000;

#[test]
fn who_keeps_up_is_not_told() {
    // One request per millisecond for ten seconds.
    let told = |behind| fell_behind(&Pace { first: 5, last: 5 + 9999 * MS, done: 5 + 9999 * MS + behind }, 10_000);
    assert_eq!(told(0), None);
    assert_eq!(told(100 * MS), None, "as much as comes in 100 gaps");
    let sentence = told(101 * MS).unwrap();
    assert!(sentence.contains("came 9.999 s after the first, and the last was done 0.101 s later"), "{sentence}");
}

#[test]
fn a_short_run_may_end_with_what_it_holds_and_a_long_one_with_a_share_of_itself() {
    let at_once = Pace { first: 0, last: 0, done: 60_000 * MS };
    assert_eq!((fell_behind(&at_once, 0), fell_behind(&at_once, 100)), (None, None));
    assert!(fell_behind(&at_once, 101).is_some());
    let hour = |behind| fell_behind(&Pace { first: 0, last: 3_600_000 * MS, done: 3_600_000 * MS + behind }, 3_600_001);
    assert_eq!(hour(36_000 * MS), None);
    assert!(hour(36_001 * MS).is_some());
}

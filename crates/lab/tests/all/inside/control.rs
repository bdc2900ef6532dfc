//! Tests of `src/control.rs`.

use nandlab_lab::{Control, Phase};

#[test]
fn a_measure_of_its_own_begins_at_nothing() {
    let control = Control::default();
    control.enter(Phase::Precondition, 100, 8);
    control.set_done(100);
    assert_eq!(control.share(), None, "page writes tell nothing of transactions");
    control.plan_anew(20);
    control.enter(Phase::Workload, 20, 1);
    control.set_done(5);
    assert_eq!(control.share(), Some(0.25));
}

#[test]
fn a_plan_grows_with_what_is_found_to_do() {
    let control = Control::default();
    control.plan(100 * 8);
    control.enter(Phase::Precondition, 50, 8);
    control.cover(150);
    control.set_done(100);
    assert_eq!(control.progress(), (Phase::Precondition, 100, 150));
    assert_eq!(control.share(), Some(0.5), "50 of the workload are left, too");
    control.cover(120);
    control.set_done(160);
    assert_eq!(control.progress(), (Phase::Precondition, 160, 160));
}

#[test]
fn the_share_goes_on_over_the_phases() {
    let control = Control::default();
    control.enter(Phase::Opening, 0, 0);
    control.set_done(70_000);
    assert_eq!(control.share(), None, "records that were read are no work that was done");
    control.plan(100 * 8 + 30 * 80);
    control.enter(Phase::Precondition, 100, 8);
    assert_eq!(control.share(), Some(0.0));
    control.set_done(100);
    assert_eq!(control.share(), Some(0.25));
    control.enter(Phase::Workload, 30, 80);
    assert_eq!(control.share(), Some(0.25));
    control.set_done(15);
    assert_eq!(control.share(), Some(0.625));
    control.set_done(31);
    assert_eq!(control.share(), Some(1.0), "a mean is no promise");
}

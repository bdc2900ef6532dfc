//! Shares of erases, and names.

use super::*;

#[test]
fn an_erase_is_shared_in_proportion_and_wholly() {
    let mut ctx = Ctx::default();
    let mut invalid = [0; Origin::COUNT];
    invalid[1] = 2;
    invalid[7] = 1;
    ctx.count_erase(&invalid);
    assert_eq!(ctx.matrix().total().erase_shares, ERASE_SHARE);
    assert!((ctx.matrix().cell(Origin(1), Cause::Host).erases() - 2.0 / 3.0).abs() < 1e-5);
    ctx.count_erase(&[0; Origin::COUNT]);
    assert_eq!(ctx.matrix().cell(Origin::HOST, Cause::Host).erase_shares, ERASE_SHARE);
}

#[test]
fn names_are_unique_and_found() {
    for (number, name) in Origin::NAMES.iter().enumerate() {
        assert_eq!(Origin::from_name(name), Some(Origin(number as u8)));
    }
    assert_eq!(Origin::from_name("databse"), None);
    for cause in Cause::ALL {
        assert!((cause as usize) < Cause::COUNT);
    }
}

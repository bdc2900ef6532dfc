//! Tests of `src/error.rs`.

use nandlab_lab::ConfigError;

#[test]
fn long_numbers_are_cut_short() {
    let said = |message: String| ConfigError { message, ..Default::default() }.to_string();
    assert_eq!(said(format!("x = {}, a 7", 1e308)), "x = 100000... (309 digits), a 7");
    assert_eq!(said(format!("{}", -1e-300)), "-0.000000... (300 digits)");
    assert_eq!(said(format!("given {} and µ 12", u128::MAX)), format!("given {} and µ 12", u128::MAX));
}

//! Tests of `src/config/advice.rs`.

use nandlab_lab::inside::least;

#[test]
fn the_least_that_works_is_found() {
    for limit in 4..200 {
        assert_eq!(least(3, 200, |number| number >= limit), Some(limit));
    }
    assert_eq!(least(3, 200, |_| false), None);
    assert_eq!(least(200, 200, |_| true), None);
    let even = least(3, 200, |number| number >= 50 && number % 2 == 0);
    assert!(even.is_some_and(|number| number >= 50 && number % 2 == 0), "{even:?}");
}

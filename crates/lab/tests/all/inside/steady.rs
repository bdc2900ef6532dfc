//! Tests of `src/run/steady.rs`.

use nandlab_ftl::BlockState;
use nandlab_lab::inside::{gathered, is_steady, on_their_way, Seen, Window};

fn windows(count: u32, of: fn(f64) -> (f64, f64)) -> Vec<Window> {
    let all = (0..count).map(|at| of(f64::from(at)));
    all.map(|(waf, gathered)| Window { waf, gathered, on_their_way: 0.0 }).collect()
}

#[test]
fn four_windows_that_agree_are_enough_and_two_are_not() {
    let same = windows(4, |_| (2.5, 0.3));
    assert!(is_steady(&same, 0.0) && !is_steady(&same[..3], 1.0));
    assert!(!is_steady(&windows(4, |at| (2.5 + 0.1 * at, 0.3)), 0.01));
}

#[test]
fn slow_drift_shows_over_longer_spans() {
    // 0.6 % per window: no two adjacent windows differ by 1 %, but spans of n / 3 windows do.
    let drift = windows(50, |at| (1.006_f64.powf(at), 0.3));
    assert!((4..=50).all(|count| !is_steady(&drift[..count], 0.01)));
    // The cost is constant, while cold blocks take hot blocks' stale pages.
    let moves = windows(50, |at| (1.02, 0.9 - 0.01 * at));
    assert!((4..=50).all(|count| !is_steady(&moves[..count], 0.01)));
    assert!(is_steady(&moves, 1.0));
}

#[test]
fn blocks_that_lose_pages_are_on_their_way_until_they_are_erased() {
    let seen = |valid, cycles| Seen { valid, cycles };
    let before = [seen(64, 3), seen(64, 3), seen(64, 3), seen(20, 3), seen(64, 3)];
    // In order: lost a page, was erased and lost some, is never written, is being filled, holds nothing.
    let now = [seen(63, 3), seen(63, 4), seen(64, 3), seen(30, 3), seen(0, 3)];
    assert_eq!(on_their_way(&before, &now), 0.2);
    let with = |on_their_way| [Window { waf: 1.001, gathered: 0.99, on_their_way }; 4];
    assert!(is_steady(&with(0.01), 0.01) && !is_steady(&with(0.02), 0.01));
}

#[test]
fn stale_pages_are_gathered_or_spread() {
    let block = |valid, is_free| BlockState { valid, is_free };
    let blocks = |first, second| [block(first, false), block(second, false), block(0, true)];
    assert_eq!(gathered(&blocks(64, 64), 64), 0.0);
    assert_eq!(gathered(&blocks(0, 64), 64), 1.0, "all in one block");
    assert_eq!(gathered(&blocks(32, 32), 64), 0.5);
}

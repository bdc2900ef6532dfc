//! Tests of `src/record/sampled.rs`.

use nandlab_lab::inside::{estimate, has_trend, student_t, Sampled, SampledRecord, WindowFigures};

#[test]
fn points_of_student_t_are_those_of_the_tables() {
    // Abramowitz and Stegun, "Handbook of Mathematical Functions", table 26.10.
    for (freedom, point) in [(2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (9, 2.262), (30, 2.042), (120, 1.980)] {
        assert!((student_t(freedom) - point).abs() < 1e-3, "{freedom}: {}", student_t(freedom));
    }
    assert!((student_t(1_000_000) - 1.95996).abs() < 1e-4);
}

#[test]
fn intervals_are_those_of_the_text_book() {
    // Mean 5, standard deviation sqrt(10), standard error sqrt(2); t is 2.776445 with 4 degrees of freedom.
    let found = estimate(&[1.0, 3.0, 5.0, 7.0, 9.0]).unwrap();
    assert_eq!(found.mean, 5.0);
    assert!((found.half_width - 2.776_445 * 2f64.sqrt()).abs() < 1e-9, "{found:?}");
    assert!(estimate(&[1.0, 2.0]).is_none());
    assert_eq!(estimate(&[2.0; 3]).unwrap().half_width, 0.0);
}

#[test]
fn windows_that_resemble_their_neighbours_widen_the_interval() {
    let alternating: Vec<f64> = (0..40).map(|at| f64::from(at % 2)).collect();
    let slow: Vec<f64> = (0..40).map(|at| f64::from(at / 4 % 2)).collect();
    let alone = |values: &[f64]| {
        // Student's t is 2.0227 with 39 degrees of freedom, and the variance of zeros and ones a quarter.
        (estimate(values).unwrap().half_width / (2.0227 * (0.25f64 / 39.0).sqrt()) * 1e3).round() / 1e3
    };
    assert_eq!(alone(&alternating), 1.0);
    // Ten batches of four windows are as far apart as single windows; t is 2.2622 with 9 degrees of freedom.
    assert_eq!(alone(&slow), (2.2622 / 2.0227 * (39.0f64 / 9.0).sqrt() * 1e3).round() / 1e3);
}

#[test]
fn trends_are_seen() {
    let rising: Vec<f64> = (0..1200).map(f64::from).collect();
    assert!(has_trend(&rising) && has_trend(&rising[..8]));
    assert!(!has_trend(&rising[..5]), "five values cannot show it at 1 %");
    // A peak in the middle is no steady rise, and the last third lies above the first.
    let peak: Vec<f64> = (0..30).map(|at| 1.0 + f64::from(at.min(15)) - f64::from((at - 15).max(0)) / 3.0).collect();
    assert!(has_trend(&peak));
    let turns: Vec<f64> = (0..40).map(|at| f64::from(at % 2)).collect();
    assert!(!has_trend(&turns));
    assert!(!has_trend(&[3.0; 30]) && !has_trend(&[]));
}

/// Windows of unequal speed and with unequal writes: the whole has the ratio of the sums.
#[test]
fn ratios_are_those_of_the_whole() {
    let window = |programs, written_sectors, ms: u64| WindowFigures {
        programs,
        written_sectors,
        answered: Some((1000, ms * 1_000_000)),
        ..WindowFigures::default()
    };
    let windows = [window(8, 64, 1), window(0, 0, 2), window(16, 64, 3)];
    let sampled =
        Sampled { window: 1000, simulated: 3000, requests: 9000, sectors_per_page: 8, blocks: 10, time_us: None };
    let found = SampledRecord::of(&windows, &sampled);
    let waf = found.waf.unwrap();
    assert!((waf.mean - 1.5).abs() < 1e-12, "24 pages of 8 sectors for 128 sectors");
    // Residuals -32, 0 and 32 over a mean of 128 / 3 sectors; t is 4.302653 with two degrees of freedom.
    assert!((waf.half_width - 4.302_653 * (0.5625f64 / 3.0).sqrt()).abs() < 1e-6, "{waf:?}");
    assert!((found.requests_per_s.unwrap().mean - 500_000.0).abs() < 1e-6, "3,000 requests in 6 ms");
    assert_eq!(found.erases_per_byte.unwrap().mean, 0.0);
}

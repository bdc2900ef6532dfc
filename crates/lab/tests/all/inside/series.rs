//! Tests of `src/run/series.rs`.

use nandlab_lab::inside::{Below, Series, MAX_SAMPLES};
use nandlab_lab::record::{HostCounts, Sample};

fn below(programs: u64, erases: u64) -> Below {
    Below { refused: 0, programs, erases, free_blocks: 0, time: 0 }
}

fn series(total: u64, requests: u64) -> Vec<Sample> {
    let mut series = Series::new(total, false, 8);
    let mut host = HostCounts::default();
    for n in 1..=requests {
        host = HostCounts { requests: n, written_sectors: n * 8, ..host };
        if series.is_due(n) {
            // Twice as many programs in the second half.
            series.add(&host, below(n + n.saturating_sub(requests / 2), n / 64));
        }
    }
    series.add(&host, below(requests + requests / 2, requests / 64));
    series.into_samples()
}

#[test]
fn length_does_not_matter() {
    for (total, requests) in [(10, 10), (200, 200), (1_000_000, 1_000_000), (0, 100_000), (5_000, 100_000)] {
        let samples = series(total, requests);
        assert!(samples.len() <= MAX_SAMPLES && samples.len() as u64 >= requests.min(90), "{}", samples.len());
        assert_eq!(samples.last().unwrap().requests, requests);
        assert!(samples.windows(2).all(|pair| pair[0].requests < pair[1].requests));
    }
}

#[test]
fn write_amplification_is_that_since_the_sample_before() {
    let samples = series(1000, 1000);
    assert_eq!((samples[0].waf, samples[199].waf), (Some(1.0), Some(2.0)));
    assert_eq!(samples[199].erases, 15);
}

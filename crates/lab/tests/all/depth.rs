//! Requests per second at queue depths 1 to 64, compared with closed forms of the geometry.

use crate::support::record;
use std::collections::BTreeMap;

const READ_US: f64 = 50.0;
const PROGRAM_US: f64 = 500.0;
/// (4096 + 128) bytes at 2.5 ns.
const PAGE_US: f64 = 10.56;
const DEPTHS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Rate of single-page requests, per second.
fn rate(workload: &str, (channels, dies): (u32, u32), depth: u32) -> f64 {
    let text = format!(
        "[workload.{workload}\n[host]\nqueue_depth = {depth}\n[ftl.page]\n[device]\nprofile = \"generic-8x4\"\n\
         capacity = \"256 MiB\"\nover_provisioning = 0.5\n[device.shape]\nchannels = {channels}\ndies_per_channel = {dies}\n\
         [precondition]\nfill = \"{}\"",
        if workload.contains("read_share") { "sequential" } else { "none" },
    );
    record(&text, &[]).throughput.unwrap().requests_per_s
}

/// Consecutive requests go to the dies in turn: each die is busy or idle, and so is each channel.
fn in_turn((channels, dies): (u32, u32), array_us: f64, depth: u32) -> f64 {
    let busy = f64::from(depth.min(channels * dies));
    1e6 * (busy / (array_us + PAGE_US)).min(f64::from(channels) / PAGE_US)
}

#[test]
fn sequential_requests_and_all_writes_have_the_rate_of_the_geometry() {
    for geometry in [(1, 1), (4, 1), (2, 8), (3, 2)] {
        for depth in DEPTHS {
            for (workload, array_us) in [
                ("sequential]\nread_share = 1.0\nrequests = 9600", READ_US),
                ("sequential]\nrequests = 9600", PROGRAM_US),
                ("uniform]\nrequests = 9600", PROGRAM_US),
            ] {
                let (expected, got) = (in_turn(geometry, array_us, depth), rate(workload, geometry, depth));
                assert!(
                    (got / expected - 1.0).abs() < 2e-3,
                    "{geometry:?}, {depth}, {workload}: {got}, not {expected}"
                );
            }
        }
    }
}

/// Mean number of non-empty urns, of `urns` urns with `balls` balls, if each non-empty urn throws one ball into
/// a random urn at each step: the stationary distribution, by iteration.
fn mean_busy(urns: usize, balls: usize) -> f64 {
    let mut start = vec![0; urns];
    start[0] = balls;
    let mut states = BTreeMap::from([(start, 1.0)]);
    let mut mean = 0.0;
    for _ in 0..150 {
        let mut next = BTreeMap::new();
        mean = 0.0;
        for (state, share) in states {
            let busy = state.iter().filter(|&&balls| balls > 0).count();
            mean += share * busy as f64;
            let mut thrown: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
            thrown.insert(state.iter().map(|balls| balls.saturating_sub(1)).collect(), share);
            for _ in 0..busy {
                let mut more = BTreeMap::new();
                for (state, share) in thrown {
                    for urn in 0..urns {
                        let mut state = state.clone();
                        state[urn] += 1;
                        // The urns are interchangeable.
                        state.sort_unstable();
                        *more.entry(state).or_insert(0.0) += share / urns as f64;
                    }
                }
                thrown = more;
            }
            for (state, share) in thrown {
                *next.entry(state).or_insert(0.0) += share;
            }
        }
        states = next;
    }
    mean
}

#[test]
fn random_reads_of_dies_with_a_bus_each_follow_the_chain_of_balls_in_urns() {
    assert!((mean_busy(4, 2) - (2.0 - 0.25)).abs() < 1e-9);
    for (dies, depth) in [(2, 8), (4, 1), (4, 2), (4, 4), (4, 8), (3, 12)] {
        let expected = 1e6 * mean_busy(dies, depth) / (READ_US + PAGE_US);
        let got = rate("uniform]\nread_share = 1.0\nrequests = 400_000", (dies as u32, 1), depth as u32);
        assert!((got / expected - 1.0).abs() < 3e-3, "{dies} dies, {depth}: {got}, not {expected}");
    }
}

#[test]
fn random_reads_of_dies_that_share_a_bus_stay_between_the_bounds() {
    let (channels, dies) = (2, 8);
    let service = READ_US + PAGE_US;
    for depth in DEPTHS {
        let got = rate("uniform]\nread_share = 1.0\nrequests = 100_000", (channels, dies), depth);
        let fullest = (service / f64::from(channels * dies)).max(PAGE_US / f64::from(channels));
        // Balanced job bounds for exponential times (Zahorjan et al. 1982); constant times wait less.
        let least = 1e6 * f64::from(depth) / (service + f64::from(depth - 1) * fullest);
        let most = in_turn((channels, dies), READ_US, depth);
        assert!(least * 0.9999 <= got && got <= most * 1.0001, "{depth}: {least} {got} {most}");
    }
}

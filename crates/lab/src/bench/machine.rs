//! Limits of the machine.

use super::{million_per_s, repetitions, Measured, Scale, PAGE_BYTES};
use crate::error::LabError;
use nandlab_nand::random::Random;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::hint::black_box;

/// Random accesses to 4-byte entries of a table as large as the map: read one, write it.
///
/// A page program needs at least this. The accesses are independent, so the processor may overlap them, as it
/// may overlap the map's. The simulator's generator draws the addresses.
pub(super) fn random(quick: bool, scale: Scale) -> Result<Measured, LabError> {
    let entries = scale.capacity_bytes(quick) / PAGE_BYTES;
    let accesses: u64 = if quick { 2_000_000 } else { 50_000_000 };
    let mut table: Vec<u32> = (0..entries as u32).collect();
    let mut draws = Random::new(1);
    let mut once = || {
        for access in 0..accesses {
            let entry = &mut table[draws.below(entries) as usize];
            *entry = entry.wrapping_add(access as u32);
        }
        black_box(&mut table);
        Ok::<_, Infallible>(accesses)
    };
    Ok(Measured {
        unit: "million accesses/s",
        values: repeat(quick, &mut once),
        state_bytes: entries * 4,
        params: BTreeMap::from([("access", "read and write 4 B at a random place".to_owned())]),
    })
}

/// As [`random`], but each address depends on the previous access: the memory latency.
pub(super) fn dependent(quick: bool, scale: Scale) -> Result<Measured, LabError> {
    let entries = scale.capacity_bytes(quick) / PAGE_BYTES;
    let accesses: u64 = if quick { 1_000_000 } else { 10_000_000 };
    // One cycle through all entries in random order (Sattolo 1986).
    let mut next: Vec<u32> = (0..entries as u32).collect();
    let mut draws = Random::new(1);
    for last in (1..next.len()).rev() {
        next.swap(last, draws.below(last as u64) as usize);
    }
    let mut at = 0;
    let mut once = || {
        for _ in 0..accesses {
            at = next[at as usize];
        }
        black_box(at);
        Ok::<_, Infallible>(accesses)
    };
    Ok(Measured {
        unit: "million accesses/s",
        values: repeat(quick, &mut once),
        state_bytes: entries * 4,
        params: BTreeMap::from([("access", "read 4 B at the place that was read before".to_owned())]),
    })
}

fn repeat(quick: bool, once: &mut dyn FnMut() -> Result<u64, Infallible>) -> Vec<f64> {
    let measure = |_| million_per_s(&mut *once).unwrap_or_else(|never| match never {});
    (0..repetitions(quick)).map(measure).collect()
}

/// Bandwidth of a sequential read of memory.
pub(super) fn streaming(quick: bool) -> Result<Measured, LabError> {
    let bytes: u64 = if quick { 16 << 20 } else { 256 << 20 };
    let words: Vec<u64> = (0..bytes / 8).collect();
    let rounds = 4;
    let mut once = || {
        for _ in 0..rounds {
            // Four independent sums.
            let sums = black_box(&words[..])
                .chunks_exact(4)
                .fold([0u64; 4], |sums, four| std::array::from_fn(|at| sums[at].wrapping_add(four[at])));
            black_box(sums);
        }
        Ok::<_, Infallible>(rounds * bytes)
    };
    Ok(Measured {
        unit: "MB/s",
        values: repeat(quick, &mut once),
        state_bytes: bytes,
        params: BTreeMap::from([("access", "read in order".to_owned())]),
    })
}

//! Request sequences, from a seed or a fuzzer's bytes.

use nandlab_block::{Op, Request};
use nandlab_nand::random::Random;
use nandlab_nand::{Origin, PlacementId};

/// One script step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A request.
    Do(Request),
    /// The RAM state is dropped after a flush and the device is mounted again.
    Remount,
}

/// A random script's step weights; each counts relative to the sum.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// Writes.
    pub writes: u32,
    /// Reads.
    pub reads: u32,
    /// Trims.
    pub trims: u32,
    /// Flushes.
    pub flushes: u32,
    /// Remounts.
    pub remounts: u32,
}

impl Mix {
    /// Mostly writes, with some others.
    pub const USUAL: Self = Self { writes: 60, reads: 20, trims: 8, flushes: 10, remounts: 2 };
    /// For power cuts: the cut is the remount.
    pub const CHANGES: Self = Self { writes: 80, reads: 2, trims: 8, flushes: 10, remounts: 0 };
    /// For power cuts among many unflushed trims.
    pub const TRIMS: Self = Self { writes: 65, reads: 1, trims: 30, flushes: 4, remounts: 0 };
    /// For power cuts on timed devices: also mounts while work is under way.
    pub const MOUNTS: Self = Self { writes: 75, reads: 2, trims: 12, flushes: 7, remounts: 4 };
}

/// A random script with `steps` steps on a disk with `sectors` sectors.
///
/// Half the requests fall on an eighth of the disk, so blocks have mixed ages; sizes range from one sector to a few
/// pages. Behind each flush the host gives a handle another reclaim unit, which is no step of its own.
pub fn random(seed: u64, sectors: u64, sectors_per_page: u32, steps: usize, mix: Mix) -> Vec<Step> {
    let mut random = Random::new(seed);
    let total = mix.writes + mix.reads + mix.trims + mix.flushes + mix.remounts;
    (0..steps)
        .flat_map(|step| {
            let mut draw = random.below(total.into()) as u32;
            for (share, op) in [(mix.writes, Op::Write), (mix.reads, Op::Read), (mix.trims, Op::Trim)] {
                if draw < share {
                    return [Some(Step::Do(request(&mut random, op, sectors, sectors_per_page))), None];
                }
                draw -= share;
            }
            if draw >= mix.flushes {
                return [Some(Step::Remount), None];
            }
            let placement = placement(step as u64);
            let update = Request { placement, ..Request::new(Op::UnitUpdate, 0, 0) };
            [Some(Step::Do(Request::new(Op::Flush, 0, 0))), placement.is_some().then_some(Step::Do(update))]
        })
        .flatten()
        .collect()
}

/// Some numbers stand for no identifier, some for one that no device has.
fn placement(number: u64) -> PlacementId {
    match number % 5 {
        0 => PlacementId::NONE,
        handle => PlacementId { group: u8::from(number / 5 % 3 == 2), handle: handle as u8 - 1 },
    }
}

fn request(random: &mut Random, op: Op, sectors: u64, sectors_per_page: u32) -> Request {
    let page = u64::from(sectors_per_page);
    let most = match random.below(4) {
        0 => 1,
        1 => page * 3,
        _ => page,
    };
    let mut length = 1 + random.below(most);
    let span = if random.chance(0.5) { (sectors / 8).max(1) } else { sectors };
    let mut sector = random.below(span);
    if random.chance(0.6) {
        // Whole pages, like most file system writes.
        sector = sector / page * page;
        length = length.div_ceil(page) * page;
    }
    let origin = Origin(random.below(3) as u8 * 7);
    Request { origin, placement: placement(sector), ..Request::new(op, sector, length.min(sectors - sector) as u32) }
}

/// A script from a fuzzer's bytes, four a step.
pub fn from_bytes(bytes: &[u8], sectors: u64) -> Vec<Step> {
    bytes
        .chunks_exact(4)
        .map(|step| {
            let sector = u64::from(u16::from_le_bytes([step[1], step[2]])) % sectors;
            let length = (u64::from(step[3] % 32) + 1).min(sectors - sector) as u32;
            match step[0] % 16 {
                0..=8 => Step::Do(Request::new(Op::Write, sector, length)),
                9..=11 => Step::Do(Request::new(Op::Read, sector, length)),
                12 | 13 => Step::Do(Request::new(Op::Trim, sector, length)),
                14 => Step::Do(Request::new(Op::Flush, 0, 0)),
                _ => Step::Remount,
            }
        })
        .collect()
}

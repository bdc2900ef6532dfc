//! Plain records, many at once.
//!
//! A trace read record by record hands each request through memory several times, and a processor waits for a wide load of what
//! narrow stores have just written. A run of requests is written once and read later.

use super::{Native, FOLLOWS, HAS_DEVICE, HAS_ORIGIN, HAS_PLACEMENT, SAME_SECTORS, SAME_TIME};
use crate::trace::fields::{most_sectors, MAX_SECTOR, MAX_TIME};
use nandlab_block::{Op, Request};
use nandlab_nand::Origin;

/// A tag and three numbers of eight bytes each are inside this, whatever is in them.
const WINDOW: usize = 1 + 3 * 8;

/// A number of up to eight bytes, seven bits each, the lowest first, and its bytes; `None` for a longer one. Without a
/// branch, because lengths follow no pattern.
#[inline(always)]
fn number(window: &[u8; WINDOW], at: usize) -> Option<(u64, usize)> {
    let word = u64::from_le_bytes(window[at..at + 8].try_into().expect("eight bytes"));
    let ends = !word & 0x8080_8080_8080_8080;
    if ends == 0 {
        return None;
    }
    // All bits up to the first byte with the highest bit clear, and no highest bits.
    let word = word & (ends ^ (ends - 1)) & 0x7F7F_7F7F_7F7F_7F7F;
    let pairs = word & 0x007F_007F_007F_007F | (word & 0x7F00_7F00_7F00_7F00) >> 1;
    let fours = pairs & 0x0000_3FFF_0000_3FFF | (pairs & 0x3FFF_0000_3FFF_0000) >> 2;
    let value = fours & 0x0FFF_FFFF | (fours & 0x0FFF_FFFF_0000_0000) >> 4;
    Some((value, ends.trailing_zeros() as usize / 8 + 1))
}

impl Native {
    /// Reads up to `most` records that are no flush, change neither origin, device nor placement, and are not at the end of
    /// `bytes`. It stops before any other one, also a malformed one, which is for [`super::Format::record`]. Returns
    /// the bytes that they took.
    pub(super) fn plain_run(&mut self, bytes: &[u8], most: usize, into: &mut Vec<Request>) -> usize {
        let (mut at, mut time, mut end, mut sectors) = (0, self.state.time, self.state.end, self.state.sectors);
        let origin = self.origins.get(self.state.origin).copied().unwrap_or(Origin::HOST);
        let most = if self.state.placement.is_some() { 0 } else { most };
        for _ in 0..most {
            let Some(window) = bytes.get(at..at + WINDOW).and_then(|window| window.try_into().ok()) else { break };
            let Some(plain) = Plain::read(window, (time, end, sectors)) else { break };
            (time, end, sectors) = (plain.time, plain.sector + u64::from(plain.sectors), plain.sectors);
            at += plain.taken;
            let request = Request::new(plain.op, plain.sector, plain.sectors);
            into.push(Request { time, origin, ..request });
        }
        (self.state.time, self.state.end, self.state.sectors) = (time, end, sectors);
        at
    }
}

struct Plain {
    op: Op,
    time: u64,
    sector: u64,
    sectors: u32,
    taken: usize,
}

impl Plain {
    /// The record at the start of `window`, after one with this time, end and sectors.
    #[inline(always)]
    fn read(window: &[u8; WINDOW], (time, end, sectors): (u64, u64, u32)) -> Option<Self> {
        let tag = window[0];
        let op = [Op::Read, Op::Write, Op::Trim].get(usize::from(tag & 3)).copied()?;
        if tag & (HAS_ORIGIN | HAS_DEVICE | HAS_PLACEMENT) != 0 {
            return None;
        }
        let mut plain = Self { op, time, sector: end, sectors, taken: 1 };
        if tag & SAME_TIME == 0 {
            let (step, taken) = number(window, plain.taken)?;
            plain.time = time.saturating_add(step);
            plain.taken += taken;
        }
        if tag & FOLLOWS == 0 {
            let (step, taken) = number(window, plain.taken)?;
            plain.sector = end.wrapping_add(step >> 1 ^ (step & 1).wrapping_neg());
            plain.taken += taken;
        }
        if tag & SAME_SECTORS == 0 {
            let (number, taken) = number(window, plain.taken)?;
            plain.sectors = u32::try_from(number).ok()?;
            plain.taken += taken;
        }
        let sectors = u64::from(plain.sectors);
        let is_good =
            sectors > 0 && sectors <= most_sectors(op) && plain.sector <= MAX_SECTOR && plain.time <= MAX_TIME;
        is_good.then_some(plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::format::Format;
    use crate::trace::line::Line;
    use nandlab_nand::random::Random;

    #[test]
    fn numbers_of_each_length() {
        for bits in 0..=63 {
            let value = (1u64 << bits) - u64::from(bits % 3 == 0);
            let mut bytes = Vec::new();
            super::super::put(&mut bytes, value);
            let taken = bytes.len();
            bytes.extend([0xFF; WINDOW]);
            let window = bytes[..WINDOW].try_into().unwrap();
            assert_eq!(number(window, 0), (taken <= 8).then_some((value, taken)), "{value}");
        }
    }

    /// Random bytes, mostly of plain records: runs and single records give the same, up to the first malformed one.
    #[test]
    fn runs_read_what_single_records_read() {
        let mut random = Random::new(11);
        let (mut in_runs, mut alone) = (0, 0);
        for _ in 0..2_000 {
            let mut bytes = vec![SAME_TIME, 0, 8];
            bytes.extend((0..400).map(|_| match random.below(20) {
                0 => random.below(256) as u8,
                _ => [SAME_TIME, SAME_TIME | 1, SAME_SECTORS | 2, FOLLOWS | SAME_SECTORS | SAME_TIME, 0x81, 8]
                    [random.below(6) as usize],
            }));
            let (mut single, mut mixed) = (Native::reading(true), Native::reading(true));
            let (mut at, mut run) = (0, Vec::new());
            while at < bytes.len() {
                let end = at + mixed.plain_run(&bytes[at..], 1 + random.below(9) as usize, &mut run);
                in_runs += run.len();
                for request in run.drain(..) {
                    let Ok(Line::Request(found)) = single.record(&bytes[at..]) else { panic!("a record at {at}") };
                    assert_eq!(found.request, request);
                    at += single.taken();
                }
                assert_eq!(at, end);
                let found = single.record(&bytes[at..]);
                assert_eq!(found, mixed.record(&bytes[at..]));
                if found.is_err() {
                    break;
                }
                alone += 1;
                at += single.taken();
            }
        }
        assert!(in_runs > 4_000 && alone > 4_000, "{in_runs} in runs, {alone} alone");
    }
}

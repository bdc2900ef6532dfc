//! The scan for policies that weigh valid pages against age: it finds the closed block with the highest score.
//!
//! On x86-64 the same code is compiled a second time for AVX2 and chosen at run time. Both use single precision, so the
//! choice does not depend on the machine.

use crate::parts::blocks::table::Blocks;
use nandlab_nand::BlockId;

/// A block's worth as a victim.
pub(super) trait Score {
    /// The score for valid and invalid pages, age (1 or more), and erases (1 or more); never NaN.
    fn score(valid: f32, invalid: f32, age: f32, cycles: f32) -> f32;
}

/// Blocks scored at a time; the search for the first among equals then stays in one group.
const GROUP: usize = 64;

/// The closed block with the highest score, the lowest number among equals.
pub(super) fn highest<S: Score>(blocks: Blocks<'_>, now: u64) -> Option<BlockId> {
    let scan = Scan {
        words: blocks.words(),
        closed_at: blocks.closed_at(),
        cycles: blocks.all_cycles(),
        now: blocks.clock(now),
        pages: blocks.pages_per_block() as f32,
    };
    scan.highest::<S>().map(|place| blocks.at(place))
}

struct Scan<'a> {
    words: &'a [i16],
    closed_at: &'a [u32],
    cycles: &'a [u32],
    now: u32,
    pages: f32,
}

/// The score of a block that cannot be a victim.
const NO_VICTIM: f32 = -1.0;

impl Scan<'_> {
    fn highest<S: Score>(&self) -> Option<usize> {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            #[allow(unsafe_code)]
            // SAFETY: the processor has AVX2, it was asked just now.
            return unsafe { self.highest_avx2::<S>() };
        }
        self.scan::<S>()
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn highest_avx2<S: Score>(&self) -> Option<usize> {
        self.scan::<S>()
    }

    #[inline(always)]
    fn scan<S: Score>(&self) -> Option<usize> {
        let mut most = NO_VICTIM;
        let mut found = None;
        let mut scores = [NO_VICTIM; GROUP];
        let groups = self.words.chunks(GROUP).zip(self.closed_at.chunks(GROUP)).zip(self.cycles.chunks(GROUP));
        for (group, ((words, closed_at), cycles)) in groups.enumerate() {
            scores[words.len()..].fill(NO_VICTIM);
            for (((score, &word), &closed_at), &cycles) in scores.iter_mut().zip(words).zip(closed_at).zip(cycles) {
                let valid = f32::from(word);
                let age = self.now.wrapping_sub(closed_at) as i32 as f32 + 1.0;
                let worth = S::score(valid, self.pages - valid, age, cycles.max(1) as i32 as f32);
                *score = if word < Blocks::CLOSED { worth } else { NO_VICTIM };
            }
            let here = highest_of(&scores);
            if here > most {
                most = here;
                found = scores.iter().position(|&score| score == here).map(|at| group * GROUP + at);
            }
        }
        found
    }
}

/// The highest score, lane by lane.
#[inline(always)]
fn highest_of(scores: &[f32; GROUP]) -> f32 {
    let mut lanes = [NO_VICTIM; 8];
    for eight in scores.chunks_exact(8) {
        for (lane, &score) in lanes.iter_mut().zip(eight) {
            *lane = if score > *lane { score } else { *lane };
        }
    }
    lanes.into_iter().fold(NO_VICTIM, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandlab_nand::random::Random;

    struct Plain;

    impl Score for Plain {
        fn score(valid: f32, invalid: f32, age: f32, cycles: f32) -> f32 {
            invalid * age / (cycles + valid)
        }
    }

    #[test]
    fn finds_the_first_of_the_highest() {
        let mut random = Random::new(5);
        for length in [0, 1, 7, 63, 64, 65, 200, 1000] {
            let words: Vec<i16> = (0..length)
                .map(|_| {
                    if random.below(4) == 0 {
                        Blocks::CLOSED + random.below(9) as i16
                    } else {
                        random.below(9) as i16
                    }
                })
                .collect();
            let mut numbers = |below| (0..length).map(|_| random.below(below) as u32).collect::<Vec<_>>();
            let (closed_at, cycles) = (numbers(6), numbers(3));
            let scan = Scan { words: &words, closed_at: &closed_at, cycles: &cycles, now: 6, pages: 8.0 };
            let score = |at: usize| {
                let valid = f32::from(words[at]);
                Plain::score(valid, 8.0 - valid, (7 - closed_at[at]) as f32, cycles[at].max(1) as f32)
            };
            let closed = (0..length).filter(|&at| words[at] < Blocks::CLOSED);
            let best = closed.fold(None, |best, at| match best {
                Some(best) if score(best) >= score(at) => Some(best),
                _ => Some(at),
            });
            assert_eq!(scan.highest::<Plain>(), best);
            assert_eq!(scan.scan::<Plain>(), best);
        }
    }
}

//! Greedy's scan over block words for a victim.
//!
//! On x86-64 the same code is compiled a second time for AVX2 and chosen at run time, so that one portable
//! build is fast everywhere.

/// Words compared at once; the search for the first among equals then stays in one group.
const GROUP: usize = 128;

/// A word to compare: narrow words are compared in larger groups at once.
pub trait Word: Ord + Copy {
    /// The largest.
    const MAX: Self;
}

impl Word for i16 {
    const MAX: Self = i16::MAX;
}

impl Word for i32 {
    const MAX: Self = i32::MAX;
}

/// The first smallest word's index.
#[inline]
pub fn first_minimum<W: Word>(words: &[W]) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        #[allow(unsafe_code)]
        // SAFETY: the processor has AVX2, it was asked just now.
        return unsafe { first_minimum_avx2(words) };
    }
    scan(words)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn first_minimum_avx2<W: Word>(words: &[W]) -> Option<usize> {
    scan(words)
}

#[inline(always)]
fn scan<W: Word>(words: &[W]) -> Option<usize> {
    let mut least = W::MAX;
    let mut group = 0;
    for (at, words) in words.chunks(GROUP).enumerate() {
        let here = words.iter().fold(W::MAX, |least, &word| least.min(word));
        if here < least {
            least = here;
            group = at;
        }
    }
    let start = group * GROUP;
    words[start.min(words.len())..].iter().position(|&word| word == least).map(|at| start + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_of_equals() {
        let mut random = nandlab_nand::random::Random::new(3);
        for length in [0, 1, 2, 127, 128, 129, 1000] {
            let words: Vec<i16> = (0..length).map(|_| random.below(40) as i16).collect();
            let least = words.iter().min();
            let expected = words.iter().position(|word| Some(word) == least);
            assert_eq!(first_minimum(&words), expected);
            assert_eq!(scan(&words), expected);
            let wide: Vec<i32> = words.iter().map(|&word| i32::from(word) << 16).collect();
            assert_eq!(first_minimum(&wide), expected);
        }
    }
}

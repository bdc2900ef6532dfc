//! Blocks that a page-mapped FTL has beside those of data, and each die's part of them.

/// A scheme's own blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Quota {
    /// Blocks on all dies together, in equal shares.
    pub shared: u32,
    /// Blocks on each die beside those.
    pub each: u32,
}

/// Blocks filled on a die at a time: by the host, and with moved pages.
pub(crate) const FILLED: u32 = 2;

/// Equal shares of `blocks` for the dies in `works`; the first ones take one more if it does not come out even.
pub(crate) fn shares(blocks: u32, works: &[bool]) -> Vec<u32> {
    let working = works.iter().filter(|&&works| works).count() as u32;
    let mut before = 0;
    let share = |&works: &bool| {
        let share = if works { blocks.saturating_add(working - 1 - before) / working } else { 0 };
        before += u32::from(works);
        share
    };
    works.iter().map(share).collect()
}

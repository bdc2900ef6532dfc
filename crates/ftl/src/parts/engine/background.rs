//! Collection before room is short: the rule, and the numbers on which it begins.

use super::{Collection, Config};
use crate::options::options;
use crate::{error, FtlError};
use nandlab_nand::Geometry;

options! {
    Background
    /// The options for collection in the background, which FEMU has as `gc_thres_pcent`. It also moves pages that the
    /// host would have written again before their room was needed.
    #[derive(Eq)]
    {
        /// Free blocks on each die at which it begins, more than `reserve_blocks`. Default 4.
        free_blocks: u32 = 4,
        /// Invalid pages in a victim, at least 1; of a reclaim unit on several dies the mean of its blocks. A die with no more
        /// than `reserve_blocks` free takes any victim. Default 1; FEMU's rule for lines is an eighth of a block's pages.
        invalid_pages: u32 = 1,
    }
}

impl Config {
    /// Free blocks on a die at which a host page pays for collection.
    #[inline]
    pub(super) fn begins_at(&self) -> u32 {
        match self.collection {
            Collection::Background(Background { free_blocks, .. }) => free_blocks,
            Collection::Tokens | Collection::AtOnce | Collection::Late => self.reserve_blocks,
        }
    }

    /// Whether a victim is emptied with `free` blocks on its die: while the reserve is whole, the background leaves out
    /// victims that gain little.
    pub(super) fn takes_victim(&self, invalid: u32, free: u32) -> bool {
        match self.collection {
            Collection::Background(Background { invalid_pages, .. }) => {
                invalid >= invalid_pages || free <= self.reserve_blocks
            }
            Collection::Tokens | Collection::AtOnce | Collection::Late => true,
        }
    }

    /// Checks the numbers that need no device.
    pub(super) fn check_background(&self) -> Result<(), FtlError> {
        let Collection::Background(Background { free_blocks, invalid_pages }) = self.collection else { return Ok(()) };
        let more = self.reserve_blocks.saturating_add(1)..=u32::MAX;
        error::in_range("ftl.page.collection.background.free_blocks", free_blocks, more)?;
        error::in_range("ftl.page.collection.background.invalid_pages", invalid_pages, 1..=u32::MAX)
    }

    /// A background that takes no victim on a device with `geometry`.
    pub(super) fn never_in_background(&self, geometry: &Geometry) -> Option<String> {
        let Collection::Background(Background { invalid_pages, .. }) = self.collection else { return None };
        let pages = geometry.pages_per_block();
        (invalid_pages > pages).then(|| {
            format!(
                "ftl.page.collection.background.invalid_pages = {invalid_pages}: a block has {pages} pages, so collection \
                 begins with ftl.page.reserve_blocks"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(free_blocks: u32, invalid_pages: u32) -> Config {
        Config { collection: Collection::Background(Background { free_blocks, invalid_pages }), ..Config::default() }
    }

    #[test]
    fn it_begins_early_and_leaves_out_what_gains_little() {
        let config = config(8, 4);
        assert_eq!((config.begins_at(), Config::default().begins_at()), (8, 2));
        assert_eq!([3, 4].map(|invalid| config.takes_victim(invalid, 3)), [false, true]);
        assert!(config.takes_victim(1, 2), "a die without its reserve takes any victim");
    }

    #[test]
    fn numbers_without_meaning_are_refused() {
        for (free_blocks, invalid_pages, word) in [(2, 1, "free_blocks"), (3, 0, "invalid_pages")] {
            let said = config(free_blocks, invalid_pages).check_background().unwrap_err().to_string();
            assert!(said.contains(word), "{said}");
        }
        assert!(config(3, 1).check_background().is_ok());
    }
}

//! The options.

use crate::parts::collection::Collection;
use crate::parts::engine::room::{balance_pages, usable_pages};
use crate::parts::trim_notes::TrimNotes;
use crate::{error, FtlError, Variant};
use nandlab_nand::Geometry;

/// The super-page map's options.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Which one of the board's two firmwares.
    pub firmware: Firmware,
    /// The bank for a host page. The tutorial firmware lets the banks take turns in any case.
    pub allocation: Allocation,
    /// When a victim's pages move.
    pub collection: Collection,
    /// How garbage collection learns the logical pages in a victim.
    pub reverse_map: ReverseMap,
    /// A partial write behind its page's start reads the rest of the page at once if it has at most so many sectors. A
    /// longer one, or one at the start, reads the part before it and the part behind it apart. Default 8.
    pub one_read_sectors: u32,
    /// Blocks kept free on each die for moved pages; at least 1. With 1, a program failure or a torn page during
    /// collection may leave no room. Default 2; the firmware has 1. A bank is a die.
    pub reserve_blocks: u32,
    /// Blocks never used at the start of each bank: the firmware keeps 32 there for itself, its code, its log and its
    /// map. Of one paper: sector-map. Default 0.
    pub firmware_blocks: u32,
    /// Whether a flush makes trims survive a power cut. This costs a note page per trimmed segment of the address
    /// space. Without it there are no notes, and a mount brings back a trimmed page's newest copy not erased yet: its
    /// last contents, or older ones.
    pub durable_trim: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            firmware: Firmware::Greedy,
            allocation: Allocation::Static,
            collection: Collection::AtOnce,
            reverse_map: ReverseMap::ListPage,
            one_read_sectors: 8,
            reserve_blocks: 2,
            firmware_blocks: 0,
            durable_trim: true,
        }
    }
}

/// A firmware for the board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Firmware {
    /// A logical page has one bank, and each bank collects its own garbage.
    #[default]
    Greedy,
    /// The banks take pages in turn, and nothing is ever erased: writes end when the bank in turn has no page left.
    Tutorial,
}

/// The bank for a host page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Allocation {
    /// The logical page's bank, `logical page % banks`, as in the firmware. With 32 banks, 32 random writes in a row meet
    /// 20.4 different banks on average, so this is slower than turns.
    #[default]
    Static,
    /// The banks in turn.
    Dynamic,
}

/// How garbage collection learns a victim's contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReverseMap {
    /// From the last page in the block, which lists the others' logical pages: one read.
    #[default]
    ListPage,
    /// From its pages' spare areas; each read is charged, and the last page is like the others.
    Spare,
}

impl Config {
    /// Pages at a block's end for its list.
    pub(super) fn list_pages(&self) -> u32 {
        u32::from(self.firmware == Firmware::Greedy && self.reverse_map == ReverseMap::ListPage)
    }

    /// Pages in a block for the host.
    #[inline]
    pub(super) fn data_pages(&self, geometry: &Geometry) -> u32 {
        geometry.pages_per_block() - self.list_pages()
    }

    /// Blocks kept free on each bank.
    pub(super) fn kept(&self) -> u32 {
        match self.firmware {
            Firmware::Greedy => self.reserve_blocks,
            Firmware::Tutorial => 1,
        }
    }

    /// The bank for a host page.
    #[inline]
    pub(super) fn allocation(&self) -> Allocation {
        match self.firmware {
            Firmware::Greedy => self.allocation,
            Firmware::Tutorial => Allocation::Dynamic,
        }
    }

    /// Most logical pages on a device.
    pub(super) fn max_logical_pages(&self, geometry: &Geometry) -> Result<u32, FtlError> {
        self.check(geometry)?;
        let good = geometry.blocks_per_die() - self.firmware_blocks;
        let usable = usable_pages(self.data_pages(geometry), good, self.kept() + 1);
        let pages = geometry.dies() * usable.saturating_sub(balance_pages(geometry));
        Ok(pages.saturating_sub(TrimNotes::most_pages_for(geometry, pages, self.durable_trim)))
    }

    /// Sentences about options without effect.
    pub(super) fn notices(&self, geometry: &Geometry) -> Vec<String> {
        let (usual, is_tutorial) = (Self::default(), self.firmware == Firmware::Tutorial);
        let said = |is_set: bool, key, why| is_set.then(|| format!("ftl.superpage.{key} has no effect: {why}"));
        let collects = "the tutorial firmware collects no garbage";
        let turns = "the tutorial firmware lets the banks take turns";
        let one = "the device has one bank";
        let is_set = self.allocation != usual.allocation;
        [
            said(is_tutorial && self.reserve_blocks != usual.reserve_blocks, "reserve_blocks", collects),
            said(is_tutorial && self.reverse_map != usual.reverse_map, "reverse_map", collects),
            said(is_tutorial && self.collection != usual.collection, "collection", collects),
            said(is_set && is_tutorial, "allocation", turns),
            said(is_set && !is_tutorial && geometry.dies() == 1, "allocation", one),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Refuses options that cannot work on this device.
    pub(super) fn check(&self, geometry: &Geometry) -> Result<(), FtlError> {
        let refuse = |why: String| Err(FtlError::Config(why));
        let (kept, blocks) = (self.reserve_blocks, geometry.blocks_per_die());
        if kept == 0 {
            return refuse(
                "ftl.superpage.reserve_blocks = 0 would deadlock: garbage collection needs at least 1 free block in \
                 each bank"
                    .into(),
            );
        }
        // One being filled, one with data and one to collect.
        let needed = kept.saturating_add(3);
        if blocks < needed {
            return refuse(format!(
                "ftl.superpage.reserve_blocks = {kept} would deadlock: a bank of this device has {}, and the reserve, one \
                 that is being filled, one of data and one to collect need {needed}{}",
                error::blocks(blocks),
                error::at_most("ftl.superpage.reserve_blocks", blocks.saturating_sub(3)),
            ));
        }
        if blocks - needed < self.firmware_blocks {
            return refuse(format!(
                "ftl.superpage.firmware_blocks = {} leaves too few blocks: a bank of this device has {}, and \
                 ftl.superpage.reserve_blocks = {kept}, one that is being filled, one of data and one to collect need \
                 {needed} beside them; a device of this size takes ftl.superpage.firmware_blocks = {} at most",
                self.firmware_blocks,
                error::blocks(blocks),
                blocks - needed,
            ));
        }
        let list = 4 * self.data_pages(geometry);
        if self.list_pages() > 0 && list > geometry.page_bytes() {
            return refuse(format!(
                "ftl.superpage.reverse_map = \"list_page\" takes 4 bytes for each of the {} pages that a list names, \
                 {list} in all, and a page of this device has {}; reverse_map = \"spare\" needs no list",
                self.data_pages(geometry),
                geometry.page_bytes()
            ));
        }
        Ok(())
    }
}

/// The option sets for the proofs. The tutorial firmware, which never erases, has its own tests.
pub(super) fn variants() -> Vec<Variant<Config>> {
    let usual = Config::default;
    vec![
        Variant::tight("reserve_1", Config { reserve_blocks: 1, ..usual() }),
        Variant::safe("reserve_3", Config { reserve_blocks: 3, ..usual() }),
        Variant::safe("spare", Config { reverse_map: ReverseMap::Spare, one_read_sectors: 0, ..usual() }),
        Variant::safe("dynamic", Config { allocation: Allocation::Dynamic, collection: Collection::Tokens, ..usual() }),
        Variant::safe("firmware_blocks", Config { firmware_blocks: 1, ..usual() }),
        Variant::safe("forget_trims", Config { durable_trim: false, ..usual() }),
    ]
}

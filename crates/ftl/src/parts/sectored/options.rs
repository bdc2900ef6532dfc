//! Options for the FTLs with sector maps.

use super::SectorHandles;
use crate::parts::collection::Collection;

/// The map unit that leaves memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Replacement {
    /// The next one in turn not asked for since its last turn.
    #[default]
    Clock,
    /// The one in memory longest.
    Fifo,
    /// The one not asked for the longest.
    Lru,
}

/// What happens if a sector is written again while it waits in the merge buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rewrite {
    /// The new one takes the old one's place.
    #[default]
    Overwrite,
    /// The new one is added, and the old one's place holds nothing.
    Append,
}

/// The part of a changed map unit written when it leaves memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteBack {
    /// All its map pages.
    #[default]
    Unit,
    /// The changed map pages.
    Pages,
}

/// How pages and sectors are mapped together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hybrid {
    /// Sectors from a split page that a victim must hold for the others to be fetched, so that the page is whole again;
    /// 0: never.
    pub gather_from: u32,
}

impl Hybrid {
    /// Half a super-page: allowed on every device, so that one experiment fits them all.
    pub(crate) const HALF_A_SUPER_PAGE: u32 = 32;
}

/// A scheme's choices.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The map's owner; see `flash_map::Shape`.
    pub(crate) form: u16,
    pub(crate) merge_buffers: u32,
    /// Map units in memory; 0: all.
    pub(crate) cmt_units: u32,
    pub(crate) unit_bytes: u32,
    pub(crate) replacement: Replacement,
    pub(crate) rewrite: Rewrite,
    pub(crate) write_back: WriteBack,
    pub(crate) collection: Collection,
    /// Most map pages with changes; 0: no limit.
    pub(crate) changed_map_pages: u32,
    pub(crate) coalesce: bool,
    /// Host pages that a die takes in a turn.
    pub(crate) pages_per_die: u32,
    pub(crate) reserve_blocks: u32,
    pub(crate) map_spare_percent: u32,
    pub(crate) hybrid: Option<Hybrid>,
    pub(crate) placing: Option<SectorHandles>,
}

/// Makes such an FTL's `Config`: its own options, and the options common to all.
macro_rules! sectored_options {
    ($(#[$doc:meta])* { $($(#[$field_doc:meta])* $field:ident: $type:ty = $default:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct Config {
            $($(#[$field_doc])* pub $field: $type,)*
            /// Pages in memory that gather small writes, 1 to 65,536: while one is filled, the others are being
            /// written.
            pub merge_buffers: u32,
            /// Map units in memory; 0 for all.
            pub cmt_units: u32,
            /// Bytes in a map unit, 4 for each entry: a power of two, from 8. A unit smaller than a page is read with
            /// its page, and written with it. 1 MiB is a segment in the paper.
            pub cmt_unit_bytes: u32,
            /// The map unit that leaves memory.
            pub replacement: $crate::parts::sectored::Replacement,
            /// The part of a changed map unit written when it leaves memory.
            pub write_back: $crate::parts::sectored::WriteBack,
            /// When garbage collection moves a victim's sectors.
            /// Tokens take about a block of each die's spare room.
            pub collection: $crate::parts::collection::Collection,
            /// Most map pages in memory with changes that are not on flash, looked at after each write of the host; beyond it
            /// the one with the oldest change is written and stays in memory, as firmware does that bounds the time of a mount. 0 is no limit. It needs units
            /// of whole map pages.
            pub changed_map_pages: u32,
            /// What happens if a sector is written again while it waits in the merge buffer.
            pub rewrite: $crate::parts::sectored::Rewrite,
            /// Consecutive host pages that one die takes, at least 1: as many as it programs at once, in a drive that
            /// programs several.
            pub pages_per_die: u32,
            /// Blocks kept free on each die for moved pages; at least 1. With 1, a program failure or a torn page during
            /// collection may leave no room.
            pub reserve_blocks: u32,
            /// Spare blocks for the map, in percent of the blocks that hold it once; one at least, 1000 percent at
            /// most.
            pub map_spare_percent: u32,
        }

        impl Default for Config {
            fn default() -> Self {
                Self {
                    $($field: $default,)*
                    merge_buffers: 32,
                    cmt_units: 32,
                    cmt_unit_bytes: 1 << 20,
                    replacement: Default::default(),
                    write_back: Default::default(),
                    collection: Default::default(),
                    changed_map_pages: 0,
                    rewrite: Default::default(),
                    pages_per_die: 1,
                    reserve_blocks: 2,
                    map_spare_percent: 100,
                }
            }
        }

        impl Config {
            /// The options common to these FTLs; `form` tells this map from other FTLs' maps.
            fn common(&self, form: u16) -> $crate::parts::sectored::Options {
                $crate::parts::sectored::Options {
                    form,
                    merge_buffers: self.merge_buffers,
                    cmt_units: self.cmt_units,
                    unit_bytes: self.cmt_unit_bytes,
                    replacement: self.replacement,
                    rewrite: self.rewrite,
                    write_back: self.write_back,
                    collection: self.collection,
                    changed_map_pages: self.changed_map_pages,
                    coalesce: self.coalesce,
                    pages_per_die: self.pages_per_die,
                    reserve_blocks: self.reserve_blocks,
                    map_spare_percent: self.map_spare_percent,
                    hybrid: None,
                    placing: None,
                }
            }
        }
    };
}
pub(crate) use sectored_options;

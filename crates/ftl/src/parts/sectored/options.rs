//! What the FTLs with maps of sectors can be asked for.

/// Which unit of the map leaves memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Replacement {
    /// The next in turn that was not asked for since its last turn.
    #[default]
    Clock,
    /// The one that has been there longest.
    Fifo,
    /// The one that was not asked for the longest.
    Lru,
}

/// What becomes of a sector that is written again while it waits in the merge buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rewrite {
    /// It takes its place.
    #[default]
    Overwrite,
    /// It is added, and the place before holds nothing.
    Append,
}

/// What of a unit of the map that has changed is written when it leaves memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteBack {
    /// All its map pages.
    #[default]
    Unit,
    /// The map pages that have changed.
    Pages,
}

/// How pages and sectors are mapped together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hybrid {
    /// Sectors of a split page in a victim for which the others are fetched, so that it is whole again; 0: never.
    pub gather_from: u32,
}

impl Hybrid {
    /// Half of a super-page: allowed on every device, so that one experiment fits them all.
    pub(crate) const HALF_A_SUPER_PAGE: u32 = 32;
}

/// What a scheme asks for.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whose map it is; see `flash_map::Shape`.
    pub(crate) form: u16,
    pub(crate) merge_buffers: u32,
    /// Units of the map in memory; 0: all.
    pub(crate) cmt_units: u32,
    pub(crate) unit_bytes: u32,
    pub(crate) replacement: Replacement,
    pub(crate) rewrite: Rewrite,
    pub(crate) write_back: WriteBack,
    pub(crate) coalesce: bool,
    pub(crate) reserve_blocks: u32,
    pub(crate) map_spare_percent: u32,
    pub(crate) hybrid: Option<Hybrid>,
}

/// Makes the `Config` of such an FTL: its own options, and those that all of them have.
macro_rules! sectored_options {
    ($(#[$doc:meta])* { $($(#[$field_doc:meta])* $field:ident: $type:ty = $default:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct Config {
            $($(#[$field_doc])* pub $field: $type,)*
            /// Pages in memory that gather small writes, 1 to 65,536: while one is filled, the others are being written.
            pub merge_buffers: u32,
            /// Units of the map in memory; 0 for all of them.
            pub cmt_units: u32,
            /// Bytes of a unit of the map, 4 for each entry: a power of two, from 8. One that is smaller than a page is
            /// read with its page, and written with it. 1 MiB is a segment of the paper.
            pub cmt_unit_bytes: u32,
            /// Which unit leaves memory.
            pub replacement: $crate::parts::sectored::Replacement,
            /// What of a changed unit is written when it leaves memory.
            pub write_back: $crate::parts::sectored::WriteBack,
            /// What becomes of a sector that is written again while it waits in the merge buffer.
            pub rewrite: $crate::parts::sectored::Rewrite,
            /// Blocks of each die that stay free for garbage collection; at least 1. With 1 a program failure or a torn
            /// page may leave no room.
            pub reserve_blocks: u32,
            /// Blocks for the map beside those that hold it once, as a share of these in percent; one at least, 1000
            /// percent at most.
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
                    rewrite: Default::default(),
                    reserve_blocks: 2,
                    map_spare_percent: 100,
                }
            }
        }

        impl Config {
            /// What of this is asked for by whichever of these FTLs; `form` tells its map from those of others.
            fn common(&self, form: u16) -> $crate::parts::sectored::Options {
                $crate::parts::sectored::Options {
                    form,
                    merge_buffers: self.merge_buffers,
                    cmt_units: self.cmt_units,
                    unit_bytes: self.cmt_unit_bytes,
                    replacement: self.replacement,
                    rewrite: self.rewrite,
                    write_back: self.write_back,
                    coalesce: self.coalesce,
                    reserve_blocks: self.reserve_blocks,
                    map_spare_percent: self.map_spare_percent,
                    hybrid: None,
                }
            }
        }
    };
}
pub(crate) use sectored_options;

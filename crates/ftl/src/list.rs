//! Every FTL, its options and its types, from one line each.

use crate::future::Future;
use crate::zones::ZoneOptions;
use crate::{
    bast, block, dftl, fast, firmware, fmax, hybrid_map, kast, last, lazyftl, migration, mtbs, nftl, page, sector_log,
    sector_map, superblock, superpage, zns, zoned, Facts, Ftl, FtlError, Variant,
};
use nandlab_block::ZoneShape;
use nandlab_nand::controller::ZoneTimes;
use nandlab_nand::{Geometry, Rules};

/// An entry in the list of FTLs.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in `[ftl.<name>]`.
    pub name: &'static str,
    /// The source file, whose head comment is the docs page.
    pub source: &'static str,
    /// The paper or book it comes from, short; empty if there is none.
    pub paper: &'static str,
    /// The schema for its options.
    pub options: fn() -> schemars::Schema,
    /// As [`Ftl::HAS_ZONES`].
    pub has_zones: bool,
    /// As [`Ftl::IS_ELSEWHERE`].
    pub is_elsewhere: bool,
}

/// Every FTL of ours that takes writes anywhere.
pub fn anywhere() -> impl Iterator<Item = &'static Entry> {
    LIST.iter().filter(|entry| !entry.has_zones && !entry.is_elsewhere)
}

/// Something to do with an FTL whose type is known only at run time.
pub trait Visitor {
    /// The result.
    type Out;
    /// Does it.
    fn visit<F: Ftl>(self, config: &F::Config) -> Self::Out;
}

/// Makes the configuration, the list and the dispatch of every FTL from one line each.
macro_rules! ftls {
    ($($(#[$doc:meta])* $variant:ident($module:ident :: $ftl:ident), $file:literal, $paper:literal;)*) => {
        /// The `[ftl.<name>]` table in an experiment: the FTL, with its options.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum FtlConfig {
            $($(#[$doc])* $variant($module::Config),)*
        }

        impl FtlConfig {
            /// Calls `visitor` with the chosen FTL's type and options.
            pub fn dispatch<V: Visitor>(&self, visitor: V) -> V::Out {
                match self { $(Self::$variant(config) => visitor.visit::<$module::$ftl>(config),)* }
            }

            /// Every FTL of ours that takes writes anywhere, with its default options, in the order of [`LIST`].
            pub fn all() -> Vec<Self> {
                let all = [$((Self::$variant($module::Config::default()), $module::$ftl::HAS_ZONES || $module::$ftl::IS_ELSEWHERE),)*];
                all.into_iter().filter(|(_, is_left_out)| !is_left_out).map(|(ftl, _)| ftl).collect()
            }

            /// As [`Ftl::HAS_ZONES`].
            pub fn has_zones(&self) -> bool {
                match self { $(Self::$variant(_) => $module::$ftl::HAS_ZONES,)* }
            }

            /// As [`Ftl::IS_ELSEWHERE`].
            pub fn is_elsewhere(&self) -> bool {
                match self { $(Self::$variant(_) => $module::$ftl::IS_ELSEWHERE,)* }
            }

            /// The chosen FTL's option sets for the proofs: the default one first, named `default`.
            pub fn variants(&self) -> Vec<Variant<Self>> {
                match self {
                    $(Self::$variant(_) => [Variant::safe("default", $module::Config::default())]
                        .into_iter()
                        .chain($module::$ftl::variants())
                        .map(|variant| variant.map(Self::$variant))
                        .collect(),)*
                }
            }

            /// As [`Ftl::PAGED_VARIANT`].
            pub fn paged_variant(&self) -> Option<&'static str> {
                match self { $(Self::$variant(_) => $module::$ftl::PAGED_VARIANT,)* }
            }

            /// As [`Ftl::notices`].
            ///
            /// # Errors
            /// As there.
            pub fn notices(&self, geometry: &Geometry, logical_pages: u32) -> Result<Vec<String>, FtlError> {
                match self { $(Self::$variant(config) => $module::$ftl::notices(config, geometry, logical_pages),)* }
            }

            /// As [`Ftl::set_seed`].
            pub fn set_seed(&mut self, seed: u64) {
                match self { $(Self::$variant(config) => $module::$ftl::set_seed(config, seed),)* }
            }

            /// As [`Ftl::set_zones`].
            pub fn set_zones(&mut self, zones: ZoneOptions) -> bool {
                match self { $(Self::$variant(config) => $module::$ftl::set_zones(config, zones),)* }
            }

            /// As [`Ftl::set_zone_times`].
            pub fn set_zone_times(&mut self, times: ZoneTimes) {
                match self { $(Self::$variant(config) => $module::$ftl::set_zone_times(config, times),)* }
            }

            /// As [`Ftl::planned_zones`].
            ///
            /// # Errors
            /// As there.
            pub fn planned_zones(&self, geometry: &Geometry) -> Result<Option<ZoneShape>, FtlError> {
                match self { $(Self::$variant(config) => $module::$ftl::planned_zones(config, geometry),)* }
            }

            /// As [`Ftl::future_mut`].
            pub fn future_mut(&mut self) -> Option<&mut Future> {
                match self { $(Self::$variant(config) => $module::$ftl::future_mut(config),)* }
            }

            /// A copy of it.
            pub fn future(&self) -> Option<Future> {
                self.clone().future_mut().cloned()
            }

            /// As [`Ftl::facts`].
            pub fn facts(&self) -> Facts {
                match self { $(Self::$variant(config) => $module::$ftl::facts(config),)* }
            }

            /// As [`Ftl::remedy`].
            pub fn remedy(&self, geometry: &Geometry, rules: &Rules, logical_pages: u32) -> Option<String> {
                match self { $(Self::$variant(config) => $module::$ftl::remedy(geometry, rules, config, logical_pages),)* }
            }

            /// As [`Ftl::max_logical_pages`].
            ///
            /// # Errors
            /// As there.
            pub fn max_logical_pages(&self, geometry: &Geometry, rules: &Rules) -> Result<u32, FtlError> {
                match self { $(Self::$variant(config) => {
                    $module::$ftl::check_rules(rules)?;
                    $module::$ftl::max_logical_pages(geometry, rules, config)
                })* }
            }

            /// The chosen FTL's name.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => stringify!($module),)* }
            }
        }

        /// Every FTL.
        pub const LIST: &[Entry] = &[
            $(Entry {
                name: stringify!($module),
                source: include_str!($file),
                paper: $paper,
                options: || schemars::schema_for!($module::Config),
                has_zones: $module::$ftl::HAS_ZONES,
                is_elsewhere: $module::$ftl::IS_ELSEWHERE,
            },)*
        ];
    };
}

ftls! {
    /// A map entry for every page.
    Page(page::PageMap), "page.rs", "Gal & Toledo 2005 (survey); Desnoyers 2014";
    /// A map entry for every block.
    Block(block::BlockMap), "block.rs", "Ban 1995, US 5,404,485";
    /// Chains of replacement blocks.
    Nftl(nftl::Nftl), "nftl.rs", "Ban 1999, US 5,937,425";
    /// A mirror block beside each data block.
    Fmax(fmax::Fmax), "fmax.rs", "Estakhri & Iman 1999, US 5,930,815; Yoo et al. 2006";
    /// Blocks with a data area and a spare area.
    Mtbs(mtbs::Mtbs), "mtbs.rs", "Shinohara 1999, US 5,905,993; Yoo et al. 2006";
    /// Log blocks of one logical block each.
    Bast(bast::Bast), "bast.rs", "Kim et al. 2002";
    /// Log blocks shared by all logical blocks.
    Fast(fast::Fast), "fast.rs", "Lee et al. 2007";
    /// Log blocks of a few logical blocks each, their number bounded.
    Kast(kast::Kast), "kast.rs", "Cho et al. 2009";
    /// Log blocks of one logical block each for large requests, shared ones for small, hot and cold apart.
    Last(last::Last), "last.rs", "Lee et al. 2008";
    /// A few logical blocks together, mapped by page inside.
    Superblock(superblock::SuperBlock), "superblock.rs", "Kang et al. 2006";
    /// Log blocks of one logical block each, merged or moved, whichever costs less.
    Migration(migration::Migration), "migration.rs", "Lee et al. 2007 (KIISE)";
    /// A map entry for every super-page, banks apart: the firmware of the OpenSSD Jasmine board.
    Superpage(superpage::SuperPage), "superpage.rs", "OpenSSD Jasmine firmware 1.1.0";
    /// A map entry for every sector, most of them on flash; small writes are gathered.
    SectorMap(sector_map::SectorMap), "sector_map.rs", "Han et al. (KIISE)";
    /// A map entry for every page, and for every sector in pages written small.
    HybridMap(hybrid_map::HybridMap), "hybrid_map.rs", "Han et al. (KIISE), outlook";
    /// A map entry for every page, and for every sector in a log for small writes.
    SectorLog(sector_log::SectorLog), "sector_log.rs", "Jin et al. 2011";
    /// A map entry for every page, most of them on flash.
    Dftl(dftl::Dftl), "dftl.rs", "Gupta et al. 2009";
    /// A map entry for every page, most of them on flash, changed a block's pages at a time.
    Lazyftl(lazyftl::LazyFtl), "lazyftl.rs", "Ma et al. 2011";
    /// A page map on the host's side of a zoned device.
    Zoned(zoned::Zoned), "zoned.rs", "dm-zoned 2017; NVMe ZNS 1.1";
    /// A zoned drive as its host sees it, without a map.
    Zns(zns::Zns), "zns.rs", "NVMe ZNS 1.1";
    /// A block firmware of your own in C.
    Firmware(firmware::Firmware), "firmware.rs", "";
}

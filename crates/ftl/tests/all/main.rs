//! The translation layers' tests, in one executable.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

mod bast;
mod block;
mod dftl;
mod fast;
mod fdp;
mod flushes;
mod fmax;
mod gaps;
mod healthy;
mod hybrid_map;
mod kast;
mod lab;
mod last;
mod lazyftl;
mod lost_pages;
mod migration;
mod migration_regret;
mod mtbs;
mod nftl;
mod notes;
mod page;
mod planes;
mod pools;
mod refresh;
mod rhythm;
mod schemes;
mod sector_handles;
mod sector_log;
mod sector_map;
mod side_by_side;
mod slc;
mod superblock;
mod superpage;
mod theory;
mod unstable;
mod zns;
mod zns_areas;
mod zns_conventional;

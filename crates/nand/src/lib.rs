//! A NAND flash device: it counts, keeps time, holds bytes, fails, and loses power.
//!
//! Read [`nand`] first: the trait [`Nand`] is the whole contract. [`Counting`] is the plain device; the other
//! modules are devices with bytes ([`backed`]) or composable wrappers with one property each ([`timed`],
//! [`faulty`], [`aging`], [`damaged`], [`power_cut`], [`traced`]).

pub mod address;
pub mod aging;
pub mod backed;
mod cause;
pub mod chip;
mod config_error;
pub mod content;
pub mod context;
pub mod controller;
pub mod counting;
pub mod damaged;
pub mod faulty;
mod list_code;
pub mod nand;
pub mod nor;
pub mod nvm;
pub mod oob;
pub mod operation;
mod origin;
mod placement;
pub mod plain;
pub mod power_cut;
pub mod prefetch;
pub mod profile;
mod quantity;
pub mod random;
pub mod rules;
pub mod section;
mod side_table;
pub mod slc;
pub mod slots;
pub mod stall;
pub mod tables;
mod time;
pub mod timed;
pub mod timeline;
pub mod tournament;
pub mod traced;
mod waits;
pub mod work;
mod wrapper;

pub use address::{BlockId, Geometry, GeometryError, Lpn, Ppa, SectorMask, Seq, Shape, SECTOR_BYTES};
pub use content::{Bytes, Content, PageBuf};
pub use context::{Cause, Cell, Ctx, Doubted, Matrix, Origin, Stall, Strain, Time, Waits, ERASE_SHARE};
pub use controller::{Controller, Link};
pub use counting::Counting;
pub use nand::{scoped, Done, Nand, NandError, Raw};
pub use oob::{Kind, Oob};
pub use placement::{PlacementId, PlacementIds};
pub use rules::{ProgramOrder, Rules};
pub use timeline::{Answer, Timeline};

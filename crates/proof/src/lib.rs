//! The plain model that every FTL is compared with, and the runs that compare.
//!
//! Nothing here knows a particular FTL: tests call these functions for every name on the list.

pub mod conformance;
pub mod cuts;
pub mod faults;
pub mod fuzz;
pub mod model;
pub mod rig;
pub mod script;

pub use model::Model;
pub use rig::{Lost, Rig};
pub use script::{Mix, Step};

use nandlab_ftl::{Ftl, FtlConfig, Visitor};

/// Runs `visitor` for every FTL on the list with its default options.
pub fn for_each_ftl<V: Visitor + Clone>(visitor: &V) -> Vec<(&'static str, V::Out)> {
    FtlConfig::all().iter().map(|config| (config.name(), config.dispatch(visitor.clone()))).collect()
}

/// The pages that `F` can export on a device, or `None` where it refuses the device.
pub fn exportable<F: Ftl>(
    geometry: &nandlab_nand::Geometry,
    rules: &nandlab_nand::Rules,
    config: &F::Config,
) -> Option<u32> {
    F::max_logical_pages(geometry, rules, config).ok().filter(|&pages| pages > 0)
}

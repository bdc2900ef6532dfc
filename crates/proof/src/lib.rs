//! The plain model that every FTL and every buffer is compared with, and the runs that compare.
//!
//! Nothing here knows a particular FTL: tests call these functions for every name on the list, with every set of
//! options that the FTL names in `Ftl::variants`.

pub mod buffers;
pub mod conformance;
pub mod cuts;
pub mod device;
pub mod early;
pub mod faults;
pub mod fuzz;
pub mod model;
pub mod rig;
pub mod script;
pub mod subject;

pub use model::Model;
pub use rig::{Lost, Rig};
pub use script::{Mix, Step};
pub use subject::{assert_pages_map, every_subject, on_all_cores, subjects, Subject};

/// The pages that `F` can export on a device, or `None` where it refuses the device.
pub fn exportable<F: nandlab_ftl::Ftl>(
    geometry: &nandlab_nand::Geometry,
    rules: &nandlab_nand::Rules,
    config: &F::Config,
) -> Option<u32> {
    F::max_logical_pages(geometry, rules, config).ok().filter(|&pages| pages > 0)
}

//! The plain model for every FTL and every buffer, and the runs that compare.
//!
//! Nothing here knows a particular FTL: tests call these functions for every name on the list, with every option set in
//! `Ftl::variants`.

pub mod buffers;
pub mod conformance;
pub mod cuts;
pub mod damage;
pub mod device;
pub mod disk;
pub mod early;
pub mod faults;
pub mod fuzz;
pub mod model;
pub mod rig;
pub mod script;
pub mod subject;

pub use disk::Disk;
pub use model::Model;
pub use rig::{Lost, Rig};
pub use script::{Mix, Step};
pub use subject::{assert_pages_map, every_subject, on_all_cores, subjects, Subject};

/// The pages an FTL can export on a device, or `None` if it refuses the device.
pub fn exportable(config: &nandlab_ftl::FtlConfig, device: &device::Device) -> Option<u32> {
    config.max_logical_pages(&device.geometry, &device.rules).ok().filter(|&pages| pages > 0)
}

//! The device profiles that come with the program.

use crate::bundled::{bundled, Bundled};

/// Every bundled profile, by its name in `device.profile`.
pub const LIST: &[Bundled] = bundled! { "profiles":
    "980pro",
    "btree",
    "emmc-nexus5",
    "generic",
    "generic-8x4",
    "jasmine",
    "k9f5608",
    "k9k4g",
    "k9l8g08u0m",
    "nvme-a",
    "nvme-b",
    "qlc-3d",
    "tlc-3d",
    "wap",
    "zn540",
};

//! Unstable pages: which FTLs take a device with them, and what those that do not say.

use nandlab_ftl::page::{Config, FdpOptions, Placement};
use nandlab_ftl::FtlConfig;
use nandlab_proof::device::unstable_devices;
use nandlab_proof::rig::flash;
use nandlab_proof::Rig;

/// FTLs that would lose flushed data, or show lost data: the sector maps after one cut with a small cache, the block-mapped ones after
/// several cuts in a row. `zns` is not proved.
const REFUSE: [&str; 8] = ["fast", "fmax", "hybrid_map", "last", "nftl", "sector_map", "superblock", "zns"];

#[test]
fn who_does_not_survive_unstable_pages_refuses_them() {
    let device = unstable_devices()[2];
    let zns = FtlConfig::Zns(Default::default());
    for config in FtlConfig::all().into_iter().chain([zns]) {
        let answer = config.max_logical_pages(&device.geometry, &device.rules).map_err(|error| error.to_string());
        if !REFUSE.contains(&config.name()) {
            assert!(answer.is_ok(), "{}: {answer:?}", config.name());
            continue;
        }
        let error = answer.unwrap_err();
        assert!(error.contains("device.rules.unstable_pages = true") && error.contains("take ftl.page"), "{error}");
        let mounted = Rig::new(flash(&device, Default::default()), 1, &config);
        assert!(mounted.is_err(), "{} mounts on a device with unstable pages", config.name());
    }
}

#[test]
fn handles_are_refused_with_unstable_pages() {
    let config = Config { placement: Placement::Fdp(FdpOptions::default()), ..Config::default() };
    let device = unstable_devices()[1];
    let error = FtlConfig::Page(config).max_logical_pages(&device.geometry, &device.rules).unwrap_err().to_string();
    assert!(error.contains("through which handle"), "{error}");
}

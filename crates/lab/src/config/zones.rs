//! Tables and zones: some do not go together.

use super::fill::Fill;
use super::tree::Part;
use super::{Experiment, Model};
use crate::error::{ConfigError, LabError};
use nandlab_block::ByteCount;
use nandlab_ftl::FtlConfig;
use nandlab_index::lsm::ACTIVE_ZONES_MIN;
use nandlab_index::IndexConfig;
use nandlab_nand::SECTOR_BYTES;
use nandlab_workload::WorkloadConfig;

/// A disk with zones is refused if a host could not use it.
pub(super) fn check_disk(experiment: &Experiment) -> Result<(), LabError> {
    let Some(ftl) = experiment.ftl.as_ref().filter(|ftl| ftl.has_zones()) else { return Ok(()) };
    let sizing = experiment.sizing()?;
    let Ok(Some(shape)) = ftl.planned_zones(&sizing.geometry) else { return Ok(()) };
    if shape.size.is_power_of_two() {
        return Ok(());
    }
    let bytes = |sectors: u64| ByteCount(sectors * u64::from(SECTOR_BYTES));
    let message = format!(
        "zones of {} do not go with a disk: Linux and other hosts take sizes that are a power of two; set \
         device.zones.size = \"{}\"",
        bytes(shape.size),
        bytes(shape.size.next_power_of_two())
    );
    Err(experiment.tree.error("device.zones.size", Part::Value, message).into())
}

/// Tells the FTL about the device's zones, and refuses tables with writes anywhere. Gives sentences about requests without a
/// zone in mind.
pub(super) fn lay(experiment: &mut Experiment) -> Result<Vec<String>, ConfigError> {
    lay_zones(experiment)?;
    if !experiment.ftl.as_ref().is_some_and(FtlConfig::has_zones) {
        return Ok(Vec::new());
    }
    let host = "take ftl.zoned, a page map on the host's side, or leave it out";
    let refuse = |key: &str, why: &str| {
        let message = format!("[{key}] does not go with ftl.zns: {why}; {host}");
        Err(experiment.tree.error(key, Part::Key, message))
    };
    if experiment.buffer.is_some() {
        return refuse(
            "buffer",
            "a buffer writes pages in another order than the host, and a zone takes the next one alone",
        );
    }
    if experiment.fs.is_some() {
        return refuse("fs", "a file system writes anywhere, and a zone takes the next sector alone");
    }
    match &experiment.index {
        Some(IndexConfig::Btree(_)) => {
            let why =
                "a B+tree writes its pages in place, and a zone takes the next sector alone; index.lsm writes in order";
            return refuse("index.btree", why);
        }
        Some(IndexConfig::Lsm(_)) => refuse_for_tree(experiment)?,
        None => {}
    }
    let before = &experiment.precondition;
    if before.fill != Fill::default() || before.overwrites > 0.0 || before.steady.is_some() {
        return refuse("precondition", "its writes go anywhere, and a zone takes the next sector alone");
    }
    let knows_zones = |workload: &WorkloadConfig| matches!(workload.name(), "trace" | "fio");
    let name = match experiment.tenants() {
        Some(tenants) => {
            let mut others = tenants.asking().filter(|(_, one)| one.index.is_none() && !knows_zones(&one.workload));
            others.next().map(|(_, tenant)| tenant.workload.name())
        }
        None => Some(experiment.workload.name())
            .filter(|_| experiment.index.is_none() && !knows_zones(&experiment.workload)),
    };
    let Some(name) = name else { return Ok(Vec::new()) };
    let conventional = experiment.device.zones.is_some_and(|zones| zones.conventional > 0);
    let zone = if conventional { "a zone that is not conventional" } else { "a zone" };
    Ok(vec![format!(
        "workload.{name} knows no zones: {zone} refuses each of its writes that is not at the write pointer, and the record counts \
         them in zones.refused"
    )])
}

/// An LSM tree keeps some zones active at once, and its manifest in the first ones.
fn refuse_for_tree(experiment: &Experiment) -> Result<(), ConfigError> {
    let zones = experiment.device.zones.unwrap_or_default();
    if zones.conventional > 0 {
        let message = format!(
            "device.zones.conventional = {} cannot work with index.lsm: it keeps its manifest in the first zones, and writes them at \
             their write pointers; leave it out, or give the conventional zones to a tenant before the tree's",
            zones.conventional
        );
        return Err(experiment.tree.error("device.zones.conventional", Part::Value, message));
    }
    let max_active = zones.max_active;
    if !(1..ACTIVE_ZONES_MIN).contains(&max_active) {
        return Ok(());
    }
    let message = format!(
        "device.zones.max_active = {max_active} cannot work with index.lsm: it needs at least {ACTIVE_ZONES_MIN}, two for its \
         manifest, one for its log and one for tables; 0 is no limit"
    );
    Err(experiment.tree.error("device.zones.max_active", Part::Value, message))
}

fn lay_zones(experiment: &mut Experiment) -> Result<(), ConfigError> {
    // A device that only counts takes no time.
    let controller = experiment.device.profile.controller.filter(|_| experiment.device.model != Model::Counting);
    if let Some(ftl) = &mut experiment.ftl {
        ftl.set_zone_times(controller.map(|controller| controller.zone_times()).unwrap_or_default());
    }
    let Some(zones) = experiment.device.zones else { return Ok(()) };
    if experiment.ftl.as_mut().is_some_and(|ftl| ftl.set_zones(zones)) {
        return Ok(());
    }
    let other =
        experiment.ftl.as_ref().map_or("a file system on bare flash".to_owned(), |ftl| format!("ftl.{}", ftl.name()));
    let message = format!(
        "device.zones: {other} writes anywhere on its flash and knows no zones; take ftl.zoned, a page map on the host's side, \
         ftl.zns, the drive without one, or leave the zones out"
    );
    Err(experiment.tree.error("device.zones", Part::Key, message))
}

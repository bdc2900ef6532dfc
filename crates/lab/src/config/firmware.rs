//! Tables that do not go with a firmware from elsewhere.

use super::tree::Part;
use super::{Experiment, Model};
use crate::error::ConfigError;
use nandlab_fs::FsConfig;
use nandlab_ftl::FtlConfig;

impl Experiment {
    /// Whether a firmware from elsewhere is in place of the FTL or the file system.
    pub(crate) fn runs_firmware(&self) -> bool {
        self.ftl.as_ref().is_some_and(FtlConfig::is_elsewhere) || matches!(self.fs, Some(FsConfig::Firmware(_)))
    }
}

/// Tells a firmware the experiment's folder, and refuses tables that its own chip knows nothing of.
pub(super) fn lay(experiment: &mut Experiment) -> Result<(), ConfigError> {
    let base = experiment.base.clone();
    let of = match (&mut experiment.ftl, &mut experiment.fs) {
        (Some(FtlConfig::Firmware(config)), _) => {
            config.base = base;
            "ftl.firmware"
        }
        (_, Some(FsConfig::Firmware(config))) => {
            config.base = base;
            "fs.firmware"
        }
        _ => return Ok(()),
    };
    let refuse = |key: &str, why: &str| {
        Err(experiment.tree.error(key, Part::Key, format!("{key} does not go with {of}: {why}")))
    };
    let device = &experiment.device;
    if device.model == Model::Bytes {
        let why =
            "the firmware's chip has bytes of its own, and each read compares them; take \"timed\" or \"counting\"";
        return refuse("device.model", why);
    }
    if device.faults.is_some() {
        return refuse("device.faults", "nandlab prove has faults for firmware; leave them out");
    }
    if device.reliability.is_some() {
        return refuse("device.reliability", "the cells of its chip do not age; leave it out");
    }
    Ok(())
}

//! Checks that the FTL can export the requested capacity, with advice if it cannot.

use super::advice::Advice;
use super::sizing::{bare, key_error, most_pages, sizes, Sizing};
use super::tree::KeyError;
use super::{slc, Experiment};
use nandlab_ftl::FtlConfig;
use nandlab_nand::Geometry;
use nandlab_workload::ByteCount;

impl Sizing {
    pub(super) fn of(experiment: &Experiment) -> Result<Self, KeyError> {
        let device = &experiment.device;
        let mut notices = Vec::new();
        if let Some(op) = device.over_provisioning {
            if !(op > 0.0 && op <= 100.0) {
                let key = "device.over_provisioning";
                return Err(KeyError::of_value(
                    key,
                    format!("{key} = {op} cannot work: it is a ratio above 0 and up to 100, such as 0.07"),
                ));
            }
        }
        let (geometry, logical_pages) = if experiment.is_bare() {
            let geometry = bare(device, &mut notices)?;
            (geometry, geometry.pages())
        } else {
            sizes(device, &mut notices)?
        };
        let mut sizing = Self { geometry, logical_pages, notices };
        sizing.fits(experiment)?;
        slc::has_times(experiment)?;
        if let Some(ftl) = &experiment.ftl {
            sizing.notices.extend(ftl_notices(ftl, &geometry, logical_pages)?);
        }
        Ok(sizing)
    }

    /// Checks that the FTL can export this many pages.
    fn fits(&self, experiment: &Experiment) -> Result<(), KeyError> {
        let rules = &experiment.device.profile.rules;
        let Some(ftl) = &experiment.ftl else { return Ok(()) };
        let ways_out = || {
            let ways_out = Advice::to_fit(experiment).sentence();
            ways_out.map(|ways| format!(": {ways}")).unwrap_or_default()
        };
        let most = most_pages(ftl, &self.geometry, rules)
            .map_err(|error| KeyError { message: format!("{}{}", error.message, ways_out()), ..error })?;
        if self.logical_pages <= most {
            return Ok(());
        }
        let page = u64::from(self.geometry.page_bytes());
        let bytes = |pages: u32| ByteCount(u64::from(pages) * page).rounded();
        let key = if experiment.device.capacity.is_some() { "device.capacity" } else { "device.over_provisioning" };
        let message = format!(
            "{} ({}) are to be exported from {} of {}, and ftl.{} can export {} ({}) of them{}",
            bytes(self.logical_pages),
            counted(self.logical_pages, "page"),
            counted(self.geometry.blocks(), "block"),
            counted(self.geometry.pages_per_block(), "page"),
            ftl.name(),
            bytes(most),
            counted(most, "page"),
            ways_out(),
        );
        Err(KeyError::of_value(key, message))
    }
}

/// `1 block`, `2 blocks`.
fn counted(count: u32, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Sentences about options in `ftl` without effect at this many exported pages.
fn ftl_notices(ftl: &FtlConfig, geometry: &Geometry, logical_pages: u32) -> Result<Vec<String>, KeyError> {
    ftl.notices(geometry, logical_pages).map_err(|error| key_error(&error))
}

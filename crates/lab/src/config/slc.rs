//! What blocks with one bit per cell need from the device.

use super::sizing::Fault;
use super::{Experiment, Model};
use nandlab_ftl::{Ftl, Visitor};

/// Checks that the profile has times for blocks with one bit per cell, if the FTL uses such blocks.
pub(super) fn has_times(experiment: &Experiment) -> Result<(), Fault> {
    struct UsesSlc;
    impl Visitor for UsesSlc {
        type Out = bool;
        fn visit<F: Ftl>(self, config: &F::Config) -> bool {
            F::uses_slc(config)
        }
    }
    let device = &experiment.device;
    let ftl = experiment.ftl.as_ref().filter(|ftl| ftl.dispatch(UsesSlc));
    let Some(ftl) = ftl.filter(|_| device.model != Model::Counting && device.profile.timing.slc.is_none()) else {
        return Ok(());
    };
    let message = format!(
        "ftl.{} uses blocks of one bit a cell, and device.timing.slc is missing: it says their read_us, program_us and \
         erase_us",
        ftl.name()
    );
    Err((format!("ftl.{}", ftl.name()), message))
}

//! Groups of blocks with sizes from a model, and the model's forecast.

use nandlab_ftl::GroupUse;
use serde::Serialize;

/// A placement's groups.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupsRecord {
    /// Blocks on each die at the end: the hot group, then the chain's groups before the last one. Empty while no group
    /// has a size.
    pub blocks: Vec<u32>,
    /// Write amplification foretold by the model for these sizes; null before the first epoch has ended.
    pub predicted_waf: Option<f64>,
    /// Write amplification in the last whole epoch; null before the first one has ended.
    pub epoch_waf: Option<f64>,
    /// Epochs after which the model was asked.
    pub epochs: u64,
    /// Times other sizes were taken.
    pub adopted: u64,
    /// Times groups lost their sizes, as their victims did not follow the model.
    pub merged: u64,
}

impl GroupsRecord {
    /// The groups between two moments; `None` without groups.
    pub(crate) fn between(start: Option<&GroupUse>, end: Option<&GroupUse>) -> Option<Self> {
        let (start, end) = (start?, end?);
        Some(Self {
            blocks: end.blocks.clone(),
            predicted_waf: end.predicted_waf,
            epoch_waf: end.epoch_waf,
            epochs: end.epochs - start.epochs,
            adopted: end.adopted - start.adopted,
            merged: end.merged - start.merged,
        })
    }
}

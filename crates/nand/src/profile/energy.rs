//! Energies of a chip's operations.

use super::quantity;
use serde::{Deserialize, Serialize};

/// Energy of a chip's operations, in nanojoules.
///
/// An operation on the spare area alone costs as much as on the page, because it senses or pulses the whole
/// word line.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Energy {
    /// Page read.
    #[serde(deserialize_with = "quantity")]
    pub read_nj: f64,
    /// Page program.
    #[serde(deserialize_with = "quantity")]
    pub program_nj: f64,
    /// Block erase.
    #[serde(deserialize_with = "quantity")]
    pub erase_nj: f64,
}

/// Operation energies, in joules; a copy is a read and a program.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct EnergyUse {
    /// Page and spare-area reads, J.
    pub read_j: f64,
    /// Page and spare-area programs, J.
    pub program_j: f64,
    /// Erases, J.
    pub erase_j: f64,
}

impl EnergyUse {
    /// The sum, J.
    pub fn total_j(&self) -> f64 {
        self.read_j + self.program_j + self.erase_j
    }
}

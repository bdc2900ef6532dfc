//! Actions on a request in a block trace.

use serde::{Deserialize, Serialize};

/// What happened to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub enum Action {
    /// Queued: as the file system asked.
    Q,
    /// A request structure was allocated.
    G,
    /// Inserted into the scheduler.
    I,
    /// Given to the device.
    D,
    /// Completed by the device.
    C,
}

impl Action {
    pub(crate) fn letter(self) -> u8 {
        match self {
            Self::Q => b'Q',
            Self::G => b'G',
            Self::I => b'I',
            Self::D => b'D',
            Self::C => b'C',
        }
    }
}

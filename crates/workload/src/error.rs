use nandlab_block::ByteCount;
use nandlab_nand::SECTOR_BYTES;

/// Why a workload cannot be opened or go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WorkloadError {
    /// An option is out of range.
    #[error("{key} = {given} cannot work: {why}")]
    Option {
        /// The key inside the workload's table.
        key: String,
        /// The given value.
        given: String,
        /// The allowed values, or why the value cannot work.
        why: String,
    },
    /// A trace record is malformed.
    #[error("{file}, line {line}, column {column}: {message}")]
    Record {
        /// The trace, as it was named.
        file: String,
        /// Line, from 1.
        line: u64,
        /// Byte in the line, from 1.
        column: usize,
        /// Found and expected text, in one message.
        message: String,
    },
    /// A trace cannot be read.
    #[error("{file}: {message}")]
    File {
        /// The trace, as it was named.
        file: String,
        /// Why not.
        message: String,
    },
    /// The trace's format is unclear, but it may be a table.
    #[error("{file}: {message}\n\n{proposal}")]
    Untold {
        /// The trace, as it was named.
        file: String,
        /// Facts known about the trace.
        message: String,
        /// TOML lines to read it, with the command.
        proposal: String,
    },
    /// The addresses do not fit the device.
    #[error("{}", too_small(file, *needed, *device, "give it a larger device", ways_out))]
    TooSmall {
        /// The trace, as it was named.
        file: String,
        /// Sectors the trace needs.
        needed: u64,
        /// Sectors the device has.
        device: u64,
        /// Remedies besides a larger device.
        ways_out: &'static str,
    },
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

impl WorkloadError {
    /// An option that cannot work.
    pub(crate) fn option(key: &str, given: &impl ToString, why: impl Into<String>) -> Self {
        Self::Option { key: key.to_owned(), given: given.to_string(), why: why.into() }
    }

    /// This error as a sentence; `larger` says how to enlarge the device, such as `set device.capacity = ...`.
    pub fn with_larger_device(&self, larger: &str) -> String {
        match self {
            Self::TooSmall { file, needed, device, ways_out } => too_small(file, *needed, *device, larger, ways_out),
            other => other.to_string(),
        }
    }
}

fn too_small(file: &str, needed: u64, device: u64, larger: &str, ways_out: &str) -> String {
    let sector = u64::from(SECTOR_BYTES);
    format!(
        "{file} needs {needed} sectors ({}) and the device has {device} ({}): {larger}{ways_out}",
        ByteCount(needed * sector).rounded(),
        ByteCount(device * sector).rounded(),
    )
}

//! What FTLs tell of their log blocks.

/// What became of a log block.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Recycling {
    /// Its place among all of them since the mount, from 0.
    pub number: u64,
    /// Pages that the host had written since the mount.
    pub written_pages: u64,
    /// The logical block.
    pub logical_block: u32,
    /// What was done.
    pub kind: RecyclingKind,
    /// Whether the log block had to go for another one, full or not.
    pub evicted: bool,
    /// Valid pages that the log block held.
    pub valid: u32,
    /// Migrations of the logical block since its last merge, this one left out.
    pub migrations: u32,
    /// Pages copied.
    pub copies: u32,
    /// Pages by which a migration is thought to copy more than the one before; null where the policy does not ask.
    pub alpha: Option<f64>,
}

/// What can become of a log block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecyclingKind {
    /// It became the data block as it was.
    Switch,
    /// It became the data block after completion.
    Partial,
    /// Its logical block was gathered anew.
    Full,
    /// Its valid pages were moved to a new log block.
    Migration,
    /// It held nothing and was given back.
    Dropped,
}

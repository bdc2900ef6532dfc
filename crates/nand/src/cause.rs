//! Causes of flash operations.

/// Cause of a flash operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Cause {
    /// The host's own reads and writes.
    #[default]
    Host = 0,
    /// Reading the rest of a partially written host page.
    ReadModifyWrite = 1,
    /// Garbage collection.
    Gc = 2,
    /// A log block becomes the data block unchanged.
    SwitchMerge = 3,
    /// Copies complete a log block, and it becomes the data block.
    PartialMerge = 4,
    /// A new data block is gathered from data and log blocks.
    FullMerge = 5,
    /// Valid log pages moved to a new log block (migration).
    Migration = 6,
    /// Mapping tables on flash.
    Map = 7,
    /// Moving data to even out P/E cycles.
    WearLeveling = 8,
    /// Recovery of the tables when a device is opened.
    Mount = 9,
    /// Moving data away from a failed block.
    BadBlock = 10,
    /// Making a trim durable.
    Trim = 11,
    /// Rewriting pages before their bit errors grow past the ECC.
    Refresh = 12,
    /// Saving the RAM tables.
    Checkpoint = 13,
    /// Repeating a page read after an ECC failure.
    ReadRetry = 14,
    /// Moving data out of blocks of one bit a cell.
    Fold = 15,
    /// Erasing a block again before its first use after a mount, which found it erased: its erase may have been cut.
    Reerase = 16,
    /// Filling a zone that the host finished.
    Finish = 17,
    /// Work of a firmware from elsewhere that names no cause.
    Firmware = 18,
    /// Programming blank pages, so that no power cut destroys the lower pages of open pairs.
    Padding = 19,
}

impl Cause {
    /// Room for causes in tables, a power of two.
    pub const COUNT: usize = 32;
    /// All causes, in table order.
    pub const ALL: [Self; 20] = [
        Self::Host,
        Self::ReadModifyWrite,
        Self::Gc,
        Self::SwitchMerge,
        Self::PartialMerge,
        Self::FullMerge,
        Self::Migration,
        Self::Map,
        Self::WearLeveling,
        Self::Mount,
        Self::BadBlock,
        Self::Trim,
        Self::Refresh,
        Self::Checkpoint,
        Self::ReadRetry,
        Self::Fold,
        Self::Reerase,
        Self::Finish,
        Self::Firmware,
        Self::Padding,
    ];

    /// Whether the host, or a flush, waits for operations of this cause; all others are work in the background.
    #[inline]
    pub fn is_waited_for(self) -> bool {
        matches!(self, Self::Host | Self::ReadModifyWrite | Self::Map | Self::Finish | Self::Firmware)
    }

    /// The name in records and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::ReadModifyWrite => "read_modify_write",
            Self::Gc => "gc",
            Self::SwitchMerge => "switch_merge",
            Self::PartialMerge => "partial_merge",
            Self::FullMerge => "full_merge",
            Self::Migration => "migration",
            Self::Map => "map",
            Self::WearLeveling => "wear_leveling",
            Self::Mount => "mount",
            Self::BadBlock => "bad_block",
            Self::Trim => "trim",
            Self::Refresh => "refresh",
            Self::Checkpoint => "checkpoint",
            Self::ReadRetry => "read_retry",
            Self::Fold => "fold",
            Self::Reerase => "reerase",
            Self::Finish => "finish",
            Self::Firmware => "firmware",
            Self::Padding => "padding",
        }
    }
}

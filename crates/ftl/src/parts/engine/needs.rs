//! A scheme's needs on a device.

/// A scheme's needs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Needs {
    pub(crate) logical_pages: u32,
    /// Pages of its own among the data: notes.
    pub(crate) others: u32,
    /// Blocks of its own, in equal shares of the dies.
    pub(crate) blocks: u32,
    /// Groups of pages with frontiers of their own; 0 without.
    pub(crate) groups: u32,
    /// Pages at each block's end without data.
    pub(crate) list_pages: u32,
    /// Unused blocks at each die's start.
    pub(crate) apart: u32,
}

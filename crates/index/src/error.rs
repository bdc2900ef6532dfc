/// Why an index cannot be made, opened or go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum IndexError {
    /// An option is out of range.
    #[error("{key} = {given} cannot work: {why}")]
    Option {
        /// The key in the index or pool configuration.
        key: &'static str,
        /// The given value.
        given: String,
        /// The allowed values.
        why: String,
    },
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] nandlab_block::Error),
    /// No page is left for the operation's worst case. Nothing was changed.
    #[error("the index is full: all {pages} pages are in use{}", if *shadow { ", or hold the state of the last flush: a flush may give some back" } else { "" })]
    Full {
        /// Device pages.
        pages: u32,
        /// Whether pages are shadowed.
        shadow: bool,
    },
    /// The device holds no index.
    #[error("the device holds no index with pages of {page_bytes} bytes: neither header page is valid")]
    NoIndex {
        /// The given page size.
        page_bytes: u32,
    },
    /// The index was written in place and not flushed afterwards, so its pages may be from different times.
    #[error("the index was changed in place and not flushed before the power went; pool.shadow = true survives that")]
    Unclean,
    /// The index was made with other options.
    #[error("the index was made with {key} = {stored}, not {given}")]
    Mismatch {
        /// The key.
        key: &'static str,
        /// The index's own setting.
        stored: String,
        /// The given value.
        given: String,
    },
    /// A key or value has a length the index does not take.
    #[error("a {what} of {bytes} bytes: {allowed}")]
    Length {
        /// `key`, `value` or `record`.
        what: &'static str,
        /// Its bytes.
        bytes: usize,
        /// The allowed lengths.
        allowed: String,
    },
    /// A bulk load takes keys in ascending order, each once, into an empty index.
    #[error("bulk load of record {record}: {why}")]
    BulkLoad {
        /// Record number, from 0.
        record: u64,
        /// The fault.
        why: &'static str,
    },
    /// A page's contents are invalid.
    #[error("page {page} is damaged: {why}")]
    Damaged {
        /// Page number.
        page: u32,
        /// The found and the expected contents.
        why: String,
    },
    /// A file of an LSM tree has invalid contents; file 0 is the manifest.
    #[error("{} is damaged: {why}", if *file == 0 { "the manifest".to_owned() } else { format!("file {file}") })]
    DamagedFile {
        /// File number.
        file: u64,
        /// The found and the expected contents.
        why: String,
    },
    /// An LSM tree finds no room for a file. The tree is as before.
    #[error("the index is full: it needs {needed} bytes for a file, and {free} of the device's {bytes} are free")]
    NoSpace {
        /// Bytes.
        needed: u64,
        /// Free bytes.
        free: u64,
        /// Device bytes.
        bytes: u64,
    },
    /// An operation failed half way; the index must be opened anew.
    #[error("an earlier operation failed half way: open the index anew, it is then as it was at the last flush")]
    Broken,
}

impl IndexError {
    pub(crate) fn option(key: &'static str, given: &impl ToString, why: impl Into<String>) -> Self {
        Self::Option { key, given: given.to_string(), why: why.into() }
    }

    pub(crate) fn damaged(page: u32, why: impl Into<String>) -> Self {
        Self::Damaged { page, why: why.into() }
    }
}

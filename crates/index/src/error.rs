/// Why an index cannot be made, opened or go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum IndexError {
    /// An option is out of range.
    #[error("{key} = {given} cannot work: {why}")]
    Option {
        /// The key in the configuration of the index or its pool.
        key: &'static str,
        /// What was given.
        given: String,
        /// What is allowed.
        why: String,
    },
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] nandlab_block::Error),
    /// No page is left for what the operation may need. Nothing was changed.
    #[error("the index is full: all {pages} pages are in use{}", if *shadow { ", or hold the state of the last flush: a flush may give some back" } else { "" })]
    Full {
        /// Pages of the device.
        pages: u32,
        /// Whether pages are shadowed.
        shadow: bool,
    },
    /// The device holds no index.
    #[error("the device holds no index with pages of {page_bytes} bytes: neither header page is valid")]
    NoIndex {
        /// Size of a page as it was given.
        page_bytes: u32,
    },
    /// The index was written in place and not flushed afterwards, so that its pages are of different times.
    #[error("the index was changed in place and not flushed before the power went; pool.shadow = true survives that")]
    Unclean,
    /// The index was made with other options.
    #[error("the index was made with {key} = {stored}, not {given}")]
    Mismatch {
        /// The key.
        key: &'static str,
        /// What the index was made with.
        stored: String,
        /// What was given.
        given: String,
    },
    /// A key or value has a length that the index does not take.
    #[error("a {what} of {bytes} bytes: {allowed}")]
    Length {
        /// `key`, `value` or `record`.
        what: &'static str,
        /// Bytes that it has.
        bytes: usize,
        /// What is allowed.
        allowed: String,
    },
    /// A bulk load takes keys in ascending order, each once, into an empty index.
    #[error("bulk load of record {record}: {why}")]
    BulkLoad {
        /// Number of the record, from 0.
        record: u64,
        /// What is wrong.
        why: &'static str,
    },
    /// A page does not hold what it must.
    #[error("page {page} is damaged: {why}")]
    Damaged {
        /// Number of the page.
        page: u32,
        /// What was found and what was expected.
        why: String,
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

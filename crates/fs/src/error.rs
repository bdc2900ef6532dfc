/// Why a file system cannot do what was asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FsError {
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] nandlab_block::Error),
    /// There is no such name.
    #[error("there is no '{path}'")]
    NotFound {
        /// The path.
        path: String,
    },
    /// The name is taken.
    #[error("'{path}' exists already")]
    Exists {
        /// The path.
        path: String,
    },
    /// A file stands where a directory is needed, or the other way.
    #[error("'{path}' is a {is}, not a {needed}")]
    WrongKind {
        /// The path.
        path: String,
        /// What it is.
        is: &'static str,
        /// What was needed.
        needed: &'static str,
    },
    /// A directory that is to go holds names.
    #[error("the directory '{path}' is not empty")]
    NotEmpty {
        /// The path.
        path: String,
    },
    /// The file, or one in the directory, is open.
    #[error("'{path}' is open")]
    Busy {
        /// The path.
        path: String,
    },
    /// The name cannot be used here.
    #[error("'{path}' cannot be a name here: {why}")]
    BadName {
        /// The path.
        path: String,
        /// Why.
        why: String,
    },
    /// There is no room.
    #[error("the file system is full: {what}")]
    Full {
        /// What did not fit.
        what: String,
    },
    /// The memory that a file system keeps its metadata in has no room, whatever the flash has.
    #[error("the file system is full: {what}")]
    NvramFull {
        /// What did not fit.
        what: String,
    },
    /// A root directory that cannot grow has no room for another name.
    #[error("the file system is full: the root directory of {entries} entries has no {needed} in a row for '{name}'")]
    RootFull {
        /// Its entries.
        entries: u64,
        /// Those that the name takes.
        needed: u64,
        /// The name.
        name: String,
    },
    /// A file would be longer than any can be.
    #[error("a file has at most {most} bytes on this file system")]
    TooLong {
        /// The longest.
        most: u64,
    },
    /// The file was never opened, or was closed.
    #[error("the file was closed, or never opened")]
    Closed,
    /// An option has a value that cannot work; the message starts with its key.
    #[error("{key} = {given} cannot work: {why}")]
    Option {
        /// The key.
        key: &'static str,
        /// What was given.
        given: String,
        /// What is allowed.
        why: String,
    },
    /// This file system does not do that.
    #[error("{0} is not possible on this file system")]
    Unsupported(&'static str),
    /// The system of this machine refused or failed.
    #[error("the system says: {0}")]
    System(String),
    /// What the device holds is not this file system, or is damaged.
    #[error("the file system is damaged: {0}")]
    Damaged(String),
}

impl FsError {
    pub(crate) fn option(key: &'static str, given: &dyn std::fmt::Display, why: impl Into<String>) -> Self {
        Self::Option { key, given: given.to_string(), why: why.into() }
    }
}

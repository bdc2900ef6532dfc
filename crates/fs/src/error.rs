/// Reasons a file system call fails.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FsError {
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] nandlab_block::Error),
    /// The path does not exist.
    #[error("there is no '{path}'")]
    NotFound {
        /// The path.
        path: String,
    },
    /// The name already exists.
    #[error("'{path}' exists already")]
    Exists {
        /// The path.
        path: String,
    },
    /// A file was found instead of a directory, or the reverse.
    #[error("'{path}' is a {is}, not a {needed}")]
    WrongKind {
        /// The path.
        path: String,
        /// The actual type.
        is: &'static str,
        /// The required type.
        needed: &'static str,
    },
    /// A directory to be removed is not empty.
    #[error("the directory '{path}' is not empty")]
    NotEmpty {
        /// The path.
        path: String,
    },
    /// The file, or a file below the directory, is open.
    #[error("'{path}' is open")]
    Busy {
        /// The path.
        path: String,
    },
    /// The name is not allowed.
    #[error("'{path}' cannot be a name here: {why}")]
    BadName {
        /// The path.
        path: String,
        /// The reason.
        why: String,
    },
    /// There is no free space.
    #[error("the file system is full: {what}")]
    Full {
        /// The part without room.
        what: String,
    },
    /// The NVRAM for metadata is full, regardless of free flash.
    #[error("the file system is full: {what}")]
    NvramFull {
        /// The part without room.
        what: String,
    },
    /// A fixed-size root directory has no room for another name.
    #[error("the file system is full: the root directory of {entries} entries has no {needed} in a row for '{name}'")]
    RootFull {
        /// Its entry count.
        entries: u64,
        /// Entries needed by the name.
        needed: u64,
        /// The name.
        name: String,
    },
    /// A file would exceed the maximum size.
    #[error("a file has at most {most} bytes on this file system")]
    TooLong {
        /// Maximum file size in bytes.
        most: u64,
    },
    /// The handle was never opened, or was closed.
    #[error("the file was closed, or never opened")]
    Closed,
    /// An option has an unusable value; the message starts with its key.
    #[error("{key} = {given} cannot work: {why}")]
    Option {
        /// The key.
        key: &'static str,
        /// The given value.
        given: String,
        /// The allowed values.
        why: String,
    },
    /// The file system does not support this call.
    #[error("{0} is not possible on this file system")]
    Unsupported(&'static str),
    /// The operating system refused the call or failed.
    #[error("the system says: {0}")]
    System(String),
    /// The device holds no such file system, or a damaged one.
    #[error("the file system is damaged: {0}")]
    Damaged(String),
}

impl FsError {
    pub(crate) fn option(key: &'static str, given: &dyn std::fmt::Display, why: impl Into<String>) -> Self {
        Self::Option { key, given: given.to_string(), why: why.into() }
    }
}

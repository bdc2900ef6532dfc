//! File system errors as errno numbers.

use fuser::Errno;
use nandlab_block::Error;
use nandlab_fs::FsError;

/// An error's number.
pub(super) fn errno(error: &FsError) -> Errno {
    match error {
        FsError::NotFound { .. } => Errno::ENOENT,
        FsError::Exists { .. } => Errno::EEXIST,
        FsError::WrongKind { is: "directory", .. } => Errno::EISDIR,
        FsError::WrongKind { .. } => Errno::ENOTDIR,
        FsError::NotEmpty { .. } => Errno::ENOTEMPTY,
        FsError::Busy { .. } => Errno::EBUSY,
        FsError::BadName { .. } | FsError::Option { .. } => Errno::EINVAL,
        FsError::Full { .. } | FsError::NvramFull { .. } | FsError::RootFull { .. } => Errno::ENOSPC,
        FsError::Device(Error::WornOut(_)) => Errno::ENOSPC,
        FsError::TooLong { .. } => Errno::EFBIG,
        FsError::Closed => Errno::EBADF,
        FsError::Unsupported(_) => Errno::EPERM,
        FsError::Device(_) | FsError::System(_) | FsError::Damaged(_) => Errno::EIO,
    }
}

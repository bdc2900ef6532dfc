//! A file system in an image as a directory of this machine.
//!
//! ## Idea
//! One thread owns the file system and carries out jobs one after the other. So a file system over an FTL, borrowing
//! its device while mounted, is served like one on bare flash. [`names::Names`] keeps things a kernel expects and our
//! file systems do not know: inode numbers, open files already removed or renamed, and owners and times if the format
//! has no room for them. [`fuse`] passes on the kernel's requests.
//!
//! ## What a format cannot do
//! YAFFS stores mode, owner and time in its headers. FAT and MiNV have no room for them: modes stay 755, a chown to
//! somebody else fails with EPERM as in the kernel's FAT, times last until the unmount. No file system has hard links
//! here, and FAT has no symbolic links: EPERM.

mod errno;
mod fuse;
mod names;
mod other;
mod worker;

pub use fuse::{mount, Cache, Mounted};

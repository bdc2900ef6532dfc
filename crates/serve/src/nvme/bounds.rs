//! The drive's names and bounds.

/// NVMe 2.0.
pub(super) const VERSION: u32 = 0x0002_0000;
/// The discovery service's name in every subsystem.
pub(super) const DISCOVERY: &str = "nqn.2014-08.org.nvmexpress.discovery";
/// The one namespace.
pub(super) const NAMESPACE: u32 = 1;
/// The one endurance group, where the host places data.
pub(super) const ENDURANCE_GROUP: u16 = 1;
/// Most controllers at once.
pub(super) const MOST_CONTROLLERS: usize = 64;
/// Most I/O queues of a controller.
pub(super) const MOST_QUEUES: u16 = 64;
/// Most entries of a queue.
pub(super) const MOST_ENTRIES: u16 = 1024;
/// The largest transfer is 4 KiB times two to this power.
pub(super) const MOST_TRANSFER_SHIFT: u8 = 8;
/// Bytes of the largest transfer.
pub(super) const MOST_TRANSFER: usize = 4096 << MOST_TRANSFER_SHIFT;
/// Event requests a controller holds.
pub(super) const EVENT_REQUESTS: usize = 4;
/// Entries of the error log.
pub(super) const ERRORS: usize = 64;

//! Protocol numbers.

pub(super) const INIT: u64 = u64::from_be_bytes(*b"NBDMAGIC");
pub(super) const OPTION: u64 = u64::from_be_bytes(*b"IHAVEOPT");
pub(super) const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
pub(super) const REQUEST: u32 = 0x2560_9513;
pub(super) const REPLY: u32 = 0x6744_6698;

/// Request bytes without data.
pub(super) const REQUEST_BYTES: usize = 28;
/// Reply bytes without data.
pub(super) const REPLY_BYTES: usize = 16;
/// Most bytes in one read or write. The protocol lets a client assume this much.
pub(super) const MOST_BYTES: u32 = 32 << 20;

/// The export's transmission flags: it has flags, FLUSH, FUA, TRIM, WRITE_ZEROES, and several connections see the same
/// contents.
pub(super) const EXPORT_FLAGS: u16 = 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 8;

/// The flag for an export that takes no writes.
pub(super) const READ_ONLY: u16 = 1 << 1;

/// Reply errors: Linux numbers.
pub(super) mod error {
    use std::io;

    pub const NOT_PERMITTED: u32 = 1;
    pub const IO: u32 = 5;
    pub const INVALID: u32 = 22;
    pub const NO_SPACE: u32 = 28;
    pub const SHUTDOWN: u32 = 108;

    /// The number for a disk error.
    pub fn of(error: &io::Error) -> u32 {
        match error.kind() {
            io::ErrorKind::StorageFull => NO_SPACE,
            io::ErrorKind::InvalidInput => INVALID,
            io::ErrorKind::BrokenPipe => SHUTDOWN,
            io::ErrorKind::ReadOnlyFilesystem => NOT_PERMITTED,
            _ => IO,
        }
    }
}

/// A number at the start of `bytes`; takes it off.
pub(super) trait Number: Sized {
    fn take(bytes: &mut &[u8]) -> Option<Self>;
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Number for $number {
            fn take(bytes: &mut &[u8]) -> Option<Self> {
                let (number, rest) = bytes.split_first_chunk()?;
                *bytes = rest;
                Some(Self::from_be_bytes(*number))
            }
        }
    )*};
}

numbers!(u16, u32, u64);

//! PDUs: their heads, the host's checked, ours written.

use super::crc32c;
use super::page::{u16_at, u32_at, Page};

/// Bytes at each PDU's start.
pub(super) const HEAD_BYTES: usize = 8;
/// Header bytes of a PDU with data, an R2T or a termination.
pub(super) const DATA_HEAD_BYTES: usize = 24;
/// Header bytes of a response capsule, which has no data.
pub(super) const RESPONSE_BYTES: usize = 24;
/// Header bytes of a command capsule.
const COMMAND_HEAD_BYTES: usize = 72;
/// Bytes of the first PDU from each side.
pub(super) const INIT_BYTES: usize = 128;
/// Most bytes of a termination.
const MOST_TERMINATION: usize = 152;
/// Most bytes between a header and its data.
const MOST_PADDING: usize = 128;
pub(super) const DIGEST_BYTES: usize = 4;

/// Most data bytes in a capsule.
pub(super) const CAPSULE_DATA: usize = 8 << 10;
/// Most data bytes in one PDU from the host.
pub(super) const HOST_DATA: usize = 128 << 10;

pub(super) mod kind {
    pub const INIT: u8 = 0x00;
    pub const INIT_ANSWER: u8 = 0x01;
    pub const HOST_TERMINATES: u8 = 0x02;
    pub const TERMINATES: u8 = 0x03;
    pub const COMMAND: u8 = 0x04;
    pub const RESPONSE: u8 = 0x05;
    pub const HOST_DATA: u8 = 0x06;
    pub const DATA: u8 = 0x07;
    pub const READY: u8 = 0x09;
}

pub(super) mod flag {
    pub const HEADER_DIGEST: u8 = 1;
    pub const DATA_DIGEST: u8 = 2;
    pub const LAST: u8 = 4;
    pub const SUCCESS: u8 = 8;
}

/// Why a connection cannot go on: the termination's status and information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fatal {
    pub status: u16,
    pub information: u32,
}

impl Fatal {
    pub const SEQUENCE: Self = Self { status: 2, information: 0 };
    pub const OUT_OF_RANGE: Self = Self { status: 4, information: 0 };
    pub const LIMIT: Self = Self { status: 5, information: 0 };

    /// The header's byte at `offset` has no allowed value.
    pub const fn field(offset: u32) -> Self {
        Self { status: 1, information: offset }
    }

    pub const fn unsupported(offset: u32) -> Self {
        Self { status: 6, information: offset }
    }
}

/// What both sides agreed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Format {
    pub has_header_digest: bool,
    pub has_data_digest: bool,
    /// The host's alignment for data, bytes.
    pub alignment: usize,
}

impl Format {
    fn header_digest(self) -> usize {
        if self.has_header_digest {
            DIGEST_BYTES
        } else {
            0
        }
    }

    fn data_digest(self) -> usize {
        if self.has_data_digest {
            DIGEST_BYTES
        } else {
            0
        }
    }

    /// Where the data begins in a PDU to the host.
    pub fn data_offset(self) -> usize {
        (DATA_HEAD_BYTES + self.header_digest()).next_multiple_of(self.alignment.max(4))
    }

    /// Bytes of a PDU with `data` bytes to the host.
    pub fn data_pdu(self, data: usize) -> usize {
        self.data_offset() + data + self.data_digest()
    }

    /// Bytes of a PDU without data to the host.
    pub fn plain_pdu(self) -> usize {
        RESPONSE_BYTES + self.header_digest()
    }

    /// Flags, digest and lengths for a PDU whose header and data stand in `pdu`.
    fn seal(self, pdu: &mut [u8], kind: u8, flags: u8, data: usize) {
        let head = DATA_HEAD_BYTES;
        let has_digest = self.has_data_digest && data > 0;
        let digests = u8::from(self.has_header_digest) * flag::HEADER_DIGEST + u8::from(has_digest) * flag::DATA_DIGEST;
        let offset = if data > 0 { self.data_offset() } else { 0 };
        let length = pdu.len() as u32;
        pdu[..4].copy_from_slice(&[kind, flags | digests, head as u8, offset as u8]);
        pdu[4..8].copy_from_slice(&length.to_le_bytes());
        if self.has_header_digest {
            let sum = crc32c::of(&pdu[..head]);
            pdu[head..head + DIGEST_BYTES].copy_from_slice(&sum.to_le_bytes());
        }
        if has_digest {
            let sum = crc32c::of(&pdu[offset..offset + data]);
            pdu[offset + data..offset + data + DIGEST_BYTES].copy_from_slice(&sum.to_le_bytes());
        }
    }

    /// Makes a data PDU around the `data` bytes that are in `pdu` already.
    pub fn seal_data(self, pdu: &mut [u8], command: u16, data: usize, flags: u8) {
        pdu[HEAD_BYTES..self.data_offset()].fill(0);
        pdu[8..10].copy_from_slice(&command.to_le_bytes());
        pdu[16..20].copy_from_slice(&(data as u32).to_le_bytes());
        self.seal(pdu, kind::DATA, flags, data);
    }

    /// Makes a response capsule with this completion.
    pub fn seal_response(self, pdu: &mut [u8], completion: &[u8; 16]) {
        pdu[HEAD_BYTES..RESPONSE_BYTES].copy_from_slice(completion);
        self.seal(pdu, kind::RESPONSE, 0, 0);
    }

    /// Asks for a command's `length` data bytes.
    pub fn seal_ready(self, pdu: &mut [u8], command: u16, tag: u16, length: usize) {
        pdu[HEAD_BYTES..DATA_HEAD_BYTES].fill(0);
        pdu[8..10].copy_from_slice(&command.to_le_bytes());
        pdu[10..12].copy_from_slice(&tag.to_le_bytes());
        pdu[16..20].copy_from_slice(&(length as u32).to_le_bytes());
        self.seal(pdu, kind::READY, 0, 0);
    }
}

/// The answer to the host's first PDU.
pub(super) fn init_answer(format: Format) -> Vec<u8> {
    let mut page = Page::new(INIT_BYTES);
    page.put(0, &[kind::INIT_ANSWER, 0, INIT_BYTES as u8, 0]).u32(4, INIT_BYTES as u32);
    page.u8(11, u8::from(format.has_header_digest) | u8::from(format.has_data_digest) << 1);
    page.u32(12, HOST_DATA as u32);
    page.done()
}

/// Tells the host why its connection ends; `header` is the PDU's that is wrong.
pub(super) fn termination(fatal: Fatal, header: &[u8]) -> Vec<u8> {
    let header = &header[..header.len().min(MOST_TERMINATION - DATA_HEAD_BYTES)];
    let bytes = DATA_HEAD_BYTES + header.len();
    let mut page = Page::new(bytes);
    page.put(0, &[kind::TERMINATES, 0, DATA_HEAD_BYTES as u8, 0]).u32(4, bytes as u32);
    page.u16(8, fatal.status).u32(10, fatal.information).put(DATA_HEAD_BYTES, header);
    page.done()
}

/// A PDU's first eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub kind: u8,
    flags: u8,
    header: usize,
    offset: usize,
    pub length: usize,
}

impl Head {
    pub fn parse(bytes: &[u8]) -> Self {
        let length = u32_at(bytes, 4) as usize;
        Self { kind: bytes[0], flags: bytes[1], header: bytes[2].into(), offset: bytes[3].into(), length }
    }

    /// Refuses a head that breaks the rules. Its length is bounded from then on.
    pub fn check(&self, format: Format) -> Result<(), Fatal> {
        let (header, flags, data) = match self.kind {
            kind::INIT => (INIT_BYTES, 0, 0),
            kind::HOST_TERMINATES => (DATA_HEAD_BYTES, 0, 0),
            kind::COMMAND => (COMMAND_HEAD_BYTES, 0, CAPSULE_DATA),
            kind::HOST_DATA => (DATA_HEAD_BYTES, flag::LAST, HOST_DATA),
            _ => return Err(Fatal::field(0)),
        };
        if self.header != header {
            return Err(Fatal::field(2));
        }
        if matches!(self.kind, kind::INIT | kind::HOST_TERMINATES) {
            let most = if self.kind == kind::INIT { INIT_BYTES } else { MOST_TERMINATION };
            let fits = (header..=most).contains(&self.length);
            return if fits { Ok(()) } else { Err(Fatal::field(4)) };
        }
        let plain = header + format.header_digest();
        let has_data = self.length > plain;
        let has_digest = format.has_data_digest && has_data;
        let digests =
            u8::from(format.has_header_digest) * flag::HEADER_DIGEST + u8::from(has_digest) * flag::DATA_DIGEST;
        if self.flags & !flags != digests {
            return Err(Fatal::field(1));
        }
        if self.length < plain || (self.kind == kind::HOST_DATA && !has_data) {
            return Err(Fatal::field(4));
        }
        let most_offset = plain + MOST_PADDING;
        let is_placed = self.offset >= plain && self.offset <= most_offset && self.offset % 4 == 0;
        if has_data && (!is_placed || self.offset + format.data_digest() >= self.length) {
            return Err(Fatal::field(3));
        }
        let carried = if has_data { self.length - self.offset - format.data_digest() } else { 0 };
        if carried > data {
            Err(Fatal::LIMIT)
        } else {
            Ok(())
        }
    }
}

/// A whole PDU from the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pdu<'a> {
    pub kind: u8,
    pub is_last: bool,
    pub header: &'a [u8],
    pub data: &'a [u8],
    /// Whether its data fits its digest.
    pub is_sound: bool,
}

impl<'a> Pdu<'a> {
    /// The PDU in `bytes`, whose head was checked.
    pub fn parse(head: Head, bytes: &'a [u8], format: Format) -> Result<Self, Fatal> {
        let header = &bytes[..head.header];
        let is_plain = matches!(head.kind, kind::INIT | kind::HOST_TERMINATES);
        let mut pdu =
            Self { kind: head.kind, is_last: head.flags & flag::LAST != 0, header, data: &[], is_sound: true };
        if is_plain {
            return Ok(pdu);
        }
        if format.has_header_digest && crc32c::of(header) != u32_at(bytes, head.header) {
            return Err(Fatal { status: 3, information: u32_at(bytes, head.header) });
        }
        if head.length > head.header + format.header_digest() {
            let end = head.length - format.data_digest();
            pdu.data = &bytes[head.offset..end];
            pdu.is_sound = !format.has_data_digest || crc32c::of(pdu.data) == u32_at(bytes, end);
        }
        Ok(pdu)
    }

    pub fn u16(&self, offset: usize) -> u16 {
        u16_at(self.header, offset)
    }

    pub fn u32(&self, offset: usize) -> u32 {
        u32_at(self.header, offset)
    }
}

/// The agreement that the host's first PDU leads to.
pub(super) fn agreed(init: &Pdu<'_>) -> Result<Format, Fatal> {
    let (version, alignment, digests) = (init.u16(8), init.header[10], init.header[11]);
    if version != 0 {
        return Err(Fatal::unsupported(8));
    }
    if alignment > 31 {
        return Err(Fatal::field(10));
    }
    Ok(Format {
        has_header_digest: digests & 1 != 0,
        has_data_digest: digests & 2 != 0,
        alignment: (usize::from(alignment) + 1) * 4,
    })
}

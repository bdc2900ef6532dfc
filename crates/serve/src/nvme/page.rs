//! Pages with fields at fixed offsets, little endian, zero elsewhere.

/// A page under construction.
pub(super) struct Page(Vec<u8>);

impl Page {
    pub fn new(bytes: usize) -> Self {
        Self(vec![0; bytes])
    }

    /// Puts `bytes` at `offset`.
    pub fn put(&mut self, offset: usize, bytes: &[u8]) -> &mut Self {
        self.0[offset..offset + bytes.len()].copy_from_slice(bytes);
        self
    }

    pub fn u8(&mut self, offset: usize, number: u8) -> &mut Self {
        self.put(offset, &[number])
    }

    pub fn u16(&mut self, offset: usize, number: u16) -> &mut Self {
        self.put(offset, &number.to_le_bytes())
    }

    pub fn u32(&mut self, offset: usize, number: u32) -> &mut Self {
        self.put(offset, &number.to_le_bytes())
    }

    pub fn u64(&mut self, offset: usize, number: u64) -> &mut Self {
        self.put(offset, &number.to_le_bytes())
    }

    /// `text` in `bytes` bytes, padded with `pad`; too long a text is cut.
    pub fn text(&mut self, offset: usize, bytes: usize, text: &str, pad: u8) -> &mut Self {
        let mut padded = vec![pad; bytes];
        let length = text.len().min(bytes);
        padded[..length].copy_from_slice(&text.as_bytes()[..length]);
        self.put(offset, &padded)
    }

    pub fn done(self) -> Vec<u8> {
        self.0
    }
}

/// The number at `offset`; a caller's page is long enough.
pub(super) fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    u16::from_le_bytes([bytes[offset], bytes[offset + 1]])
}

pub(super) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from(u16_at(bytes, offset)) | u32::from(u16_at(bytes, offset + 2)) << 16
}

pub(super) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from(u32_at(bytes, offset)) | u64::from(u32_at(bytes, offset + 4)) << 32
}

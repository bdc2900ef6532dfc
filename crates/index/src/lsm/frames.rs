//! A stream of bytes in frames of one write unit each: the form of the log and of the manifest.
//!
//! A frame has its stream's number, its place in the stream, a CRC, and how many frames were durable when it was
//! written. So a reader can tell the tail that a power cut tore from damage: a frame below that number was acknowledged
//! and must be there. The CRC mends one flipped bit.

use super::codec::{crc, flipped_bit, Parser};

/// Bytes before a frame's contents: CRC, stream, place, durable frames, used bytes.
pub(super) const HEAD_BYTES: usize = 8 + 8 + 4 + 4 + 4;

/// Cuts a stream into frames.
#[derive(Debug)]
pub(super) struct FrameWriter {
    stream: u64,
    unit_bytes: usize,
    /// Frames handed out.
    frames: u32,
    /// Of them, the durable ones.
    synced: u32,
    pending: Vec<u8>,
}

impl FrameWriter {
    pub(super) fn new(stream: u64, unit_bytes: usize) -> Self {
        Self { stream, unit_bytes, frames: 0, synced: 0, pending: Vec::new() }
    }

    /// Bytes of the stream that fit in `units` frames.
    pub(super) fn payload_bytes(units: u64, unit_bytes: usize) -> u64 {
        units * (unit_bytes - HEAD_BYTES) as u64
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// Bytes that no frame has yet.
    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    pub(super) fn frames(&self) -> u32 {
        self.frames
    }

    /// Whether every byte pushed is durable.
    pub(super) fn is_synced(&self) -> bool {
        self.pending.is_empty() && self.frames == self.synced
    }

    /// Every frame handed out is durable.
    pub(super) fn note_synced(&mut self) {
        self.synced = self.frames;
    }

    /// The full frames, or with `all` also one that is filled in part.
    pub(super) fn take(&mut self, all: bool) -> Vec<u8> {
        let room = self.unit_bytes - HEAD_BYTES;
        let count = if all { self.pending.len().div_ceil(room) } else { self.pending.len() / room };
        let mut out = Vec::with_capacity(count * self.unit_bytes);
        for contents in self.pending.chunks(room).take(count) {
            let start = out.len();
            out.extend_from_slice(&[0; 8]);
            out.extend_from_slice(&self.stream.to_le_bytes());
            out.extend_from_slice(&self.frames.to_le_bytes());
            out.extend_from_slice(&self.synced.to_le_bytes());
            out.extend_from_slice(&(contents.len() as u32).to_le_bytes());
            out.extend_from_slice(contents);
            out.resize(start + self.unit_bytes, 0);
            let sum = crc(&out[start + 8..]);
            out[start..start + 8].copy_from_slice(&sum.to_le_bytes());
            self.frames += 1;
        }
        self.pending.drain(..(count * room).min(self.pending.len()));
        out
    }
}

/// A whole frame.
#[derive(Clone, Copy, Debug)]
struct Frame<'a> {
    stream: u64,
    at: u32,
    synced: u32,
    contents: &'a [u8],
}

/// The frame in `unit`; one flipped bit is mended in place.
fn decode(unit: &mut [u8]) -> Option<Frame<'_>> {
    let stored = u64::from_le_bytes(unit[..8].try_into().ok()?);
    if unit.iter().all(|&byte| byte == 0) {
        return None;
    }
    let wrong = stored ^ crc(&unit[8..]);
    // A single bit of the CRC itself leaves the contents whole.
    if wrong.count_ones() > 1 {
        let (at, mask) = flipped_bit(&unit[8..], stored)?;
        unit[8 + at] ^= mask;
    }
    let mut parser = Parser(&unit[8..]);
    let (stream, at, synced) = (parser.u64()?, parser.u32()?, parser.u32()?);
    let used = parser.u32()? as usize;
    Some(Frame { stream, at, synced, contents: parser.bytes(used)? })
}

/// The number of the stream whose first frame is in `unit`, if there is one.
pub(super) fn stream_of(unit: &[u8]) -> Option<u64> {
    let mut unit = unit.to_vec();
    decode(&mut unit).filter(|frame| frame.at == 0).map(|frame| frame.stream)
}

/// A stream read back.
#[derive(Debug)]
pub(super) struct Replayed {
    /// The contents of each frame.
    pub(super) frames: Vec<Vec<u8>>,
}

impl Replayed {
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.frames.concat()
    }
}

/// Reads stream `stream` from `units`: up to the first frame that is missing, or exactly `sealed` frames.
///
/// # Errors
/// The number of a durable frame that cannot be read.
pub(super) fn replay(stream: u64, unit_bytes: usize, units: &mut [u8], sealed: Option<u32>) -> Result<Replayed, u32> {
    let mut found = Vec::new();
    let mut durable = sealed.unwrap_or(0);
    for (at, unit) in (0_u32..).zip(units.chunks_exact_mut(unit_bytes)) {
        let frame = decode(unit).filter(|frame| frame.stream == stream && frame.at == at);
        if let Some(frame) = frame {
            durable = durable.max(frame.synced);
        }
        found.push(frame.map(|frame| frame.contents.to_vec()));
    }
    if let Some(sealed) = sealed {
        found.truncate(sealed as usize);
    }
    let frames: Vec<Vec<u8>> = found.into_iter().map_while(|frame| frame).collect();
    match frames.len() as u32 {
        count if count < durable => Err(count),
        _ => Ok(Replayed { frames }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> (Vec<u8>, Vec<u8>) {
        let mut writer = FrameWriter::new(9, 64);
        let bytes: Vec<u8> = (0..150).collect();
        writer.push(&bytes[..80]);
        let mut units = writer.take(true);
        writer.note_synced();
        writer.push(&bytes[80..]);
        units.extend(writer.take(false));
        units.extend(writer.take(true));
        (bytes, units)
    }

    #[test]
    fn a_stream_comes_back_and_ends_where_it_was_torn() {
        let (bytes, units) = written();
        assert_eq!(replay(9, 64, &mut units.clone(), None).unwrap().bytes(), bytes);
        assert!(replay(8, 64, &mut units.clone(), None).unwrap().frames.is_empty());
        let mut torn = units.clone();
        torn[64 * 4..].fill(0xEE);
        assert_eq!(replay(9, 64, &mut torn.clone(), None).unwrap().bytes(), bytes[..80 + 36]);
        assert_eq!(replay(9, 64, &mut torn, Some(5)).unwrap_err(), 4, "sealed: every frame is due");
    }

    #[test]
    fn a_durable_frame_is_mended_or_missed() {
        let (bytes, units) = written();
        for at in 0..units.len() * 8 {
            let mut damaged = units.clone();
            damaged[at / 8] ^= 1 << (at % 8);
            assert_eq!(replay(9, 64, &mut damaged, None).unwrap().bytes(), bytes, "bit {at}");
        }
        let mut damaged = units;
        damaged[64 + 30] ^= 0x11;
        assert_eq!(replay(9, 64, &mut damaged, None).unwrap_err(), 1);
    }
}

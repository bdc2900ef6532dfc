//! Expected contents on a device with bytes: a model of every sector, and its bytes.

use nandlab_block::{BlockDevice, Completion, Error, Op, Payload, Request, ZoneCommand};
use nandlab_nand::SECTOR_BYTES;

const SECTOR: usize = SECTOR_BYTES as usize;

/// The sector's last write failed: it may hold the new bytes or the old ones.
const UNKNOWN: u32 = u32::MAX;

/// Generates the written bytes, and checks the read bytes.
#[derive(Debug)]
pub struct Oracle {
    /// By sector: the number of the write with its bytes; 0: zeros; [`UNKNOWN`].
    written: Vec<u32>,
    /// Sectors trimmed since, which may read as before or as zeros.
    trimmed: Vec<bool>,
    /// Whether bit errors may destroy a map page with information about trims: then any older bytes may come
    /// back.
    loses_trims: bool,
    writes: u32,
    bytes: Vec<u8>,
}

impl Oracle {
    /// A device with `sectors` zeros; `loses_trims` if bit errors may destroy its information about trims.
    pub fn new(sectors: u64, loses_trims: bool) -> Self {
        let sectors = sectors as usize;
        Self { written: vec![0; sectors], trimmed: vec![false; sectors], loses_trims, writes: 0, bytes: Vec::new() }
    }

    /// Carries out `request` on `disk` with bytes, and checks them.
    ///
    /// # Panics
    /// If a sector reads back other bytes than written.
    pub fn submit(&mut self, disk: &mut dyn BlockDevice, request: &Request) -> Result<Completion, Error> {
        match request.op {
            Op::Write => self.write(disk, request, request.sector),
            Op::Append => match disk.zone_at(request.sector).and_then(|zone| zone.write_pointer) {
                Some(pointer) => self.write(disk, request, pointer),
                None => disk.submit(request, Payload::None),
            },
            Op::Read => self.read(disk, request),
            Op::Trim => {
                let completion = disk.submit(request, Payload::None)?;
                self.trimmed[range(request.sector, request.sectors.into())].fill(true);
                Ok(completion)
            }
            Op::Zone(ZoneCommand::Reset) => {
                let completion = disk.submit(request, Payload::None)?;
                let size = disk.zone_shape().map_or(0, |shape| shape.size);
                let zone = range(request.sector, size);
                self.written[zone.clone()].fill(0);
                self.trimmed[zone].fill(false);
                Ok(completion)
            }
            Op::Flush | Op::UnitUpdate | Op::Zone(_) => disk.submit(request, Payload::None),
        }
    }

    /// Carries out a write or an append that begins at the sector `start`.
    fn write(&mut self, disk: &mut dyn BlockDevice, request: &Request, start: u64) -> Result<Completion, Error> {
        self.writes += 1;
        assert!(self.writes < UNKNOWN, "a run with bytes has fewer than 2^32 - 1 writes");
        self.bytes.resize(request.sectors as usize * SECTOR, 0);
        for (sector, bytes) in (start..).zip(self.bytes.chunks_exact_mut(SECTOR)) {
            fill(bytes, sector, self.writes);
        }
        let result = disk.submit(request, Payload::Write(&self.bytes));
        // What a zone refuses has changed nothing.
        if !matches!(result, Err(Error::Zone { .. })) {
            let written = range(start, request.sectors.into());
            self.written[written.clone()].fill(if result.is_ok() { self.writes } else { UNKNOWN });
            self.trimmed[written].fill(false);
        }
        result
    }

    fn read(&mut self, disk: &mut dyn BlockDevice, request: &Request) -> Result<Completion, Error> {
        self.bytes.clear();
        self.bytes.resize(request.sectors as usize * SECTOR, 0xA5);
        let completion = disk.submit(request, Payload::Read(&mut self.bytes))?;
        let mut expected = [0; SECTOR];
        for (sector, bytes) in (request.sector..).zip(self.bytes.chunks_exact(SECTOR)) {
            let write = self.written[sector as usize];
            if write == UNKNOWN {
                continue;
            }
            fill(&mut expected, sector, write);
            let is_trimmed = self.trimmed[sector as usize];
            let is_allowed = is_trimmed
                && (bytes.iter().all(|&byte| byte == 0)
                    || self.loses_trims && {
                        let mut older = [0; SECTOR];
                        (1..write).rev().any(|write| {
                            fill(&mut older, sector, write);
                            bytes == older
                        })
                    });
            assert!(
                bytes == expected || is_allowed,
                "sector {sector} reads back other bytes than write {write} put there"
            );
        }
        Ok(completion)
    }
}

fn range(start: u64, sectors: u64) -> std::ops::Range<usize> {
    start as usize..(start + sectors) as usize
}

/// The sector's bytes after write number `write`; zeros for number 0.
fn fill(bytes: &mut [u8], sector: u64, write: u32) {
    if write == 0 {
        bytes.fill(0);
        return;
    }
    let mut word = sector ^ u64::from(write) << 32;
    for chunk in bytes.chunks_exact_mut(8) {
        word = (word ^ word >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9).wrapping_add(0x9E37_79B9_7F4A_7C15);
        chunk.copy_from_slice(&word.to_le_bytes());
    }
}

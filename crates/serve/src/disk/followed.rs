//! Whether another file system was made on a disk, told from what is written to its first bytes.

use super::{Asks, Disk, Inner};
use crate::volume::{self, identity, Volume, IDENTITY_BYTES};
use nandlab_block::{Op, Payload, Request};
use std::io;

const SECTOR: usize = nandlab_nand::SECTOR_BYTES as usize;
const SECTORS: u64 = (IDENTITY_BYTES / SECTOR) as u64;

/// The first bytes of a disk as programs wrote them, and the file system whose regions are in use.
pub(super) struct Followed {
    first: [u8; IDENTITY_BYTES],
    is_changed: bool,
    known: Option<Vec<u8>>,
}

impl Followed {
    /// Follows a disk that begins with `first`, whose regions were just looked for.
    pub(super) fn new(first: [u8; IDENTITY_BYTES]) -> Self {
        Self { first, is_changed: false, known: identity(&first) }
    }

    /// Takes a request.
    pub(super) fn take(&mut self, request: &Request, data: &Payload<'_>) {
        match (request.op, data) {
            (_, Payload::Write(data)) => self.write(request.sector, data),
            (Op::Trim, _) => self.trim(request.sector, request.sectors.into()),
            _ => {}
        }
    }

    /// Takes whole sectors that were written.
    fn write(&mut self, sector: u64, data: &[u8]) {
        if sector < SECTORS {
            let at = sector as usize * SECTOR;
            let bytes = data.len().min(IDENTITY_BYTES - at);
            self.first[at..at + bytes].copy_from_slice(&data[..bytes]);
            self.is_changed = true;
        }
    }

    /// Takes sectors that were trimmed. They may keep their contents, which a look at the disk tells.
    fn trim(&mut self, sector: u64, sectors: u64) {
        if sector < SECTORS {
            let end = sector.saturating_add(sectors).min(SECTORS);
            self.first[sector as usize * SECTOR..end as usize * SECTOR].fill(0);
            self.is_changed = true;
        }
    }

    /// Whether another file system is there since the last time that this was asked.
    pub(super) fn is_another(&mut self) -> bool {
        std::mem::take(&mut self.is_changed) && identity(&self.first) != self.known
    }
}

impl Disk {
    /// Finds the file system on the disk, and gives requests the origins of its regions from now on, until a program makes
    /// another one: a flush behind a write to the first 2 KiB looks whether it did, and if so, for the regions of that. What
    /// this reads is counted. `None` where no file system is known; requests then come from the host as a whole.
    ///
    /// # Errors
    /// As [`volume::find`].
    pub fn follow_regions(&self) -> io::Result<Option<Volume>> {
        self.guarded(Asks::ToRead, |inner| inner.look(self.size))?
    }
}

impl Inner {
    /// Looks for a file system, and follows it.
    fn look(&mut self, size: u64) -> io::Result<Option<Volume>> {
        let mut first = [0; IDENTITY_BYTES];
        if size < first.len() as u64 {
            return Ok(None);
        }
        self.read_bytes(0, &mut first).map_err(io::Error::other)?;
        let found = volume::find(size, &mut |offset, out| match offset as usize {
            at if offset + out.len() as u64 <= IDENTITY_BYTES as u64 => {
                out.copy_from_slice(&first[at..at + out.len()]);
                Ok(())
            }
            _ => self.read_bytes(offset, out).map(drop).map_err(io::Error::other),
        })?;
        self.regions = found.as_ref().map(Volume::regions).transpose()?.unwrap_or_default();
        self.followed = Some(Followed::new(first));
        Ok(found)
    }

    /// Looks again where a program made another file system.
    pub(super) fn look_if_another(&mut self, size: u64) {
        if self.followed.as_mut().is_some_and(Followed::is_another) {
            // One that contradicts itself is half made, and its superblock will be written again.
            let _ = self.look(size);
        }
    }
}

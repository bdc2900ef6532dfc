//! A block firmware.

use super::{Mounted, Object, Shared, Table};
use crate::prove::library::{required_of_block, BlockTable};
use nandlab_block::firmware::{About, Block, Told};
use std::path::Path;

/// Loads a block firmware and mounts it on an erased chip. `library` is `libnandlab`, which the object's open calls find.
///
/// # Errors
/// A sentence without its subject.
pub fn open(library: &Path, about: &About<'_>, told: &mut dyn Told) -> Result<Box<dyn Block>, String> {
    let mounted = Mounted::<BlockTable>::open(library, about, told)?;
    let (table, firmware) = (mounted.table, mounted.firmware);
    // SAFETY: the firmware is mounted.
    let sectors = table.sectors.map_or(0, |sectors| unsafe { sectors(firmware) });
    // SAFETY: as above.
    let bytes = table.sector_bytes.map(|bytes| unsafe { bytes(firmware) });
    let sector_bytes = bytes.unwrap_or_else(|| about.geometry.page_bytes());
    Ok(Box::new(Sectors { mounted, sectors, sector_bytes }))
}

impl Table for BlockTable {
    fn read_from(object: &Object) -> Result<Self, String> {
        object.table(c"nl_block", "block", required_of_block)
    }

    fn shared(&self) -> Shared {
        Shared { mount: self.mount, unmount: self.unmount, why: self.why }
    }
}

struct Sectors {
    mounted: Mounted<BlockTable>,
    sectors: u32,
    sector_bytes: u32,
}

impl Block for Sectors {
    fn sectors(&self) -> u32 {
        self.sectors
    }

    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    fn read(&mut self, sector: u32, to: &mut [u8], told: &mut dyn Told) -> Result<(), String> {
        assert_eq!(to.len(), self.sector_bytes as usize, "a read of a sector");
        self.mounted.call(told, |mounted| {
            let read = mounted.table.read.expect("checked at the load");
            // SAFETY: the firmware is mounted, and writes as many bytes as it told.
            let answer = unsafe { read(mounted.firmware, sector, to.as_mut_ptr().cast()) };
            mounted.answered(|| format!("read of sector {sector}"), answer)
        })
    }

    fn write(&mut self, sector: u32, from: &[u8], told: &mut dyn Told) -> Result<(), String> {
        assert_eq!(from.len(), self.sector_bytes as usize, "a write of a sector");
        self.mounted.call(told, |mounted| {
            let write = mounted.table.write.expect("checked at the load");
            // SAFETY: the firmware is mounted, and reads as many bytes as it told.
            let answer = unsafe { write(mounted.firmware, sector, from.as_ptr().cast()) };
            mounted.answered(|| format!("write of sector {sector}"), answer)
        })
    }

    fn trim(&mut self, sector: u32, told: &mut dyn Told) -> Result<bool, String> {
        let Some(trim) = self.mounted.table.trim else { return Ok(false) };
        self.mounted.call(told, |mounted| {
            // SAFETY: the firmware is mounted.
            let answer = unsafe { trim(mounted.firmware, sector) };
            mounted.answered(|| format!("trim of sector {sector}"), answer).map(|()| true)
        })
    }

    fn sync(&mut self, told: &mut dyn Told) -> Result<(), String> {
        self.mounted.call(told, |mounted| {
            let sync = mounted.table.sync.expect("checked at the load");
            // SAFETY: the firmware is mounted.
            mounted.answered(|| "sync".to_owned(), unsafe { sync(mounted.firmware) })
        })
    }

    fn ram(&self) -> Option<u64> {
        // SAFETY: the firmware is mounted.
        self.mounted.table.ram.map(|ram| unsafe { ram(self.mounted.firmware) })
    }
}

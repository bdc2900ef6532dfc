//! A block firmware beside a plain model.
//!
//! The model has, for each sector, the version at the last sync and the versions written since. After a cut each sector
//! must have one of them, whole. Interior mutability throughout: a cut never returns to the call it interrupted, and the
//! recovery uses the model while that call still stands on the stack. No borrow is alive during a call.

use super::finding::{Finding, Kind};
use super::library::{BlockTable, Library};
use super::script::Step;
use super::subject::{mounted, refused, words, Subject};
use crate::table::{Device, Geometry};
use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};

/// A sector's versions; 0 is never written, or trimmed.
#[derive(Clone, Debug, Default)]
struct Versions {
    /// May be there after a cut: the synced one, and all written since.
    allowed: Vec<u32>,
    latest: u32,
}

/// The firmware, mounted or not, and the model.
#[derive(Debug)]
pub(super) struct Block {
    library: &'static Library,
    table: BlockTable,
    device: *mut Device,
    mounted: Cell<*mut c_void>,
    sectors: Cell<u32>,
    bytes: Cell<usize>,
    next: Cell<u32>,
    model: RefCell<Vec<Versions>>,
}

/// Fills a sector: its number, the version, and bytes made from both.
fn fill(sector: u32, version: u32, to: &mut [u8]) {
    let mut state = u64::from(sector) << 32 | u64::from(version);
    for (at, word) in to.chunks_mut(4).enumerate() {
        let value = match at {
            0 => sector,
            1 => version,
            _ => {
                state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
                (state >> 33) as u32
            }
        };
        word.copy_from_slice(&value.to_le_bytes()[..word.len()]);
    }
}

/// The version in a sector's bytes; `None` if nobody wrote them there. Zeros and FFh stand for a sector never written.
fn version_in(sector: u32, bytes: &[u8]) -> Option<u32> {
    if bytes.iter().all(|&byte| byte == 0) || bytes.iter().all(|&byte| byte == 0xFF) {
        return Some(0);
    }
    let version = u32::from_le_bytes(bytes[4..8].try_into().ok()?);
    let mut wanted = vec![0; bytes.len()];
    fill(sector, version, &mut wanted);
    (wanted == bytes && version > 0).then_some(version)
}

impl Block {
    pub(super) fn new(library: &'static Library, table: BlockTable, device: *mut Device) -> Self {
        Self {
            library,
            table,
            device,
            mounted: Cell::new(std::ptr::null_mut()),
            sectors: Cell::new(0),
            bytes: Cell::new(0),
            next: Cell::new(1),
            model: RefCell::default(),
        }
    }

    /// Asks the sizes after the first mount.
    fn measure(&self) -> Result<(), Finding> {
        let table = &self.table;
        let mut geometry = Geometry::default();
        // SAFETY: the device is open, and the firmware mounted.
        let (sectors, bytes) = unsafe {
            crate::table::nl_get_geometry(self.device, &mut geometry);
            let sectors = table.sectors.map_or(0, |sectors| sectors(self.mounted.get()));
            (sectors, table.sector_bytes.map_or(geometry.page_bytes, |bytes| bytes(self.mounted.get())))
        };
        if sectors == 0 || bytes < 16 {
            let sentence = format!("an empty device has {sectors} sectors of {bytes} bytes");
            return Err(Finding::new(Kind::Mount, sentence));
        }
        self.sectors.set(sectors);
        self.bytes.set(bytes as usize);
        *self.model.borrow_mut() = vec![Versions { allowed: vec![0], latest: 0 }; sectors as usize];
        Ok(())
    }

    fn write(&self, sector: u32) -> Result<(), Finding> {
        let version = self.next.replace(self.next.get() + 1);
        let mut bytes = vec![0; self.bytes.get()];
        fill(sector, version, &mut bytes);
        self.written(sector, version);
        let write = self.table.write.expect("checked at the load");
        // SAFETY: the firmware is mounted, has this sector, and reads as many bytes as it told.
        let answer = unsafe { write(self.mounted.get(), sector, bytes.as_ptr().cast()) };
        self.answered("write", Some(sector), answer, Kind::Refused)
    }

    /// Notes a version: it may be there from now on.
    fn written(&self, sector: u32, version: u32) {
        let versions = &mut self.model.borrow_mut()[sector as usize];
        versions.allowed.push(version);
        versions.latest = version;
    }

    fn answered(&self, what: &str, sector: Option<u32>, answer: c_int, kind: Kind) -> Result<(), Finding> {
        if answer == 0 {
            return Ok(());
        }
        let of = sector.map_or(String::new(), |sector| format!(" of sector {sector}"));
        Err(refused(kind, &format!("{what}{of}"), answer, words(self.table.why, self.mounted.get())))
    }
}

impl Subject for Block {
    fn mount(&self) -> Result<(), Finding> {
        self.library.reset_globals();
        let mount = self.table.mount.expect("checked at the load");
        self.mounted.set(mounted(mount, self.device)?);
        if self.sectors.get() == 0 {
            self.measure()?;
        }
        Ok(())
    }

    fn play(&self, step: Step) -> Result<(), Finding> {
        let (table, mounted) = (&self.table, self.mounted.get());
        match step {
            Step::Write(sector) => self.write(sector % self.sectors.get()),
            Step::Trim(sector) => {
                let sector = sector % self.sectors.get();
                let Some(trim) = table.trim else { return Ok(()) };
                self.written(sector, 0);
                // SAFETY: the firmware is mounted, and has this sector.
                self.answered("trim", Some(sector), unsafe { trim(mounted, sector) }, Kind::Refused)
            }
            Step::Sync => {
                let sync = table.sync.expect("checked at the load");
                // SAFETY: the firmware is mounted.
                self.answered("sync", None, unsafe { sync(mounted) }, Kind::Refused)?;
                for sector in self.model.borrow_mut().iter_mut() {
                    sector.allowed = vec![sector.latest];
                }
                Ok(())
            }
            Step::Mount => self.restart(),
            Step::File(_) => unreachable!("a script for files is refused before"),
        }
    }

    fn compare(&self) -> Result<(), Finding> {
        let read = self.table.read.expect("checked at the load");
        let mut bytes = vec![0; self.bytes.get()];
        for sector in 0..self.sectors.get() {
            bytes.fill(0xEE);
            // SAFETY: the firmware is mounted, has this sector, and writes as many bytes as it told.
            let answer = unsafe { read(self.mounted.get(), sector, bytes.as_mut_ptr().cast()) };
            self.answered("read", Some(sector), answer, Kind::Unreadable)?;
            let Some(found) = version_in(sector, &bytes) else {
                let sentence = format!("sector {sector} has bytes that nobody wrote there");
                return Err(Finding::new(Kind::Garbage, sentence));
            };
            let versions = &mut self.model.borrow_mut()[sector as usize];
            if !versions.allowed.contains(&found) {
                let synced = versions.allowed[0];
                let told = |version| match version {
                    0 => "nothing".to_owned(),
                    version => format!("write {version}"),
                };
                let sentence = format!("sector {sector} has {}, and {} was synced", told(found), told(synced));
                return Err(Finding::new(Kind::Lost, sentence));
            }
            versions.latest = found;
        }
        Ok(())
    }

    /// A sync after each eighth write.
    fn write_on(&self, pages: u32) -> Result<(), Finding> {
        for number in 0..pages {
            self.play(Step::Write(number.wrapping_mul(7).wrapping_add(3)))?;
            if number % 8 == 7 {
                self.play(Step::Sync)?;
            }
        }
        self.play(Step::Sync)?;
        self.compare()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sector_tells_its_version_and_nothing_else_passes() {
        let mut bytes = [0; 512];
        assert_eq!(version_in(3, &bytes), Some(0));
        assert_eq!(version_in(3, &[0xFF; 512]), Some(0));
        fill(3, 9, &mut bytes);
        assert_eq!((version_in(3, &bytes), version_in(4, &bytes)), (Some(9), None));
        for byte in [0, 4, 100, 511] {
            let mut wrong = bytes;
            wrong[byte] ^= 1;
            assert_eq!(version_in(3, &wrong), None, "byte {byte}");
        }
    }
}

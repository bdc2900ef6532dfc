//! What a disk must answer: a plain array of sectors.

use nandlab_block::{Op, Request};
use nandlab_nand::SECTOR_BYTES;

/// What was written to a sector: 0 is zeros, any other number one write of the run.
pub type Version = u32;

/// The model: for every sector the versions that a read may return now, and after a power cut.
///
/// More than one version is possible after a trim of part of a page (zeros, or what was there) and, once
/// power is cut, for everything since the last flush.
#[derive(Clone, Debug)]
pub struct Model {
    sectors: Vec<Sector>,
    sectors_per_page: u32,
    next: Version,
}

#[derive(Clone, Debug)]
struct Sector {
    now: Vec<Version>,
    after_cut: Vec<Version>,
}

impl Model {
    /// A disk of `sectors` zeros whose FTL maps pages of `sectors_per_page`.
    pub fn new(sectors: u64, sectors_per_page: u32) -> Self {
        let zeros = Sector { now: vec![0], after_cut: vec![0] };
        Self { sectors: vec![zeros; sectors as usize], sectors_per_page, next: 1 }
    }

    /// Sectors of the disk.
    pub fn sectors(&self) -> u64 {
        self.sectors.len() as u64
    }

    /// The bytes of a new write request; each write has a version of its own.
    pub fn payload(&mut self, request: &Request) -> Vec<u8> {
        let version = self.next;
        self.next += 1;
        (request.sector..request.end()).flat_map(|sector| contents(version, sector)).collect()
    }

    /// Takes a request that is about to be carried out; `bytes` are those of a write.
    ///
    /// From here on a cut may leave the old state or the new one.
    pub fn started(&mut self, request: &Request, bytes: &[u8]) {
        match request.op {
            Op::Write => {
                let version = version_of(&bytes[..SECTOR_BYTES as usize], request.sector);
                for sector in request.sector..request.end() {
                    self.at(sector).after_cut.push(version);
                }
            }
            Op::Trim => (request.sector..request.end()).for_each(|sector| add(&mut self.at(sector).after_cut, 0)),
            Op::Read | Op::Flush => {}
        }
    }

    /// Takes a request that was acknowledged.
    pub fn done(&mut self, request: &Request, bytes: &[u8]) {
        match request.op {
            Op::Write => {
                let version = version_of(&bytes[..SECTOR_BYTES as usize], request.sector);
                for sector in request.sector..request.end() {
                    self.at(sector).now = vec![version];
                }
            }
            Op::Trim => {
                for sector in request.sector..request.end() {
                    let whole = self.covers_page(request, sector);
                    let now = &mut self.at(sector).now;
                    if whole {
                        *now = vec![0];
                    } else {
                        add(now, 0);
                    }
                }
            }
            Op::Flush => {
                for sector in &mut self.sectors {
                    sector.after_cut.clone_from(&sector.now);
                }
            }
            Op::Read => {}
        }
    }

    /// Compares the bytes of a read.
    ///
    /// # Panics
    /// Where a sector is torn, or is no version that it may be.
    pub fn compare(&mut self, request: &Request, bytes: &[u8]) {
        for (sector, bytes) in (request.sector..request.end()).zip(bytes.chunks(SECTOR_BYTES as usize)) {
            let version = version_of(bytes, sector);
            let allowed = &mut self.at(sector).now;
            assert!(
                allowed.contains(&version),
                "sector {sector} reads as write {version}, it must be one of {allowed:?}"
            );
            // What was read once stays.
            *allowed = vec![version];
        }
    }

    /// Power went: every sector may now be any version since the last flush.
    pub fn power_cut(&mut self) {
        for sector in &mut self.sectors {
            sector.now.clone_from(&sector.after_cut);
        }
    }

    /// The disk was mounted and read in full: what it holds now is what it must hold after the next cut.
    pub fn settled(&mut self) {
        for sector in &mut self.sectors {
            sector.after_cut.clone_from(&sector.now);
        }
    }

    fn at(&mut self, sector: u64) -> &mut Sector {
        &mut self.sectors[sector as usize]
    }

    fn covers_page(&self, request: &Request, sector: u64) -> bool {
        let page = u64::from(self.sectors_per_page);
        let first = sector / page * page;
        request.sector <= first && first + page <= request.end()
    }
}

fn add(versions: &mut Vec<Version>, version: Version) {
    if !versions.contains(&version) {
        versions.push(version);
    }
}

/// The 512 bytes that write `version` puts into `sector`: the version, then bytes that follow from both numbers.
fn contents(version: Version, sector: u64) -> [u8; SECTOR_BYTES as usize] {
    let mut bytes = [0; SECTOR_BYTES as usize];
    let mut word = (u64::from(version) << 32 | sector).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    for chunk in bytes.chunks_exact_mut(8) {
        word = word.wrapping_mul(0xD129_42B9_4A1D_5A2D).rotate_left(29);
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    bytes[..4].copy_from_slice(&version.to_le_bytes());
    bytes
}

/// The write that put these bytes into `sector`.
fn version_of(bytes: &[u8], sector: u64) -> Version {
    if bytes.iter().all(|&byte| byte == 0) {
        return 0;
    }
    let version = Version::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    assert!(
        bytes == contents(version, sector),
        "sector {sector} is torn or belongs elsewhere (starts like write {version})"
    );
    version
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(model: &mut Model, sector: u64, sectors: u32) -> (Request, Vec<u8>) {
        let request = Request::new(Op::Write, sector, sectors);
        let bytes = model.payload(&request);
        model.started(&request, &bytes);
        model.done(&request, &bytes);
        (request, bytes)
    }

    #[test]
    fn a_cut_allows_what_was_written_since_the_flush_and_nothing_else() {
        let mut model = Model::new(8, 2);
        let (request, first) = write(&mut model, 0, 2);
        let flush = Request::new(Op::Flush, 0, 0);
        model.done(&flush, &[]);
        let (_, second) = write(&mut model, 0, 2);
        model.power_cut();
        model.clone().compare(&request, &first);
        model.clone().compare(&request, &second);
        let zeros = vec![0; 1024];
        let lost = std::panic::catch_unwind(move || model.compare(&request, &zeros));
        assert!(lost.is_err(), "a flushed write may not be lost");
    }

    #[test]
    fn a_torn_sector_is_seen() {
        let mut model = Model::new(8, 2);
        let (request, mut bytes) = write(&mut model, 3, 1);
        bytes[300] ^= 1;
        assert!(std::panic::catch_unwind(move || model.compare(&request, &bytes)).is_err());
    }

    #[test]
    fn a_trim_of_part_of_a_page_may_keep_it() {
        let mut model = Model::new(8, 2);
        let (request, bytes) = write(&mut model, 0, 4);
        let trim = Request::new(Op::Trim, 1, 3);
        model.started(&trim, &[]);
        model.done(&trim, &[]);
        let half = Request::new(Op::Read, 0, 2);
        model.compare(&half, &bytes[..1024]);
        assert!(
            std::panic::catch_unwind(move || model.compare(&request, &bytes)).is_err(),
            "sectors 2 and 3 are a whole page"
        );
    }
}

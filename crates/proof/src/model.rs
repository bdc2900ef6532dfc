//! A disk's required answers: a plain sector array.

use nandlab_block::{Op, Request};
use nandlab_ftl::Trims;
use nandlab_nand::SECTOR_BYTES;
use std::fmt;

/// A sector's contents: 0 is zeros, any other number one write in the run.
pub type Version = u32;

/// The model: for every sector the versions a read may return now, and after a power cut.
///
/// More than one version is possible after trimming part of a page (zeros, or the old data) and, after a power cut, for
/// everything since the last flush. If trims are not durable, a mount may bring any earlier version of a trimmed sector
/// back.
#[derive(Clone, Debug)]
pub struct Model {
    sectors: Vec<Sector>,
    sectors_per_page: u32,
    trims: Trims,
    next: Version,
}

/// At least one version, in the order they became possible. Nearly always it is one, and then it takes no memory
/// elsewhere: each power cut clones the whole model.
#[derive(Default)]
struct Versions {
    first: Version,
    more: Vec<Version>,
}

impl Versions {
    fn set(&mut self, version: Version) {
        self.first = version;
        self.more.clear();
    }

    fn contains(&self, version: Version) -> bool {
        self.first == version || self.more.contains(&version)
    }

    fn add(&mut self, version: Version) {
        if !self.contains(version) {
            self.more.push(version);
        }
    }

    /// The version, if there is only one.
    fn only(&self) -> Option<Version> {
        self.more.is_empty().then_some(self.first)
    }
}

impl fmt::Debug for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entry(&self.first).entries(&self.more).finish()
    }
}

impl Clone for Versions {
    fn clone(&self) -> Self {
        Self { first: self.first, more: self.more.clone() }
    }

    fn clone_from(&mut self, from: &Self) {
        self.first = from.first;
        self.more.clone_from(&from.more);
    }
}

#[derive(Clone, Debug, Default)]
struct Sector {
    now: Versions,
    after_cut: Versions,
    /// Every acknowledged version that may still be on flash; not filled if trims are durable.
    past: Vec<Version>,
    /// Whether the last change was a trim, and whether a cut may leave it so, if trims are not durable.
    is_trimmed: bool,
    trimmed_after_cut: bool,
}

impl Model {
    /// A disk with `sectors` zeroed sectors; its FTL maps pages with `sectors_per_page` sectors, and its mounts treat
    /// trims as `trims`.
    pub fn new(sectors: u64, sectors_per_page: u32, trims: Trims) -> Self {
        Self { sectors: vec![Sector::default(); sectors as usize], sectors_per_page, trims, next: 1 }
    }

    /// Disk sectors.
    pub fn sectors(&self) -> u64 {
        self.sectors.len() as u64
    }

    /// The bytes for a new write request; each write has its own version.
    pub fn payload(&mut self, request: &Request) -> Vec<u8> {
        let version = self.next;
        self.next += 1;
        let mut bytes = Vec::with_capacity((request.sectors * SECTOR_BYTES) as usize);
        (request.sector..request.end()).for_each(|sector| bytes.extend_from_slice(&contents(version, sector)));
        bytes
    }

    /// Takes a request about to be carried out; `bytes` is a write's data.
    ///
    /// From here on a cut may leave the old state or the new one.
    pub fn started(&mut self, request: &Request, bytes: &[u8]) {
        match request.op {
            Op::Write => {
                let version = version_of(&bytes[..BYTES], request.sector);
                for sector in request.sector..request.end() {
                    self.at(sector).after_cut.more.push(version);
                }
            }
            Op::Trim => {
                let forgets = self.trims == Trims::Forgotten;
                for sector in request.sector..request.end() {
                    let state = self.at(sector);
                    state.after_cut.add(0);
                    state.trimmed_after_cut |= forgets;
                }
            }
            Op::Read | Op::Flush | Op::UnitUpdate | Op::Append | Op::Zone(_) => {}
        }
    }

    /// Takes an acknowledged request.
    pub fn done(&mut self, request: &Request, bytes: &[u8]) {
        match request.op {
            Op::Write => {
                let version = version_of(&bytes[..BYTES], request.sector);
                let forgets = self.trims == Trims::Forgotten;
                for sector in request.sector..request.end() {
                    let state = self.at(sector);
                    state.now.set(version);
                    state.is_trimmed = false;
                    if forgets {
                        state.past.push(version);
                    }
                }
            }
            Op::Trim => {
                let forgets = self.trims == Trims::Forgotten;
                for sector in request.sector..request.end() {
                    let whole = self.covers_page(request, sector);
                    let state = self.at(sector);
                    if whole {
                        state.now.set(0);
                    } else {
                        state.now.add(0);
                    }
                    state.is_trimmed |= forgets;
                }
            }
            Op::Flush => {
                for sector in &mut self.sectors {
                    sector.after_cut.clone_from(&sector.now);
                    sector.trimmed_after_cut = sector.is_trimmed;
                }
            }
            Op::Read | Op::UnitUpdate | Op::Append | Op::Zone(_) => {}
        }
    }

    /// A sector's newest write survives without a flush.
    pub fn persisted(&mut self, sector: u64) {
        let state = self.at(sector);
        state.after_cut.clone_from(&state.now);
        state.trimmed_after_cut = state.is_trimmed;
    }

    /// Compares the bytes from a read.
    ///
    /// # Panics
    /// If a sector is torn, or is no allowed version.
    pub fn compare(&mut self, request: &Request, bytes: &[u8]) {
        for (sector, bytes) in (request.sector..request.end()).zip(bytes.chunks(BYTES)) {
            let version = version_of(bytes, sector);
            let allowed = &mut self.at(sector).now;
            assert!(
                allowed.contains(version),
                "sector {sector} reads as write {version}, it must be one of {allowed:?}"
            );
            // A version once read stays.
            allowed.set(version);
        }
    }

    /// The version in the bytes of `sector`, and whether a read may return it.
    ///
    /// # Panics
    /// If the sector is torn.
    pub fn allows(&self, sector: u64, bytes: &[u8]) -> (Version, bool) {
        let version = version_of(bytes, sector);
        (version, self.sectors[sector as usize].now.contains(version))
    }

    /// Power went: every sector may now be any version since the last flush, and a trim may be undone.
    pub fn power_cut(&mut self) {
        for sector in &mut self.sectors {
            sector.now.clone_from(&sector.after_cut);
            if sector.trimmed_after_cut {
                sector.past.iter().for_each(|&version| sector.now.add(version));
            }
            sector.is_trimmed = false;
        }
    }

    /// The disk was mounted and read in full: the next cut must keep its present contents.
    pub fn settled(&mut self) {
        for sector in &mut self.sectors {
            sector.after_cut.clone_from(&sector.now);
            // Zeros without a note may give way to an older version at the next mount.
            let forgets = self.trims == Trims::Forgotten;
            let stays_open = forgets && sector.now.only() == Some(0);
            sector.trimmed_after_cut &= stays_open;
            sector.is_trimmed = sector.trimmed_after_cut;
            // The mount chose the newest copy: newer ones are gone for good.
            if let Some(version) = sector.now.only().filter(|&version| forgets && version != 0) {
                sector.past.retain(|&past| past < version);
                sector.past.push(version);
            }
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

const BYTES: usize = SECTOR_BYTES as usize;

/// The 512 bytes write `version` puts into `sector`: the version, then bytes derived from both numbers.
fn contents(version: Version, sector: u64) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    let mut word = start(version, sector);
    for chunk in bytes.chunks_exact_mut(8) {
        word = next(word);
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    bytes[..4].copy_from_slice(&version.to_le_bytes());
    bytes
}

fn start(version: Version, sector: u64) -> u64 {
    (u64::from(version) << 32 | sector).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1
}

fn next(word: u64) -> u64 {
    word.wrapping_mul(0xD129_42B9_4A1D_5A2D).rotate_left(29)
}

/// Whether these are the [`contents`]. Each word is derived from its stored predecessor, so the processor need not wait
/// for one multiplication after the other as in making the contents.
fn is_written(bytes: &[u8; BYTES], version: Version, sector: u64) -> bool {
    let first = next(start(version, sector));
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let mut wrong = (word(0) ^ first) >> 32 | word(8) ^ next(first);
    for at in (16..BYTES).step_by(8) {
        wrong |= word(at) ^ next(word(at - 8));
    }
    wrong == 0
}

/// The write that put these bytes into `sector`.
fn version_of(bytes: &[u8], sector: u64) -> Version {
    let bytes: &[u8; BYTES] = bytes.try_into().expect("a whole sector");
    if bytes == &[0; BYTES] {
        return 0;
    }
    let version = Version::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    assert!(
        is_written(bytes, version, sector),
        "sector {sector} is torn or belongs elsewhere (starts like write {version})"
    );
    version
}

//! Firmware: a block firmware of your own in C, in place of an FTL.
//!
//! ## Idea
//! The shared object that `nandlab prove` takes runs under a workload, beside the other FTLs. It works on a chip of its own
//! with raw pages. The device of the experiment counts each of its commands and takes its time.
//!
//! ## Write path
//! A host's page is one sector of the firmware, or several. A part of a sector is read first and written as a whole. Each
//! sector gets bytes that tell its number and its version, and each read compares them. The firmware waits for each command,
//! so its commands never overlap, not even on different dies. A flush is a sync.
//!
//! Commands count under the cause that the firmware names with `nl_cause()`, otherwise under `firmware`. They count for the
//! origin of the request. A later program of a page's part counts as a spare program: it fills no page.
//!
//! ## Recovery
//! A run begins with an erased chip, and never mounts twice. `nandlab prove` is there for cuts.
//!
//! ## Invariants
//! A page has one first program between two erases, as everywhere.
//!
//! ## Differences
//! A failed call, a broken rule of the chip or a wrong byte ends the run. A crash ends the whole program. A program of a part
//! takes the time of a whole page on the bus, if it is the first one of its page.
//!
//! ## References
//! `include/nandlab.h`; docs/firmware.md.

use crate::{BlockState, Events, Ftl, FtlError, RamUse};
use nandlab_block::firmware::{self, About, Block, Flash, Follower, Told, Unheard};
use nandlab_nand::{Cause, Geometry, Lpn, Nand, PageBuf, Rules, SectorMask, SECTOR_BYTES};
use std::path::PathBuf;

/// Options of a firmware.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The shared object; a relative path starts at the experiment's folder.
    pub path: String,
    /// A text for the firmware alone, which reads it with `nl_options()`.
    pub options: String,
    /// The experiment's folder.
    #[serde(skip)]
    pub base: PathBuf,
}

impl Config {
    fn open(&self, geometry: &Geometry, rules: &Rules, told: &mut dyn Told) -> Result<Box<dyn Block>, FtlError> {
        let wrong = |why: &str| FtlError::Config(format!("ftl.firmware.path = \"{}\": it {why}", self.path));
        if self.path.is_empty() {
            return Err(wrong("names no shared object; expected one such as \"./fw.so\""));
        }
        let path = self.base.join(&self.path);
        let about = About { path: &path, options: &self.options, geometry: *geometry, rules: *rules };
        let block = firmware::open(&about, told).map_err(|why| wrong(&why))?;
        let (bytes, page) = (block.sector_bytes(), geometry.page_bytes());
        if bytes == 0 || bytes % SECTOR_BYTES != 0 || page % bytes != 0 {
            return Err(wrong(&format!(
                "has sectors of {bytes} B, and a run needs a multiple of {SECTOR_BYTES} B that divides the page of {page} B"
            )));
        }
        Ok(block)
    }
}

/// A firmware in a run.
pub struct Firmware {
    block: Box<dyn Block>,
    logical_pages: u32,
    /// Firmware sectors in a page.
    per_page: u32,
    /// By firmware sector: its version; 0 is never written, or trimmed.
    versions: Vec<u32>,
    bytes: Box<[u8]>,
    flash: Flash,
}

/// A sector's bytes: made from its number and its version.
fn fill(sector: u32, version: u32, to: &mut [u8]) {
    let mut state = u64::from(sector) << 32 | u64::from(version);
    for word in to.chunks_mut(8) {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        word.copy_from_slice(&(state ^ state >> 29).to_le_bytes()[..word.len()]);
    }
}

/// Whether a sector has these bytes; zeros and FFh stand for one that was never written.
fn has(sector: u32, version: u32, bytes: &[u8]) -> bool {
    if version == 0 {
        return bytes.iter().all(|&byte| byte == 0) || bytes.iter().all(|&byte| byte == 0xFF);
    }
    let mut wanted = vec![0; bytes.len()];
    fill(sector, version, &mut wanted);
    wanted == bytes
}

impl Firmware {
    /// Calls the firmware, whose commands count on `nand`; the request ends when the call returns.
    fn call<N: Nand, R>(
        &mut self,
        nand: &mut N,
        usual: Cause,
        call: impl FnOnce(&mut dyn Block, &mut [u8], &mut dyn Told) -> Result<R, String>,
    ) -> Result<R, FtlError> {
        let mut told = Follower { nand, flash: &mut self.flash, usual };
        let answer = call(&mut *self.block, &mut self.bytes, &mut told);
        let last = nand.ctx().last();
        nand.ctx().wait_until(last);
        answer.map_err(FtlError::Full)
    }

    /// The firmware's sectors under these sectors of a page, and whether each is covered as a whole.
    fn covered(&self, at: Lpn, sectors: SectorMask, all: u32) -> impl Iterator<Item = (u32, bool)> {
        let (first, each) = (at.0 * self.per_page, all / self.per_page);
        (0..self.per_page).filter_map(move |number| {
            let count = sectors.iter().filter(|&sector| sector / each == number).count() as u32;
            (count > 0).then_some((first + number, count == each))
        })
    }

    fn read_sector<N: Nand>(&mut self, nand: &mut N, sector: u32, usual: Cause) -> Result<(), FtlError> {
        let version = self.versions[sector as usize];
        self.call(nand, usual, |block, bytes, told| {
            block.read(sector, bytes, told)?;
            if has(sector, version, bytes) {
                return Ok(());
            }
            Err(format!("the firmware read bytes from its sector {sector} that are not those written last"))
        })
    }
}

impl Ftl for Firmware {
    type Config = Config;
    const IS_ELSEWHERE: bool = true;

    fn max_logical_pages(geometry: &Geometry, rules: &Rules, config: &Config) -> Result<u32, FtlError> {
        let block = config.open(geometry, rules, &mut Unheard)?;
        Ok(block.sectors() / (geometry.page_bytes() / block.sector_bytes()))
    }

    fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<Self, FtlError> {
        let (geometry, rules) = (*nand.geometry(), *nand.rules());
        if !nand.is_known_erased() {
            let why = "ftl.firmware begins with an erased chip: it mounts no flash that was used before";
            return Err(FtlError::Config(why.to_owned()));
        }
        let mut flash = Flash::new(&geometry);
        let block = config.open(&geometry, &rules, &mut Follower { nand, flash: &mut flash, usual: Cause::Mount })?;
        let per_page = geometry.page_bytes() / block.sector_bytes();
        let versions = vec![0; block.sectors() as usize];
        let bytes = vec![0; block.sector_bytes() as usize].into_boxed_slice();
        if logical_pages > block.sectors() / per_page {
            let why = format!("{logical_pages} logical pages are more than the {} of ftl.firmware", block.sectors());
            return Err(FtlError::Config(why));
        }
        Ok(Self { block, logical_pages, per_page, versions, bytes, flash })
    }

    fn write<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, _: &N::Buf) -> Result<(), FtlError> {
        for (sector, is_whole) in self.covered(at, sectors, nand.geometry().sectors_per_page()) {
            if !is_whole {
                self.read_sector(nand, sector, Cause::ReadModifyWrite)?;
            }
            let version = self.versions[sector as usize] + 1;
            self.versions[sector as usize] = version;
            self.call(nand, Cause::Firmware, |block, bytes, told| {
                fill(sector, version, bytes);
                block.write(sector, bytes, told)
            })?;
        }
        Ok(())
    }

    fn read<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &mut N::Buf) -> Result<(), FtlError> {
        page.clear(sectors);
        for (sector, _) in self.covered(at, sectors, nand.geometry().sectors_per_page()) {
            self.read_sector(nand, sector, Cause::Host)?;
        }
        Ok(())
    }

    fn trim<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask) -> Result<(), FtlError> {
        for (sector, is_whole) in self.covered(at, sectors, nand.geometry().sectors_per_page()) {
            if is_whole && self.call(nand, Cause::Trim, |block, _, told| block.trim(sector, told))? {
                self.versions[sector as usize] = 0;
            }
        }
        Ok(())
    }

    fn flush<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        self.call(nand, Cause::Firmware, |block, _, told| block.sync(told))?;
        nand.ctx().fence();
        let end = nand.ctx().acknowledged();
        nand.ctx().wait_until(end);
        Ok(())
    }

    fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    fn ram(&self) -> RamUse {
        let mut ram = RamUse::default();
        if let Some(bytes) = self.block.ram() {
            ram.dram.insert("firmware", bytes);
        }
        ram
    }

    fn events(&self) -> Events {
        Events { retired_blocks: self.flash.retired(), ..Events::default() }
    }

    fn free_blocks(&self) -> u64 {
        self.blocks().iter().filter(|block| block.is_free).count() as u64
    }

    /// Nobody but the firmware knows its valid pages, so every programmed page of a block counts.
    fn blocks(&self) -> Vec<BlockState> {
        self.flash.blocks().map(|(valid, is_free)| BlockState { valid, is_free }).collect()
    }

    /// The firmware's own map is out of reach.
    fn check<N: Nand>(&self, _: &mut N) {}
}

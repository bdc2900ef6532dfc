//! Sector maps with map pages lost to bit errors: a read returns the written bytes or an error, never other bytes. The
//! model is a list of versions.

use crate::lab::{device, mount, Lab};
use nandlab_block::{BlockDevice, Error, Op, Payload, Request};
use nandlab_drive::Chip;
use nandlab_ftl::{hybrid_map, sector_map, FtlConfig};
use nandlab_nand::backed::Backed;
use nandlab_nand::faulty::{BitErrors, Config as Faults, Faulty};
use nandlab_nand::random::Random;
use nandlab_nand::{as_inside, Cause, Content, Done, Geometry, Kind, Nand, NandError, Oob, Ppa, Rules};
use std::collections::BTreeSet;

/// A device that counts unreadable map pages, each of which the FTL then rebuilds; it does not count those found lost
/// during a mount or a check.
struct Watched {
    inner: Faulty<Backed>,
    /// The flash pages with map pages.
    maps: BTreeSet<Ppa>,
    lost: u64,
}

impl Watched {
    fn read_by<T>(
        &mut self,
        at: Ppa,
        read: impl FnOnce(&mut Faulty<Backed>) -> Result<T, NandError>,
    ) -> Result<T, NandError> {
        let read = read(&mut self.inner);
        let is_lost = matches!(read, Err(NandError::Uncorrectable(_))) && self.maps.contains(&at);
        self.lost += u64::from(is_lost && self.inner.ctx().cause() != Cause::Mount);
        read
    }

    fn programmed(&mut self, at: Ppa, kind: Kind) {
        if kind == Kind::Map {
            self.maps.insert(at);
        } else {
            self.maps.remove(&at);
        }
    }
}

impl Nand for Watched {
    type Buf = Content;

    as_inside!(inner: geometry, rules, is_known_erased, is_settled, read_spare, program_spare, erase, retire, set_slc, is_slc, ctx);

    fn read(&mut self, at: Ppa, page: &mut Content) -> Result<Oob, NandError> {
        self.read_by(at, |inner| inner.read(at, page))
    }

    fn read_tail(&mut self, at: Ppa, tail: &mut [u8]) -> Result<Oob, NandError> {
        self.read_by(at, |inner| inner.read_tail(at, tail))
    }

    fn read_with_tail(&mut self, at: Ppa, page: &mut Content, tail: &mut [u8]) -> Result<Oob, NandError> {
        self.read_by(at, |inner| inner.read_with_tail(at, page, tail))
    }

    fn program(&mut self, at: Ppa, page: &Content, tail: &[u8], oob: Oob) -> Result<Done, NandError> {
        self.programmed(at, oob.kind);
        self.inner.program(at, page, tail, oob)
    }

    fn copy(&mut self, from: Ppa, to: Ppa, oob: Oob) -> Result<Oob, NandError> {
        let copied = self.inner.copy(from, to, oob);
        if let Ok(oob) = copied {
            self.programmed(to, oob.kind);
        }
        copied
    }
}

impl Chip for Watched {
    fn inside(&self) -> Option<&dyn Chip> {
        Some(&self.inner)
    }
    fn inside_mut(&mut self) -> Option<&mut dyn Chip> {
        Some(&mut self.inner)
    }
}

const SECTORS_PER_PAGE: u64 = 8;
const LOGICAL_PAGES: u32 = 400;

/// The host's knowledge about a sector.
#[derive(Clone, Copy, Default)]
struct Sector {
    /// The version written last; 0: none.
    version: u32,
    /// Whether any older version may come back. A trim may be lost with its map page; or the sector could not be read
    /// before a mount, which cannot tell bit errors from a page torn by a power cut.
    may_be_older: bool,
}

struct Host {
    disk: Lab,
    sectors: Vec<Sector>,
    version: u32,
    unreadable: u32,
}

fn host(config: &FtlConfig, rber: f64, seed: u64) -> Host {
    let errors = BitErrors { rber, growth: 0, ecc_bits: 4, codeword_bytes: 512 };
    let faults = Faults { seed, bit_errors: Some(errors), ..Faults::default() };
    let nand = Faulty::new(Backed::ram(Geometry::two_dies(36, 16, 4096).unwrap(), Rules::default()), faults).unwrap();
    let sectors = vec![Sector::default(); LOGICAL_PAGES as usize * SECTORS_PER_PAGE as usize];
    let nand = Watched { inner: nand, maps: BTreeSet::new(), lost: 0 };
    Host { disk: mount(nand, LOGICAL_PAGES, config), sectors, version: 0, unreadable: 0 }
}

fn bytes_of(sector: u64, version: u32) -> [u8; 512] {
    let mut bytes = [0; 512];
    for chunk in bytes.chunks_exact_mut(16) {
        chunk[..8].copy_from_slice(&sector.to_le_bytes());
        chunk[8..12].copy_from_slice(&version.to_le_bytes());
    }
    bytes
}

impl Host {
    fn write(&mut self, first: u64, count: u64) -> Result<(), Error> {
        self.version += 1;
        let bytes: Vec<u8> = (first..first + count).flat_map(|sector| bytes_of(sector, self.version)).collect();
        self.disk.submit(&Request::new(Op::Write, first, count as u32), Payload::Write(&bytes))?;
        let written = Sector { version: self.version, may_be_older: false };
        self.sectors[first as usize..(first + count) as usize].fill(written);
        Ok(())
    }

    fn trim(&mut self, first: u64, count: u64) -> Result<(), Error> {
        self.disk.submit(&Request::new(Op::Trim, first, count as u32), Payload::None)?;
        self.sectors[first as usize..(first + count) as usize].iter_mut().for_each(|sector| sector.may_be_older = true);
        Ok(())
    }

    /// Whether the sector can be read.
    fn read(&mut self, sector: u64) -> bool {
        let mut bytes = [0; 512];
        match self.disk.submit(&Request::new(Op::Read, sector, 1), Payload::Read(&mut bytes)) {
            Ok(_) => {}
            Err(Error::Unreadable { .. }) => {
                self.unreadable += 1;
                return false;
            }
            Err(error) => panic!("sector {sector}: {error}"),
        }
        let Sector { version, may_be_older } = self.sectors[sector as usize];
        if may_be_older {
            let found = u32::from_le_bytes(bytes[8..12].try_into().unwrap());
            let is_its_own = found <= version && bytes == bytes_of(sector, found);
            assert!(bytes == [0; 512] || is_its_own, "sector {sector} that may be older: {:?}", &bytes[..12]);
        } else if version == 0 {
            assert_eq!(bytes, [0; 512], "sector {sector} was never written");
        } else {
            assert_eq!(bytes[..12], bytes_of(sector, version)[..12], "sector {sector}");
            assert_eq!(bytes, bytes_of(sector, version));
        }
        true
    }

    fn remount(&mut self) -> Result<(), Error> {
        self.disk.submit(&Request::new(Op::Flush, 0, 0), Payload::None)?;
        for sector in 0..self.sectors.len() as u64 {
            if !self.read(sector) {
                self.sectors[sector as usize].may_be_older = true;
            }
        }
        self.disk.remount().unwrap();
        Ok(())
    }

    fn step(&mut self, random: &mut Random) -> Result<(), Error> {
        let sectors = self.sectors.len() as u64;
        // Half the requests go to a sixteenth of the sectors: some blocks empty fast and old copies stay in others.
        let among = if random.below(2) == 0 { sectors / 16 } else { sectors };
        let sector = random.below(among);
        let page = sector / SECTORS_PER_PAGE * SECTORS_PER_PAGE;
        match random.below(64) {
            0..=35 => self.write(sector, 1)?,
            36..=41 => self.write(page, SECTORS_PER_PAGE)?,
            42..=46 => self.trim(page, SECTORS_PER_PAGE)?,
            47 => self.trim(sector, 1)?,
            48 if random.below(20) == 0 => {
                self.remount()?;
            }
            _ => {
                self.read(sector);
            }
        }
        Ok(())
    }
}

/// Runs random requests on all options except the defaults at several bit error rates, with two seeds if `NANDLAB_LONG` is
/// set.
fn reads_what_was_written_or_an_error(ftl: &FtlConfig, steps: u32) {
    let seeds = if std::env::var_os("NANDLAB_LONG").is_some() { 2 } else { 1 };
    let (mut unreadable, mut rebuilt, mut collected) = (0, 0, 0);
    for variant in ftl.variants().into_iter().skip(1) {
        for (rber, seed) in [5e-5, 2e-4, 3e-4].into_iter().flat_map(|rber| (1..=seeds).map(move |seed| (rber, seed))) {
            let what = format!("{} at {rber}, seed {seed}", variant.name);
            println!("{what}");
            let mut host = host(&variant.config, rber, seed);
            let mut random = Random::new(seed);
            for step in 0..steps {
                host.step(&mut random).unwrap_or_else(|error| panic!("{what}, step {step}: {error}"));
                if step % 500 == 0 {
                    host.disk.check();
                }
            }
            (0..host.sectors.len() as u64).for_each(|sector| {
                host.read(sector);
            });
            unreadable += host.unreadable;
            rebuilt += device::<Watched>(&mut host.disk).lost;
            collected += host.disk.events().gc_runs;
        }
    }
    let what = format!("{unreadable} sectors unreadable, {rebuilt} map pages searched for, {collected} collections");
    println!("{what}");
    assert!(u64::from(unreadable) > 500 * seeds && rebuilt > 500 * seeds && collected > 250 * seeds, "{what}");
}

#[test]
fn a_sector_map_with_lost_pages_reads_what_was_written_or_an_error() {
    reads_what_was_written_or_an_error(&FtlConfig::SectorMap(sector_map::Config::default()), 8_000);
}

#[test]
fn a_hybrid_map_with_lost_pages_reads_what_was_written_or_an_error() {
    reads_what_was_written_or_an_error(&FtlConfig::HybridMap(hybrid_map::Config::default()), 8_000);
}

/// After too much loss, a device in use returns errors, never other sectors' bytes.
fn takes_no_more_writes(ftl: &FtlConfig, rber: f64) {
    for variant in ftl.variants().into_iter().filter(|variant| variant.name.contains("pag")) {
        let what = format!("{} at {rber}", variant.name);
        println!("{what}");
        let mut host = host(&variant.config, rber, 1);
        let mut random = Random::new(1);
        let mut refused = 0;
        for _ in 0..5_000 {
            let sectors = host.sectors.len() as u64;
            let page = random.below(sectors / SECTORS_PER_PAGE) * SECTORS_PER_PAGE;
            let done = match random.below(4) {
                0 => host.trim(page, SECTORS_PER_PAGE),
                1 => host.write(page, SECTORS_PER_PAGE),
                2 => host.disk.submit(&Request::new(Op::Flush, 0, 0), Payload::None).map(|_| ()),
                _ => host.write(random.below(sectors), 1),
            };
            if let Err(error) = done {
                let sentence = error.to_string();
                assert!(sentence.contains("lost to bit errors"), "{what}: {sentence}");
                refused += 1;
            }
            let sector = random.below(sectors);
            let mut bytes = [0; 512];
            if host.disk.submit(&Request::new(Op::Read, sector, 1), Payload::Read(&mut bytes)).is_ok() {
                assert!(
                    bytes == [0; 512] || bytes[..8] == sector.to_le_bytes(),
                    "{what}: {sector} is {:?}",
                    &bytes[..8]
                );
            }
            if refused == 50 {
                break;
            }
        }
        assert_eq!(refused, 50, "{what} takes writes");
    }
}

#[test]
fn without_lists_or_map_pages_no_more_writes_are_taken() {
    // At 0.05 hardly any map page is read again, at 0.08 no list either.
    for rber in [0.05, 0.08] {
        takes_no_more_writes(&FtlConfig::SectorMap(sector_map::Config::default()), rber);
        takes_no_more_writes(&FtlConfig::HybridMap(hybrid_map::Config::default()), rber);
    }
}

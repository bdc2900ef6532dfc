//! Formatting volumes, and checking their options.

use super::cache::Cache;
use super::io::Io;
use super::layout::{Layout, Width};
use super::{Config, FatType, Shape};
use crate::FsError;
use fatfs::FormatVolumeOptions;
use nandlab_block::BlockDevice;
use nandlab_nand::SECTOR_BYTES;
use std::cell::RefCell;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::rc::Rc;

impl Config {
    /// Checks the options, as far as possible without a device.
    ///
    /// # Errors
    /// [`FsError::Option`].
    pub fn check(&self) -> Result<(), FsError> {
        if let Some(bytes) = self.cluster_bytes {
            if !bytes.0.is_power_of_two() || !(512..=65_536).contains(&bytes.0) {
                let why = "a cluster has a power of two of bytes, from 512 to 65536";
                return Err(FsError::option("cluster_bytes", &bytes, why));
            }
        }
        if self.root_entries == 0 || self.root_entries % 16 != 0 {
            let why = "the root directory has whole sectors of 16 entries, at least one";
            return Err(FsError::option("root_entries", &self.root_entries, why));
        }
        if !(1..=2).contains(&self.fats) {
            return Err(FsError::option("fats", &self.fats, "a volume has 1 or 2 copies of its FAT"));
        }
        if let Some(bytes) = self.volume_bytes.filter(|bytes| bytes.0 % u64::from(SECTOR_BYTES) != 0) {
            return Err(FsError::option("volume_bytes", &bytes, "a volume has whole sectors of 512 bytes"));
        }
        if let Some(bytes) = self.align_data.filter(|bytes| bytes.0 == 0 || bytes.0 % u64::from(SECTOR_BYTES) != 0) {
            return Err(FsError::option("align_data", &bytes, "whole sectors of 512 bytes, at least one"));
        }
        if self.cache_bytes.0 < 4 * u64::from(SECTOR_BYTES) || self.cache_bytes.0 > 1 << 30 {
            return Err(FsError::option("cache_bytes", &self.cache_bytes, "4 sectors (2 KiB) to 1 GiB can be kept"));
        }
        Ok(())
    }

    /// The volume [`Self::format`] would make on a device of this many sectors.
    ///
    /// # Errors
    /// [`FsError::Option`] with the offending option.
    pub fn plan(&self, device_sectors: u64) -> Result<Shape, FsError> {
        self.layout(device_sectors).map(Shape::from)
    }

    fn layout(&self, device_sectors: u64) -> Result<Layout, FsError> {
        self.check()?;
        let sectors = self.volume_sectors(device_sectors)?;
        let layout = self.formatted(sectors).map_err(|why| self.blame(device_sectors, sectors, &why))?;
        let fits = match self.fat {
            FatType::Auto => true,
            FatType::Fat12 => layout.width == Width::Fat12,
            FatType::Fat16 => layout.width == Width::Fat16,
            FatType::Fat32 => layout.width == Width::Fat32,
        };
        if !fits {
            let why = format!(
                "the number of clusters decides it, and {} clusters of {} bytes make it FAT{}; FAT12 has at most 4084, \
                 FAT16 at most 65524: choose another cluster_bytes or volume_bytes",
                layout.clusters,
                layout.cluster_bytes(),
                layout.width.bits()
            );
            return Err(FsError::option("fat", &self.fat.quoted(), why));
        }
        Ok(layout)
    }

    /// The layout of a volume of this many sectors, or the reason it cannot exist.
    fn formatted(&self, sectors: u32) -> Result<Layout, String> {
        let mut first = FirstSector { bytes: [0; SECTOR_BYTES as usize], position: 0, sectors };
        let made = fatfs::format_volume(&mut first, self.format_options(sectors));
        let layout = made.map_err(|error| error.to_string()).and_then(|()| Layout::parse(&first.bytes))?;
        if layout.clusters == 0 {
            return Err("it would have no cluster".to_owned());
        }
        Ok(layout)
    }

    /// The error for an impossible volume. It names the option whose default would make the volume
    /// possible; if no single option is at fault, it names the size.
    fn blame(&self, device_sectors: u64, sectors: u32, why: &str) -> FsError {
        let bytes = u64::from(sectors) * u64::from(SECTOR_BYTES);
        let works = |other: Self| {
            let sectors = other.volume_sectors(device_sectors);
            sectors.is_ok_and(|sectors| other.formatted(sectors).is_ok())
        };
        let (usual, own) = (Self::default(), || self.clone());
        let divided = format!("a volume of {bytes} bytes cannot be divided so ({why})");
        let left = format!("it leaves {bytes} bytes of the device, and FAT does not fit there ({why})");
        match (self.cluster_bytes, self.align_data) {
            (Some(cluster), _) if works(Self { cluster_bytes: None, ..own() }) => {
                FsError::option("cluster_bytes", &cluster, divided)
            }
            _ if self.fat != usual.fat && works(Self { fat: usual.fat, ..own() }) => {
                FsError::option("fat", &self.fat.quoted(), divided)
            }
            _ if works(Self { root_entries: usual.root_entries, ..own() }) => {
                FsError::option("root_entries", &self.root_entries, divided)
            }
            (_, Some(align)) if works(Self { align_data: None, ..own() }) => {
                FsError::option("align_data", &align, left)
            }
            _ => FsError::option("volume_bytes", &bytes, format!("FAT does not fit there ({why})")),
        }
    }

    /// Options without effect on a device of this many sectors, as sentences that begin with the
    /// key.
    pub fn notices(&self, device_sectors: u64) -> Vec<String> {
        let entries = self.root_entries;
        let is_idle = entries != Self::default().root_entries
            && self.layout(device_sectors).is_ok_and(|layout| layout.width == Width::Fat32);
        let notice = format!("root_entries = {entries} has no effect: the root directory of FAT32 grows");
        is_idle.then_some(notice).into_iter().collect()
    }

    /// Makes an empty volume on `device`. It writes every sector of the boot area, tables and root
    /// directory, in runs, and nothing else.
    ///
    /// # Errors
    /// As [`Self::plan`], and device errors.
    /// As [`Self::plan`], and what the device failed with.
    pub fn format(&self, device: &mut dyn BlockDevice) -> Result<Shape, FsError> {
        let shape = self.plan(device.sectors())?;
        let sectors = self.volume_sectors(device.sectors())?;
        let start = self.start(device.sectors())?;
        let cache = Rc::new(RefCell::new(Cache::blank(device, start, self.cache_bytes.0)));
        super::stamps::set(0);
        fatfs::format_volume(Io(cache.clone()), self.format_options(sectors))
            .map_err(|error| super::failure(&cache, &error))?;
        cache.borrow_mut().flush()?;
        Ok(shape)
    }

    /// Device sectors before the volume.
    ///
    /// # Errors
    /// As [`Self::plan`].
    pub(super) fn start(&self, device_sectors: u64) -> Result<u64, FsError> {
        let Some(align) = self.align_data else { return Ok(0) };
        let align = align.0 / u64::from(SECTOR_BYTES);
        let data = u64::from(self.layout(device_sectors)?.data_start());
        Ok(data.next_multiple_of(align) - data)
    }

    fn volume_sectors(&self, device_sectors: u64) -> Result<u32, FsError> {
        let device = device_sectors * u64::from(SECTOR_BYTES);
        // Leave room for the volume to begin later.
        let room = device.saturating_sub(self.align_data.map_or(0, |align| align.0 - u64::from(SECTOR_BYTES)));
        let bytes = self.volume_bytes.map_or(room, |bytes| bytes.0);
        if bytes > room {
            let why = match self.align_data {
                None => format!("the device has {device} bytes"),
                Some(align) => format!("the device has {device} bytes, {room} with align_data = {align}"),
            };
            return Err(FsError::option("volume_bytes", &bytes, why));
        }
        u32::try_from(bytes / u64::from(SECTOR_BYTES)).map_err(|_| {
            FsError::option("volume_bytes", &bytes, "FAT has at most 2^32 - 1 sectors; a smaller volume fits")
        })
    }

    fn format_options(&self, sectors: u32) -> FormatVolumeOptions {
        let mut options =
            FormatVolumeOptions::new().total_sectors(sectors).max_root_dir_entries(self.root_entries).fats(self.fats);
        if let Some(bytes) = self.cluster_bytes {
            options = options.bytes_per_cluster(bytes.0 as u32);
        }
        match self.fat {
            FatType::Auto => options,
            FatType::Fat12 => options.fat_type(fatfs::FatType::Fat12),
            FatType::Fat16 => options.fat_type(fatfs::FatType::Fat16),
            FatType::Fat32 => options.fat_type(fatfs::FatType::Fat32),
        }
    }
}

/// A volume with only its first sector kept; the boot sector describes the rest.
struct FirstSector {
    bytes: [u8; SECTOR_BYTES as usize],
    position: u64,
    sectors: u32,
}

impl Read for FirstSector {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        bytes.fill(0);
        self.position += bytes.len() as u64;
        Ok(bytes.len())
    }
}

impl Write for FirstSector {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let at = self.position as usize;
        if let Some(kept) = self.bytes.get_mut(at..at + bytes.len()) {
            kept.copy_from_slice(bytes);
        }
        self.position += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for FirstSector {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let end = u64::from(self.sectors) * u64::from(SECTOR_BYTES);
        self.position = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::End(by) => end.saturating_add_signed(by),
            SeekFrom::Current(by) => self.position.saturating_add_signed(by),
        };
        Ok(self.position)
    }
}

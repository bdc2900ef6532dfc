//! `nl_config`, and the flash it describes.

use crate::device::{self, State};
use crate::flash::Flash;
use crate::table::Device;
use nandlab_nand::chip::{Chip, Options};
use nandlab_nand::faulty::{BitErrors, Config as Faults};
use nandlab_nand::nor::{self, Nor};
use nandlab_nand::profile::{Order, PageCopy, PlaneOverlap, ReadTransfer, Timing};
use nandlab_nand::{Geometry, ProgramOrder, Rules, Shape};
use serde::{Deserialize, Serialize};
use std::ffi::{c_char, CString};

/// `nl_config`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "nandlab.h documents them")]
pub struct Config {
    pub size: u32,
    pub blocks: u32,
    pub pages_per_block: u32,
    pub page_bytes: u32,
    pub spare_bytes: u32,
    pub program_order: u32,
    pub partial_programs: u32,
    pub endurance: u32,
    pub ecc_bits: u32,
    pub cached_programs: u32,
    pub copyback: u32,
    pub word_bytes: u32,
    pub seed: u64,
    pub read_us: f64,
    pub program_us: f64,
    pub program_byte_us: f64,
    pub erase_us: f64,
    pub spare_read_us: f64,
    pub spare_program_us: f64,
    pub transfer_ns_per_byte: f64,
    pub transfer_command_us: f64,
    pub rber: f64,
    pub program_failure_rate: f64,
    pub erase_failure_rate: f64,
    pub factory_bad_share: f64,
}

/// Longest time, as in profiles.
const MAX_QUANTITY: f64 = 1e9;

impl Default for Config {
    fn default() -> Self {
        Self {
            size: size_of::<Self>() as u32,
            blocks: 16,
            pages_per_block: 8,
            page_bytes: 512,
            spare_bytes: 16,
            program_order: 2,
            partial_programs: 1,
            endurance: 100_000,
            ecc_bits: 8,
            cached_programs: 0,
            copyback: 1,
            word_bytes: 0,
            seed: 1,
            read_us: 25.0,
            program_us: 300.0,
            program_byte_us: 0.0,
            erase_us: 2000.0,
            spare_read_us: 25.0,
            spare_program_us: 300.0,
            transfer_ns_per_byte: 25.0,
            transfer_command_us: 0.0,
            rber: 0.0,
            program_failure_rate: 0.0,
            erase_failure_rate: 0.0,
            factory_bad_share: 0.0,
        }
    }
}

impl Config {
    /// The flash in these numbers, with these blocks bad from the factory.
    ///
    /// # Errors
    /// A sentence with the field, its value and the range.
    pub fn flash(&self, bad_blocks: &[u32]) -> Result<Flash, String> {
        match self.word_bytes {
            0 => self.chip(bad_blocks).map(Flash::Nand),
            _ if !bad_blocks.is_empty() => Err("bad: a NOR chip has no bad blocks".into()),
            _ => self.nor().map(Flash::Nor),
        }
    }

    fn nor(&self) -> Result<Nor, String> {
        self.is_this_version()?;
        self.timing()?;
        let Some(block_bytes) = self.pages_per_block.checked_mul(self.page_bytes) else {
            return Err(format!("pages_per_block = {}: a block is too large", self.pages_per_block));
        };
        let options = nor::Options {
            blocks: self.blocks,
            block_bytes,
            page_bytes: self.page_bytes,
            word_bytes: self.word_bytes,
            programs_once: self.partial_programs == 1,
            read_us: self.read_us,
            program_us: self.program_us,
            program_byte_us: self.program_byte_us,
            erase_us: self.erase_us,
            transfer_ns_per_byte: self.transfer_ns_per_byte,
            seed: self.seed,
        };
        Nor::new(options).map_err(|error| error.to_string())
    }

    fn is_this_version(&self) -> Result<(), String> {
        if self.size as usize == size_of::<Self>() {
            return Ok(());
        }
        Err(format!("size = {}: this library's nl_config has {} bytes", self.size, size_of::<Self>()))
    }

    fn chip(&self, bad_blocks: &[u32]) -> Result<Chip, String> {
        self.is_this_version()?;
        let shape = Shape {
            channels: 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_plane: self.blocks,
            pages_per_block: self.pages_per_block,
            page_bytes: self.page_bytes,
            spare_bytes: self.spare_bytes,
        };
        let geometry = Geometry::new(shape).map_err(|error| error.to_string())?;
        let options = Options { ecc_bits: self.ecc_bits, cached_programs: self.cached_programs != 0 };
        let bit_errors = (self.rber > 0.0).then_some(BitErrors {
            rber: self.rber,
            growth: 2,
            ecc_bits: self.ecc_bits,
            codeword_bytes: 512,
        });
        let faults = Faults {
            seed: self.seed,
            factory_bad_blocks: bad_blocks.to_vec(),
            factory_bad_share: self.factory_bad_share,
            program_failure_rate: self.program_failure_rate,
            erase_failure_rate: self.erase_failure_rate,
            bit_errors,
            ..Faults::default()
        };
        Chip::new(geometry, self.rules()?, &self.timing()?, options, faults).map_err(|error| error.to_string())
    }

    fn rules(&self) -> Result<Rules, String> {
        let program_order = match self.program_order {
            0 => ProgramOrder::Any,
            1 => ProgramOrder::Ascending,
            2 => ProgramOrder::AscendingDense,
            other => return Err(format!("program_order = {other}: it is 0, 1 or 2")),
        };
        let partial_programs = u8::try_from(self.partial_programs).ok().filter(|&programs| programs > 0);
        let Some(partial_programs) = partial_programs else {
            return Err(format!("partial_programs = {}: it is 1 to 255", self.partial_programs));
        };
        Ok(Rules { program_order, partial_programs, endurance: self.endurance, ..Rules::default() })
    }

    pub(crate) fn timing(&self) -> Result<Timing, String> {
        for (field, value) in [
            ("read_us", self.read_us),
            ("program_us", self.program_us),
            ("program_byte_us", self.program_byte_us),
            ("erase_us", self.erase_us),
            ("spare_read_us", self.spare_read_us),
            ("spare_program_us", self.spare_program_us),
            ("transfer_ns_per_byte", self.transfer_ns_per_byte),
            ("transfer_command_us", self.transfer_command_us),
        ] {
            if !(0.0..=MAX_QUANTITY).contains(&value) {
                return Err(format!("{field} = {value}: it is 0 to {MAX_QUANTITY}"));
            }
        }
        if !(0.0..=0.1).contains(&self.rber) {
            return Err(format!("rber = {}: it is 0 to 0.1", self.rber));
        }
        Ok(Timing {
            read_us: self.read_us,
            program_us: self.program_us,
            erase_us: self.erase_us,
            transfer_ns_per_byte: self.transfer_ns_per_byte,
            transfer_command_us: self.transfer_command_us,
            read_transfer: ReadTransfer::default(),
            spare_read_us: Some(self.spare_read_us),
            spare_program_us: Some(self.spare_program_us),
            copy: if self.copyback == 0 { PageCopy::External } else { PageCopy::Copyback },
            plane_overlap: PlaneOverlap::None,
            suspend: None,
            slc: None,
            page_types: None,
            program_pages: 1,
            order: Order::default(),
            read_cache: false,
            read_first: false,
        })
    }
}

/// `nl_default_config`.
///
/// # Safety
/// The pointer is to an `nl_config`.
#[no_mangle]
pub unsafe extern "C" fn nl_default_config(config: *mut Config) {
    config.write(Config::default());
}

/// `nl_open`.
///
/// # Safety
/// As in `nandlab.h`.
#[no_mangle]
pub unsafe extern "C" fn nl_open(config: *const Config, why: *mut c_char, why_bytes: usize) -> *mut Device {
    match (*config).flash(&[]) {
        Ok(flash) => device::open(State::new(flash)),
        Err(sentence) => {
            write_text(&sentence, why, why_bytes);
            std::ptr::null_mut()
        }
    }
}

/// Copies as much of a text as fits, with its end.
unsafe fn write_text(text: &str, to: *mut c_char, bytes: usize) {
    if to.is_null() || bytes == 0 {
        return;
    }
    let text = CString::new(text).unwrap_or_default();
    let length = text.as_bytes().len().min(bytes - 1);
    to.copy_from_nonoverlapping(text.as_ptr(), length);
    to.add(length).write(0);
}

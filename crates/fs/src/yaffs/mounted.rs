//! Implements the flash file system traits for YAFFS.

use super::{Config, Yaffs};
use crate::flash::{check_rules, BlockUse, FlashFs, FlashOptions};
use crate::parts::collector::Counts;
use crate::{FileSystem, FsError};
use nandlab_nand::nvm::{NvmCost, Nvram};
use nandlab_nand::{Geometry, Nand, Rules};

/// An NVRAM of zero bytes.
fn no_nvram() -> Nvram {
    Nvram::new(0, NvmCost::default())
}

impl FlashOptions for Config {
    fn check_device(&self, geometry: &Geometry, rules: &Rules) -> Result<(), FsError> {
        check_rules(rules)?;
        Config::check_device(self, geometry, rules)
    }

    fn nvram_bytes(&self, _: &Geometry) -> u64 {
        0
    }

    fn nvram(&self, _: &Geometry) -> Nvram {
        no_nvram()
    }

    fn mount<N: Nand + Send + 'static>(&self, nand: N, _: Nvram) -> Result<Box<dyn FlashFs<N>>, FsError> {
        Ok(Box::new(Yaffs::mount(nand, self)?))
    }
}

impl<N: Nand + Send> FlashFs<N> for Yaffs<N> {
    fn files(&mut self) -> &mut dyn FileSystem {
        self
    }

    fn nand(&self) -> &N {
        self.nand()
    }

    fn nand_mut(&mut self) -> &mut N {
        self.nand_mut()
    }

    fn nvram(&self) -> Option<&Nvram> {
        None
    }

    fn collections(&self) -> Counts {
        self.collections()
    }

    fn notices(&self) -> Vec<String> {
        self.notices()
    }

    fn retired_blocks(&self) -> u64 {
        self.retired_blocks()
    }

    fn blocks(&self) -> Vec<BlockUse> {
        self.block_uses()
    }

    fn check(&mut self) {
        self.check();
    }

    fn into_devices(self: Box<Self>) -> (N, Nvram) {
        (self.into_nand(), no_nvram())
    }
}

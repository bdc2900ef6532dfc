//! Implements the flash file system traits for MiNV.

use super::{Config, Minv};
use crate::flash::{check_rules, BlockUse, FlashFs, FlashOptions};
use crate::parts::collector::Counts;
use crate::{FileSystem, FsError};
use nandlab_nand::nvm::Nvram;
use nandlab_nand::{Geometry, Nand, Rules};

impl FlashOptions for Config {
    fn check_device(&self, geometry: &Geometry, rules: &Rules) -> Result<(), FsError> {
        check_rules(rules)?;
        Config::check_device(self, geometry)
    }

    fn nvram_bytes(&self, geometry: &Geometry) -> u64 {
        Config::nvram_bytes(self, geometry)
    }

    fn nvram(&self, geometry: &Geometry) -> Nvram {
        Nvram::new(self.nvram_bytes(geometry), self.nvram.cost())
    }

    fn mount<N: Nand + Send + 'static>(&self, nand: N, nvram: Nvram) -> Result<Box<dyn FlashFs<N>>, FsError> {
        Ok(Box::new(Minv::mount(nand, nvram, self)?))
    }
}

impl<N: Nand + Send> FlashFs<N> for Minv<N, Nvram> {
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
        Some(self.nvm())
    }

    fn collections(&self) -> Counts {
        self.collections()
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
        Self::into_devices(*self)
    }
}

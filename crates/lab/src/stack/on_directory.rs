//! A real directory as an engine: without a device below, nothing is counted and no time is simulated.

use super::{BufferCounts, Chip, Door, Engine, Files};
use nandlab_fs::posix::Posix;
use nandlab_fs::FileSystem;
use nandlab_ftl::{BlockState, Events, RamUse};
use nandlab_nand::{Matrix, Time};

/// A directory during a run.
pub(crate) struct OnDirectory {
    fs: Posix,
    matrix: Matrix,
}

impl OnDirectory {
    pub(crate) fn new(fs: Posix) -> Self {
        Self { fs, matrix: Matrix::default() }
    }
}

/// No blocks.
struct NoChip;

impl Chip for NoChip {
    fn inside(&self) -> Option<&dyn Chip> {
        None
    }
    fn inside_mut(&mut self) -> Option<&mut dyn Chip> {
        None
    }
    fn pe_cycles(&self) -> &[u32] {
        &[]
    }
    fn programmed_pages(&self) -> u64 {
        0
    }
    fn unused_at_erase(&self) -> u64 {
        0
    }
}

impl Files for OnDirectory {
    fn files(&mut self) -> &mut dyn FileSystem {
        &mut self.fs
    }

    fn clean_up(&mut self) -> Vec<String> {
        self.fs.clean_up()
    }
}

impl Engine for OnDirectory {
    fn door(&mut self) -> Door<'_> {
        Door::Files(self)
    }

    fn sectors(&self) -> u64 {
        0
    }

    fn matrix(&mut self) -> &Matrix {
        &self.matrix
    }

    fn now(&mut self) -> Time {
        0
    }

    fn ram(&self) -> RamUse {
        RamUse::default()
    }

    fn buffer(&self) -> Option<BufferCounts> {
        None
    }

    fn blocks(&self) -> Vec<BlockState> {
        Vec::new()
    }

    fn events(&self) -> Events {
        Events::default()
    }

    fn chip(&self) -> &dyn Chip {
        &NoChip
    }

    fn unreadable(&self) -> u64 {
        0
    }

    fn failed(&self) -> &[usize] {
        &[]
    }
}

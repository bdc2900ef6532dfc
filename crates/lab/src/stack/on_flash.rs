//! A file system on bare flash as an engine.

use super::{BufferCounts, Chip, Door, Engine, Files, NvramState};
use nandlab_fs::parts::collector::Counts as Collections;
use nandlab_fs::{BlockUse, FileSystem, FlashFs, FsConfig, FsError};
use nandlab_ftl::{BlockState, Events, RamUse};
use nandlab_nand::backed::Verified;
use nandlab_nand::nvm::{Nvm, Nvram};
use nandlab_nand::work::Work;
use nandlab_nand::{Matrix, Nand, NandError, Time, Waits};

/// A mounted file system, and the options to mount it again.
pub(crate) struct OnFlash<N: Nand> {
    /// None after a failed mount, which ends the run.
    fs: Option<Box<dyn FlashFs<N>>>,
    config: FsConfig,
    unreadable: u64,
}

impl<N: Nand + Send + 'static> OnFlash<N> {
    /// Mounts the file system on an erased device.
    pub(crate) fn mount(config: &FsConfig, nand: N) -> Result<Self, FsError> {
        let nvram = config.nvram(nand.geometry());
        Self::mount_with(config, nand, nvram)
    }

    /// Mounts what is on flash and in NVRAM.
    pub(crate) fn mount_with(config: &FsConfig, nand: N, nvram: Nvram) -> Result<Self, FsError> {
        Ok(Self { fs: Some(config.mount(nand, nvram)?), config: config.clone(), unreadable: 0 })
    }
}

impl<N: Nand> OnFlash<N> {
    fn fs(&self) -> &dyn FlashFs<N> {
        self.fs.as_deref().expect("nothing is asked after a mount that failed")
    }

    fn fs_mut(&mut self) -> &mut dyn FlashFs<N> {
        self.fs.as_deref_mut().expect("nothing is asked after a mount that failed")
    }
}

impl<N: Nand + Chip + Send + 'static> Files for OnFlash<N> {
    fn files(&mut self) -> &mut dyn FileSystem {
        self.fs_mut().files()
    }

    fn notices(&self) -> Vec<String> {
        self.fs().notices()
    }

    fn count_unreadable(&mut self) {
        self.unreadable += 1;
    }

    fn blocks(&self) -> Option<Vec<BlockUse>> {
        Some(self.fs().blocks())
    }

    fn remount(&mut self) -> Result<(), FsError> {
        if let Some(mounted) = self.fs_mut().mount_again() {
            return mounted;
        }
        let (nand, nvram) = self.fs.take().expect("nothing is asked after a mount that failed").into_devices();
        self.fs = Some(self.config.mount(nand, nvram)?);
        Ok(())
    }
}

impl<N: Nand + Chip + Send + 'static> Engine for OnFlash<N> {
    fn door(&mut self) -> Door<'_> {
        Door::Files(self)
    }

    fn sectors(&self) -> u64 {
        let geometry = self.fs().nand().geometry();
        u64::from(geometry.pages()) * u64::from(geometry.sectors_per_page())
    }

    fn matrix(&mut self) -> &Matrix {
        self.fs_mut().nand_mut().ctx().matrix()
    }

    /// The file system waits for each flash operation and each NVRAM access: their times add up.
    fn now(&mut self) -> Time {
        let in_nvram = self.fs().nvram().map_or(0, |nvram| nvram.usage().time_ns);
        let ctx = self.fs_mut().nand_mut().ctx();
        ctx.wait_for_all();
        ctx.horizon() + in_nvram
    }

    fn follow_events(&mut self) -> bool {
        let ctx = self.fs_mut().nand_mut().ctx();
        ctx.follow_events();
        ctx.timeline().is_some()
    }

    fn leave_events(&mut self) {
        self.fs_mut().nand_mut().ctx().leave_events();
    }

    fn keep_work(&mut self) {
        self.fs_mut().nand_mut().ctx().keep_work();
    }

    fn take_work(&mut self) -> Vec<Work> {
        let mut work = Vec::new();
        self.fs_mut().nand_mut().ctx().take_work(&mut work);
        work
    }

    fn waits(&mut self) -> Waits {
        self.fs_mut().nand_mut().ctx().waits()
    }

    /// The file system's own memory is recorded before its unmount.
    fn ram(&self) -> RamUse {
        RamUse::default()
    }

    fn buffer(&self) -> Option<BufferCounts> {
        None
    }

    fn events(&self) -> Events {
        let counts = self.fs().collections();
        Events {
            gc_runs: counts.runs,
            empty_gc_runs: counts.empty,
            retired_blocks: self.fs().retired_blocks(),
            lost_pages: counts.lost,
            ..Events::default()
        }
    }

    fn blocks(&self) -> Vec<BlockState> {
        let blocks = self.fs().blocks();
        blocks.iter().map(|block| BlockState { valid: block.live, is_free: block.empty }).collect()
    }

    fn check(&mut self) {
        self.fs_mut().check();
    }

    fn verify(&mut self) -> Option<Result<Verified, NandError>> {
        self.fs_mut().nand_mut().verify()
    }

    fn chip(&self) -> &dyn Chip {
        self.fs().nand()
    }

    fn lie(&mut self, ns: Time) {
        self.fs_mut().nand_mut().lie(ns);
    }

    fn unreadable(&self) -> u64 {
        self.unreadable
    }

    fn failed(&self) -> &[usize] {
        &[]
    }

    fn collections(&self) -> Option<Collections> {
        Some(self.fs().collections())
    }

    fn nvram(&self) -> Option<NvramState> {
        self.fs().nvram().map(|nvram| NvramState { bytes: nvram.bytes(), usage: nvram.usage() })
    }
}

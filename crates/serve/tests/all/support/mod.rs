//! Shared by the disk tests: images for every FTL, and a model for a disk's contents.

#![allow(dead_code)] // Two executables share it.

use nandlab_lab::config::{Experiment, Format};
use nandlab_lab::served::Served;
use nandlab_lab::LabError;
use nandlab_nand::random::Random;
use nandlab_serve::{Disk, Export, Means, Options};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub const SECTOR: usize = 512;

/// Buffers in NVRAM, for a device of [`experiment`].
pub const NVRAM_BUFFERS: [&[&str]; 4] = [
    &["buffer=hybrid_lru", "buffer.hybrid_lru.dram=64KiB", "buffer.hybrid_lru.nvram=256KiB"],
    &["buffer=clock_dnv", "buffer.clock_dnv.dram=64KiB", "buffer.clock_dnv.nvram=256KiB"],
    &["buffer=cbm", "buffer.cbm.dram=64KiB", "buffer.cbm.nvram=256KiB"],
    &["buffer=wap_lru", "buffer.wap_lru.dram=64KiB", "buffer.wap_lru.nvram=256KiB", "buffer.wap_lru.thresholds=online"],
];

/// An experiment with a small device, this FTL, and further settings.
pub fn experiment(ftl: &str, sets: &[&str]) -> Experiment {
    // MTBS keeps half the device in reserve.
    let over_provisioning = if ftl == "mtbs" { 1.2 } else { 0.5 };
    let mut all = vec![
        format!("ftl={ftl}"),
        "device.capacity=8MiB".into(),
        format!("device.over_provisioning={over_provisioning}"),
        "device.shape.pages_per_block=16".into(),
    ];
    all.extend(sets.iter().map(ToString::to_string));
    Experiment::parse_disk("", Format::Toml, "", Path::new(""), &all).unwrap_or_else(|error| panic!("{ftl}: {error}"))
}

pub fn create(path: &Path, ftl: &str, sets: &[&str]) {
    Served::create(path, &experiment(ftl, sets)).unwrap_or_else(|error| panic!("{ftl}: {error}"));
}

/// A program started by another thread inherits image locks until it runs.
pub fn open(path: &Path) -> Disk {
    for _ in 0..500 {
        match Disk::open(path, Options::default()) {
            Err(LabError::Io(why)) if why.contains("is in use by another process") => {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            opened => return opened.unwrap(),
        }
    }
    panic!("{} stays in use", path.display())
}

pub fn sentence(opened: Result<Disk, LabError>) -> String {
    let text = opened.err().expect("the image is not usable").to_string();
    assert!(!text.contains('\n'), "one sentence: {text}");
    text
}

/// Means whose `fails`th thread, counted from 0, cannot be made, with little patience; and everything said.
pub fn means(fails: Option<usize>) -> (Means, Arc<Mutex<Vec<String>>>) {
    let said = Arc::<Mutex<Vec<String>>>::default();
    let (says, made) = (said.clone(), AtomicUsize::new(0));
    let means = Means {
        spawn: Arc::new(move |work| match Some(made.fetch_add(1, Ordering::SeqCst)) == fails {
            true => Err(std::io::ErrorKind::WouldBlock.into()),
            false => std::thread::Builder::new().spawn(work),
        }),
        say: Arc::new(move |text| says.lock().unwrap().push(text.to_owned())),
        patience: Duration::from_millis(300),
    };
    (means, said)
}

/// Every FTL's name.
pub fn ftls() -> Vec<&'static str> {
    nandlab_ftl::anywhere().map(|entry| entry.name).collect()
}

/// A sector's bytes after write number `write`; zeros for number 0.
pub fn contents(sector: u64, write: u64) -> [u8; SECTOR] {
    let mut bytes = [0; SECTOR];
    if write > 0 {
        let mut random = Random::new(sector << 32 | write);
        bytes.chunks_exact_mut(8).for_each(|chunk| chunk.copy_from_slice(&random.below(u64::MAX).to_le_bytes()));
    }
    bytes
}

/// An operation on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Write { sector: u64, sectors: u64 },
    Trim { sector: u64, sectors: u64 },
    Flush,
}

/// Random acts, the same for the same seed; mostly in a small part, so blocks are collected.
pub struct Acts {
    random: Random,
    sectors: u64,
}

impl Acts {
    pub fn new(seed: u64, sectors: u64) -> Self {
        Self { random: Random::new(seed), sectors }
    }

    pub fn next(&mut self) -> Act {
        let kind = self.random.below(100);
        if kind < 10 {
            return Act::Flush;
        }
        let sectors = [1, 3, 8, 8, 8, 16, 64][self.random.below(7) as usize];
        let room = if self.random.below(4) > 0 { self.sectors / 4 } else { self.sectors };
        let mut sector = self.random.below(room - sectors);
        if self.random.below(2) == 0 {
            sector -= sector % 8;
        }
        if kind < 16 {
            Act::Trim { sector, sectors }
        } else {
            Act::Write { sector, sectors }
        }
    }
}

/// Does an act, the `number`th.
pub fn act(disk: &Disk, act: Act, number: u64) -> std::io::Result<()> {
    let at = |sector: u64| sector * SECTOR as u64;
    match act {
        Act::Write { sector, sectors } => {
            let bytes: Vec<u8> = (sector..sector + sectors).flat_map(|sector| contents(sector, number)).collect();
            disk.write(at(sector), &bytes, false)
        }
        Act::Trim { sector, sectors } => disk.trim(at(sector), at(sectors), false),
        Act::Flush => disk.flush(),
    }
    .and_then(|_| disk.hand_over())
}

/// Each sector's possible contents: the write number, 0 for zeros.
pub struct Model {
    /// By sector: the state at the last flush and later writes, the newest last.
    pub may_hold: Vec<Vec<u64>>,
    /// By sector: whether it was trimmed since its last write; then any earlier contents are allowed.
    loose: Vec<bool>,
}

impl Model {
    pub fn new(sectors: u64) -> Self {
        Self { may_hold: vec![vec![0]; sectors as usize], loose: vec![false; sectors as usize] }
    }

    /// Act `number` was begun.
    pub fn begin(&mut self, act: Act, number: u64) {
        match act {
            Act::Write { sector, sectors } => {
                for at in sector..sector + sectors {
                    self.may_hold[at as usize].push(number);
                }
            }
            Act::Trim { sector, sectors } => {
                for at in sector..sector + sectors {
                    self.may_hold[at as usize].push(0);
                    self.loose[at as usize] = true;
                }
            }
            Act::Flush => {}
        }
    }

    /// A flush was answered.
    pub fn flushed(&mut self) {
        for (holds, loose) in self.may_hold.iter_mut().zip(&mut self.loose) {
            if holds.last() != Some(&0) {
                // Written data is there; trimmed data may be as before.
                let last = *holds.last().unwrap();
                *loose = false;
                holds.clear();
                holds.push(last);
            }
        }
    }

    /// Compares a disk with its allowed contents.
    pub fn compare(&self, disk: &Disk, what: &str) {
        let mut bytes = vec![0; 64 * SECTOR];
        for first in (0..self.may_hold.len()).step_by(64) {
            disk.read((first * SECTOR) as u64, &mut bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
            for (at, found) in (first..).zip(bytes.chunks_exact(SECTOR)) {
                let fits = |&write: &u64| contents(at as u64, write) == found;
                let may_be = self.may_hold[at].iter().any(fits) || self.loose[at];
                assert!(may_be, "{what}: sector {at} holds none of the writes {:?}", self.may_hold[at]);
            }
        }
    }
}

//! What the tests share.

pub mod samples;

use flate2::write::GzEncoder;
use flate2::Compression;
use nandlab_block::Queues;
use nandlab_workload::trace::Config;
use nandlab_workload::Setting;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A device of so many sectors, for a workload whose files lie in `base`.
pub fn setting(sectors: u64, seed: u64, base: &Path) -> Setting<'_> {
    let queues = Queues::default();
    Setting { sectors, seed, base, watch: &|_| true, took: None, queues, placements: None, zones: None }
}

/// A folder of its own for each test, removed at the end.
pub struct Folder {
    pub path: PathBuf,
}

impl Folder {
    pub fn new(name: &str) -> Self {
        // Tests of two files may give the same name.
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("nandlab-traces-{name}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self { path }
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> Config {
        std::fs::write(self.path.join(name), bytes).unwrap();
        Config::new(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// The folder of the hand-made samples.
pub fn samples_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples")
}

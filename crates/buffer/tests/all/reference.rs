//! Hit counts compared with libCacheSim, an independent implementation: `reference/make.py` plays the same
//! streams on it.
//!
//! All counts must match exactly.

use nandlab_block::{BlockDevice, Completion, Error, Op, Payload, Request};
use nandlab_buffer::{BufferConfig, Buffered};
use nandlab_nand::nvm::Nvram;
use nandlab_nand::Geometry;
use std::collections::BTreeMap;
use std::io::Read;

/// Number of pages in every stream.
const PAGES: u64 = 20_000;

/// A device without effect.
struct Nothing;

impl BlockDevice for Nothing {
    fn submit(&mut self, request: &Request, _: Payload<'_>) -> Result<Completion, Error> {
        Ok(Completion { arrival: request.time, done: request.time })
    }

    fn sectors(&self) -> u64 {
        PAGES * 8
    }
}

/// Knuth's MMIX generator; the upper half of each word.
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 32
    }

    fn power(&mut self, pages: u64) -> u64 {
        ((u128::from(self.next() >> 8).pow(4) * u128::from(pages)) >> 96) as u64
    }
}

fn power() -> Vec<u64> {
    let mut words = Words(1);
    (0..200_000).map(|_| words.power(10_000)).collect()
}

fn phases() -> Vec<u64> {
    let (mut words, pages, mut stream) = (Words(2), 5_000, Vec::new());
    while stream.len() < 200_000 {
        let (kind, length, start) = (words.next() % 4, 200 + words.next() % 2_000, words.next() % pages);
        for step in 0..length {
            let page = match kind {
                0 => start + step,
                1 => start + step % 150,
                _ => start + words.power(pages),
            };
            stream.push(page % pages);
        }
    }
    stream
}

/// 4 KiB pages read and written by a bundled trace.
fn sqlite(name: &str) -> Vec<u64> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/sqlite").join(name);
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    let mut stream = Vec::new();
    for row in text.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        if matches!(fields[1], "R" | "W") {
            let (sector, sectors): (u64, u64) = (fields[2].parse().unwrap(), fields[3].parse().unwrap());
            stream.extend(sector / 8..(sector + sectors).div_ceil(8));
        }
    }
    stream
}

/// The buffer with the options of libCacheSim.
fn buffer(policy: &str, pages: u64, geometry: &Geometry) -> BufferConfig {
    let (name, variant) = match policy {
        "s3_fifo" => ("s3_fifo", "filled"),
        "s3_fifo_twice" => ("s3_fifo", "filled_twice"),
        name => (name, "default"),
    };
    let config = BufferConfig::all().into_iter().find(|config| config.name() == name).unwrap();
    let other = config.variants().into_iter().find(|(name, _)| *name == variant).map(|(_, config)| config);
    other.unwrap_or(config).sized(pages * 4096, geometry)
}

#[test]
fn hits_are_those_of_libcachesim() {
    let streams: BTreeMap<&str, Vec<u64>> = [
        ("power", power()),
        ("phases", phases()),
        ("sqlite_wal", sqlite("wal.csv.gz")),
        ("sqlite_rollback", sqlite("rollback.csv.gz")),
    ]
    .into();
    let geometry = Geometry::single_die(512, 64, 4096).unwrap();
    let mut different = Vec::new();
    let mut compared = 0;
    for row in include_str!("../reference/hits.csv").lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let [stream, policy, pages, requests, hits] = fields[..] else { panic!("{row}") };
        let keys = &streams[stream];
        assert_eq!(keys.len().to_string(), requests, "{stream} is another stream than that of make.py");
        let mut nvram = Nvram::new(0, Default::default());
        let mut buffer = buffer(policy, pages.parse().unwrap(), &geometry).mount(&geometry, &mut nvram).unwrap();
        let mut device = Nothing;
        let mut buffered = Buffered::new(&mut *buffer, &mut nvram, &mut device);
        for (at, &page) in keys.iter().enumerate() {
            // Reads and writes both count as uses.
            let op = if at % 3 == 0 { Op::Write } else { Op::Read };
            buffered.submit(&Request::new(op, page * 8, 8), Payload::None).unwrap();
        }
        compared += 1;
        if buffer.counts().hits().to_string() != hits {
            different.push(format!("{row}: {} here", buffer.counts().hits()));
        }
    }
    assert!(compared > 90, "{compared}");
    assert!(different.is_empty(), "{} of {compared} differ\n{}", different.len(), different.join("\n"));
}

//! Golden counts: results of every buffer for one script, in debug and release builds. A change belongs in
//! the changelog; `NANDLAB_BLESS=1` updates the file.

use crate::common::Rig;
use nandlab_block::{Op, Payload, Request};
use nandlab_buffer::BufferConfig;
use nandlab_nand::random::Random;
use nandlab_nand::Geometry;
use std::fmt::Write;

const HEAD: &str = "buffer,options,read_hits,write_hits,demotions,flushes,flushed_pages,fill_reads,padded_pages,\
                    dram_reads,dram_writes,nvram_reads,nvram_writes,dirty_dram_pages_max,requests_below\n";

/// Pages of 4 KiB, blocks of 64: 4,096 logical pages under a buffer of 512 pages.
fn row(name: &str, config: &BufferConfig) -> String {
    let geometry = Geometry::single_die(80, 64, 4096).unwrap();
    let config = config.sized(512 * 4096, &geometry);
    let mut rig = Rig::new(&config, geometry, 4096 * 8);
    let mut random = Random::new(2024);
    for _ in 0..20_000 {
        // A power law with runs: the k-th block has frequency k^-0.5.
        let page = (4096.0 * random.unit() * random.unit()) as u64;
        let length = [1, 1, 1, 2, 4, 16][random.below(6) as usize];
        let (sector, sectors) = match random.below(8) {
            0 => (page * 8 + random.below(8), 1 + random.below(7)),
            _ => (page * 8, length * 8),
        };
        let op = [Op::Write, Op::Write, Op::Write, Op::Read, Op::Read][random.below(5) as usize];
        let op = if random.chance(0.002) { Op::Trim } else { op };
        let sectors = sectors.min(4096 * 8 - sector) as u32;
        rig.submit(&Request::new(op, sector, sectors), Payload::None).unwrap();
        if random.chance(0.001) {
            rig.submit(&Request::new(Op::Flush, 0, 0), Payload::None).unwrap();
        }
    }
    let c = rig.buffer.counts();
    let counts = [
        [c.read_hits, c.write_hits, c.demotions, c.flushes],
        [c.flushed_pages, c.fill_reads, c.padded_pages, c.dram.reads],
        [c.dram.writes, c.nvram.reads, c.nvram.writes, c.dirty_dram_pages_max],
    ];
    let numbers = counts.as_flattened().iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    format!("{},{name},{numbers},{}\n", config.name(), rig.disk.log.len())
}

#[test]
fn every_buffer_does_what_it_did() {
    let mut rows = HEAD.to_owned();
    for config in BufferConfig::all() {
        for (name, config) in [vec![("default", config.clone())], config.variants()].concat() {
            write!(rows, "{}", row(name, &config)).unwrap();
        }
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden.csv");
    if std::env::var_os("NANDLAB_BLESS").is_some() {
        std::fs::write(&path, &rows).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap();
    let changed: Vec<&str> = rows.lines().filter(|row| !known.lines().any(|known| known == *row)).collect();
    assert!(changed.is_empty(), "these are new or changed:\n{}", changed.join("\n"));
    assert_eq!(known.lines().count(), rows.lines().count(), "buffers that are no more");
}

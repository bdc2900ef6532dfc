//! Tests of `src/memories.rs`.

use super::bundled::assert_complete;
use nandlab_lab::memories::{MemoryCosts, MemoryProfile, LIST};

#[test]
fn every_file_is_on_the_list_and_a_memory() {
    assert_complete(LIST, "memories", ".toml");
    for file in LIST {
        let memory: MemoryProfile = toml::from_str(file.text).unwrap_or_else(|e| panic!("{}: {e}", file.name));
        assert_eq!(memory.name, file.name);
        assert_eq!(memory.costs.wrong(), None, "{}", file.name);
        let head: Vec<&str> = file.text.lines().take_while(|line| line.starts_with('#')).collect();
        let head = head.join(" ");
        assert!(head.contains("Source: ") && head.contains("Scaling"), "{} says what it was scaled by", file.name);
    }
}

fn of(name: &str) -> MemoryCosts {
    let file = LIST.iter().find(|file| file.name == name).unwrap();
    toml::from_str::<MemoryProfile>(file.text).unwrap().costs
}

#[test]
fn static_power_of_the_papers_buffers() {
    // 32 MB: 31.25 mW of DRAM, 3.125 mW of STT-MRAM, and 28 % of the DRAM figure at 1 : 4.
    let (dram, nvram, size) = (of("wap-dram"), of("wap-stt-mram"), 32 << 20);
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    close(dram.static_j(size, 1.0), 0.03125);
    close(nvram.static_j(size, 1.0), 0.003125);
    close(dram.static_j(size, 0.2) + nvram.static_j(size, 0.8), 0.28 * 0.03125);
}

#[test]
fn energies_by_the_cell_are_those_of_the_cells_of_a_page() {
    let cells = 8.0 * 4096.0;
    for (name, pj) in [("wap-cell-dram", 1.0), ("wap-cell-stt-mram", 1.0), ("wap-cell-pcm", 18.0)] {
        let (read, write) = of(name).energy_j(4096, 1, 1);
        assert!((write / (cells * pj * 1e-12) - 1.0).abs() < 1e-12 && read == write, "{name}: {write}");
    }
}

#[test]
fn a_page_of_another_size_costs_by_its_bytes() {
    let memory = of("wap-stt-mram");
    assert_eq!(memory.times_ns(8192), (22.0, 54.0));
    assert_eq!(memory.energy_j(512, 8, 8), memory.energy_j(4096, 1, 1));
    assert_eq!(memory.by_words().write_ns * 512.0, 27.0);
    assert_eq!(MemoryCosts { read_nj: -1.0, ..memory }.wrong().map(|(key, _)| key), Some("read_nj"));
}

//! Random jobs of fio with a map of used places, against fio itself if it is installed: how many requests, how many bytes,
//! and whether a pass repeats the one before.

use super::fio::{line, play, text, Line};
use super::fio_itself::{is_installed, job, theirs, Folder, DEVICE_BYTES};
use crate::support::setting;
use nandlab_workload::Options;
use std::path::Path;

/// Modes with a map, several passes, several sizes.
const WITH_A_MAP: &[&str] = &[
    "rw=randwrite;size=4m;loops=3",
    "rw=randwrite;size=4m;io_size=10m",
    "rw=randread;size=4m;loops=3;randrepeat=0",
    "rw=randread;size=4m;loops=2;allrandrepeat=1",
    "rw=randwrite;size=4m;loops=2;randseed=7",
    "rw=randtrim;size=4m;loops=2",
    "rw=randwrite;size=4m;loops=2;norandommap",
    "rw=randwrite;size=4m;loops=2;random_generator=lfsr",
    "rw=randwrite;size=4m;loops=2;random_generator=lfsr;randrepeat=0",
    "rw=randwrite;size=4m;loops=2;random_generator=tausworthe64",
    "rw=randwrite;size=256m;bssplit=4k/50:64k/50",
    "rw=randwrite;size=256m;bssplit=4k/50:64k/50;loops=2",
    "rw=randwrite;size=256m;bsrange=4k-64k",
    "rw=randwrite;size=256m;bsrange=4k-20k;random_generator=tausworthe64",
    "rw=randread;size=256m;bssplit=4k/60:8k/5:64k/5:128k/30",
    "rw=randwrite;size=256m;bssplit=4k/50:64k/50;filename=x:y",
    "rw=randwrite;size=256m;bssplit=4k/50:64k/50;nrfiles=4;file_service_type=random",
    "rw=randwrite;size=256m;bssplit=4k/50:64k/50;percentage_random=70",
    "rw=randwrite;size=256m;bsrange=4k-64k;blockalign=16k",
    "rw=randrw;size=256m",
    "rw=randrw;size=256m;rwmixread=20;loops=2",
    "rw=randrw;size=256m;bssplit=4k/50:64k/50",
    "rw=randtrimwrite;size=256m;bssplit=4k/50:64k/50",
    "rw=randread:8;size=4m",
    "rw=randwrite:4;rw_sequencer=identical;size=4m",
];

/// Whether the second of two or three passes has the order of the first one.
fn repeats(lines: &[Line]) -> bool {
    [2, 3].iter().any(|passes| {
        let pass = lines.len() / passes;
        lines[pass..2 * pass] == lines[..pass]
    })
}

fn with_seed(keys: &str, seed: u64) -> Vec<Line> {
    let setting = setting(DEVICE_BYTES / 512, seed, Path::new("."));
    let opened = text(&job(keys)).open(&setting);
    play(opened.unwrap_or_else(|error| panic!("{keys}: {error}")), |_| 0).iter().map(line).collect()
}

/// Requests, bytes, mean size by kind, and whether passes repeat, with three seeds each.
#[test]
fn random_jobs_with_a_map_have_the_requests_of_fio() {
    if !is_installed() {
        return;
    }
    let folder = Folder::new("requests");
    for keys in WITH_A_MAP {
        let theirs: Vec<Line> = theirs(&folder, keys).into_iter().map(|(_, line)| line).collect();
        let bytes = |lines: &[Line], kind: &str| -> (f64, f64) {
            let of_kind = lines.iter().filter(|line| line.0 == kind);
            (of_kind.clone().count() as f64, of_kind.map(|line| line.2).sum::<u64>() as f64)
        };
        for seed in 1..=3 {
            let ours = with_seed(keys, seed);
            for kind in ["read", "write", "trim"] {
                let [ours, theirs] = [&ours, &theirs].map(|lines| bytes(lines, kind));
                let near = |a: f64, b: f64| (a - b).abs() <= 0.08 * b.max(1.0);
                assert!(near(ours.0, theirs.0), "{keys}, seed {seed}: {} requests ({kind}), fio {}", ours.0, theirs.0);
                assert!(near(ours.1, theirs.1), "{keys}, seed {seed}: {} bytes ({kind}), fio {}", ours.1, theirs.1);
            }
            // lfsr takes one step more at its first start alone, which a seed may show.
            let is_shifted = keys.ends_with("lfsr;randrepeat=0");
            if !is_shifted && keys.contains("loops") && !keys.contains("bssplit") && !keys.contains("randrw") {
                assert_eq!(repeats(&ours), repeats(&theirs), "{keys}, seed {seed}");
            }
        }
    }
}

#[test]
fn every_write_of_a_size_for_writes_has_it() {
    if !is_installed() {
        return;
    }
    let folder = Folder::new("kinds");
    let keys = "rw=randrw;bs=4k,64k;size=16m";
    for lines in [theirs(&folder, keys).into_iter().map(|(_, line)| line).collect(), with_seed(keys, 1)] {
        assert!(lines.iter().all(|line: &Line| line.2 == if line.0 == "write" { 64 << 10 } else { 4 << 10 }));
    }
}

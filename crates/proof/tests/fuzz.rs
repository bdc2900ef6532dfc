//! The fuzz targets on pseudo-random inputs and on every committed one: the quick form of `make fuzz`.
//!
//! `NANDLAB_REPLAY=<file>` runs one input, as `make fuzz` leaves it in `fuzz/artifacts/<target>/`; the target is
//! the name of the file's folder.

use nandlab_nand::random::Random;
use nandlab_proof::fuzz::{Case, End, Target, TARGETS};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| panic!("there is no fuzz target {name}"))
}

/// Runs one input; one that fails is kept in a file, for a replay.
fn keep_failing<T>(target: &Target, what: &str, input: &[u8], run: impl FnOnce() -> T) -> T {
    if let Ok(done) = catch_unwind(AssertUnwindSafe(run)) {
        return done;
    }
    let folder = std::env::temp_dir().join(target.name);
    let file = folder.join(format!("{what}.input"));
    std::fs::create_dir_all(&folder).expect("a folder for the input");
    std::fs::write(&file, input).expect("a file for the input");
    panic!(
        "{} fails on {what}; NANDLAB_REPLAY={} cargo test -p nandlab-proof --test fuzz replays it",
        target.name,
        file.display()
    );
}

#[test]
fn ftls_survive_random_bytes() {
    let target = target("ftl_operations");
    let (mut played, mut worn_out, mut cut) = (0, 0, 0);
    let mut random = Random::new(0xF0);
    for number in 0..INPUTS {
        let length = 24 + 4 * random.below(60);
        let mut input: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        // Random heads would always have three faults and three cuts.
        for pair in input[12..24].chunks_exact_mut(2) {
            if !random.chance(0.3) {
                pair.fill(0);
            }
        }
        if random.chance(0.8) {
            input[11] = 0;
        }
        let Some(case) = Case::from_bytes(&input) else { continue };
        cut += u32::from(!case.cuts.is_empty());
        match keep_failing(target, &format!("random-{number}"), &input, || case.run()) {
            End::Played => played += 1,
            End::WornOut => worn_out += 1,
        }
    }
    println!("{INPUTS} inputs: {played} played to the end, {worn_out} wore the device out, {cut} have power cuts");
    assert!(played > INPUTS / 3 && worn_out > INPUTS / 30 && cut > INPUTS / 4);
}

const INPUTS: u32 = 3_000;

#[test]
fn traces_survive_random_changes() {
    survive_random_changes("trace", 30_000);
}

#[test]
fn configurations_survive_random_changes() {
    survive_random_changes("configuration", 50_000);
}

/// Runs a target on its committed inputs, each changed in a few places.
fn survive_random_changes(name: &str, inputs: u32) {
    let target = target(name);
    let seeds: Vec<Vec<u8>> = seeds(target).iter().map(|file| std::fs::read(file).expect("a seed can be read")).collect();
    let mut random = Random::new(0xF1);
    for number in 0..inputs {
        let mut input = seeds[random.below(seeds.len() as u64) as usize].clone();
        for _ in 0..1 + random.below(6) {
            change(&mut random, &mut input);
        }
        keep_failing(target, &format!("random-{number}"), &input, || (target.run)(&input));
    }
}

/// Changes a byte, or drops, repeats or moves a few.
fn change(random: &mut Random, input: &mut Vec<u8>) {
    let at = random.below(input.len() as u64 + 1) as usize;
    let end = (at + 1 + random.below(8) as usize).min(input.len());
    let piece = input[at..end].to_vec();
    let telling = b"0123456789,.-_=\"'[]{}#\n WRTF\x00\xff";
    match random.below(5) {
        0 => drop(input.drain(at..end)),
        1 => drop(input.splice(at..at, piece)),
        2 => {
            let to = random.below(input.len() as u64 + 1) as usize;
            drop(input.splice(to..to, piece));
        }
        3 => input.insert(at, telling[random.below(telling.len() as u64) as usize]),
        _ if at < end => input[at] ^= 1 << random.below(8),
        _ => {}
    }
}

fn seeds(target: &Target) -> Vec<PathBuf> {
    let folder = repository().join("fuzz/seeds").join(target.name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder can be listed").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}

#[test]
fn every_committed_input_passes() {
    for target in TARGETS {
        for file in seeds(target) {
            let name = file.file_name().expect("a file has a name").to_string_lossy().into_owned();
            let input = std::fs::read(&file).expect("a seed can be read");
            keep_failing(target, &name, &input, || (target.run)(&input));
        }
    }
}

#[test]
fn a_named_input_replays() {
    let Some(file) = std::env::var_os("NANDLAB_REPLAY").map(PathBuf::from) else { return };
    let folder = file.parent().and_then(Path::file_name).expect("the folder of the input names the target");
    let target = target(&folder.to_string_lossy());
    let input = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    if target.name == "ftl_operations" {
        match Case::from_bytes(&input) {
            Some(case) => println!("{case}"),
            None => println!("no case: too short, or the FTL refuses the device or the options"),
        }
    }
    (target.run)(&input);
}

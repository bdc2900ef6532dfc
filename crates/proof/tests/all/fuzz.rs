//! The fuzz targets on pseudo-random inputs and on every committed one: the quick form of `make fuzz`.
//!
//! `NANDLAB_REPLAY=<file>` runs one input, as `make fuzz` leaves it in `fuzz/artifacts/<target>/`; the target is
//! the name of the file's folder.

use nandlab_nand::random::Random;
use nandlab_proof::fuzz::{Case, End, Target, TARGETS};
use nandlab_workload::trace::FORMATS;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| panic!("there is no fuzz target {name}"))
}

/// Runs one input; a failing one is kept in a file, for a replay.
fn keep_failing<T>(target: &Target, what: &str, input: &[u8], run: impl FnOnce() -> T) -> T {
    if let Ok(done) = catch_unwind(AssertUnwindSafe(run)) {
        return done;
    }
    let folder = std::env::temp_dir().join(target.name);
    let file = folder.join(format!("{what}.input"));
    std::fs::create_dir_all(&folder).expect("a folder for the input");
    std::fs::write(&file, input).expect("a file for the input");
    panic!(
        "{} fails on {what}; NANDLAB_REPLAY={} cargo test -p nandlab-proof --test all fuzz:: replays it",
        target.name,
        file.display()
    );
}

#[test]
fn ftls_survive_random_bytes() {
    let target = target("ftl_operations");
    let (mut played, mut worn_out, mut fallen) = (0, 0, 0);
    let mut random = Random::new(0xF0);
    for number in 0..INPUTS {
        let length = 24 + 4 * random.below(60);
        let mut input: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        // Random heads would always have three faults and three cuts.
        for (at, pair) in input[12..24].chunks_exact_mut(2).enumerate() {
            if !random.chance(if at < 3 { 0.2 } else { 0.55 }) {
                pair.fill(0);
            }
        }
        if random.chance(0.8) {
            input[11] = 0;
        }
        let Some(case) = Case::from_bytes(&input) else { continue };
        let End { worn_out: worn, cuts } = keep_failing(target, &format!("random-{number}"), &input, || case.run());
        *if worn { &mut worn_out } else { &mut played } += 1;
        fallen += cuts;
    }
    println!("{INPUTS} inputs: {played} played to the end, {worn_out} wore the device out, {fallen} power cuts fell");
    assert!(played > INPUTS / 3 && worn_out > INPUTS / 40 && fallen > INPUTS / 2);
}

const INPUTS: usize = 5_000;

#[test]
fn traces_survive_random_changes() {
    survive_random_changes("trace", 20_000);
}

#[test]
fn images_survive_random_changes() {
    survive_random_changes("image", 3_000);
}

#[test]
fn servers_survive_random_changes() {
    survive_random_changes("nbd", 5_000);
    survive_random_changes("nvme", long_or(500));
}

#[test]
fn configurations_survive_random_changes() {
    survive_random_changes("configuration", 20_000);
}

#[test]
fn lsm_trees_survive_random_operations() {
    survive_random_changes("lsm_operations", long_or(700));
    let target = target("lsm_operations");
    let mut random = Random::new(0xF2);
    for number in 0..long_or(1_500) {
        let length = 16 + 4 * random.below(400);
        let input: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        keep_failing(target, &format!("random-{number}"), &input, || (target.run)(&input));
    }
}

#[test]
fn lsm_trees_survive_random_bytes() {
    survive_random_changes("lsm_bytes", long_or(1_500));
}

/// So many inputs in the quick form, and twenty times as many in the long one.
fn long_or(inputs: u32) -> u32 {
    inputs * if std::env::var_os("NANDLAB_LONG").is_some() { 20 } else { 1 }
}

/// Runs a target on its committed inputs, each changed in a few places.
fn survive_random_changes(name: &str, inputs: u32) {
    let target = target(name);
    let seeds: Vec<Vec<u8>> =
        seeds(target).iter().map(|file| std::fs::read(file).expect("a seed can be read")).collect();
    let mut random = Random::new(0xF1);
    for number in 0..inputs {
        let mut input = pick(&mut random, &seeds).clone();
        for _ in 0..1 + random.below(3) {
            if random.chance(0.5) {
                change_bytes(&mut random, &mut input);
            } else {
                let other = pick(&mut random, &seeds).clone();
                change_text(&mut random, &mut input, &other);
            }
        }
        keep_failing(target, &format!("random-{number}"), &input, || (target.run)(&input));
    }
}

fn pick<'a, T>(random: &mut Random, from: &'a [T]) -> &'a T {
    &from[random.below(from.len() as u64) as usize]
}

/// Changes a byte, or drops, repeats or moves a few.
fn change_bytes(random: &mut Random, input: &mut Vec<u8>) {
    let at = random.below(input.len() as u64 + 1) as usize;
    let end = (at + 1 + random.below(8) as usize).min(input.len());
    let piece = input[at..end].to_vec();
    match random.below(5) {
        0 => drop(input.drain(at..end)),
        1 => drop(input.splice(at..at, piece)),
        2 => {
            let to = random.below(input.len() as u64 + 1) as usize;
            drop(input.splice(to..to, piece));
        }
        3 => input.insert(at, *pick(random, b"0123456789,.-_=\"'[]{}#\n WRTF\x00\xff")),
        _ if at < end => input[at] ^= 1 << random.below(8),
        _ => {}
    }
}

const NUMBERS: [&str; 12] =
    ["0", "1", "2", "7", "-1", "0.5", "1e9", "1e400", "4294967295", "4294967296", "18446744073709551615", "nan"];

/// Drops a line, takes one from elsewhere, or replaces a number.
fn change_text(random: &mut Random, input: &mut Vec<u8>, other: &[u8]) {
    let mut lines: Vec<&[u8]> = input.split_inclusive(|&byte| byte == b'\n').collect();
    let at = random.below(lines.len().max(1) as u64) as usize;
    let others: Vec<&[u8]> = other.split_inclusive(|&byte| byte == b'\n').collect();
    let mut line;
    match random.below(4) {
        0 if at < lines.len() => drop(lines.remove(at)),
        1 => lines.insert(at.min(lines.len()), *pick(random, &others)),
        _ if at < lines.len() => {
            line = lines[at].to_vec();
            change_number(random, &mut line);
            lines[at] = &line;
        }
        _ => {}
    }
    *input = lines.concat();
}

fn change_number(random: &mut Random, line: &mut Vec<u8>) {
    let from = random.below(line.len() as u64 + 1) as usize;
    let Some(start) = line[from..].iter().position(u8::is_ascii_digit).map(|offset| from + offset) else { return };
    let end = line[start..].iter().position(|byte| !byte.is_ascii_digit()).map_or(line.len(), |offset| start + offset);
    drop(line.splice(start..end, pick(random, &NUMBERS).bytes()));
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
            if target.name == "ftl_operations" {
                let case = Case::from_bytes(&input).unwrap_or_else(|| panic!("{name} means nothing"));
                let ftl = case.ftl.name();
                assert!(name.starts_with(&format!("{ftl}_")), "{name} is a case of {ftl}");
                // Bytes would stand for another FTL once the list has grown.
                assert_eq!(Case::named(&input).as_ref(), Some(&input), "{name} does not name its FTL and options");
            }
        }
    }
}

#[test]
fn every_trace_format_but_the_own_ones_has_an_input() {
    let inputs = seeds(target("trace"));
    for (at, entry) in FORMATS.iter().enumerate().filter(|(_, entry)| !["native", "csv"].contains(&entry.name)) {
        let name = format!("format_{}", entry.name);
        let file = inputs.iter().find(|file| file.ends_with(&name)).unwrap_or_else(|| panic!("there is no {name}"));
        let input = std::fs::read(file).expect("a seed can be read");
        assert_eq!(usize::from(input[2]), at + 1, "{name} names another format");
    }
}

#[test]
fn a_named_input_replays() {
    // Without an input to replay, a committed one.
    let file = std::env::var_os("NANDLAB_REPLAY").map(PathBuf::from);
    let file = file.unwrap_or_else(|| seeds(target("ftl_operations")).remove(0));
    let folder = file.parent().and_then(Path::file_name).expect("the folder of the input names the target");
    let target = target(&folder.to_string_lossy());
    let input = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    if target.name == "ftl_operations" {
        let case = Case::from_bytes(&input).expect("the input is long enough, and the FTL takes device and options");
        println!("{case}");
        let named = file.with_extension("named");
        if std::env::var_os("NANDLAB_REPLAY").is_some() {
            std::fs::write(&named, Case::named(&input).expect("it is a case")).expect("a file for the named input");
            println!("to be committed: {}", named.display());
        }
    }
    (target.run)(&input);
}

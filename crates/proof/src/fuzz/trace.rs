//! The target `trace`: the readers of trace formats beside plain ones, and whole files as a workload.
//!
//! ```text
//! byte   0    bits 0 and 1 what is done with addresses, 2 and 3 repetitions, 4 and 5 a limit on the requests
//!        1    log2 of the sectors of the device
//!        2..  the file
//! ```

use super::sentence;
use nandlab_block::{Op, Request};
use nandlab_nand::Origin;
use nandlab_workload::trace::{Addresses, Config, Format, FormatName};
use nandlab_workload::{Options, Setting, WorkloadError};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

/// Requests that are looked at; a trace may be played for ever.
const MAX_REQUESTS: usize = 20_000;

pub(super) fn run(data: &[u8]) {
    let Some((&[how, capacity], file)) = data.split_first_chunk() else { return };
    lines(file);
    let config = Config {
        addresses: [Addresses::Reject, Addresses::Fold, Addresses::Compact][usize::from(how & 3) % 3],
        repeat: 1 + u64::from(how >> 2 & 3),
        requests: Some(u64::from(how >> 4 & 3)).filter(|&limit| limit > 0),
        ..Config::new(FILE)
    };
    play(file, &config, 1 << (capacity % 48));
}

/// Each line by the reader of the format and by [`plain`].
fn lines(file: &[u8]) {
    let mut lines = file.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let mut reader = FormatName::Csv.reader();
    let header = lines.next().unwrap_or_default();
    if let Err(bad) = reader.header(header) {
        sentence(&bad.message, 0);
        return;
    }
    let columns = 1 + header.iter().filter(|&&byte| byte == b',').count();
    for line in lines {
        one_line(reader.as_mut(), columns, line);
    }
}

fn one_line(reader: &mut dyn Format, columns: usize, line: &[u8]) {
    let found = reader.record(line);
    let shown = String::from_utf8_lossy(line);
    if let Err(bad) = &found {
        sentence(&bad.message, 0);
        assert!(bad.column <= line.len(), "column {} in {shown:?}", bad.column);
    }
    assert_eq!(found.ok(), plain(line, columns), "{shown:?} with {columns} columns");
}

/// The slow reader of the project's own format.
fn plain(line: &[u8], columns: usize) -> Option<Request> {
    let text = std::str::from_utf8(line).ok()?;
    let mut fields: Vec<&str> = text.split(',').collect();
    if fields.len() != columns {
        return None;
    }
    let number = |text: &str, most: u64| {
        let digits = !text.is_empty() && text.len() <= 19 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|&number: &u64| digits && number <= most)
    };
    let name = if columns == 5 { fields.pop()? } else { "" };
    let origin = if name.is_empty() { Origin::HOST } else { Origin::from_name(name)? };
    let time = number(fields[0], u64::MAX / 2000)? * 1000;
    // Reads and writes of 1 GiB, trims of 1 TiB.
    let (op, longest) = match fields[1] {
        "R" => (Op::Read, 1 << 21),
        "W" => (Op::Write, 1 << 21),
        "T" => (Op::Trim, 1 << 31),
        "F" => (Op::Flush, 1 << 21),
        _ => return None,
    };
    let (sector, sectors) = (number(fields[2], 1 << 53)?, number(fields[3], longest)?);
    if op == Op::Flush {
        return Some(Request { time, sector: 0, sectors: 0, op, origin });
    }
    (sectors > 0).then_some(Request { time, sector, sectors: sectors as u32, op, origin })
}

/// The whole file as a workload.
fn play(file: &[u8], config: &Config, sectors: u64) {
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.fill(file).expect("the folder for temporary files can be written");
        play_file(&scratch.folder, config, sectors);
    });
}

thread_local! {
    static SCRATCH: RefCell<Scratch> =
        RefCell::new(Scratch::new().expect("the folder for temporary files can be written"));
}

const FILE: &str = "trace";

/// A file of this thread's own, filled anew in place for each input: new files would wait for the disk.
struct Scratch {
    folder: PathBuf,
    file: File,
}

impl Scratch {
    fn new() -> io::Result<Self> {
        let thread = format!("{:?}", std::thread::current().id()).replace(|c: char| !c.is_ascii_digit(), "");
        let folder = std::env::temp_dir().join(format!("nandlab-fuzz-{}-{thread}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self { file: File::create(folder.join(FILE))?, folder })
    }

    fn fill(&mut self, contents: &[u8]) -> io::Result<()> {
        self.file.rewind()?;
        self.file.write_all(contents)?;
        self.file.set_len(contents.len() as u64)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Plays a trace: refused with a sentence, or every request inside the device and in order.
fn play_file(folder: &Path, config: &Config, sectors: u64) {
    let setting = Setting { sectors, seed: 1, base: folder, watch: &|_| true };
    let mut workload = match config.open(&setting) {
        Ok(workload) => workload,
        Err(error) => return refused(&error),
    };
    let (mut requests, mut last) = (Vec::new(), 0);
    loop {
        let before = requests.len();
        match workload.fill(&mut requests, 100) {
            Ok(0) => break,
            Ok(count) => assert_eq!(requests.len() - before, count, "requests appended and returned"),
            Err(error) => return refused(&error),
        }
        for request in &requests[before..] {
            assert!(request.end() <= sectors, "{request:?} on a device of {sectors} sectors");
            assert!(request.time >= last, "{request:?} after {last}");
            assert_eq!(request.sectors == 0, request.op == Op::Flush, "{request:?}");
            last = request.time;
        }
        if requests.len() > MAX_REQUESTS {
            return;
        }
    }
    let promised = workload.len_hint().expect("a trace knows its length");
    let vanish = config.addresses == Addresses::Compact;
    let count = requests.len() as u64;
    assert!(count == promised || vanish && count < promised, "{count} requests, {promised} promised");
}

fn refused(error: &WorkloadError) {
    sentence(&error.to_string(), 0);
}

//! The target `trace`: the trace readers beside plain ones, and whole files as a workload.
//!
//! ```text
//! byte   0    bits 0 and 1 what is done with addresses, 2 and 3 repetitions, 4 and 5 a limit on the requests, 6
//!             malformed records are passed over, 7 devices are laid side by side
//!        1    log2 of the sectors of the device; from 128 on times are scaled and pauses cut
//!        2    the format: 0 is told from the contents, then as on the list
//!        3..  the file
//! ```

use super::sentence;
use nandlab_block::{Op, Queues, Request};
use nandlab_nand::{Origin, PlacementId};
use nandlab_workload::trace::{
    Addresses, Column, ColumnOptions, Config, DeviceColumns, Format, FormatName, Found, Frame, Line, Malformed,
    OnError, ReaderOptions, Separator, FORMATS,
};
use nandlab_workload::{Options, Setting, WorkloadError};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

/// Most requests examined; a trace may be played for ever.
const MAX_REQUESTS: usize = 20_000;

pub(super) fn run(data: &[u8]) {
    let Some((&[how, capacity, format], file)) = data.split_first_chunk() else { return };
    let format = usize::from(format) % (FORMATS.len() + 1);
    let format = format.checked_sub(1).map_or(FormatName::Auto, |at| FORMATS[at].format);
    let columns = (format == FormatName::Columns).then(|| Box::new(columns()));
    let options = ReaderOptions { columns: columns.clone(), ..ReaderOptions::default() };
    if let Some(reader) = format.reader(&options) {
        records(file, format, reader);
    }
    let is_changed = capacity >= 128;
    let config = Config {
        format,
        columns,
        addresses: [Addresses::Reject, Addresses::Fold, Addresses::Compact][usize::from(how & 3) % 3],
        repeat: 1 + u64::from(how >> 2 & 3),
        requests: Some(u64::from(how >> 4 & 3)).filter(|&limit| limit > 0),
        on_error: if how & 64 == 0 { OnError::Stop } else { OnError::Skip },
        side_by_side: how & 128 != 0,
        time_scale: is_changed.then_some(0.3),
        longest_gap_s: is_changed.then_some(1e-3),
        ..Config::new(FILE)
    };
    play(file, &config, 1 << (capacity % 48));
}

/// Every kind of column: by name and by number, with units and without.
fn columns() -> ColumnOptions {
    let word = |text: &str| vec![text.to_owned()];
    ColumnOptions {
        time: Some(Column::Name("t".to_owned())),
        op: Column::Number(2),
        address: Column::Number(3),
        size: Some(Column::Name("n".to_owned())),
        fixed_size_bytes: None,
        skip_lines: 0,
        device: Some(DeviceColumns::Several(vec![Column::Number(5), Column::Number(6)])),
        placement: Some(Column::Number(7)),
        separator: Separator::Comma,
        header: true,
        address_unit_bytes: 4096,
        size_unit_bytes: 1,
        read: word("r"),
        write: word("w"),
        trim: word("t"),
        flush: word("f"),
    }
}

/// Each record through the format's reader, and each line in the project's own format through [`plain`].
fn records(file: &[u8], format: FormatName, mut reader: Box<dyn Format>) {
    match reader.frame() {
        Frame::Line => lines(file, format, reader.as_mut()),
        Frame::Bytes(bytes) => file.chunks(bytes).for_each(|piece| sound(piece, reader.record(piece))),
        Frame::Block => {
            let (mut at, mut last) = (0, 0);
            while at < file.len() {
                let found = reader.record(&file[at..]);
                let is_good = found.is_ok();
                if let Ok(Line::Request(found)) = &found {
                    assert!(found.request.time >= last, "a native trace does not go back");
                    last = found.request.time;
                }
                sound(&file[at..], found);
                if !is_good {
                    return;
                }
                assert!(reader.taken() > 0, "a record has a byte");
                at += reader.taken();
            }
        }
    }
}

fn lines(file: &[u8], format: FormatName, reader: &mut dyn Format) {
    let mut lines = file.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let header = lines.next().unwrap_or_default();
    if let Err(bad) = reader.header(header) {
        sentence(&bad.message, 0);
        return;
    }
    let names: Vec<String> =
        header.split(|&byte| byte == b',').map(|name| String::from_utf8_lossy(name.trim_ascii()).into()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for line in lines {
        let found = reader.record(line);
        if format == FormatName::Csv {
            let request = match &found {
                Ok(Line::Request(found)) => Some(found.request),
                _ => None,
            };
            let shown = String::from_utf8_lossy(line);
            assert_eq!(request, plain(line, &names), "{shown:?} with the columns {names:?}");
        }
        sound(line, found);
    }
}

/// A reader returns a possible request, or a sentence about a place in the record.
fn sound(bytes: &[u8], found: Result<Line<'_>, Malformed>) {
    match found {
        Ok(Line::Request(found)) => {
            let request = found.request;
            assert_eq!(request.sectors == 0, !request.op.has_sectors(), "{request:?}");
            let placement = request.placement;
            let may_have = matches!(request.op, Op::Write | Op::UnitUpdate);
            assert!(!placement.is_some() || may_have && placement.handle < 128, "{request:?}");
            assert!(request.end() < 1 << 50 && request.time <= u64::MAX / 2, "{request:?}");
            let most = if request.op == Op::Trim { 1 << 40 } else { 1 << 37 };
            assert!(u64::from(request.sectors) + found.rest <= most, "{found:?}");
            assert!(found.rest == 0 || request.sectors == Found::MOST_SECTORS, "{found:?}");
        }
        Ok(Line::Other | Line::End) => {}
        Err(bad) => {
            sentence(&bad.message, 0);
            assert!(bad.column <= bytes.len(), "column {} of {}", bad.column, bytes.len());
        }
    }
}

/// The slow reader for the project's own format.
fn plain(line: &[u8], names: &[&str]) -> Option<Request> {
    // A device may hold anything: it is the line's rest.
    let mut fields: Vec<&[u8]> = line.splitn(names.len(), |&byte| byte == b',').collect();
    let has_device = names.last() == Some(&"device");
    if fields.len() != names.len() || !has_device && fields.last()?.contains(&b',') {
        return None;
    }
    fields.truncate(names.len() - usize::from(has_device));
    let fields: Vec<&str> = fields.into_iter().map(std::str::from_utf8).collect::<Result<_, _>>().ok()?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = |text: &str, most: u64| {
        text.parse().ok().filter(|&number: &u64| is_number(text) && text.len() <= 19 && number <= most)
    };
    let name = fields.get(4).copied().unwrap_or_default();
    let origin = if name.is_empty() { Origin::HOST } else { Origin::from_name(name)? };
    let placement = names.iter().position(|&name| name == "placement").map_or("", |at| fields[at]);
    let placement = if placement.is_empty() { PlacementId::NONE } else { plain_placement(placement)? };
    let (mantissa, exponent) = fields[0].split_once(['e', 'E']).unwrap_or((fields[0], "0"));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    if !is_number(part) || !is_number(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)) {
        return None;
    }
    let rounded_up = u64::from(part.len() > 3 && part.as_bytes()[3] >= b'5');
    let thousandths: u64 = format!("{part}00")[..3].parse().ok()?;
    let mut time = number(whole, u64::MAX / 1000)? * 1000 + thousandths + rounded_up;
    if mantissa != fields[0] {
        time = (fields[0].parse::<f64>().ok()? * 1000.0).round() as u64;
    }
    if time > u64::MAX / 2 {
        return None;
    }
    // 64 TiB reads and writes, 512 TiB trims.
    let (op, longest) = match fields[1].to_ascii_lowercase().as_str() {
        "r" | "read" => (Op::Read, 1 << 37),
        "w" | "write" => (Op::Write, 1 << 37),
        "t" | "trim" => (Op::Trim, 1 << 40),
        "f" | "flush" => (Op::Flush, 1 << 37),
        "u" | "update" => (Op::UnitUpdate, 1 << 37),
        _ => return None,
    };
    let (sector, sectors) = (number(fields[2], 1 << 49)?, number(fields[3], longest)?);
    if op == Op::Flush {
        return Some(Request { time, sector: 0, sectors: 0, op, origin, placement: PlacementId::NONE });
    }
    if op == Op::UnitUpdate {
        return placement.is_some().then_some(Request { time, sector: 0, sectors: 0, op, origin, placement });
    }
    // The rest comes in further requests.
    let sectors = sectors.min(Found::MOST_SECTORS.into()) as u32;
    let placement = if op == Op::Write { placement } else { PlacementId::NONE };
    (sectors > 0).then_some(Request { time, sector, sectors, op, origin, placement })
}

/// `5` or `1:5`: at most seven bits, behind a byte other than 255.
fn plain_placement(text: &str) -> Option<PlacementId> {
    let (group, handle) = text.split_once(':').unwrap_or(("0", text));
    let number = |text: &str| -> Option<u128> {
        let digits = text.trim_start_matches('0');
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| if digits.len() > 30 { u128::MAX } else { digits.parse().unwrap_or(0) })
    };
    let (group, handle) = (number(group)?, number(handle)?);
    (group < 255 && handle < 128).then_some(PlacementId { group: group as u8, handle: handle as u8 })
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

/// This thread's own file, refilled in place for each input: new files would wait for the disk.
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
    let setting = Setting {
        sectors,
        seed: 1,
        base: folder,
        watch: &|_| true,
        took: None,
        queues: Queues::default(),
        placements: None,
        zones: None,
    };
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
            assert_eq!(request.sectors == 0, !request.op.has_sectors(), "{request:?}");
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
    if let WorkloadError::Untold { file, message, proposal } = error {
        assert!(proposal.lines().all(|line| !line.contains(char::is_control)), "{proposal:?}");
        return sentence(&format!("{file}: {message}"), 0);
    }
    sentence(&error.to_string(), 0);
}

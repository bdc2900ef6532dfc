//! A small hand-made file of every format, in every form that a file may have, and with every kind of damage.

use crate::support::samples::{all, columns, row, Row};
use crate::support::{gzip, samples_folder as samples, zstd, Folder};
use nandlab_block::Op;
use nandlab_workload::trace::{
    Action, Column, ColumnOptions, Config, DeviceColumns, FormatName, OnError, Output, OutputFormat, Separator,
    TimeUnit, Unsorted, FORMATS,
};
use nandlab_workload::WorkloadError;
use std::path::Path;

fn letter(op: Op) -> char {
    match op {
        Op::Read => 'R',
        Op::Write => 'W',
        Op::Trim => 'T',
        Op::Flush => 'F',
        Op::UnitUpdate | Op::Append | Op::Zone(_) => 'U',
    }
}

fn rows(config: &Config, base: &Path) -> Result<Vec<Row>, WorkloadError> {
    let mut records = config.records(base)?;
    let mut rows = Vec::new();
    while let Some((request, device)) = records.next_request()? {
        let device = String::from_utf8_lossy(records.device_name(device)).into_owned();
        rows.push((request.time, letter(request.op), request.sector, request.sectors, device));
    }
    assert_eq!(records.next_request()?, None, "the end stays the end, whatever follows it in the file");
    Ok(rows)
}

#[test]
fn every_format_but_the_native_one_has_a_sample() {
    let names: Vec<&str> = all().iter().map(|sample| sample.name).collect();
    for entry in FORMATS {
        assert!(entry.name == "native" || names.contains(&entry.name), "{}", entry.name);
    }
}

#[test]
fn samples_hold_what_was_put_into_them() {
    for sample in all() {
        assert_eq!(rows(&sample.config, &samples()).unwrap(), sample.rows, "{}", sample.name);
    }
}

#[test]
fn the_format_is_told_where_the_contents_tell_it() {
    for sample in all() {
        let auto = Config { format: FormatName::Auto, columns: None, ..sample.config.clone() };
        match sample.name {
            // Any text can be in columns.
            "columns" => {
                let error = rows(&auto, &samples()).unwrap_err().to_string();
                assert!(error.contains("fit no known format") && error.contains("columns"), "{error}");
            }
            _ => {
                let mut records = auto.records(&samples()).unwrap();
                let told = if sample.name == "ssdsim" { FormatName::Mqsim } else { sample.config.format };
                assert_eq!(records.format(), told, "{}", sample.name);
                assert!(records.next_request().is_ok());
                let said = records.notices().iter().any(|notice| notice.contains("told from its contents"));
                assert_eq!(said, sample.name != "csv", "{}", sample.name);
            }
        }
    }
}

#[test]
fn packed_and_otherwise_written_files_read_alike() {
    let folder = Folder::new("forms");
    for sample in all() {
        let bytes = std::fs::read(samples().join(sample.name)).unwrap();
        let mut forms = vec![("gzip", gzip(&bytes)), ("zstd", zstd(&bytes)), ("gzip in zstd", zstd(&bytes))];
        if !sample.name.starts_with("vscsi") {
            let text = String::from_utf8(bytes.clone()).unwrap();
            let unix = text.replace("\r\n", "\n");
            forms.push(("crlf", unix.replace('\n', "\r\n").into_bytes()));
            forms.push(("bom", format!("\u{FEFF}{text}").into_bytes()));
            forms.push(("unterminated", text.trim_end().as_bytes().to_vec()));
            forms.push(("blank lines at the end", format!("{text}\n\n").into_bytes()));
        }
        for (form, bytes) in forms {
            let config = Config { path: Some("file".into()), ..sample.config.clone() };
            folder.write("file", &bytes);
            assert_eq!(rows(&config, &folder.path).unwrap(), sample.rows, "{} as {form}", sample.name);
        }
        let packed = gzip(&bytes);
        for cut in [1, 9, packed.len() / 2] {
            folder.write("file", &packed[..packed.len() - cut]);
            let config = Config { path: Some("file".into()), ..sample.config.clone() };
            let error = rows(&config, &folder.path).unwrap_err().to_string();
            assert!(error.ends_with("the gzip data ends too early: the file was not written or copied to its end"));
        }
    }
}

/// The text of a sample with one more line, before the summary that ends a blkparse text.
fn with_line(text: &str, line: &str) -> (String, u64) {
    let end = text.find("CPU").unwrap_or(text.len());
    let (before, after) = text.split_at(end);
    (format!("{before}{line}\n{after}"), before.lines().count() as u64 + 1)
}

#[test]
fn malformed_lines_are_named_or_skipped_and_counted() {
    let folder = Folder::new("bad");
    for sample in all().iter().filter(|sample| !sample.name.starts_with("vscsi")) {
        let text = std::fs::read_to_string(samples().join(sample.name)).unwrap();
        for (line, expected) in sample.bad.iter().chain(&[("\0\0\0\0", "expected"), ("7,\0,7", "expected")]) {
            let (text, number) = with_line(&text, line);
            folder.write("file", text.as_bytes());
            let unsorted = expected.contains("goes back").then_some(Unsorted::Reject);
            let config = Config { path: Some("file".into()), unsorted, ..sample.config.clone() };
            let error = rows(&config, &folder.path).unwrap_err();
            let WorkloadError::Record { line: at, column, ref message, .. } = error else { panic!("{error}") };
            assert!(message.contains(expected), "{}: {line}: {message}", sample.name);
            assert_eq!(at, number, "{}: {line}", sample.name);
            assert!(column >= 1 && column <= line.len() + 1, "{}: {line}: column {column}", sample.name);
            assert!(!message.contains('\0'));
            let config = Config { on_error: OnError::Skip, ..config };
            let mut records = config.records(&folder.path).unwrap();
            let mut count = 0;
            while records.next_request().unwrap().is_some() {
                count += 1;
            }
            assert_eq!((count, records.tally().skipped), (sample.rows.len(), 1), "{}: {line}", sample.name);
            let first = records.tally().first_skipped.unwrap();
            assert!(first.contains(&format!("line {number}, column {column}: ")), "{first}");
        }
    }
}

#[test]
fn a_damaged_record_of_bytes_is_named_or_skipped() {
    let folder = Folder::new("vscsi");
    let whole = std::fs::read(samples().join("vscsi")).unwrap();
    let config = Config { path: Some("file".into()), format: FormatName::Vscsi, ..Config::new("file") };
    let mut damaged = whole.clone();
    damaged[32 + 15] = 9;
    let short = whole[..whole.len() - 5].to_vec();
    let mut zero = whole.clone();
    zero[36..40].fill(0);
    let mut late = whole.clone();
    late[32 + 31] = 0xFF;
    for (bytes, number, expected) in [
        (damaged, 2, "expected version 1 of the record (0x0100), found 0x0900"),
        (short, 5, "expected a record of 32 bytes, found the end after 27"),
        (zero, 2, "at least 1"),
        (late, 2, "292 years"),
    ] {
        folder.write("file", &bytes);
        let error = rows(&config, &folder.path).unwrap_err();
        let WorkloadError::Record { line, ref message, .. } = error else { panic!("{error}") };
        assert!(message.contains(expected) && line == number, "{error}");
        let skip = Config { on_error: OnError::Skip, ..config.clone() };
        assert_eq!(rows(&skip, &folder.path).unwrap().len(), 3);
    }
}

#[test]
fn times_that_go_back_are_raised_or_rejected() {
    let folder = Folder::new("unsorted");
    for sample in all() {
        if matches!(sample.name, "vscsi" | "vscsi2" | "fio2") {
            continue;
        }
        // The whole file twice: the second time begins before the first one ended.
        let text = std::fs::read_to_string(samples().join(sample.name)).unwrap();
        let body = text.split_inclusive('\n').skip(usize::from(sample.name == "columns" || text.contains("time")));
        let is_headed = matches!(sample.name, "fio" | "pixel");
        let body: String = if is_headed { text.split_inclusive('\n').skip(1).collect() } else { body.collect() };
        let (twice, _) = with_line(&text, body.split("CPU").next().unwrap().trim_end());
        folder.write("file", twice.as_bytes());
        let raise = Config { path: Some("file".into()), unsorted: Some(Unsorted::Raise), ..sample.config.clone() };
        let found = rows(&raise, &folder.path).unwrap();
        assert_eq!(found.len(), 2 * sample.rows.len(), "{}", sample.name);
        assert!(found.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{}", sample.name);
        let mut records = raise.records(&folder.path).unwrap();
        while records.next_request().unwrap().is_some() {}
        assert!(records.tally().raised > 0, "{}", sample.name);
        let reject = Config { unsorted: Some(Unsorted::Reject), ..raise };
        let error = rows(&reject, &folder.path).unwrap_err().to_string();
        assert!(error.contains("time goes back"), "{}: {error}", sample.name);
    }
}

#[test]
fn another_action_of_a_block_trace_can_be_chosen() {
    let base = samples();
    let chosen = |name: &str, action| {
        let config = Config { action: Some(action), ..Config::new(name) };
        rows(&config, &base).map(|rows| rows.len()).map_err(|error| error.to_string())
    };
    assert_eq!(chosen("blkparse", Action::C), Ok(6));
    assert_eq!(chosen("blkparse", Action::D), Ok(1));
    assert_eq!(chosen("blkparse", Action::Q), Ok(0));
    assert_eq!(chosen("wiscsee", Action::C), Ok(2));
    let mut records = Config::new("blkparse").records(&base).unwrap();
    while records.next_request().unwrap().is_some() {}
    assert_eq!(records.tally().others, 4);
}

#[test]
fn without_the_action_that_is_a_request_the_others_are_named() {
    let base = samples();
    for (name, action, said) in
        [("blkparse", Action::G, "with workload.trace.action = \"I\""), ("wiscsee", Action::Q, "but of D (")]
    {
        let config = Config { action: Some(action), ..Config::new(name) };
        let summary = config.summary(&base, &|_| true).unwrap();
        let error = config.check_requests(&base, &summary).unwrap_err().to_string();
        assert!(
            error.contains("there is no request in it: it has no record of the action") && error.contains(said),
            "{error}"
        );
    }
    let config = Config::new("blkparse");
    let summary = config.summary(&base, &|_| true).unwrap();
    assert_eq!(config.check_requests(&base, &summary), Ok(()));
}

#[test]
fn names_above_the_columns_are_passed_over_and_told() {
    let folder = Folder::new("names");
    for sample in all()
        .iter()
        .filter(|sample| !matches!(sample.name, "vscsi" | "vscsi2" | "csv" | "columns" | "fio" | "fio2" | "pixel"))
    {
        let text = std::fs::read_to_string(samples().join(sample.name)).unwrap();
        folder.write("file", format!("one, two, three, four\r\n{text}").as_bytes());
        let config = Config { path: Some("file".into()), ..sample.config.clone() };
        assert_eq!(rows(&config, &folder.path).unwrap(), sample.rows, "{}", sample.name);
        let records = config.records(&folder.path).unwrap();
        let said = "the first line has names and was passed over: `one, two, three, four`";
        assert!(records.notices().contains(&said.to_owned()), "{}", sample.name);
    }
}

#[test]
fn columns_say_what_they_miss() {
    let folder = Folder::new("columns");
    folder.write("file", b"when;kind;lba;blocks;disk\n0.5;write;10;2;x\n");
    let with = |change: &dyn Fn(&mut ColumnOptions)| {
        let mut columns = columns();
        change(&mut columns);
        let config = Config { format: FormatName::Columns, columns: Some(Box::new(columns)), ..Config::new("file") };
        rows(&config, &folder.path).map_err(|error| error.to_string())
    };
    let error = with(&|columns| columns.size = Some(Column::Name("block".into()))).unwrap_err();
    assert!(error.contains("expected a column `block`; did you mean `blocks`?"), "{error}");
    let error = with(&|columns| columns.op = Column::Number(0)).unwrap_err();
    assert!(error.contains("columns.op = 0 cannot work: columns are numbered from 1"), "{error}");
    let error = with(&|columns| columns.size_unit_bytes = 0).unwrap_err();
    assert!(error.contains("1 byte to 1 GiB"), "{error}");
    let numbered = with(&|columns| {
        columns.op = Column::Number(2);
        columns.time = None;
    });
    assert_eq!(numbered, Ok(vec![row(0, 'W', 80, 16, "x")]));
    let named = with(&|columns| {
        columns.device = Some(DeviceColumns::Several(vec![Column::Name("kind".into()), Column::Number(5)]));
    });
    assert_eq!(named, Ok(vec![row(500, 'W', 80, 16, "write,x")]));
    let error = with(&|columns| columns.device = Some(DeviceColumns::One(Column::Number(6)))).unwrap_err();
    assert!(error.contains("expected a device, found the end of the line"), "{error}");
    let config = Config { format: FormatName::Columns, ..Config::new("file") };
    assert!(rows(&config, &folder.path).unwrap_err().to_string().contains("it needs the table"));
}

/// What is written in `format`, and what that says was dropped.
fn converted(config: &Config, base: &Path, format: OutputFormat) -> (Vec<u8>, Vec<String>) {
    let summary = config.summary(base, &|_| true).unwrap();
    let devices: Vec<Vec<u8>> = summary.devices.iter().map(|device| device.name.clone().into_bytes()).collect();
    let mut output = Output::new(format, Vec::new(), &devices, !summary.placements.is_empty()).unwrap();
    let mut records = config.records(base).unwrap();
    while let Some((request, device)) = records.next_request().unwrap() {
        output.write(&request, records.device_name(device)).unwrap();
    }
    output.finish().unwrap()
}

#[test]
fn native_and_csv_hold_everything_and_fio_says_what_it_drops() {
    let folder = Folder::new("convert");
    for sample in all() {
        for format in [OutputFormat::Native, OutputFormat::Csv] {
            let (bytes, dropped) = converted(&sample.config, &samples(), format);
            folder.write("file", &bytes);
            let config = Config::new("file");
            assert_eq!(rows(&config, &folder.path).unwrap(), sample.rows, "{} in {format:?}", sample.name);
            assert!(dropped.is_empty());
            // And from the one to the other: byte by byte what the first conversion gives.
            let (native, _) = converted(&config, &folder.path, OutputFormat::Native);
            assert_eq!(native, converted(&sample.config, &samples(), OutputFormat::Native).0, "{}", sample.name);
        }
        let (bytes, dropped) = converted(&sample.config, &samples(), OutputFormat::Fio);
        folder.write("file", &bytes);
        let found = rows(&Config::new("file"), &folder.path).unwrap();
        let first = sample.rows[0].0;
        let kept = |row: &Row| ((row.0 - first) / 1000 * 1000, row.1, row.2, row.3);
        let found: Vec<_> = found.iter().map(|row| (row.0, row.1, row.2, row.3)).collect();
        assert_eq!(found, sample.rows.iter().map(kept).collect::<Vec<_>>(), "{}", sample.name);
        let text = dropped.join("; ");
        assert_eq!(text.contains("have an origin"), sample.name == "csv", "{text}");
        assert_eq!(
            text.contains("names of files without blanks"),
            sample.rows.iter().any(|row| row.4.is_empty() || row.4.contains(' '))
        );
        let has_parts = sample.rows.iter().any(|row| (row.0 - first) % 1000 != 0);
        assert_eq!(text.contains("no whole number of microseconds"), has_parts, "{text}");
    }
}

#[test]
fn devices_stay_apart_in_the_log_of_fio() {
    let folder = Folder::new("apart");
    let names = ["a b", "a_b", "", "device", "a\tb"];
    let lines: String = names.iter().zip(0..).map(|(name, at)| format!("{at},W,{at},8,host,{name}\n")).collect();
    folder.write("file", format!("time_us,op,sector,sectors,origin,device\n{lines}").as_bytes());
    let (log, dropped) = converted(&Config::new("file"), &folder.path, OutputFormat::Fio);
    folder.write("log", &log);
    let found: Vec<_> = rows(&Config::new("log"), &folder.path).unwrap().into_iter().map(|row| row.4).collect();
    assert_eq!(found, ["a_b_2", "a_b", "device_2", "device", "a_b_3"]);
    let said = dropped.join("; ");
    assert!(said.contains("a device without a name is `device_2`") && said.contains("`a b` is `a_b_2`"), "{said}");
}

#[test]
fn the_unit_of_times_in_a_log_of_fio_is_said_unless_it_is_set() {
    let folder = Folder::new("unit");
    folder.write("log", b"fio version 3 iolog\n0 a add\n5 a write 0 4096\n");
    folder.write("old", b"fio version 2 iolog\na add\na write 0 4096\n");
    let said = |config: &Config| config.records(&folder.path).unwrap().notices().join("; ");
    assert!(said(&Config::new("log")).contains("were read as microseconds, as fio writes them"));
    assert!(!said(&Config::new("old")).contains("microseconds"));
    let config = Config { time_unit: Some(TimeUnit::Ms), ..Config::new("log") };
    assert!(!said(&config).contains("microseconds"));
    assert_eq!(rows(&config, &folder.path).unwrap()[0].0, 5_000_000);
}

#[test]
fn tables_may_have_titles_quotes_and_no_sizes() {
    let folder = Folder::new("odd");
    let text = "My disk\n\nwhen|kind|name|lba\n0,5|\"write\"|\"a|b\"|8\n2.5ms|read|c|0x10\n7:|sync||\n";
    folder.write("file", text.as_bytes());
    let table = ColumnOptions {
        size: None,
        fixed_size_bytes: Some(1024),
        skip_lines: 2,
        separator: Separator::Pipe,
        address_unit_bytes: 512,
        device: Some(DeviceColumns::One(Column::Name("name".into()))),
        ..columns()
    };
    let config = Config {
        format: FormatName::Columns,
        time_unit: Some(TimeUnit::S),
        unsorted: Some(Unsorted::Raise),
        columns: Some(Box::new(table.clone())),
        ..Config::new("file")
    };
    let half = 500_000_000;
    let wanted = [row(half, 'W', 8, 2, "a|b"), row(half, 'R', 16, 2, "c"), row(7_000_000_000, 'F', 0, 0, "")];
    assert_eq!(rows(&config, &folder.path).unwrap(), wanted);
    for (columns, said) in [
        (ColumnOptions { fixed_size_bytes: None, ..table.clone() }, "it needs the column size, or fixed_size_bytes"),
        (ColumnOptions { size: Some(Column::Number(4)), ..table.clone() }, "the column size says how long"),
        (ColumnOptions { fixed_size_bytes: Some(0), ..table }, "a request has 1 byte to 64 TiB"),
    ] {
        let config = Config { columns: Some(Box::new(columns)), ..config.clone() };
        let error = rows(&config, &folder.path).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_damaged_native_trace_is_refused() {
    let folder = Folder::new("native");
    let (whole, _) =
        converted(&Config { format: FormatName::Csv, ..Config::new("csv") }, &samples(), OutputFormat::Native);
    for (bytes, expected) in [
        (whole[..whole.len() - 1].to_vec(), "ends too early"),
        (whole[..whole.len() - 12].to_vec(), "ends too early"),
        (whole[..20].to_vec(), "ends too early"),
        (whole[..10].to_vec(), "expected the header of a native trace"),
        ([&whole[..], b"more"].concat(), "something else behind the end"),
        (changed(&whole, 30), "a block is damaged: its checksum does not fit"),
        (changed(&whole, 9), "the header is damaged"),
        (changed(&whole, 18), "expected a block of at most"),
    ] {
        folder.write("file", &bytes);
        let error = rows(&Config::new("file"), &folder.path).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

fn changed(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 0x40;
    bytes
}

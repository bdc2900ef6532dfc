//! A small hand-made file of every format, in every form that a file may have, and with every kind of damage.

#![allow(clippy::unwrap_used)]

mod support;

use nandlab_block::Op;
use nandlab_workload::trace::{
    Action, Column, ColumnOptions, Config, FormatName, OnError, Output, OutputFormat, Separator, TimeUnit, Unsorted,
    FORMATS,
};
use nandlab_workload::WorkloadError;
use std::path::Path;
use support::{gzip, samples, zstd, Folder};

/// Time in nanoseconds, operation, sector, sectors, device.
type Row = (u64, char, u64, u32, String);

fn row(time: u64, op: char, sector: u64, sectors: u32, device: &str) -> Row {
    (time, op, sector, sectors, device.to_owned())
}

fn letter(op: Op) -> char {
    match op {
        Op::Read => 'R',
        Op::Write => 'W',
        Op::Trim => 'T',
        Op::Flush => 'F',
    }
}

fn rows(config: &Config, base: &Path) -> Result<Vec<Row>, WorkloadError> {
    let mut records = config.records(base)?;
    let mut rows = Vec::new();
    while let Some((request, device)) = records.next()? {
        let device = String::from_utf8_lossy(records.device_name(device)).into_owned();
        rows.push((request.time, letter(request.op), request.sector, request.sectors, device));
    }
    Ok(rows)
}

fn columns() -> ColumnOptions {
    let name = |name: &str| Column::Name(name.to_owned());
    let text = r#"{"op": "kind", "address": "lba", "size": "blocks"}"#;
    let plain: ColumnOptions = serde_json::from_str(text).unwrap();
    ColumnOptions {
        time: Some(name("when")),
        device: Some(name("disk")),
        separator: Separator::Semicolon,
        address_unit_bytes: 4096,
        size_unit_bytes: 4096,
        ..plain
    }
}

/// How a sample is read, and what is in it.
struct Sample {
    name: &'static str,
    config: Config,
    rows: Vec<Row>,
    /// A line or record that the format does not allow, and what its message says.
    bad: &'static [(&'static str, &'static str)],
}

fn sample(name: &'static str, rows: Vec<Row>, bad: &'static [(&'static str, &'static str)]) -> Sample {
    let mut config = Config::new(name);
    if let Some(entry) = FORMATS.iter().find(|entry| entry.name == name) {
        config.format = entry.format;
    }
    Sample { name, config, rows, bad }
}

const BOOT: u64 = 1_398_406_382_000_000_000;

/// Ticks of the MSR sample since 1970, in nanoseconds.
const HM: u64 = (128_166_372_003_061_629 - 116_444_736_000_000_000) * 100;

fn all() -> Vec<Sample> {
    let mut columns_sample = sample(
        "columns",
        vec![row(500_000_000, 'W', 80, 16, "x"), row(750_000_000, 'R', 0, 8, "x"), row(1_000_000_000, 'F', 0, 0, "x")],
        &[
            ("-1;read;0;1;x", "not negative"),
            ("0;read;0;0;x", "at least 1"),
            ("0;read;0;99999999999;x", "at most"),
            ("0;what;0;1;x", "an operation"),
            ("0;read;0", "a size, a whole number"),
        ],
    );
    columns_sample.config.columns = Some(columns());
    columns_sample.config.time_unit = Some(TimeUnit::S);
    let mut fio2 = sample(
        "fio2",
        vec![row(0, 'W', 8, 16, "/dev/sda"), row(250_000, 'R', 1, 1, "/dev/sda"), row(250_000, 'F', 0, 0, "/dev/sda")],
        &[("/dev/sda read -5 512", "offset, a whole number"), ("/dev/sda read 0 0", "at least 1")],
    );
    fio2.config.format = FormatName::Fio;
    vec![
        sample(
            "csv",
            vec![
                row(0, 'W', 4096, 8, "a"),
                row(10_500, 'R', 0, 16, "a"),
                row(20_000, 'T', 8, 128, "b"),
                row(30_000, 'F', 0, 0, "a"),
            ],
            &[
                ("-1,W,0,8,wal,a", "not negative"),
                ("40,W,0,0,wal,a", "at least 1"),
                ("40,W,0,4294967296,wal,a", "at most 2097152"),
                ("1,W,0,8,wal,a", "time goes back from 30 to 1 us"),
            ],
        ),
        sample(
            "spc",
            vec![
                row(551_706_000, 'W', 20_941_264, 16, "0"),
                row(554_041_000, 'W', 20_939_840, 16, "1"),
                row(600_000_000, 'R', 303_567, 7, "0"),
                row(1_500_000_000, 'R', 8, 1, "1"),
            ],
            &[
                ("0,1,512,r,-2.0", "a number of seconds that is not negative"),
                ("0,1,0,r,2.0", "at least 1, found 0"),
                ("0,1,99999999999999999999,r,2.0", "at most"),
                ("0,1,512,x,2.0", "R (read) or W (write)"),
                ("0,1,512", "`,` and then opcode, found the end of the line"),
            ],
        ),
        sample(
            "msr",
            vec![
                row(HM, 'R', 749_016, 64, "hm,1"),
                row(HM + 1_332_052_600, 'W', 5_512, 8, "hm,1"),
                row(HM + 1_332_052_600, 'R', 1, 2, "hm,1"),
            ],
            &[
                ("-5,hm,1,Read,0,512,1", "timestamp, a whole number of 100 ns"),
                ("128166372016382155,hm,1,Read,0,0,1", "at least 1"),
                ("128166372016382155,hm,1,Read,0,18446744073709551615,1", "at most"),
                ("128166372016382155,hm,1,Seek,0,512,1", "type, Read or Write, found `Seek,0,512,1`"),
            ],
        ),
        sample(
            "fiu",
            vec![row(8_999_250, 'W', 508_516_672, 8, "6 0"), row(8_999_300, 'R', 519_854_376, 16, "6 0")],
            &[
                ("-1 1 a 8 8 W 6 0 88b93b628d84082186026d9da044f173", "not negative"),
                ("9999300 1 a 8 0 W 6 0 88b93b628d84082186026d9da044f173", "at least 1"),
                ("9999300 1 a 8 8 W 6 0 88b93b", "MD5, 32 hexadecimal digits"),
                ("9999300 1 a 8888888888888888888 8 W 6 0 88b93b628d84082186026d9da044f173", "at most"),
            ],
        ),
        sample(
            "blkparse",
            vec![
                row(1_795_683, 'R', 4_938_888, 256, "8,16"),
                row(1_795_683, 'W', 2048, 8, "8,16"),
                row(2_000_000, 'F', 0, 0, "8,16"),
                row(2_100_000, 'T', 4096, 2048, "8,16"),
                row(2_200_000, 'W', 64, 8, "8,16"),
            ],
            &[
                ("8,16 1 1 -1.0 1 C R 8 + 8 [0]", "not negative"),
                ("8,16 1 1 1.0 1 C R 8 + 0 [0]", "at least 1"),
                ("8,16 1 1 1.0 1 C R 8 + 9999999999 [0]", "at most"),
                ("8,16 1 1 1.0 1 123 R 8 + 8 [0]", "action, a letter"),
            ],
        ),
        sample(
            "fio",
            vec![
                row(5_000, 'W', 8, 16, "/dev/sda"),
                row(12_000, 'R', 0, 1, "/dev/sda"),
                row(20_000, 'F', 0, 0, "/dev/sda"),
                row(30_000, 'T', 128, 128, "/dev/sda"),
            ],
            &[
                ("-1 /dev/sda read 0 512", "not negative"),
                ("50 /dev/sda read 0 0", "at least 1"),
                ("50 /dev/sda read 0 18446744073709551615", "at most"),
                ("50 /dev/sda seek 0 512", "action, one of add"),
                ("50 /dev/sda wait 5 0", "no action `wait`"),
            ],
        ),
        fio2,
        sample(
            "mqsim",
            vec![row(938_513_000, 'W', 264_719_034, 16, "4"), row(938_828_000, 'R', 197_570_570, 8, "4")],
            &[
                ("-5 0 8 8 1", "not negative"),
                ("939000000 0 8 0 1", "at least 1"),
                ("939000000 0 8 9999999999 1", "at most"),
                ("939000000 0 8 8 2", "0 (write) or 1 (read)"),
                ("939000000.5 0 8 8 1", "time, a whole number"),
                ("5 0 8 8 1", "time goes back"),
            ],
        ),
        sample(
            "ssdsim",
            vec![row(0, 'W', 303_567, 7, "0"), row(26_214_000, 'R', 303_574, 7, "0")],
            &[("-5 0 8 8 1", "not negative"), ("99999999 0 8 0 1", "at least 1"), ("5 0 8 8 1", "time goes back")],
        ),
        sample(
            "disksim",
            vec![row(5_265_313_000, 'W', 6_357_144, 8, "0"), row(5_297_450_000, 'R', 33_701_824, 64, "0")],
            &[("-5.0 0 8 8 1", "not negative"), ("9999.5 0 8 0 1", "at least 1"), ("5.5 0 8 8 1", "time goes back")],
        ),
        sample(
            "flashsim",
            vec![row(640_875_000, 'R', 522_424, 128, "0"), row(844_000_000, 'W', 6_342_217, 8, "0")],
            &[("-5.0 0 8 8 1", "not negative"), ("9999.5 0 8 0 1", "at least 1"), ("5.5 0 8 999999 1", "at most")],
        ),
        sample(
            "biotracer",
            vec![
                row(BOOT + 756_832_267, 'W', 4_220_896, 8, ""),
                row(BOOT + 756_832_267, 'W', 49_592_392, 16, ""),
                row(BOOT + 1_500_000_000, 'R', 61_071_352, 9, ""),
            ],
            &[
                ("8\t8\t4096\t4\t-1.0\t1.0\t1.0\t1.0", "not negative"),
                ("8\t0\t0\t4\t1398406389.0\t1.0\t1.0\t1.0", "at least 1"),
                ("8\t8\t4095\t4\t1398406389.0\t1.0\t1.0\t1.0", "bytes, here 4096 as there are 8 sectors"),
                ("8\t8\t4096\t4\t99999999999.0\t1.0\t1.0\t1.0", "292 years"),
            ],
        ),
        sample(
            "pixel",
            vec![
                row(159_273_751_646_000, 'R', 29_880_920, 16, "8388608"),
                row(159_273_837_487_000, 'W', 30_175_712, 8, "8388608"),
            ],
            &[
                ("a,1,R,8,8,-5", "not negative"),
                ("a,1,R,8,0,159274", "at least 1"),
                ("a,1,R,8,99999999,159274", "at most"),
                ("a,1,R,8,8", "six columns"),
            ],
        ),
        sample(
            "alibaba",
            vec![
                row(1_577_808_000_000_626_000, 'W', 17_173_304, 32, "419"),
                row(1_577_808_000_000_700_000, 'R', 8, 1, "419"),
            ],
            &[
                ("419,W,0,512,-7", "not negative"),
                ("419,W,0,0,1577808000000800", "at least 1"),
                ("419,W,0,99999999999,1577808000000800", "at most"),
            ],
        ),
        sample(
            "tencent",
            vec![
                row(1_538_323_200_000_000_000, 'R', 12_910_952, 128, "1063"),
                row(1_538_323_200_000_000_000, 'W', 6_338_688, 8, "1063"),
                row(1_538_323_201_000_000_000, 'R', 8, 1, "1063"),
            ],
            &[
                ("-7,8,8,0,1063", "not negative"),
                ("1538323202,8,0,0,1063", "at least 1"),
                ("1538323202,8,8,2,1063", "0 (read) or 1 (write)"),
                ("1538323202,9999999999999999999,8,0,1063", "at most"),
            ],
        ),
        sample(
            "wiscsee",
            vec![row(0, 'R', 584, 8, ""), row(196_695, 'W', 648, 16, ""), row(400_000_000, 'T', 0, 2048, "")],
            &[("1 D read 0 512 -0.5 0 False", "not negative"), ("1 D read 0 0 0.5 0 False", "at least 1")],
        ),
        sample(
            "vscsi",
            vec![
                row(1_000_000, 'W', 42_932_745, 1, ""),
                row(2_000_000, 'R', 7, 13, ""),
                row(2_500_000, 'F', 0, 0, ""),
                row(2_500_000, 'W', 1 << 33, 8, ""),
            ],
            &[],
        ),
        columns_sample,
    ]
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
                assert!(records.next().is_ok());
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
        if sample.name != "vscsi" {
            let text = String::from_utf8(bytes.clone()).unwrap();
            let unix = text.replace("\r\n", "\n");
            forms.push(("crlf", unix.replace('\n', "\r\n").into_bytes()));
            forms.push(("bom", format!("\u{FEFF}{text}").into_bytes()));
            forms.push(("unterminated", text.trim_end().as_bytes().to_vec()));
            forms.push(("blank lines at the end", format!("{text}\n\n").into_bytes()));
        }
        for (form, bytes) in forms {
            let config = Config { path: "file".into(), ..sample.config.clone() };
            folder.write("file", &bytes);
            assert_eq!(rows(&config, &folder.path).unwrap(), sample.rows, "{} as {form}", sample.name);
        }
        let packed = gzip(&bytes);
        for cut in [1, 9, packed.len() / 2] {
            folder.write("file", &packed[..packed.len() - cut]);
            let config = Config { path: "file".into(), ..sample.config.clone() };
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
    for sample in all().iter().filter(|sample| sample.name != "vscsi") {
        let text = std::fs::read_to_string(samples().join(sample.name)).unwrap();
        for (line, expected) in sample.bad.iter().chain(&[("\0\0\0\0", "expected"), ("7,\0,7", "expected")]) {
            let (text, number) = with_line(&text, line);
            folder.write("file", text.as_bytes());
            let unsorted = expected.contains("goes back").then_some(Unsorted::Reject);
            let config = Config { path: "file".into(), unsorted, ..sample.config.clone() };
            let error = rows(&config, &folder.path).unwrap_err();
            let WorkloadError::Record { line: at, column, ref message, .. } = error else { panic!("{error}") };
            assert!(message.contains(expected), "{}: {line}: {message}", sample.name);
            assert_eq!(at, number, "{}: {line}", sample.name);
            assert!(column >= 1 && column <= line.len() + 1, "{}: {line}: column {column}", sample.name);
            assert!(!message.contains('\0'));
            let config = Config { on_error: OnError::Skip, ..config };
            let mut records = config.records(&folder.path).unwrap();
            let mut count = 0;
            while records.next().unwrap().is_some() {
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
    let config = Config { path: "file".into(), format: FormatName::Vscsi, ..Config::new("file") };
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
        if matches!(sample.name, "vscsi" | "fio2") {
            continue;
        }
        // The whole file twice: the second time begins before the first one ended.
        let text = std::fs::read_to_string(samples().join(sample.name)).unwrap();
        let body = text.split_inclusive('\n').skip(usize::from(sample.name == "columns" || text.contains("time")));
        let is_headed = matches!(sample.name, "fio" | "pixel");
        let body: String = if is_headed { text.split_inclusive('\n').skip(1).collect() } else { body.collect() };
        let (twice, _) = with_line(&text, body.split("CPU").next().unwrap().trim_end());
        folder.write("file", twice.as_bytes());
        let raise = Config { path: "file".into(), unsorted: Some(Unsorted::Raise), ..sample.config.clone() };
        let found = rows(&raise, &folder.path).unwrap();
        assert_eq!(found.len(), 2 * sample.rows.len(), "{}", sample.name);
        assert!(found.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{}", sample.name);
        let mut records = raise.records(&folder.path).unwrap();
        while records.next().unwrap().is_some() {}
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
    assert_eq!(chosen("blkparse", Action::C), Ok(5));
    assert_eq!(chosen("blkparse", Action::D), Ok(1));
    assert_eq!(chosen("blkparse", Action::Q), Ok(0));
    assert_eq!(chosen("wiscsee", Action::C), Ok(2));
    let mut records = Config::new("blkparse").records(&base).unwrap();
    while records.next().unwrap().is_some() {}
    assert_eq!(records.tally().others, 4);
}

#[test]
fn columns_say_what_they_miss() {
    let folder = Folder::new("columns");
    folder.write("file", b"when;kind;lba;blocks;disk\n0.5;write;10;2;x\n");
    let with = |change: &dyn Fn(&mut ColumnOptions)| {
        let mut columns = columns();
        change(&mut columns);
        let config = Config { format: FormatName::Columns, columns: Some(columns), ..Config::new("file") };
        rows(&config, &folder.path).map_err(|error| error.to_string())
    };
    let error = with(&|columns| columns.size = Column::Name("block".into())).unwrap_err();
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
    let config = Config { format: FormatName::Columns, ..Config::new("file") };
    assert!(rows(&config, &folder.path).unwrap_err().to_string().contains("it needs the table"));
}

/// What is written in `format`, and what that says was dropped.
fn converted(config: &Config, base: &Path, format: OutputFormat) -> (Vec<u8>, Vec<String>) {
    let summary = config.summary(base, &|_| true).unwrap();
    let devices: Vec<Vec<u8>> = summary.devices.iter().map(|device| device.name.clone().into_bytes()).collect();
    let mut output = Output::new(format, Vec::new(), &devices).unwrap();
    let mut records = config.records(base).unwrap();
    while let Some((request, device)) = records.next().unwrap() {
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
            text.contains("a device without a name"),
            sample.rows.iter().any(|row| row.4.is_empty() || row.4.contains(' '))
        );
        let has_parts = sample.rows.iter().any(|row| (row.0 - first) % 1000 != 0);
        assert_eq!(text.contains("no whole number of microseconds"), has_parts, "{text}");
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

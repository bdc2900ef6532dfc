//! Placement identifiers in traces: read, written and passed on.

use crate::support::Folder;
use nandlab_block::{Op, Request};
use nandlab_nand::{Origin, PlacementId};
use nandlab_workload::trace::{Column, ColumnOptions, Config, FormatName, Output, OutputFormat};
use nandlab_workload::WorkloadError;
use std::path::Path;

/// A file of version 1 by hand: a write of the journal at 12 us, and a read behind it. Python's `zlib.crc32` made the
/// checksums.
const VERSION_1: &str = "894e4c54520d0a1a01000000f8081eec1000000002000000bddadbea1100076a6f75726e616ce05d8040084c\
                         000000000000000000000000";
/// The same with handle 5 of group 1 for the write: version 2, a bit in the tag, and the varint 262.
const VERSION_2: &str = "894e4c54520d0a1a0200000016a7abfe12000000020000009279061d9100076a6f75726e616c8602e05d8040084c\
                         000000000000000000000000";

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn requests(config: &Config, base: &Path) -> Result<Vec<Request>, WorkloadError> {
    let mut records = config.records(base)?;
    let mut all = Vec::new();
    while let Some((request, _)) = records.next_request()? {
        all.push(request);
    }
    Ok(all)
}

fn converted(config: &Config, base: &Path, format: OutputFormat) -> (Vec<u8>, Vec<String>) {
    let summary = config.summary(base, &|_| true).unwrap();
    let mut output = Output::new(format, Vec::new(), &[], !summary.placements.is_empty()).unwrap();
    for request in requests(config, base).unwrap() {
        output.write(&request, b"").unwrap();
    }
    output.finish().unwrap()
}

#[test]
fn a_native_file_without_placements_is_of_version_1_byte_by_byte() {
    let folder = Folder::new("placed-native");
    let placement = PlacementId { group: 1, handle: 5 };
    for (hex, placement, text) in [
        (VERSION_1, PlacementId::NONE, "time_us,op,sector,sectors,origin\n12,W,4096,8,journal\n12,R,4104,8,journal\n"),
        (
            VERSION_2,
            placement,
            "time_us,op,sector,sectors,origin,placement\n12,W,4096,8,journal,1:5\n12,R,4104,8,journal,\n",
        ),
    ] {
        let write = Request { time: 12_000, origin: Origin::JOURNAL, placement, ..Request::new(Op::Write, 4096, 8) };
        let read = Request { op: Op::Read, sector: 4104, placement: PlacementId::NONE, ..write };
        let native = folder.write("native", &bytes(hex));
        assert_eq!(requests(&native, &folder.path).unwrap(), [write, read]);
        assert_eq!(String::from_utf8(converted(&native, &folder.path, OutputFormat::Csv).0).unwrap(), text);
        let csv = folder.write("csv", text.as_bytes());
        assert_eq!(converted(&csv, &folder.path, OutputFormat::Native).0, bytes(hex));
    }
}

#[test]
fn placements_go_through_every_format_that_has_them() {
    let folder = Folder::new("placed-formats");
    let lines: String = (0..9_000u32)
        .map(|at| {
            let placement = ["", "0", "127", "254:127", "3:9"][at as usize % 5];
            let op = ["W", "W", "R", "T"][at as usize % 4];
            // A read and a trim keep no placement, so the text has none either.
            format!("{at},{op},{},8,host,{}\n", at * 8, if op == "W" { placement } else { "" })
        })
        .collect();
    let text = format!("time_us,op,sector,sectors,origin,placement\n{lines}");
    let config = folder.write("csv", text.as_bytes());
    let all = requests(&config, &folder.path).unwrap();
    assert_eq!(all[5].placement, PlacementId::NONE);
    assert_eq!(all[4 * 5 + 1].placement, PlacementId::of(0));
    assert_eq!(all[4 * 2].placement, PlacementId { group: 254, handle: 127 });
    let native = folder.write("native", &converted(&config, &folder.path, OutputFormat::Native).0);
    assert_eq!(requests(&native, &folder.path).unwrap(), all);
    let (back, dropped) = converted(&native, &folder.path, OutputFormat::Csv);
    assert_eq!((String::from_utf8(back).unwrap(), dropped), (text, vec![]));
    let summary = config.summary(&folder.path, &|_| true).unwrap();
    let found: Vec<_> = summary.placements.iter().map(|one| (one.placement.as_str(), one.writes)).collect();
    assert_eq!(found, [("0", 900), ("127", 900), ("3:9", 900), ("254:127", 900)]);
    assert!(summary.placements.iter().all(|one| one.written_sectors == 8 * one.writes));
    let dropped = converted(&config, &folder.path, OutputFormat::Fio).1.join("; ");
    assert!(dropped.contains("3600 requests have a placement, for which fio has no place"), "{dropped}");
}

#[test]
fn a_foreign_table_may_have_a_column_of_placements() {
    let folder = Folder::new("placed-columns");
    let play = |text: &str| {
        folder.write("table", text.as_bytes());
        let column = |name: &str| Column::Name(name.to_owned());
        let options: ColumnOptions =
            serde_json::from_str(r#"{"op": "op", "address": "lba", "size": "n", "placement": "plid"}"#).unwrap();
        assert_eq!(options.placement, Some(column("plid")));
        let columns = Some(Box::new(options));
        requests(&Config { format: FormatName::Columns, columns, ..Config::new("table") }, &folder.path)
    };
    let found = play("plid,op,lba,n\n5,W,0,8\n 1:5 ,W,8,8\n,W,16,8\n6,R,0,8\n").unwrap();
    let placements: Vec<_> = found.iter().map(|request| (request.op, request.placement)).collect();
    let of = PlacementId::of;
    assert_eq!(placements[..2], [(Op::Write, of(5)), (Op::Write, PlacementId { group: 1, handle: 5 })]);
    assert_eq!(placements[2..4], [(Op::Write, PlacementId::NONE), (Op::Read, PlacementId::NONE)]);
    for (cell, said) in [
        ("128", "line 2, column 1: `128` is no placement: a handle is a number from 0 to 127"),
        ("255:0", "`255:0` is no placement: a group is a number from 0 to 254"),
        ("x", "`x` is no placement: expected a handle such as 5, or a group and a handle such as 1:5"),
        ("1:", "`1:` is no placement"),
    ] {
        let error = play(&format!("plid,op,lba,n\n{cell},W,0,8\n")).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    let numbered: ColumnOptions =
        serde_json::from_str(r#"{"op": 1, "address": 2, "size": 3, "placement": 0}"#).unwrap();
    let config = Config { format: FormatName::Columns, columns: Some(Box::new(numbered)), ..Config::new("table") };
    let error = requests(&config, &folder.path).unwrap_err().to_string();
    assert!(error.contains("columns.placement = 0 cannot work: columns are numbered from 1"), "{error}");
    let short: ColumnOptions = serde_json::from_str(r#"{"op": 1, "address": 2, "size": 3, "placement": 4}"#).unwrap();
    folder.write("table", b"W,0,8\n");
    let config = Config { format: FormatName::Columns, columns: Some(Box::new(short)), ..Config::new("table") };
    assert_eq!(requests(&config, &folder.path).unwrap()[0].placement, PlacementId::NONE, "a line that ends before");
}

//! Files that are no trace as they are, but that people have: what to do with each.

use super::guess::Numbered;

/// What to do with contents that start so; `None` where nothing is known of them.
pub(super) fn named(head: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 8] = [
        (
            b"\xFD7zXZ\0",
            "this is packed with xz, which is not read: unpack it with `xz -dk`, or pack it with gzip or zstd",
        ),
        (b"BZh", "this is packed with bzip2, which is not read: unpack it with `bzip2 -dk`"),
        (b"\x04\x22\x4D\x18", "this is packed with lz4, which is not read: unpack it with `lz4 -d`"),
        (b"7z\xBC\xAF\x27\x1C", "this is a 7z archive, which is not read: unpack it with `7z x`"),
        (b"PK\x03\x04", "this is a zip archive, which is not read: unpack it with `unzip`"),
        (
            b"PAR1",
            "this is a Parquet file, which is not read as a trace: write it as text, as with `write_csv` of polars",
        ),
        (b"\xFF\xFE", UTF_16),
        (b"\xFE\xFF", UTF_16),
    ];
    // Its magic number in either order of bytes, beside a version.
    if matches!(head, [0..32, b't', b'a', b'e', ..] | [b'e', b'a', b't', 0..32, ..]) {
        return Some("this is the binary output of blktrace: `blkparse -i` writes the text that is read");
    }
    known.iter().find(|(start, _)| head.starts_with(start)).map(|&(_, said)| said)
}

/// What to do with a text of this kind; `None` where it may be a table.
pub(super) fn text(lines: &[Numbered<'_>]) -> Option<&'static str> {
    let mut meant = lines.iter().map(|(_, line)| line.trim()).filter(|line| !line.starts_with('#'));
    let first = meant.clone().next()?;
    if first.starts_with('{') || first.starts_with("[{") || first == "[" {
        return Some(JSON);
    }
    let is_table = first.starts_with('[') && first.ends_with(']');
    let is_key = |line: &str| line.split_once(" = ").is_some_and(|(key, _)| key.chars().all(is_of_key));
    if (is_table || is_key(first)) && meant.nth(1).is_none_or(|line| line.starts_with('[') || is_key(line)) {
        return Some(TOML);
    }
    let is_kernel = |(_, line): &Numbered<'_>| line.contains("block_rq_") || line.contains("block_bio_");
    if lines.iter().any(is_kernel) {
        return Some(KERNEL);
    }
    let is_statistics = |(_, line): &Numbered<'_>| {
        line.contains("r/s") && line.contains("w/s") || line.contains("tps") && line.contains("kB_read")
    };
    lines.iter().take(10).any(is_statistics).then_some(STATISTICS)
}

fn is_of_key(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.')
}

const JSON: &str =
    "This looks like JSON: write a line `time_us,op,sector,sectors` and below it the fields of each request \
                    with commas between them, as the format `csv` has it";
const TOML: &str =
    "This looks like TOML, as experiments are written: `nandlab check` and `nandlab run` take it, and the \
                    trace is the file that its key workload.trace.path names";
const KERNEL: &str = "This looks like the events of the block layer that ftrace or perf print: record with \
                      `blktrace -d DEVICE -o - | blkparse -i -`, or keep one kind of event (block_rq_issue) and write its \
                      seconds, operation, sector and sectors in columns";
const STATISTICS: &str = "This looks like the statistics of iostat, which count requests and do not list them: \
                          `blktrace -d DEVICE -o - | blkparse -i -` records each one";

const UTF_16: &str = "this text is in UTF-16: write it in UTF-8, as with `iconv -f UTF-16 -t UTF-8`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_named_and_traces_are_not() {
        for (head, name) in [
            (&b"\xFD7zXZ\0\0\x04"[..], "xz"),
            (b"PK\x03\x04\x14", "zip"),
            (b"\xFF\xFE0\0,\0", "UTF-16"),
            (b"PAR1\x15\x04", "Parquet"),
            (b"\x07tae\x01\0\0\0", "blktrace"),
            (b"eat\x07\0\0\0\x01", "blktrace"),
        ] {
            assert!(named(head).unwrap().contains(name), "{name}");
        }
        for (lines, name) in [
            (&["{\"op\": \"read\"}"][..], "JSON"),
            (&["# mine", "[workload.trace]", "path = \"a.csv\""], "nandlab run"),
            (&["[ftl.page]", "[device]"], "TOML"),
            (&["fio-7 [000] 12.5: block_rq_issue: 8,0 W 4096 () 1000 + 8 [fio]"], "blkparse"),
            (&["Linux 6.1", "Device r/s rkB/s w/s wkB/s", "sda 1 2 3 4"], "iostat"),
            (&["Device tps kB_read/s kB_wrtn/s", "sda 1 2 3"], "iostat"),
        ] {
            let lines: Vec<Numbered<'_>> = (1..).zip(lines.iter().copied()).collect();
            assert!(text(&lines).unwrap().contains(name), "{name}");
        }
        for line in ["0,1,512,r,0.5", "[0] 1 W 8 8", ""] {
            assert_eq!(text(&[(1, line), (2, line)]), None);
        }
        for head in [&b"0,1,512,r,0.5"[..], b"", b"PAR", b"tea,op,lba,size"] {
            assert_eq!(named(head), None);
        }
    }
}

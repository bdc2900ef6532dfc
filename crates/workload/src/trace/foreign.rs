//! Common files in unsupported forms: advice for each.

use super::guess::Numbered;

pub(super) use super::objects::binary as objects;

/// Advice for contents starting with `head`; `None` if unknown.
pub(super) fn named(head: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 9] = [
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
        (
            b"DSv1",
            "this is a DataSeries file, as HP Labs and SNIA publish traces: write it as text with `ds2txt --csv` of \
             DataSeries, and name its columns in workload.trace.columns with format = \"columns\"",
        ),
        (b"\xFF\xFE", UTF_16),
        (b"\xFE\xFF", UTF_16),
    ];
    // Its magic number in either byte order, beside a version.
    if matches!(head, [0..32, b't', b'a', b'e', ..] | [b'e', b'a', b't', 0..32, ..]) {
        return Some("this is the binary output of blktrace: `blkparse -i` writes the text that is read");
    }
    // Text before the binary records.
    if head[..head.len().min(SRT_HEADER)].windows(SRT_DATE.len()).any(|window| window == SRT_DATE) {
        return Some(SRT);
    }
    known.iter().find(|(start, _)| head.starts_with(start)).map(|&(_, said)| said)
}

/// Advice for such a text; `None` if it may be a table.
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
    let is_kernel = |(_, line): &Numbered<'_>| {
        ["block_rq_", "block_bio_", "nvme_setup_cmd", "nvme_complete_rq", "ufshcd_command", "mmc_request_"]
            .iter()
            .any(|event| line.contains(event))
    };
    if lines.iter().any(is_kernel) {
        return Some(KERNEL);
    }
    if let Some(what) = super::objects::text(lines) {
        return Some(what);
    }
    let is_call = |(_, line): &Numbered<'_>| {
        ["read(", "write(", "pread64(", "pwrite64(", "openat(", "execve(", "fsync("]
            .iter()
            .any(|call| line.contains(call))
            && line.contains(") = ")
    };
    if 2 * lines.iter().filter(|line| is_call(line)).count() >= lines.len() {
        return Some(CALLS);
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
const KERNEL: &str = "This looks like events of the kernel, and most lines are not as ftrace, trace-cmd report and perf \
                      script print them (`task-pid [cpu] seconds: block_rq_issue: 8,0 W 4096 () 1000 + 8 [task]`). Events \
                      of drivers (nvme, ufshcd, mmc) count in blocks of a size that they do not tell: record \
                      `trace-cmd record -e block:block_rq_issue` or `blktrace -d DEVICE -o - | blkparse -i -`";
const CALLS: &str = "This looks like the system calls that strace prints. They are of files, and a cache and a file system \
                     lie between them and the device: `blktrace -d DEVICE -o - | blkparse -i -` records what reaches the \
                     device while the program runs";
const STATISTICS: &str = "This looks like the statistics of iostat, which count requests and do not list them: \
                          `blktrace -d DEVICE -o - | blkparse -i -` records each one";

/// The date's latest position in the text before an SRT trace's records.
const SRT_HEADER: usize = 4096;
const SRT_DATE: &[u8] = b"tracedate\t=";
const SRT: &str =
    "this is an SRT trace of HP Labs, which is not read: make it a text with `srt2ds` and `ds2txt --csv` of \
                   DataSeries, and name its columns in workload.trace.columns with format = \"columns\"";

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
            (b"DSv1\0\0\0\x04", "ds2txt"),
            (b"hostname\t= \"cello\";\ntracedate\t= \"Sat Apr 18 00:00:01 1992\";\n\0", "SRT"),
            (b"\x07tae\x01\0\0\0", "blktrace"),
            (b"eat\x07\0\0\0\x01", "blktrace"),
        ] {
            assert!(named(head).unwrap().contains(name), "{name}");
        }
        for (lines, name) in [
            (&["{\"op\": \"read\"}"][..], "JSON"),
            (&["# mine", "[workload.trace]", "path = \"a.csv\""], "nandlab run"),
            (&["[ftl.page]", "[device]"], "TOML"),
            (&["[12.5] block_rq_issue 8,0 W 1000 8"], "trace-cmd"),
            (&["12.5 mmc0: mmc_request_start cmd_opcode=25", "x"], "blkparse"),
            (&["3891  12:00:01.5 pwrite64(3, \"a\"..., 4096, 8192) = 4096"], "strace"),
            (&["execve(\"/bin/dd\", [\"dd\"], 0x7) = 0", "read(0, \"\", 512) = 0", "+++ exited with 0 +++"], "strace"),
            (&["0,nz:u:eeW511W3dcH3de3d15ec,22,304,12,get,0", "1,nz:u:x,9,0,3,set,3600"], "Twitter"),
            (&["key,op,size,op_count,key_size", "1668437,SET,82,1,16"], "CacheLib"),
            (&["time,obj_id,obj_size", "1,2,4096"], "libCacheSim"),
            (&["time,object,size,next_access_vtime", "1,2,4096,9"], "libCacheSim"),
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

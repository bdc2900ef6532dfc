//! Tells the format of a trace from its contents.

use super::fields::shown;
use super::format::{FormatName, Frame, Line, ReaderOptions, FORMATS};
use super::guess::guess;
use super::lines::{Lines, BYTE_ORDER_MARK};
use super::native;
use std::io;

/// Bytes of the contents that are looked at.
const SAMPLE_BYTES: usize = 64 * 1024;

/// Records of the sample that are read.
const SAMPLE_RECORDS: usize = 64;

/// The format of a trace, and what was said about it.
#[derive(Clone, Debug)]
pub(crate) struct Detected {
    pub(crate) format: FormatName,
    /// What a reader of the result should know.
    pub(crate) notice: Option<String>,
}

/// What one format makes of the sample.
struct Fit<'a> {
    format: FormatName,
    requests: Vec<Line<'a>>,
    is_typical: bool,
    /// The first line says which format it is.
    has_header: bool,
}

/// Tells the format; the bytes stay unread. `Err` inside is why it cannot be told.
pub(crate) fn detect(lines: &mut Lines, options: &ReaderOptions) -> io::Result<Result<Detected, String>> {
    let sample = lines.peek(SAMPLE_BYTES)?;
    Ok(tell(sample, sample.len() < SAMPLE_BYTES, options))
}

fn tell(sample: &[u8], is_whole: bool, options: &ReaderOptions) -> Result<Detected, String> {
    if sample.starts_with(&native::MAGIC) {
        return Ok(Detected { format: FormatName::Native, notice: None });
    }
    if sample.is_empty() {
        return Err("the file is empty".to_owned());
    }
    // Only a text has the mark; it may be the start of a number elsewhere.
    let text = text_lines(sample.strip_prefix(BYTE_ORDER_MARK).unwrap_or(sample), is_whole);
    let mut readers: Vec<_> = FORMATS
        .iter()
        .filter(|entry| entry.format != FormatName::Native)
        .filter_map(|entry| Some((entry.format, entry.format.reader(options)?)))
        .collect();
    let mut fits = Vec::new();
    for (format, reader) in &mut readers {
        let fit = match reader.frame() {
            Frame::Line => fits_lines(*format, reader.as_mut(), &text),
            Frame::Bytes(bytes) => fits_pieces(*format, reader.as_mut(), bytes, sample),
            Frame::Block => None,
        };
        fits.extend(fit);
    }
    choose(fits, &text)
}

/// The whole lines of a sample that are not blank.
fn text_lines(sample: &[u8], is_whole: bool) -> Vec<&[u8]> {
    let end = match sample.iter().rposition(|&byte| byte == b'\n') {
        Some(end) if !is_whole => end,
        _ => sample.len(),
    };
    let lines = sample[..end].split(|&byte| byte == b'\n');
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.filter(|line| !line.trim_ascii().is_empty()).take(SAMPLE_RECORDS).collect()
}

/// What a format of lines makes of them: without a header at least half have to be of its form, so that one bad line
/// hides nothing.
fn fits_lines<'a>(format: FormatName, reader: &mut dyn super::Format, lines: &[&'a [u8]]) -> Option<Fit<'a>> {
    let has_header = reader.header(lines.first()?).ok()?;
    let records = &lines[usize::from(has_header)..];
    let mut good = 0;
    let mut requests = Vec::new();
    for line in records {
        let Ok(record) = reader.record(line) else { continue };
        good += 1;
        if let Line::Request(found) = record {
            // The name of the device lives as long as the reader, and is not compared.
            requests.push(Line::Request(super::Found { device: b"", ..found }));
        }
    }
    let is_typical = records.iter().all(|line| reader.is_typical(line));
    // A header says it, whatever is wrong after it.
    let is_fit = has_header || good > 0 && 2 * good >= records.len();
    is_fit.then_some(Fit { format, requests, is_typical, has_header })
}

/// What a format of records of one length makes of them.
fn fits_pieces<'a>(
    format: FormatName,
    reader: &mut dyn super::Format,
    bytes: usize,
    sample: &'a [u8],
) -> Option<Fit<'a>> {
    let pieces = sample.chunks_exact(bytes).take(SAMPLE_RECORDS);
    let (mut good, mut all) = (0, 0);
    for piece in pieces {
        all += 1;
        good += usize::from(matches!(reader.record(piece), Ok(Line::Request(_))));
    }
    (good > 0 && 2 * good >= all).then_some(Fit { format, requests: Vec::new(), is_typical: true, has_header: true })
}

fn choose(mut fits: Vec<Fit<'_>>, text: &[&[u8]]) -> Result<Detected, String> {
    if fits.iter().any(|fit| fit.has_header) {
        fits.retain(|fit| fit.has_header);
    }
    let all: Vec<&str> = fits.iter().map(|fit| fit.format.name()).collect();
    if fits.iter().any(|fit| fit.is_typical) {
        fits.retain(|fit| fit.is_typical);
    }
    let Some(first) = fits.first() else { return Err(unknown(text)) };
    let format = first.format;
    let name = format.name();
    if fits.iter().any(|fit| fit.requests != first.requests) {
        let names: Vec<String> = fits.iter().map(|fit| format!("\"{}\"", fit.format.name())).collect();
        return Err(format!(
            "the contents fit the formats {}, which read them differently: set workload.trace.format to one of them \
             (`nandlab list traces` tells what each means)",
            names.join(" and ")
        ));
    }
    let others: Vec<&str> = all.into_iter().filter(|&other| other != name).collect();
    let notice = match (format, others.as_slice()) {
        (FormatName::Csv, _) => None,
        (_, []) => Some(format!("the trace was read as \"{name}\", told from its contents")),
        (_, others) => Some(format!(
            "the trace was read as \"{name}\", told from its contents; the columns of \"{}\" fit, too: \
             workload.trace.format chooses",
            others.join("\" and \"")
        )),
    };
    Ok(Detected { format, notice })
}

fn unknown(text: &[&[u8]]) -> String {
    let first = text.first().copied().unwrap_or_default();
    let start = format!("the contents fit no known format, they start with {}", shown(first));
    if first.trim_ascii_start().starts_with(b"{") {
        return format!(
            "{start}. This looks like JSON: write a line `time_us,op,sector,sectors` and below it the fields of each \
             request with commas between them, as the format `csv` has it"
        );
    }
    if let Some(guess) = guess(text) {
        let lines: Vec<String> = guess.lines.iter().map(|line| format!("`{line}`")).collect();
        return format!(
            "{start}. If it is a table, {} below [workload.trace], or each of them after --set of `nandlab trace`, read \
             it; check units and operations. A known format is forced with workload.trace.format, which then tells the \
             place of what does not fit",
            lines.join(" and ")
        );
    }
    let known: Vec<&str> = FORMATS.iter().map(|entry| entry.name).collect();
    format!(
        "{start}. Set workload.trace.format to one of {} for the place of what does not fit, or describe the columns in \
         workload.trace.columns with format = \"columns\"",
        known.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Result<(FormatName, String), String> {
        tell(text.as_bytes(), true, &ReaderOptions::default())
            .map(|found| (found.format, found.notice.unwrap_or_default()))
    }

    #[test]
    fn each_kind_of_line_is_told() {
        for (text, format) in [
            ("time_us,op,sector,sectors\n0,W,0,8\n", FormatName::Csv),
            ("0,303567,3584,w,0.000000\n", FormatName::Spc),
            ("128166372003061629,hm,1,Read,383496192,32768,113736\n", FormatName::Msr),
            ("8999 4253 nfsd 508516672 8 W 6 0 88b93b628d84082186026d9da044f173\n", FormatName::Fiu),
            ("  8,16   3        4     0.000011950  3645  I   R 4938888 + 256 [java]\n", FormatName::Blkparse),
            ("fio version 2 iolog\n/dev/sda add\n", FormatName::Fio),
            ("fio version 3 iolog\n0 /dev/sda add\n", FormatName::Fio),
            ("5265.313 0 6357144 8 0\n", FormatName::Disksim),
            ("640.875000\t0\t522424\t16\t1\n", FormatName::Flashsim),
            ("8\t\t8\t\t4096\t\t5\t\t1.5\t\t1.6\t\t1.7\t\t1.8\n", FormatName::Biotracer),
            (
                "proces,device,rw_flag,sector,size,timestamp\r\nk,8388608,R,29880920,16,159273.751646\r\n",
                FormatName::Pixel,
            ),
            ("419,W,8792731648,16384,1577808000000626\n", FormatName::Alibaba),
            ("1538323200,12910952,128,0,1063\n", FormatName::Tencent),
            ("39949 D read 299008 4096 0.000000000 0 False\n", FormatName::Wiscsee),
        ] {
            assert_eq!(told(text).map(|(format, _)| format), Ok(format), "{text}");
        }
    }

    #[test]
    fn two_that_read_alike_are_both_named() {
        let (format, notice) = told("938513000 4 264719034 16 0\n938828000 3 197570570 16 0\n").unwrap();
        assert_eq!(format, FormatName::Mqsim);
        assert!(notice.contains("read as \"mqsim\"") && notice.contains("\"ssdsim\""), "{notice}");
    }

    #[test]
    fn two_that_differ_are_refused_with_both_names() {
        for text in ["640.875000 0 522424 16 1\n", "640.875\t0\t522424\t16\t1\n"] {
            let error = told(text).unwrap_err();
            assert!(
                error.contains("\"disksim\" and \"flashsim\"") && error.contains("workload.trace.format"),
                "{error}"
            );
        }
    }

    #[test]
    fn what_is_no_trace_is_refused_with_its_start_and_the_names() {
        for (text, way) in [
            ("hello world\n", "columns"),
            ("\0\0\0\0\n", "columns"),
            ("1;2;3\n", "columns"),
            ("\u{FEFF}{\"a\": 1}", "JSON"),
            ("5;W;2;3\n6;R;9;3\n", "columns = { op = 2, address = 3, size = 4, time = 1"),
        ] {
            let error = told(text).unwrap_err();
            assert!(error.contains("fit no known format") && error.contains(way), "{error}");
            assert!(!error.contains('\0'));
        }
        assert_eq!(told(""), Err("the file is empty".to_owned()));
    }

    #[test]
    fn a_few_bad_lines_hide_nothing() {
        let text = "0,303567,3584,w,0.0\nbroken\n0,303567,3584,w,0.1\n";
        assert_eq!(told(text).unwrap().0, FormatName::Spc);
        // A header tells the format of a file with no good line at all.
        assert_eq!(told("time_us,op,sector,sectors\n0,W,zero,8\n").unwrap().0, FormatName::Csv);
    }
}

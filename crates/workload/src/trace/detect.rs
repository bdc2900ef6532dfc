//! Tells a trace's format from its contents.

use super::continued::Continued;
use super::fields::shown;
use super::foreign;
use super::format::{FormatName, ReaderOptions, FORMATS};
use super::guess::{guess, spread, Guess, Numbered};
use super::line::{Frame, Line};
use super::lines::{Lines, BYTE_ORDER_MARK};
use super::native;
use std::io;

/// Sample size in bytes; more are read if two formats differ in the size unit only.
const SAMPLE_BYTES: usize = 64 * 1024;

/// Records read from the sample.
const SAMPLE_RECORDS: usize = 64;

/// Lines for a guess: enough to meet a second device.
const GUESS_LINES: usize = 2000;

/// A trace's format, and a notice about it.
#[derive(Clone, Debug)]
pub(crate) struct Detected {
    pub(crate) format: FormatName,
    /// A note for the result's reader.
    pub(crate) notice: Option<String>,
}

/// One format's reading for the sample.
struct Fit<'a> {
    format: FormatName,
    requests: Vec<Line<'a>>,
    is_typical: bool,
    /// The first line names the format.
    has_header: bool,
}

/// Why the format cannot be told, and how the text may be read as a table.
pub(crate) struct Untold {
    pub(crate) message: String,
    pub(crate) guess: Option<Guess>,
}

impl From<String> for Untold {
    fn from(message: String) -> Self {
        Self { message, guess: None }
    }
}

/// Tells the format; the bytes stay unread. `Err` inside is why it cannot be told.
pub(crate) fn detect(lines: &mut Lines, options: &ReaderOptions) -> io::Result<Result<Detected, Untold>> {
    let all = lines.peek(usize::MAX)?;
    let is_whole = all.len() < SAMPLE_BYTES;
    let told = tell(&all[..all.len().min(SAMPLE_BYTES)], all, is_whole, options);
    Ok(match told {
        Err(untold) if !is_whole => Err(guess_from_all(lines, untold)),
        told => told,
    })
}

/// A guess at the start of a table, made again from lines of the whole file; the file is not read further.
fn guess_from_all(lines: &mut Lines, untold: Untold) -> Untold {
    let Some(op) = untold.guess.as_ref().map(|guess| guess.op) else { return untold };
    // Whatever is wrong further on, the start has its guess.
    let Ok(kept) = spread(lines, op, GUESS_LINES) else { return untold };
    let kept: Vec<Numbered<'_>> = kept.iter().map(|(number, line)| (*number, line.as_str())).collect();
    match guess(&kept) {
        Ok(guess) => Untold { guess: Some(guess), ..untold },
        Err(_) => untold,
    }
}

/// Tells the format from `sample`, the start of the known bytes `all`.
fn tell(sample: &[u8], all: &[u8], is_whole: bool, options: &ReaderOptions) -> Result<Detected, Untold> {
    if sample.starts_with(&native::MAGIC) {
        return Ok(Detected { format: FormatName::Native, notice: None });
    }
    if sample.is_empty() {
        return Err("the file is empty".to_owned().into());
    }
    if let Some(other) = foreign::named(sample) {
        return Err(other.to_owned().into());
    }
    // Only text has the mark; elsewhere it may start a number.
    let lines = text_lines(sample.strip_prefix(BYTE_ORDER_MARK).unwrap_or(sample), is_whole);
    let text: Vec<&[u8]> = lines.iter().take(SAMPLE_RECORDS).map(|(_, line)| *line).collect();
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
    choose(fits, &lines, all)
}

/// The sample's whole, non-blank lines, with their numbers.
fn text_lines(sample: &[u8], is_whole: bool) -> Vec<(u64, &[u8])> {
    let end = match sample.iter().rposition(|&byte| byte == b'\n') {
        Some(end) if !is_whole => end,
        _ => sample.len(),
    };
    let lines = sample[..end].split(|&byte| byte == b'\n');
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    (1..).zip(lines).filter(|(_, line)| !line.trim_ascii().is_empty()).take(GUESS_LINES).collect()
}

/// A line format's reading: without a header at least half the lines must fit, so one bad line hides nothing.
fn fits_lines<'a>(format: FormatName, reader: &mut dyn super::Format, lines: &[&'a [u8]]) -> Option<Fit<'a>> {
    // Comments speak for no format.
    let lines: Vec<&[u8]> = lines.iter().copied().filter(|line| !reader.is_comment(line)).collect();
    let first = *lines.first()?;
    let has_header = reader.header(first).ok()?;
    // Names above the columns tell their meaning: other names mean another format.
    let has_names = !has_header && lines.len() > 1 && reader.record(first).is_err() && names(first).is_some();
    if has_names && !fits_names(reader.names(), &names(first)?) {
        return None;
    }
    let records = &lines[usize::from(has_header || has_names)..];
    let mut good = 0;
    let mut requests = Vec::new();
    for line in records {
        let Ok(record) = reader.record(line) else { continue };
        good += 1;
        if record == Line::End {
            // A short trace, followed by the program's summary.
            return (good > 1).then_some(Fit { format, requests, is_typical: true, has_header });
        }
        if let Line::Request(found) = record {
            // The device name lives as long as the reader, and is not compared.
            requests.push(Line::Request(super::Found { device: b"", ..found }));
        }
    }
    let is_typical = records.iter().all(|line| reader.is_typical(line));
    // A header says it, whatever is wrong after it.
    let is_fit = has_header || good > 0 && 2 * good >= records.len();
    is_fit.then_some(Fit { format, requests, is_typical, has_header })
}

/// The column names in a line; `None` if the line may be a record.
pub(crate) fn names(line: &[u8]) -> Option<Vec<String>> {
    let text = std::str::from_utf8(line).ok().filter(|text| !text.contains(|c: char| c.is_control() && c != '\t'))?;
    let separator = [',', ';', '\t'].into_iter().find(|&sign| text.contains(sign));
    let names: Vec<String> = match separator {
        Some(sign) => text.split(sign).map(|name| name.trim().trim_matches('"').to_lowercase()).collect(),
        None => text.split_whitespace().map(str::to_lowercase).collect(),
    };
    let is_name = |name: &String| name.trim_start_matches('#').trim().starts_with(char::is_alphabetic);
    (names.len() >= 3 && names.iter().all(is_name)).then_some(names)
}

/// Whether the names match a format's column names.
fn fits_names(known: Option<&[&str]>, names: &[String]) -> bool {
    let is_known = |(known, name): (&&str, &String)| known.split('|').any(|part| name.contains(part));
    known.is_none_or(|known| known.len() == names.len() && known.iter().zip(names).all(is_known))
}

/// Reading for a format with fixed-length records.
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

/// Keeps either DiskSim or FlashSim if the requests in `all` tell them apart; returns the counts if both fit.
fn tell_unit(fits: &mut Vec<Fit<'_>>, all: &[u8]) -> Option<Continued> {
    let is_either = |format| matches!(format, FormatName::Disksim | FormatName::Flashsim);
    if fits.iter().filter(|fit| is_either(fit.format)).count() < 2 {
        return None;
    }
    let end = all.iter().rposition(|&byte| byte == b'\n').map_or(all.len(), |end| end + 1);
    let lines = all[..end].split(|&byte| byte == b'\n');
    let continued = Continued::of(lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line)));
    if let Some(told) = continued.format() {
        fits.retain(|fit| !is_either(fit.format) || fit.format == told);
    }
    Some(continued)
}

fn choose(mut fits: Vec<Fit<'_>>, text: &[(u64, &[u8])], contents: &[u8]) -> Result<Detected, Untold> {
    if fits.iter().any(|fit| fit.has_header) {
        fits.retain(|fit| fit.has_header);
    }
    let continued = tell_unit(&mut fits, contents);
    let all: Vec<&str> = fits.iter().map(|fit| fit.format.name()).collect();
    if fits.iter().any(|fit| fit.is_typical) {
        fits.retain(|fit| fit.is_typical);
    }
    let Some(first) = fits.first() else {
        return Err(foreign::objects(contents).map_or_else(|| unknown(text), |what| what.to_owned().into()));
    };
    let format = first.format;
    let name = format.name();
    if fits.iter().any(|fit| fit.requests != first.requests) {
        let names: Vec<String> = fits.iter().map(|fit| format!("\"{}\"", fit.format.name())).collect();
        let why = continued.map_or(String::new(), |continued| format!(". Of its start, {}", continued.sentence()));
        return Err(format!(
            "the contents fit the formats {}, which read them differently: set workload.trace.format to one of them \
             (`nandlab list traces` tells what each means){why}",
            names.join(" and ")
        )
        .into());
    }
    let unit = continued.filter(|continued| continued.format() == Some(format));
    if let Some(continued) = unit {
        let why = continued.sentence();
        let notice = format!("the trace was read as \"{name}\", told from its contents: of its start, {why}");
        return Ok(Detected { format, notice: Some(notice) });
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

fn unknown(text: &[(u64, &[u8])]) -> Untold {
    let first = text.first().map_or(&b""[..], |(_, line)| line);
    let start = format!("the contents fit no known format, they start with {}", shown(first));
    let lines: Vec<Numbered<'_>> =
        text.iter().filter_map(|(number, line)| Some((*number, std::str::from_utf8(line).ok()?))).collect();
    if let Some(what) = foreign::text(&lines) {
        return format!("{start}. {what}").into();
    }
    match guess(&lines) {
        Ok(guess) => {
            let message = format!(
                "{start}. If it is a table, the lines below read it, at the end of [workload.trace] or as options of \
                 `nandlab trace`: check units and operations. A known format is forced with workload.trace.format, \
                 which then tells the place of what does not fit"
            );
            Untold { message, guess: Some(guess) }
        }
        Err(Some(why)) => format!(
            "{start}. It looks like a table, but {why}. A trace has a line for each request, with whether it reads or \
             writes, where it starts and how long it is; workload.trace.columns with format = \"columns\" names the \
             columns (`nandlab list traces columns`)"
        )
        .into(),
        Err(None) => {
            let known: Vec<&str> = FORMATS.iter().map(|entry| entry.name).collect();
            format!(
                "{start}. Set workload.trace.format to one of {} for the place of what does not fit, or describe the \
                 columns in workload.trace.columns with format = \"columns\"",
                known.join(", ")
            )
            .into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Result<(FormatName, String), String> {
        let said = |untold: Untold| untold.message + &untold.guess.map_or(String::new(), |guess| guess.block());
        tell(text.as_bytes(), text.as_bytes(), true, &ReaderOptions::default())
            .map(|found| (found.format, found.notice.unwrap_or_default()))
            .map_err(said)
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
        for text in [
            "640.875000 0 522424 16 1\n",
            "640.875\t0\t522424\t16\t1\n",
            "640.875000\t0\t522424\t16\t1\n640.875000\t0\t522440\t16\t1\n",
        ] {
            let error = told(text).unwrap_err();
            assert!(
                error.contains("\"disksim\" and \"flashsim\"") && error.contains("workload.trace.format"),
                "{error}"
            );
        }
    }

    #[test]
    fn requests_that_continue_one_another_tell_sectors_from_pages() {
        let runs = |separator: &str, step: u64| {
            let line = |n: u64| ["640.875000", "0", &(100 + step * 3 * n).to_string(), "3", "1"].join(separator) + "\n";
            (0..5).map(line).collect::<String>()
        };
        for (text, format, counts) in [
            (runs("\t", 1), FormatName::Disksim, "(\"disksim\") let 4 requests"),
            (runs("\t", 8), FormatName::Flashsim, "(\"flashsim\") 4"),
            (runs(" ", 1), FormatName::Disksim, "(\"disksim\") let 4 requests"),
            (runs(" ", 8), FormatName::Flashsim, "(\"flashsim\") 4"),
        ] {
            let (told, notice) = told(&text).unwrap();
            assert_eq!(told, format, "{text}");
            assert!(notice.contains(counts) && notice.contains("told from its contents"), "{notice}");
        }
    }

    #[test]
    fn a_short_output_of_blkparse_is_told_although_its_summary_is_longer() {
        let text = "  8,16   3        4     0.000011950  3645  C   R 4938888 + 256 [java]\nCPU3 (8,16):\n \
                    Reads Queued: 0, 0KiB\n Read Dispatches: 1, 4KiB\n\nTotal (8,16):\n Reads Queued: 0, 0KiB\n";
        assert_eq!(told(text).map(|(format, _)| format), Ok(FormatName::Blkparse));
        // The summary alone is no trace.
        assert!(told(&text[text.find("CPU3").unwrap()..]).is_err());
    }

    #[test]
    fn what_is_no_trace_is_refused_with_its_start_and_the_names() {
        for (text, way) in [
            ("hello world\n", "columns"),
            ("\0\0\0\0\n", "columns"),
            ("1;2;3\n", "columns"),
            ("\u{FEFF}{\"a\": 1}", "JSON"),
            ("5;W;2;3\n6;R;9;3\n", "op = 2\naddress = 3\nsize = 4\ntime = 1"),
        ] {
            let error = told(text).unwrap_err();
            assert!(error.contains("fit no known format") && error.contains(way), "{error}");
            assert!(!error.contains('\0'));
        }
        assert_eq!(told(""), Err("the file is empty".to_owned()));
    }

    #[test]
    fn names_above_the_columns_are_passed_over_where_they_are_those_of_the_format() {
        for (text, format) in [
            (
                "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n128166372003061629,hm,1,Read,512,512,1\n",
                FormatName::Msr,
            ),
            ("ASU,LBA,Size,Opcode,Timestamp\n0,303567,3584,w,0.000000\n", FormatName::Spc),
            ("Device ID;x\ta,b,c\n8,16 3 4 0.01 3645 C R 4938888 + 256 [java]\n", FormatName::Blkparse),
            ("device,op,offset,bytes,time_us\n419,W,8792731648,16384,1577808000000626\n", FormatName::Alibaba),
            ("Timestamp,Offset,Size,IOType,VolumeID\n1538323200,12910952,128,0,1063\n", FormatName::Tencent),
        ] {
            assert_eq!(told(text).map(|(format, _)| format), Ok(format), "{text}");
        }
        // Alibaba lines under names with other units.
        let error = told("disk,op,lba,blocks,time\n419,W,8792731648,16384,1577808000000626\n").unwrap_err();
        assert!(error.contains("device = \"disk\"") && error.contains("address_unit_bytes = 512"), "{error}");
        let error = told("time_us dev lba size is_write\n1 0 800 8 1\n2 0 80 8 0\n").unwrap_err();
        assert!(error.contains("write = [\"1\"]"), "{error}");
    }

    /// The proposal for a file with these lines.
    fn proposed(lines: impl Iterator<Item = String>) -> String {
        let mut lines = Lines::of_text(&lines.map(|line| line + "\n").collect::<String>());
        let Ok(Err(untold)) = detect(&mut lines, &ReaderOptions::default()) else { panic!("no table") };
        untold.guess.expect("a table").block()
    }

    #[test]
    fn the_whole_file_is_looked_at_before_a_table_is_proposed() {
        // An operation and a bad line far behind the start, in seconds as the many equal times tell.
        let row = |n: u64| match n {
            17_321 => "1,1700,8a,512,7".to_owned(),
            28_000 => "the end".to_owned(),
            n => format!("1,{},{},4096,{}", 33_898 + n / 40, ["28", "2a"][n as usize % 2], n * 7919 % 100_000),
        };
        let header = || std::iter::once("version,time,op,size,lbn".to_owned());
        let all = proposed(header().chain((0..=28_000).map(row)));
        assert!(all.contains("read = [\"28\"]\nwrite = [\"2a\", \"8a\"]"), "{all}");
        assert!(all.contains("time_unit = \"s\"") && all.contains("on_error = \"skip\" # line 28002"), "{all}");
        let start = proposed(header().chain((0..17_000).map(row)));
        assert!(!start.contains("8a") && !start.contains("on_error"), "{start}");
        // Rows with numbers that were passed over count rows all the same; gaps are those of the rows, not of the sample.
        let all = proposed((0..30_000).map(|n: u64| format!("{n} {} W {} 8", n * 300, n * 7919 % 100_000)));
        assert!(all.contains("column 1 numbers the rows") && all.contains("time_unit = \"us\""), "{all}");
    }

    #[test]
    fn a_few_bad_lines_hide_nothing() {
        let text = "0,303567,3584,w,0.0\nbroken\n0,303567,3584,w,0.1\n";
        assert_eq!(told(text).unwrap().0, FormatName::Spc);
        // A header tells the format even without a good line.
        assert_eq!(told("time_us,op,sector,sectors\n0,W,zero,8\n").unwrap().0, FormatName::Csv);
    }
}

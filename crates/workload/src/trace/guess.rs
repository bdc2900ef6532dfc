//! Guesses which columns a text of no known format may have, for a message: nothing is read by a guess.

use super::columns::{bytes_of, Separator};
use super::words::{is_date_time, is_duration, is_fraction, is_numeric, is_whole, plain, quoted, word};
use std::collections::BTreeSet;

/// What a text may be as a table: keys and values of `[workload.trace]` and of its table `columns`.
pub(crate) struct Guess {
    time_unit: Option<&'static str>,
    keys: Vec<Key>,
}

struct Key {
    name: &'static str,
    value: String,
    /// What should be looked at before it is believed.
    note: Option<String>,
}

impl Guess {
    fn trace_keys(&self) -> Vec<String> {
        let unit = self.time_unit.map(|unit| format!("time_unit = \"{unit}\""));
        std::iter::once("format = \"columns\"".to_owned()).chain(unit).collect()
    }

    /// The end of a table `[workload.trace]`.
    pub(crate) fn block(&self) -> String {
        let mut lines = self.trace_keys();
        lines.push("[workload.trace.columns]".to_owned());
        lines.extend(self.keys.iter().map(|Key { name, value, note }| {
            format!("{name} = {value}{}", note.as_ref().map(|note| format!(" # {note}")).unwrap_or_default())
        }));
        lines.join("\n")
    }

    /// The same as arguments of `--set`.
    pub(crate) fn sets(&self) -> Vec<String> {
        let keys: Vec<String> = self.keys.iter().map(|key| format!("{} = {}", key.name, key.value)).collect();
        let mut sets = self.trace_keys();
        sets.push(format!("columns = {{ {} }}", keys.join(", ")));
        sets
    }
}

/// Parts of names of columns, those that say most first.
const TIME: &[&str] = &["timestamp", "time", "arrival", "when", "date", "ts", "sec", "usec", "us", "ms", "ns", "t"];
const OP: &[&str] = &["op", "rw", "iotype", "type", "kind", "cmd", "command", "direction", "action", "request"];
const FLAG: &[&str] = &["write", "read"];
const ADDRESS: &[&str] = &["lba", "offset", "address", "addr", "sector", "lbn", "start", "blkno", "pos", "block"];
const SIZE: &[&str] = &["size", "length", "len", "bytes", "nsectors", "sectors", "count", "nblocks", "blocks"];
const DEVICE: &[&str] = &[
    "device",
    "dev",
    "disk",
    "drive",
    "lun",
    "volume",
    "vol",
    "asu",
    "host",
    "server",
    "namespace",
    "nsid",
    "major",
    "minor",
    "target",
    "tenant",
    "ssd",
    "hdd",
];
/// Columns of few values that are no device.
const OTHER: &[&str] = &[
    "pid", "tid", "proc", "comm", "cpu", "core", "thread", "lat", "resp", "time", "dur", "flag", "seq", "stat", "err",
    "ret", "queue", "depth", "prio", "md5", "hash", "origin", "file", "inode", "user", "uid", "wait", "sync", "app",
];

/// Values of a column that may be names of devices, where its name does not say so.
const FEW: usize = 64;

/// What the lines of `text` may be; `None` where no column looks like an operation beside two numbers.
pub(crate) fn guess(text: &[&[u8]]) -> Option<Guess> {
    let lines: Vec<&str> = text.iter().filter_map(|line| std::str::from_utf8(line).ok()).collect();
    // Some programs put the names of the columns behind the sign of a comment.
    let comment = lines.iter().take_while(|line| line.starts_with('#')).last().map(|line| line.trim_start_matches('#'));
    let lines: Vec<&str> = lines.into_iter().filter(|line| !line.starts_with('#')).collect();
    let separators = [Separator::Comma, Separator::Semicolon, Separator::Tab, Separator::Blanks];
    separators.into_iter().find_map(|separator| {
        let rows: Vec<Vec<&str>> = lines.iter().map(|line| cut(line, separator)).collect();
        let width = rows.first()?.len();
        let names = comment.map(|names| cut(names, separator)).filter(|names| names.len() == width);
        (width >= 3 && rows.iter().all(|row| row.len() == width)).then(|| of_table(&rows, names, separator))?
    })
}

fn cut(line: &str, separator: Separator) -> Vec<&str> {
    let sign = match separator {
        Separator::Comma => ',',
        Separator::Semicolon => ';',
        Separator::Tab => '\t',
        Separator::Blanks => return line.split_whitespace().collect(),
    };
    line.split(sign).map(|field| field.trim().trim_matches('"')).collect()
}

fn of_table(rows: &[Vec<&str>], comment: Option<Vec<&str>>, separator: Separator) -> Option<Guess> {
    let is_value = |field: &&str| field.parse::<f64>().is_ok() || is_date_time(field);
    let header = rows.first().filter(|row| !row.iter().any(is_value)).filter(|_| rows.len() > 1);
    let values = &rows[usize::from(header.is_some())..];
    let columns: Vec<Vec<&str>> = (0..rows[0].len()).map(|at| values.iter().map(|row| row[at]).collect()).collect();
    let names = header.cloned().or(comment);
    let table = Table { names: names.as_deref(), is_named: header.is_some(), columns: &columns };
    let op = table.op()?;
    let named = table.named(ADDRESS, &[op]);
    let taken = [op, named.unwrap_or(op)];
    let time = table.time(&taken);
    let address = named.or_else(|| table.largest(&[op, time.unwrap_or(op)]))?;
    let size = table
        .named(SIZE, &[op, address, time.unwrap_or(op)])
        .or_else(|| table.after(address, &[op, time.unwrap_or(op)]))?;
    let places = Places { time, op, address, size };
    let devices = table.devices(&places);
    Some(table.told(&places, &devices, separator))
}

/// Which column is what.
struct Places {
    time: Option<usize>,
    op: usize,
    address: usize,
    size: usize,
}

/// The fields of a text by columns.
struct Table<'a> {
    names: Option<&'a [&'a str]>,
    /// Whether the names are a line of the table, by which columns can be called.
    is_named: bool,
    columns: &'a [Vec<&'a str>],
}

impl Table<'_> {
    /// The column of whole words for operations, or the one of flags.
    fn op(&self) -> Option<usize> {
        let is_op = |column: &Vec<&str>| column.iter().all(|field| word(field).is_some());
        let is_flag = |column: &Vec<&str>| column.iter().all(|field| matches!(*field, "0" | "1"));
        let by_words = self.named_where(OP, &[], is_op).or_else(|| self.columns.iter().position(is_op));
        by_words
            .or_else(|| self.named_where(FLAG, &[], is_flag))
            .or_else(|| self.named_where(OP, &[], is_flag))
            .or_else(|| {
                // Without a name only a column with both of them is one, and only where it is the only one.
                let is_both = |at: &usize| is_flag(&self.columns[*at]) && self.different(*at) == 2;
                let mut both = (0..self.columns.len()).filter(is_both).filter(|_| self.names.is_none());
                both.next().filter(|_| both.next().is_none())
            })
    }

    fn time(&self, taken: &[usize]) -> Option<usize> {
        let is_time = |column: &Vec<&str>| is_numeric(column) || column.iter().all(|field| is_date_time(field));
        let free = |at: &usize| !taken.contains(at);
        let of_day = |at: &usize| self.columns[*at].iter().all(|field| is_date_time(field) && field.contains(':'));
        let is_start = |at: usize| !self.plain_name(at).is_some_and(|name| is_duration(&name));
        let named = self.named_where(TIME, taken, is_time).filter(|&at| is_start(at));
        named.or_else(|| (0..self.columns.len()).filter(free).find(of_day)).or_else(|| {
            let rises = |at: &usize| is_numeric(&self.columns[*at]) && self.rises(*at);
            (0..self.columns.len()).filter(free).find(rises).filter(|_| self.names.is_none())
        })
    }

    /// The column of numbers whose name has the first of `parts` that any name has.
    fn named(&self, parts: &[&str], taken: &[usize]) -> Option<usize> {
        self.named_where(parts, taken, |column| is_whole(column) || is_numeric(column))
    }

    fn plain_name(&self, at: usize) -> Option<String> {
        let plain = |name: &str| name.to_lowercase().replace(|letter: char| !letter.is_alphanumeric(), "");
        self.names.map(|names| plain(names[at]))
    }

    fn named_where(&self, parts: &[&str], taken: &[usize], is_right: impl Fn(&Vec<&str>) -> bool) -> Option<usize> {
        let is_free = |at: &usize| !taken.contains(at) && is_right(&self.columns[*at]);
        let free: Vec<(usize, String)> =
            (0..self.columns.len()).filter(is_free).filter_map(|at| Some((at, self.plain_name(at)?))).collect();
        let whole = parts.iter().find_map(|part| free.iter().find(|(_, name)| name == part));
        let as_word =
            || parts.iter().find_map(|part| free.iter().find(|(at, _)| self.words(*at).any(|word| word == **part)));
        let as_part = || {
            let mut long = parts.iter().filter(|part| part.len() > 2);
            long.find_map(|part| free.iter().find(|(_, name)| name.contains(part)))
        };
        whole.or_else(as_word).or_else(as_part).map(|&(at, _)| at)
    }

    /// The words that a name has: `rq`, `size` and `kb` in `rq_size (KB)`.
    fn words(&self, at: usize) -> impl Iterator<Item = String> + '_ {
        let name = self.names.map_or("", |names| names[at]);
        name.split(|letter: char| !letter.is_alphanumeric()).map(str::to_lowercase)
    }

    fn different(&self, at: usize) -> usize {
        self.columns[at].iter().collect::<BTreeSet<_>>().len()
    }

    /// The column of the most different numbers, of these the one of the largest.
    fn largest(&self, taken: &[usize]) -> Option<usize> {
        let number = |field: &&str| bytes_of(field.as_bytes(), 512).map(|number| number as f64);
        let sum = |at: usize| self.columns[at].iter().filter_map(number).sum::<f64>();
        let free = (0..self.columns.len()).filter(|at| !taken.contains(at) && is_whole(&self.columns[*at]));
        free.max_by(|&one, &other| {
            self.different(one).cmp(&self.different(other)).then_with(|| sum(one).total_cmp(&sum(other)))
        })
    }

    fn rises(&self, at: usize) -> bool {
        let values: Vec<f64> = self.columns[at].iter().filter_map(|field| field.parse().ok()).collect();
        values.len() == self.columns[at].len() && values.windows(2).all(|pair| pair[0] <= pair[1])
    }

    fn after(&self, address: usize, taken: &[usize]) -> Option<usize> {
        let is_free = |at: &usize| *at != address && !taken.contains(at) && is_whole(&self.columns[*at]);
        (address + 1..self.columns.len()).chain(0..address).find(is_free)
    }

    /// The columns that may name the device: those whose name says so, or, where no name does, those of few values
    /// whose name says nothing else. A column too many makes a run ask for a device; one too few would mix devices.
    fn devices(&self, places: &Places) -> Vec<usize> {
        let taken = [places.op, places.address, places.size, places.time.unwrap_or(places.op)];
        let is_free = |at: &usize| !taken.contains(at) && !self.columns[*at].iter().any(|field| is_fraction(field));
        let free: Vec<usize> = (0..self.columns.len()).filter(is_free).collect();
        let has = |at: usize, parts: &[&str]| {
            self.plain_name(at).is_some_and(|name| parts.iter().any(|part| name.contains(part)))
        };
        let is_other = |at: usize| has(at, OTHER);
        let named: Vec<usize> = free.iter().copied().filter(|&at| has(at, DEVICE) && !is_other(at)).collect();
        if !named.is_empty() {
            return named.into_iter().take(4).collect();
        }
        let rows = self.columns[0].len();
        let is_few = |at: usize| {
            let different = self.different(at);
            // In a few lines every device may occur once.
            let is_short = rows <= 4 && self.columns[at].iter().all(|field| field.len() <= 8);
            let is_constant = different == 1 && self.names.is_none();
            is_constant || different > 1 && different <= FEW && (different < rows || is_short && self.names.is_none())
        };
        free.into_iter().filter(|&at| !is_other(at) && is_few(at)).take(4).collect()
    }

    fn name(&self, at: usize) -> String {
        match self.names {
            Some(names) if self.is_named => quoted(names[at]),
            _ => (at + 1).to_string(),
        }
    }

    /// The keys and values.
    fn told(&self, places: &Places, devices: &[usize], separator: Separator) -> Guess {
        let key = |name, value| Key { name, value, note: None };
        let Places { time, op, address, size } = *places;
        let mut keys = vec![key("op", self.name(op)), key("address", self.name(address)), key("size", self.name(size))];
        keys.extend(time.map(|at| key("time", self.name(at))));
        keys.extend(self.device(devices));
        keys.extend([self.unit("address_unit_bytes", address, size), self.unit("size_unit_bytes", size, address)]);
        match separator {
            Separator::Comma => {}
            Separator::Semicolon => keys.push(key("separator", quoted("semicolon"))),
            Separator::Tab => keys.push(key("separator", quoted("tab"))),
            Separator::Blanks => keys.push(key("separator", quoted("blanks"))),
        }
        keys.extend(self.operations(op));
        Guess { time_unit: time.map(|at| self.time_unit(at)), keys }
    }

    fn device(&self, devices: &[usize]) -> Option<Key> {
        let names: Vec<String> = devices.iter().map(|&at| self.name(at)).collect();
        let value = match names.as_slice() {
            [] => return None,
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let said: Vec<String> = devices
            .iter()
            .map(|&at| {
                let values: BTreeSet<&str> = self.columns[at].iter().copied().collect();
                let shown: Vec<String> = values.iter().take(3).map(|value| plain(value)).collect();
                format!("{}{}", shown.join(", "), if values.len() > 3 { ", ..." } else { "" })
            })
            .collect();
        let note = format!("its values: {}; leave it out where it is no device", said.join(" and "));
        Some(Key { name: "device", value, note: Some(note) })
    }

    /// What the operations are called.
    fn operations(&self, op: usize) -> Vec<Key> {
        let name = self.plain_name(op).unwrap_or_default();
        let is_flag = self.columns[op].iter().all(|field| word(field).is_none());
        let one_reads = name.contains("read") && !name.contains("write");
        let kind_of = |field: &str| match (word(field), field) {
            (Some(kind), _) => kind,
            (None, "1") if one_reads => "read",
            (None, "0") if one_reads => "write",
            (None, "1") => "write",
            _ => "read",
        };
        let is_sure = !is_flag || FLAG.iter().any(|part| name.contains(part));
        let note = (!is_sure).then(|| "0 and 1 do not say which of them writes: exchange them if need be".to_owned());
        let kinds = ["read", "write", "trim", "flush"].into_iter().filter_map(|kind| {
            let mut words: Vec<&str> =
                self.columns[op].iter().copied().filter(|field| kind_of(field) == kind).collect();
            words.sort_unstable();
            words.dedup();
            if is_flag && words.is_empty() && matches!(kind, "read" | "write") {
                // The other flag may come later.
                words.push(if (kind == "write") == one_reads { "0" } else { "1" });
            }
            let value: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            let value = format!("[{}]", value.join(", "));
            (!words.is_empty()).then(|| Key { name: kind, value, note: note.clone() })
        });
        kinds.collect()
    }

    /// The unit that the name says, or else bytes where every number is one of whole sectors, or sectors.
    fn unit(&self, key: &'static str, at: usize, other: usize) -> Key {
        let name = self.plain_name(at).unwrap_or_default();
        let says = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        let ends = |parts: &[&str]| parts.iter().any(|part| name.ends_with(part));
        let in_bytes = |at: usize| {
            let field_bytes = |field: &&str| bytes_of(field.as_bytes(), 1);
            let mut numbers = self.columns[at].iter().filter_map(field_bytes).filter(|&n| n > 0).peekable();
            numbers.peek().is_some() && numbers.all(|number| number % 512 == 0)
        };
        let told = match () {
            () if ends(&["kb", "kib", "kbytes", "kilobytes"]) => Some(1 << 10),
            () if ends(&["mb", "mib", "mbytes", "megabytes"]) => Some(1 << 20),
            () if says(&["lba", "sector", "lbn"]) => Some(512),
            () if says(&["byte"]) => Some(1),
            () if says(&["page"]) => Some(4096),
            () if says(&["offset"]) && (in_bytes(at) || in_bytes(other)) => Some(1),
            () => None,
        };
        let unit = told.unwrap_or(if in_bytes(at) { 1 } else { 512 });
        let note = told.is_none().then(|| "bytes of a unit, told from the numbers: check it".to_owned());
        Key { name: key, value: unit.to_string(), note }
    }

    fn time_unit(&self, at: usize) -> &'static str {
        if self.columns[at].iter().all(|field| is_date_time(field)) {
            return "date_time";
        }
        let name = self.plain_name(at).unwrap_or_default();
        let words: Vec<String> = self.words(at).collect();
        for (endings, unit) in [
            (["ns", "nsec", "nanoseconds", "nanosec"], "ns"),
            (["us", "usec", "microseconds", "microsec"], "us"),
            (["ms", "msec", "milliseconds", "millisec"], "ms"),
            (["s", "secs", "seconds", "sec"], "s"),
        ] {
            if endings.iter().any(|ending| words.iter().any(|word| word == ending))
                || endings[1..].iter().any(|ending| name.ends_with(ending))
                || unit != "s" && name.strip_suffix(unit).is_some_and(|rest| rest.ends_with("time"))
            {
                return unit;
            }
        }
        let has_fraction = self.columns[at].iter().any(|field| field.contains('.'));
        let first = self.columns[at].first().and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
        // The years since 1970, in which unit they would be few.
        match () {
            () if has_fraction || name.contains("sec") => "s",
            () if first > 1e17 => "ns",
            () if first > 1e14 => "us",
            () if first > 1e11 => "ms",
            () if first > 1e9 && first < 3e9 => "s",
            () => "us",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The block of a text; without the notes.
    fn told(text: &str) -> String {
        let lines: Vec<&[u8]> = text.lines().map(str::as_bytes).collect();
        let block = guess(&lines).map_or(String::new(), |guess| guess.block());
        block.lines().map(|line| line.split(" # ").next().unwrap()).collect::<Vec<_>>().join("; ")
    }

    fn check(text: &str, parts: &[&str]) {
        let found = told(text);
        for part in parts {
            assert!(found.contains(part), "{part}: {found}");
        }
    }

    #[test]
    fn a_header_names_the_columns_and_their_units() {
        let found = told("timestamp,type,offset,length\n1697041234.1,Write,4096,4096\n1697041234.2,Read,8192,512\n");
        assert_eq!(
            found,
            "format = \"columns\"; time_unit = \"s\"; [workload.trace.columns]; op = \"type\"; address = \"offset\"; \
             size = \"length\"; time = \"timestamp\"; address_unit_bytes = 1; size_unit_bytes = 1; read = [\"Read\"]; \
             write = [\"Write\"]"
        );
        let text = "# of mine\ntime_ms\trw\tsector\tnsectors\n1\tW\t0\t8\n2\tW\t8\t8\n";
        check(text, &["time_unit = \"ms\"", "size = \"nsectors\"", "separator = \"tab\"", "address_unit_bytes = 512"]);
        let text = "ts_us,op,lba,size_kb\n5,W,8,4\n9,R,16,64\n";
        check(text, &["time_unit = \"us\"", "address_unit_bytes = 512", "size_unit_bytes = 1024"]);
        let text = "Timestamp,Response,IOType,LUN,Offset,Size\n1455592751.1,0.001,W,1,40960,4096\n1455592752.0,0.1,R,1,512,512\n";
        check(text, &["time = \"Timestamp\"", "op = \"IOType\"", "device = \"LUN\"", "size_unit_bytes = 1;"]);
        // Offsets that are no whole sectors, as the sizes are none, count sectors.
        check("time,offset,size,op\n1,13,8,R\n2,29,16,W\n", &["address_unit_bytes = 512", "size_unit_bytes = 512"]);
        // Names behind the sign of a comment cannot be called, but say the same.
        check(
            "#time_ms rw lba bytes\n1 W 0 4096\n2 W 8 512\n",
            &["time_unit = \"ms\"", "size = 4", "size_unit_bytes = 1;"],
        );
    }

    #[test]
    fn without_a_header_numbers_tell_the_columns() {
        let columns = "op = 2; address = 3; size = 4; time = 1; address_unit_bytes = 512";
        check("0 R 100 8\n1 W 9200 16\n2 W 200 16\n", &[columns, "separator = \"blanks\""]);
        // A flag has no meaning of its own: without both there is nothing that it could be told by.
        assert_eq!(told("5,1,7\n6,0,7\n9,1,7\n"), "");
        check("0,W,0,8\n5,R,8,8\n", &["address = 3; size = 4; time = 1"]);
        check("time;op;lba;size\n0,5;W;10;8\n0,7;R;10;8\n", &["address = \"lba\""]);
        check("t,op,lba,l\u{e4}nge size\n1,W,0,8\n", &["size = \"l\u{e4}nge size\"", "time = \"t\""]);
        check("0.5 sda W 0x1f0 4K\n0.7 sda R 0x200 8K\n", &["address = 4; size = 5; time = 1; device = 2"]);
    }

    #[test]
    fn flags_are_proposed_with_both_values() {
        check("t,op,lba,size\n1,0,5,8\n2,1,9,8\n", &["read = [\"0\"]; write = [\"1\"]"]);
        check("t,is_read,lba,size\n1,0,5,8\n2,0,9,8\n", &["read = [\"1\"]; write = [\"0\"]"]);
        check("t,is_write,lba,size\n1,1,5,8\n2,1,9,8\n", &["read = [\"0\"]; write = [\"1\"]"]);
        check("1,100,8,0\n2,900,8,1\n3,500,8,1\n", &["op = 4; address = 2; size = 3; time = 1"]);
        let lines: Vec<&[u8]> = "t,op,lba,size\n1,0,5,8\n2,1,9,8".lines().map(str::as_bytes).collect();
        assert!(guess(&lines).unwrap().block().contains("exchange them if need be"));
    }

    #[test]
    fn dates_and_times_of_day_are_times() {
        let dates = "2024-05-31 12:30:00.5,W,0,8\n2024-05-31 12:30:01,R,64,8\n";
        check(dates, &["time_unit = \"date_time\"", "time = 1", "op = 2"]);
        check("when,op,lba,size\n12:30:00,W,0,8\n12:30:01,R,64,8\n", &["time_unit = \"date_time\"", "time = \"when\""]);
        check("2024-05-31 12:30:00 W 0 8\n2024-05-31 12:30:01 R 64 8\n", &["time = 2", "op = 3"]);
    }

    #[test]
    fn what_may_be_the_device_is_proposed_so_that_none_are_mixed() {
        check("time,disk,op,lba,size\n1,0,W,0,8\n2,1,W,0,8\n3,0,R,0,8\n", &["device = \"disk\""]);
        // One value so far: another may come behind the lines that were looked at.
        check("time,disk,op,lba,size\n1,0,W,0,8\n2,0,W,0,8\n", &["device = \"disk\""]);
        check("0 0 W 100 8\n1 1 W 200 8\n2 0 R 100 8\n", &["op = 3; address = 4; size = 5; time = 1; device = 2"]);
        check("0 sda W 100 8\n1 sdb W 200 8\n", &["device = 2"]);
        check("host,disk,time,op,lba,size\na,0,1,W,0,8\nb,0,2,W,0,8\n", &["device = [\"host\", \"disk\"]"]);
        check("x,time,op,lba,size\n3,1,W,0,8\n4,2,W,0,8\n4,3,W,0,8\n", &["device = \"x\""]);
        for text in [
            "time,pid,op,lba,size\n1,7,W,0,8\n2,8,W,0,8\n3,7,R,0,8\n",
            "time,latency,op,lba,size\n1,7,W,0,8\n2,7,W,0,8\n3,8,R,0,8\n",
            "time,op,lba,size,x\n1,W,0,8,0.5\n2,W,0,8,0.5\n3,R,0,8,0.25\n",
            "time,op,lba,size,x\n1,W,0,8,11\n2,W,0,8,12\n3,R,0,8,13\n",
        ] {
            assert!(!told(text).contains("device"), "{text}");
        }
    }

    #[test]
    fn what_is_no_table_gives_no_guess() {
        for text in
            ["hello world\n", "{\"op\": \"read\", \"lba\": 5, \"len\": 8}\n", "a,b\n1,2\n", "", "R,W,R\nW,R,W\n"]
        {
            assert_eq!(told(text), "", "{text}");
        }
    }

    #[test]
    fn any_text_is_looked_at_without_harm() {
        let letters = b"0123456789.,;\t RWrw#-+:enaif\"\n\n\n\xFF";
        let mut state = 1u64;
        for _ in 0..20_000 {
            let text: Vec<u8> = (0..60)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    letters[(state >> 33) as usize % letters.len()]
                })
                .collect();
            let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();
            if let Some(guess) = guess(&lines) {
                assert!(guess.sets().last().unwrap().starts_with("columns = { op = "), "{lines:?}");
                assert!(!guess.block().contains(|letter: char| letter.is_control() && letter != '\n'), "{lines:?}");
            }
        }
    }
}

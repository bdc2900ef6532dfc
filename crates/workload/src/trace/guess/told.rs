//! The proposal for a table: keys, values, and points to check.

use super::super::cells::{bytes_of, own_unit, without_thousands};
use super::super::column_options::Separator;
use super::super::words::{is_date_time, opposite, plain, quoted, truth, word};
use super::names::{self, FLAG};
use super::rows::{Numbered, Rows};
use super::table::{most, Places, Table};
use super::{Guess, Key, OpColumn};
use std::collections::BTreeSet;

/// Decimals in a millisecond clock with microsecond resolution.
const MS_DECIMALS: usize = 3;
/// Mean gap, in units, above which they cannot be seconds: with few decimals, and with any.
const BUSY_GAP: f64 = 0.5;
const IDLE_GAP: f64 = 100.0;
/// Rows that show how often a clock of whole numbers ticks.
const MANY: usize = 100;

impl Table<'_> {
    /// The keys and values.
    pub(super) fn told(&self, places: &Places, rows: &Rows<'_>, separator: Separator) -> Guess {
        let key = |name, value| Key { name, value, note: None };
        let Places { time, op, address, size } = *places;
        let noted = |name, at: usize, words: &[&str]| Key { note: self.vague(at, words), ..key(name, self.name(at)) };
        let mut keys = vec![key("op", self.name(op)), noted("address", address, names::ADDRESS)];
        match size {
            Some(at) => keys.push(noted("size", at, names::SIZE)),
            None => keys.push(Key {
                note: Some("no column is taken as the size: every request has so many bytes, check it".to_owned()),
                ..key("fixed_size_bytes", "4096".to_owned())
            }),
        }
        keys.extend(time.map(|at| Key { note: self.time_note(at, separator), ..key("time", self.name(at)) }));
        keys.extend(self.device(&self.devices(places)));
        keys.push(self.unit("address_unit_bytes", address, size));
        keys.extend(size.map(|at| self.unit("size_unit_bytes", at, Some(address))));
        let op_column = OpColumn { at: op, separator };
        let parts_by_comma = separator == Separator::Comma;
        let separator = match separator {
            Separator::Comma => None,
            Separator::Semicolon => Some("semicolon"),
            Separator::Tab => Some("tab"),
            Separator::Pipe => Some("pipe"),
            Separator::Blanks => Some("blanks"),
        };
        keys.extend(separator.map(|name| key("separator", quoted(name))));
        if rows.skip_lines > 0 {
            keys.push(Key {
                note: Some("lines above the table".to_owned()),
                ..key("skip_lines", rows.skip_lines.to_string())
            });
        }
        keys.extend(self.operations(op));
        let mut trace = vec![key("format", quoted("columns"))];
        trace.extend(time.and_then(|at| self.time_unit(at, parts_by_comma)));
        trace.extend(self.on_error(places, rows));
        let counts = (0..self.columns.len()).filter(|&at| ![op, address].contains(&at) && self.numbers_rows(at));
        let counts = counts.map(|at| format!("column {} numbers the rows, and is no time", at + 1));
        Guess { op: op_column, trace, keys, remarks: self.left_out(places).into_iter().chain(counts).collect() }
    }

    fn name(&self, at: usize) -> String {
        match &self.names {
            Some(names) if self.is_named => quoted(names[at]),
            _ => (at + 1).to_string(),
        }
    }

    /// What to check of a column whose name does not tell what it is.
    fn vague(&self, at: usize, words: &[&str]) -> Option<String> {
        let name = self.plain_name(at)?;
        let says = words.iter().any(|word| name == *word || word.len() > 2 && name.contains(word));
        (!says).then(|| "its name does not say so: check it".to_owned())
    }

    fn time_note(&self, at: usize, separator: Separator) -> Option<String> {
        let with_comma = |field: &&&str| field.contains(',') && !is_date_time(field);
        let comma = self.columns[at].iter().find(with_comma).map(|field| {
            let how = if separator == Separator::Comma && without_thousands(field).is_some() {
                "thousands"
            } else {
                "a fraction"
            };
            format!("`{}` is read with a comma before {how}: check it", plain(field))
        });
        let rising = "told from its rising numbers: check it".to_owned();
        if self.names.is_none() {
            Some(rising)
        } else {
            comma.or_else(|| self.vague(at, names::TIME).map(|_| rising))
        }
    }

    /// Why there is no time, if it is missing.
    fn left_out(&self, places: &Places) -> Option<String> {
        if places.time.is_some() {
            return None;
        }
        let taken = [places.op, places.address, places.size.unwrap_or(places.op)];
        let Some(at) = self.unread_time(&taken) else {
            return Some("no column is taken as the time: all requests come at 0".to_owned());
        };
        let first = self.columns[at].iter().find(|field| !field.is_empty()).copied().unwrap_or_default();
        let name =
            self.names.as_ref().map_or(format!("column {}", at + 1), |names| format!("\"{}\"", plain(names[at])));
        Some(format!(
            "{} is left out, as `{}` is no time that is read (0.5, 2.4ms, 2024-05-31 12:30:00, 05/31/2024 12:30 with \
             the month first, 31.05.2024): all requests come at 0",
            name,
            plain(first)
        ))
    }

    /// The setting for lines outside the table.
    fn on_error(&self, places: &Places, rows: &Rows<'_>) -> Option<Key> {
        let is_date = self.has_dates(places);
        let wrong = rows.values.iter().enumerate().filter(|(at, _)| !self.is_read(places, *at, is_date));
        let mut bad: Vec<Numbered<'_>> = rows.odd.iter().copied().chain(wrong.map(|(_, row)| row.line)).collect();
        bad.sort_unstable();
        let &(number, line) = bad.first()?;
        let note = match bad.len() {
            1 => format!("line {number} does not fit: `{}`", plain(line)),
            more => format!("at least {more} lines do not fit, the first is line {number}: `{}`", plain(line)),
        };
        Some(Key { name: "on_error", value: quoted("skip"), note: Some(note) })
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

    /// The operations' names.
    fn operations(&self, op: usize) -> Vec<Key> {
        let name = self.plain_name(op).unwrap_or_default();
        let is_flag = !most(&self.columns[op], |field| word(field).is_some());
        let one_reads = name.contains("read") && !name.contains("write");
        let kind_of = |field: &str| match (word(field), truth(field)) {
            (Some(kind), _) => Some(kind),
            (None, Some(is)) => Some(if is == one_reads { "read" } else { "write" }),
            _ => None,
        };
        let is_sure = !is_flag || FLAG.iter().any(|part| name.contains(part));
        let note = (!is_sure).then(|| "the flags do not say which of them writes: exchange them if need be".to_owned());
        let kinds = ["read", "write", "trim", "flush"].into_iter().filter_map(|kind| {
            let mut words: Vec<&str> =
                self.columns[op].iter().copied().filter(|field| kind_of(field) == Some(kind)).collect();
            words.sort_unstable();
            words.dedup();
            if is_flag && words.is_empty() && matches!(kind, "read" | "write") {
                // The other flag may come later.
                words.extend(self.columns[op].iter().find_map(|field| opposite(field)));
            }
            let value: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            let value = format!("[{}]", value.join(", "));
            (!words.is_empty()).then(|| Key { name: kind, value, note: note.clone() })
        });
        kinds.collect()
    }

    /// The unit from the name; otherwise bytes if every number is a multiple of 512, else sectors.
    fn unit(&self, key: &'static str, at: usize, other: Option<usize>) -> Key {
        let name = self.plain_name(at).unwrap_or_default();
        let says = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        let ends = |parts: &[&str]| parts.iter().any(|part| name.ends_with(part));
        let in_bytes = |at: usize| {
            let field_bytes = |field: &&str| bytes_of(field.as_bytes(), 1);
            let mut numbers = self.moving[at].iter().filter_map(field_bytes).filter(|&n| n > 0).peekable();
            numbers.peek().is_some() && numbers.all(|number| number % 512 == 0)
        };
        let told = match () {
            () if ends(&["kb", "kib", "kbytes", "kilobytes"]) => Some(1 << 10),
            () if ends(&["mb", "mib", "mbytes", "megabytes"]) => Some(1 << 20),
            () if says(&["lba", "sector", "lbn", "sektor", "secteur", "settor"]) => Some(512),
            () if says(&["byte", "octet"]) => Some(1),
            () if says(&["offset"]) && (in_bytes(at) || other.is_some_and(in_bytes)) => Some(1),
            () => None,
        };
        let is_pages = |name: &str| ["page", "lpn", "lpa"].iter().any(|part| name.contains(part));
        let beside = other.and_then(|at| self.plain_name(at)).unwrap_or_default();
        let (unit, note) = match told {
            Some(unit) => (unit, None),
            None if is_pages(&name) => (4096, Some("bytes of a page: check it")),
            None if is_pages(&beside) && !in_bytes(at) => (4096, Some("bytes of a page, as beside it: check it")),
            None => {
                let unit = if in_bytes(at) { 1 } else { 512 };
                (unit, Some("bytes of a unit, told from the numbers: check it"))
            }
        };
        Key { name: key, value: unit.to_string(), note: note.map(str::to_owned) }
    }

    /// The time unit; `None` if each time has its own.
    fn time_unit(&self, at: usize, has_thousands: bool) -> Option<Key> {
        let column = &self.columns[at];
        if most(column, |field| own_unit(field).is_some()) {
            return None;
        }
        let sure = |unit| Some(Key { name: "time_unit", value: quoted(unit), note: None });
        if most(column, is_date_time) {
            return sure("date_time");
        }
        let name = self.plain_name(at).unwrap_or_default();
        let words: Vec<String> = self.names.iter().flat_map(|names| names::words(names[at])).collect();
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
                return sure(unit);
            }
        }
        let unit = self.unit_of_numbers(at, name.contains("sec"), has_thousands);
        let in_words = match unit {
            "s" => "seconds",
            "ms" => "milliseconds",
            "us" => "microseconds",
            _ => "nanoseconds",
        };
        let note = Some(format!("{in_words}, told from the numbers: check it"));
        Some(Key { name: "time_unit", value: quoted(unit), note })
    }

    /// The likely unit for the times.
    fn unit_of_numbers(&self, at: usize, is_seconds: bool, has_thousands: bool) -> &'static str {
        let joined =
            |field: &&str| without_thousands(field).filter(|_| has_thousands).unwrap_or_else(|| (*field).to_owned());
        let column: Vec<String> = self.columns[at].iter().map(joined).collect();
        if is_seconds {
            return "s";
        }
        let number = |field: &String| field.replace(',', ".").parse::<f64>().ok();
        let numbers: Vec<f64> = column.iter().filter_map(number).collect();
        let (first, last) = (numbers.first().copied().unwrap_or(0.0), numbers.last().copied().unwrap_or(0.0));
        let gap = (last - first) / self.span().max(2) as f64;
        if column.iter().any(|field| field.contains(['.', ','])) {
            let decimals =
                |field: &String| field.rsplit(['.', ',']).next().filter(|part| part.len() < field.len()).map(str::len);
            let is_fine = column.iter().filter_map(decimals).max() > Some(MS_DECIMALS);
            // Clocks count seconds since 1970, or have microsecond fractions. Whole units apart with at most three
            // decimals means milliseconds: as seconds the device would be idle.
            let is_ms = first > 1e11 || first < 1e9 && (gap > IDLE_GAP || !is_fine && gap > BUSY_GAP);
            return if is_ms { "ms" } else { "s" };
        }
        match () {
            // Years since 1970; the largest unit giving few years wins.
            () if first > 1e17 => "ns",
            () if first > 1e14 => "us",
            () if first > 1e11 => "ms",
            () if first > 1e9 && first < 3e9 && gap < 1e3 => "s",
            // Many requests at each number, far more than a clock of microseconds would give.
            () if numbers.len() >= MANY && gap < BUSY_GAP => "s",
            // A second between two requests, again and again, is no busy device.
            () if gap > 1e6 => "ns",
            () => "us",
        }
    }
}

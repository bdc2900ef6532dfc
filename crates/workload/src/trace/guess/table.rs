//! Each table column's meaning.

use super::super::cells::{bytes_of, own_unit, time_of};
use super::super::fields::TimeUnit;
use super::super::words::{is_date_time, is_fraction, truth, word};
use super::names::{self, ADDRESS, DEVICE, FLAG, OP, OTHER, SIZE, TIME};
use super::rows::Rows;
use std::collections::BTreeSet;

/// Most values in a column guessed as device names without a telling column name.
const FEW: usize = 64;

/// The columns found.
pub(super) struct Places {
    pub(super) time: Option<usize>,
    pub(super) op: usize,
    pub(super) address: usize,
    pub(super) size: Option<usize>,
}

/// A text's fields by columns.
pub(super) struct Table<'a> {
    pub(super) names: Option<Vec<&'a str>>,
    /// Whether the names are a table line, so they can name columns.
    pub(super) is_named: bool,
    /// Every row's fields.
    pub(super) columns: Vec<Vec<&'a str>>,
    /// Every row's line number: between two rows there may be others, which were not kept.
    lines: Vec<u64>,
    /// Fields in rows that move data: a flush needs no address.
    pub(super) moving: Vec<Vec<&'a str>>,
}

const NO_OP: &str =
    "no column has operations: words such as R and W, read and write, or flags such as 0 and 1 below a \
                     name that says so";
const NO_ADDRESS: &str = "beside the time and the operation no column of whole numbers can be the address";

impl<'a> Table<'a> {
    pub(super) fn new(rows: &Rows<'a>) -> Self {
        let width = rows.values[0].fields.len();
        let columns: Vec<Vec<&str>> =
            (0..width).map(|at| rows.values.iter().map(|row| row.fields[at]).collect()).collect();
        Self {
            names: rows.names.clone(),
            is_named: rows.is_named,
            moving: columns.clone(),
            columns,
            lines: rows.values.iter().map(|row| row.line.0).collect(),
        }
    }

    /// Tells the columns apart.
    ///
    /// # Errors
    /// The missing column, in words to follow "but".
    pub(super) fn places(&mut self) -> Result<Places, String> {
        let op = self.op().ok_or(NO_OP)?;
        let is_moving: Vec<bool> = self.columns[op].iter().map(|field| word(field) != Some("flush")).collect();
        let moving = |column: &Vec<&'a str>| {
            column.iter().zip(&is_moving).filter(|(_, moves)| **moves).map(|(field, _)| *field).collect()
        };
        self.moving = self.columns.iter().map(moving).collect();
        let named = self.address(op);
        let mut time = self.time(&[op, named.unwrap_or(op)]);
        let mut found = self.address_and_size(op, named, time);
        // A flag without a name is too little beside a single number.
        let is_vague = self.names.is_none() && self.columns[op].iter().any(|field| word(field).is_none());
        if self.names.is_none() && !is_vague && !matches!(found, Some((_, Some(_)))) {
            // The rising numbers may be addresses in a trace without times.
            let without = self.address_and_size(op, named, None);
            if let Some((_, Some(_))) = without {
                (time, found) = (None, without);
            }
        }
        let (address, size) = found.ok_or(NO_ADDRESS)?;
        if let (None, Some(end)) = (size, self.end()) {
            let name = |at: usize| {
                self.names.as_ref().map_or(String::new(), |names| names[at].chars().take(30).collect::<String>())
            };
            return Err(format!(
                "\"{}\" and \"{}\" say where a request starts and where it ends, and a size is needed: add a column with \
                 the difference",
                name(address),
                name(end)
            ));
        }
        if size.is_none() && is_vague {
            return Err("no column can be the size of a request".to_owned());
        }
        Ok(Places { time, op, address, size })
    }

    fn address_and_size(&self, op: usize, named: Option<usize>, time: Option<usize>) -> Option<(usize, Option<usize>)> {
        let address = named.or_else(|| self.largest(&[op, time.unwrap_or(op)]))?;
        Some((address, self.size(&[op, address, time.unwrap_or(op)])))
    }

    /// The column with request ends.
    fn end(&self) -> Option<usize> {
        (0..self.moving.len()).find(|&at| self.has_name(at, names::is_end) && most(&self.moving[at], is_whole))
    }

    /// The column with operation words, or the one with flags.
    fn op(&self) -> Option<usize> {
        let is_op = |column: &[&str]| most(column, |field| word(field).is_some());
        let is_flag = |column: &[&str]| column.iter().all(|field| truth(field).is_some());
        let all = &self.columns;
        // Numbers, such as SCSI's 28, are operations only below a telling name.
        let says = |column: &[&str]| is_op(column) && column.iter().any(|field| field.parse::<u64>().is_err());
        let by_words = self.named(OP, all, &[], is_op).or_else(|| all.iter().position(|column| says(column)));
        by_words.or_else(|| self.named(FLAG, all, &[], is_flag)).or_else(|| self.named(OP, all, &[], is_flag)).or_else(
            || {
                // Without a name only a column with both values counts, and only if it is unique.
                let is_both = |at: &usize| is_flag(&all[*at]) && self.different(*at) == 2;
                let mut both = (0..all.len()).filter(is_both).filter(|_| self.names.is_none());
                both.next().filter(|_| both.next().is_none())
            },
        )
    }

    fn address(&self, op: usize) -> Option<usize> {
        let other = |at: &usize| self.has_name(*at, |name| names::is_end(name) || names::is_count(name));
        let taken: Vec<usize> = std::iter::once(op).chain((0..self.moving.len()).filter(other)).collect();
        self.named(ADDRESS, &self.moving, &taken, |column| most(column, is_amount))
    }

    fn size(&self, taken: &[usize]) -> Option<usize> {
        let end = |at: &usize| self.has_name(*at, names::is_end);
        let all: Vec<usize> = taken.iter().copied().chain((0..self.moving.len()).filter(end)).collect();
        self.named(SIZE, &self.moving, &all, |column| most(column, is_amount)).or_else(|| self.after(&all))
    }

    fn time(&self, taken: &[usize]) -> Option<usize> {
        let free = |at: &usize| !taken.contains(at) && !self.has_name(*at, names::is_duration);
        let of_day = |at: &usize| most(&self.columns[*at], |field| is_date_time(field) && field.contains(':'));
        let named = self.time_by_name(taken).filter(|&at| self.is_time(at));
        // A date beside a separate time column would be the same for all.
        let day = || (0..self.columns.len()).filter(free).find(of_day);
        let named = named.filter(|at| of_day(at) || !most(&self.columns[*at], is_date_time)).or_else(day).or(named);
        if named.is_some() {
            return named;
        }
        if self.names.is_some() {
            return self.unread_time(taken).map_or_else(|| self.unnamed_time(taken), |_| None);
        }
        if self.unread_time(taken).is_some() {
            return None;
        }
        let rows = self.columns[0].len();
        let is_counted = (0..self.columns.len()).any(|at| self.numbers_rows(at));
        // Beside row numbers an address may rise as well: a time then has fractions, or stands before the operation.
        let is_clock = |at: usize| {
            let is_before = taken.first().is_some_and(|&op| at < op) && self.different(at) == rows;
            !self.numbers_rows(at) && (is_before || self.columns[at].iter().any(|field| is_fraction(field)))
        };
        let rises =
            |at: &usize| self.rises(*at) && (self.different(*at) > 1 || rows == 1) && (!is_counted || is_clock(*at));
        // Among several, the one with the most distinct values: a process has the same number all the time.
        (0..self.columns.len()).filter(free).filter(rises).max_by_key(|&at| (self.different(at), std::cmp::Reverse(at)))
    }

    /// The first column of rising fractions below a name that says nothing.
    fn unnamed_time(&self, taken: &[usize]) -> Option<usize> {
        let says = |name: &str| names::known(&[name]) > 0;
        let is_fine = |at: usize| self.columns[at].iter().any(|field| is_fraction(&field.replace(',', ".")));
        (0..self.columns.len()).find(|&at| {
            !taken.contains(&at) && !self.has_name(at, says) && is_fine(at) && self.is_time(at) && self.rises(at)
        })
    }

    /// The column that is a time by its name, or without names by its look, readable or not.
    pub(super) fn unread_time(&self, taken: &[usize]) -> Option<usize> {
        if self.names.is_some() {
            return self.time_by_name(taken);
        }
        let looks_so =
            |field: &str| field.matches([':', '/']).count() >= 2 && field.starts_with(|c: char| c.is_ascii_digit());
        (0..self.columns.len()).find(|at| !taken.contains(at) && most(&self.columns[*at], looks_so))
    }

    /// The column with a time's name, whatever its values.
    fn time_by_name(&self, taken: &[usize]) -> Option<usize> {
        let is_no_time = |at: &usize| {
            self.has_name(*at, |name| names::is_duration(name) || names::is_end(name) && name.contains("sec"))
                || self.has_name(*at, |name| ["sector", "secteur"].iter().any(|part| names::plain(name).contains(part)))
        };
        let taken: Vec<usize> = taken.iter().copied().chain((0..self.columns.len()).filter(is_no_time)).collect();
        let is_readable = |column: &[&str]| most(column, is_number_of_time) || most(column, is_date_time);
        let any = |column: &[&str]| column.iter().any(|field| !field.is_empty());
        self.named(TIME, &self.columns, &taken, is_readable).or_else(|| self.named(TIME, &self.columns, &taken, any))
    }

    fn is_time(&self, at: usize) -> bool {
        let column = &self.columns[at];
        most(column, is_number_of_time) || most(column, is_date_time)
    }

    pub(super) fn plain_name(&self, at: usize) -> Option<String> {
        self.names.as_ref().map(|names| names::plain(names[at]))
    }

    fn has_name(&self, at: usize, is: impl Fn(&str) -> bool) -> bool {
        self.names.as_ref().is_some_and(|names| is(names[at]))
    }

    /// The column whose name matches the earliest in `parts`: as a whole, as a word, or inside it.
    fn named(
        &self,
        parts: &[&str],
        columns: &[Vec<&str>],
        taken: &[usize],
        is_right: impl Fn(&[&str]) -> bool,
    ) -> Option<usize> {
        let names = self.names.as_ref()?;
        let is_free = |at: &usize| !taken.contains(at) && is_right(&columns[*at]);
        let free: Vec<(usize, String)> =
            (0..columns.len()).filter(is_free).map(|at| (at, names::plain(names[at]))).collect();
        let whole = parts.iter().find_map(|part| free.iter().find(|(_, name)| name == part));
        let has_word = |at: usize, part: &str| names::words(names[at]).any(|word| word == part);
        let as_word = || parts.iter().find_map(|part| free.iter().find(|(at, _)| has_word(*at, part)));
        let as_part = || {
            let mut long = parts.iter().filter(|part| part.len() > 2);
            long.find_map(|part| free.iter().find(|(_, name)| name.contains(part)))
        };
        whole.or_else(as_word).or_else(as_part).map(|&(at, _)| at)
    }

    pub(super) fn different(&self, at: usize) -> usize {
        self.columns[at].iter().collect::<BTreeSet<_>>().len()
    }

    /// The column with the most distinct numbers; on a tie, the one with the largest sum.
    fn largest(&self, taken: &[usize]) -> Option<usize> {
        let number = |field: &&str| bytes_of(field.as_bytes(), 512).map(|number| number as f64);
        let sum = |at: usize| self.moving[at].iter().filter_map(number).sum::<f64>();
        let different = |at: usize| self.moving[at].iter().collect::<BTreeSet<_>>().len();
        let free = |at: &usize| !taken.contains(at) && self.is_unnamed_number(*at);
        // Row numbers come first in a line, and are all different.
        let first = usize::from(self.numbers_rows(0) && (1..self.moving.len()).any(|at| free(&at)));
        let free = (first..self.moving.len()).filter(free);
        free.max_by(|&one, &other| different(one).cmp(&different(other)).then_with(|| sum(one).total_cmp(&sum(other))))
    }

    /// Whether a column without a name counts the rows, from 0 or 1: three are needed to tell.
    pub(super) fn numbers_rows(&self, at: usize) -> bool {
        let numbered = self.columns[at].iter().zip(&self.lines);
        let values: Vec<(u64, u64)> = numbered.filter_map(|(field, &line)| Some((field.parse().ok()?, line))).collect();
        let is_step = |pair: &&[(u64, u64)]| {
            let step = pair[1].0.checked_sub(pair[0].0);
            step == Some(1) || step == Some(pair[1].1 - pair[0].1)
        };
        let steps = values.windows(2).filter(is_step).count();
        let is_from_start = values.first().is_some_and(|&(first, _)| first <= 1);
        let rows = self.columns[at].len();
        self.names.is_none() && rows > 2 && is_from_start && steps + 1 + misses(rows) >= rows
    }

    /// The lines from the first row to the last one.
    pub(super) fn span(&self) -> u64 {
        self.lines.last().zip(self.lines.first()).map_or(0, |(last, first)| last - first + 1)
    }

    fn rises(&self, at: usize) -> bool {
        let number = |field: &str| field.replace(',', ".").parse::<f64>().ok();
        let values: Vec<f64> = self.columns[at].iter().filter_map(|field| number(field)).collect();
        let backward = values.windows(2).filter(|pair| pair[0] > pair[1]).count();
        most(&self.columns[at], |field| number(field).is_some()) && backward <= misses(values.len())
    }

    fn after(&self, taken: &[usize]) -> Option<usize> {
        let address = taken[1];
        let is_free = |at: &usize| !taken.contains(at) && self.is_unnamed_number(*at);
        (address + 1..self.columns.len()).chain(0..address).find(is_free)
    }

    /// Whether a column has whole numbers, and no name with another meaning.
    fn is_unnamed_number(&self, at: usize) -> bool {
        let says = |name: &str| {
            let name = names::plain(name);
            let has = |parts: &[&str]| parts.iter().any(|part| part.len() > 2 && name.contains(part));
            has(OTHER) || has(DEVICE) || names::is_end(&name)
        };
        most(&self.moving[at], is_whole) && !self.has_name(at, says)
    }

    /// Possible device columns: the columns named so or, without any such name, columns with few values and no other
    /// meaning in their name. A column too many makes a run ask for a device; one too few would mix devices.
    pub(super) fn devices(&self, places: &Places) -> Vec<usize> {
        let Places { time, op, address, size } = *places;
        let taken = [op, address, size.unwrap_or(op), time.unwrap_or(op)];
        let is_free = |at: &usize| {
            let is_fraction = self.columns[*at].iter().any(|field| is_fraction(field));
            !taken.contains(at) && !is_fraction && !self.numbers_rows(*at)
        };
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

    /// Whether the times are dates.
    pub(super) fn has_dates(&self, places: &Places) -> bool {
        places.time.is_some_and(|at| most(&self.columns[at], is_date_time))
    }

    /// Whether a row is read with these places: its operation, address, size and time are.
    pub(super) fn is_read(&self, places: &Places, row: usize, is_date: bool) -> bool {
        let field = |at: usize| self.columns[at][row];
        let is_op = word(field(places.op)).is_some() || truth(field(places.op)).is_some();
        let is_flush = word(field(places.op)) == Some("flush");
        let is_right = |at: usize| is_flush || is_amount(field(at));
        let is_timed = |at: usize| if is_date { is_date_time(field(at)) } else { is_number_of_time(field(at)) };
        is_op && is_right(places.address) && places.size.is_none_or(is_right) && places.time.is_none_or(is_timed)
    }
}

/// How many fields may be wrong.
fn misses(fields: usize) -> usize {
    if fields < 4 {
        0
    } else {
        (fields / 10).max(1)
    }
}

/// Whether nearly all fields are right, so one bad line hides nothing.
pub(super) fn most(fields: &[&str], is_right: impl Fn(&str) -> bool) -> bool {
    let wrong = fields.iter().filter(|field| !is_right(field)).count();
    !fields.is_empty() && wrong < fields.len() && wrong <= misses(fields.len())
}

/// Whether it is a whole number, in any form `columns` reads.
fn is_whole(field: &str) -> bool {
    bytes_of(field.as_bytes(), 1).is_some()
}

/// Whether it is a whole number in some unit: half a KiB is.
fn is_amount(field: &str) -> bool {
    is_whole(field) || field.parse::<f64>().is_ok_and(|number| number >= 0.0)
}

/// Whether `columns` reads it as a time.
pub(super) fn is_number_of_time(field: &str) -> bool {
    own_unit(field).is_some() && time_of(field.as_bytes(), TimeUnit::S).is_some()
        || time_of(field.as_bytes(), TimeUnit::Ns).is_some()
}

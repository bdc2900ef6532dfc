//! A text cut into table rows: names, values, and other lines.

use super::super::cells::{bytes_of, time_of, Split};
use super::super::column_options::Separator;
use super::super::fields::TimeUnit;
use super::super::words::is_date_time;
use std::collections::BTreeMap;

/// Most title lines above a table.
const MOST_TITLES: usize = 20;

/// A line with its number, from 1.
pub(crate) type Numbered<'a> = (u64, &'a str);

pub(super) struct Row<'a> {
    pub(super) line: Numbered<'a>,
    pub(super) fields: Vec<&'a str>,
}

/// A table's rows.
pub(super) struct Rows<'a> {
    pub(super) names: Option<Vec<&'a str>>,
    /// Whether the names are a table line, so they can name columns.
    pub(super) is_named: bool,
    pub(super) values: Vec<Row<'a>>,
    /// Lines above the table, at the file's start.
    pub(super) skip_lines: u64,
    /// Lines outside the table.
    pub(super) odd: Vec<Numbered<'a>>,
}

impl<'a> Rows<'a> {
    /// A text's rows, with columns parted by `separator`; `None` unless most lines have equally many. `names` counts
    /// the known column names in a line.
    pub(super) fn of(lines: &[Numbered<'a>], separator: Separator, names: impl Fn(&[&str]) -> usize) -> Option<Self> {
        // Some programs write the column names as a comment.
        let comments = lines.iter().take_while(|(_, line)| line.starts_with('#'));
        let comment = comments.last().map(|(_, line)| cut(line.trim_start_matches('#'), separator));
        let rows = lines.iter().filter(|(_, line)| !line.starts_with('#'));
        let rows: Vec<Row<'a>> = rows.map(|&line| Row { line, fields: cut(line.1, separator) }).collect();
        let width = most_common(&rows)?;
        let is_good = |row: &Row<'_>| {
            let empty = row.fields.iter().filter(|field| field.is_empty()).count();
            row.fields.len() == width && 2 * empty <= width
        };
        let start = rows.iter().position(is_good).filter(|&start| start <= MOST_TITLES)?;
        let titles = rows[..start].len();
        let (good, odd): (Vec<_>, Vec<_>) = rows.into_iter().skip(titles).partition(is_good);
        let is_table = odd.is_empty() || good.len() >= 2 && odd.len() <= (good.len() / 3).max(1);
        let lead = good.iter().take_while(|row| !row.fields.iter().any(is_value)).count();
        if !is_table || lead == good.len() {
            return None;
        }
        // A line with units may follow the names; a title with equally many words may precede them.
        let header = (0..lead).max_by_key(|&at| names(&good[at].fields));
        let first = good[header.unwrap_or(0)].line.0;
        let comments = lines.iter().filter(|(number, line)| *number < first && line.starts_with('#')).count();
        let is_first = first == comments as u64 + 1;
        let names = header.map(|at| good[at].fields.clone());
        let units = good[..lead].iter().skip(header.map_or(0, |at| at + 1)).map(|row| row.line);
        let odd: Vec<_> = units.chain(odd.iter().map(|row| row.line)).collect();
        Some(Self {
            is_named: names.is_some(),
            names: names.or(comment.filter(|names| names.len() == width)),
            skip_lines: if is_first { 0 } else { first - 1 },
            values: good.into_iter().skip(lead).collect(),
            odd,
        })
    }
}

/// The most common column count; `None` below three.
fn most_common(rows: &[Row<'_>]) -> Option<usize> {
    let mut counts = BTreeMap::new();
    for row in rows {
        *counts.entry(row.fields.len()).or_insert(0) += 1;
    }
    counts.into_iter().filter(|&(width, _)| width >= 3).max_by_key(|&(_, count)| count).map(|(width, _)| width)
}

fn cut(line: &str, separator: Separator) -> Vec<&str> {
    // Separators and quotes are ASCII: a cell begins and ends between letters.
    Split::new(line.as_bytes(), separator).map(|(start, end)| line.get(start..end).unwrap_or_default()).collect()
}

/// Whether it is a number or a time in any accepted form: column names are neither.
fn is_value(field: &&str) -> bool {
    let is_number = field.parse::<f64>().is_ok() || bytes_of(field.as_bytes(), 1).is_some();
    is_number || is_date_time(field) || time_of(field.as_bytes(), TimeUnit::Ns).is_some()
}

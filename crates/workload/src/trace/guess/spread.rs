//! Lines from all parts of a file, because its start may lack operations that come later.

use super::super::cells::Split;
use super::super::column_options::Separator;
use super::super::lines::Lines;
use std::collections::BTreeSet;
use std::io;

/// Most operation words that keep their first line.
const MOST_WORDS: usize = 64;

/// Longer lines are no rows of a trace, and would take memory.
const LONGEST_ROW: usize = 4096;

/// The column of operations, from 0.
#[derive(Clone, Copy)]
pub(crate) struct OpColumn {
    pub(crate) at: usize,
    pub(crate) separator: Separator,
}

type Kept = (u64, String);

/// The first `most` lines, as many from the rest at even distances, and the first line with each word in the column `op`.
///
/// # Errors
/// If the file cannot be read to its end.
pub(crate) fn spread(lines: &mut Lines, op: OpColumn, most: usize) -> io::Result<Vec<Kept>> {
    let (mut start, mut rest): (Vec<Kept>, Vec<Kept>) = (Vec::new(), Vec::new());
    let mut first_of_words: Vec<Kept> = Vec::new();
    let mut words = BTreeSet::new();
    let mut stride = 1;
    let mut number = 0;
    lines.skip_byte_order_mark()?;
    while let Some(line) = lines.next()? {
        number += 1;
        let Ok(text) = std::str::from_utf8(line) else { continue };
        if text.trim().is_empty() || text.len() > LONGEST_ROW {
            continue;
        }
        let cell = Split::new(line, op.separator).nth(op.at).map_or(&b""[..], |(start, end)| &line[start..end]);
        let is_new = words.len() < MOST_WORDS && !words.contains(cell) && words.insert(cell.to_vec());
        if start.len() < most {
            start.push((number, text.to_owned()));
        } else if is_new {
            first_of_words.push((number, text.to_owned()));
        } else if number % stride == 0 {
            if rest.len() == most {
                stride *= 2;
                rest.retain(|(number, _)| number % stride == 0);
            }
            rest.push((number, text.to_owned()));
        }
    }
    start.append(&mut rest);
    start.append(&mut first_of_words);
    start.sort_unstable();
    Ok(start)
}

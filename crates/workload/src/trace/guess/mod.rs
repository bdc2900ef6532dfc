//! Guesses the columns in a text without a known format, for a message only: no guess is used for reading.

mod names;
mod rows;
mod spread;
mod table;
mod told;

use super::column_options::Separator;
use rows::Rows;
use table::Table;

pub(crate) use rows::Numbered;
pub(crate) use spread::{spread, OpColumn};

/// A text's possible table: keys and values for `[workload.trace]` and its table `columns`.
pub(crate) struct Guess {
    pub(crate) op: OpColumn,
    trace: Vec<Key>,
    keys: Vec<Key>,
    /// Further remarks, as comments.
    remarks: Vec<String>,
}

struct Key {
    name: &'static str,
    value: String,
    /// A point to check first.
    note: Option<String>,
}

impl Key {
    fn line(&self) -> String {
        let note = self.note.as_ref().map(|note| format!(" # {note}")).unwrap_or_default();
        format!("{} = {}{note}", self.name, self.value)
    }
}

impl Guess {
    /// The last lines in a table `[workload.trace]`.
    pub(crate) fn block(&self) -> String {
        let mut lines: Vec<String> = self.trace.iter().map(Key::line).collect();
        lines.push("[workload.trace.columns]".to_owned());
        lines.extend(self.keys.iter().map(Key::line));
        lines.extend(self.remarks.iter().map(|remark| format!("# {remark}")));
        lines.join("\n")
    }

    /// The same as arguments for `--set`.
    pub(crate) fn sets(&self) -> Vec<String> {
        let set = |key: &Key| format!("{} = {}", key.name, key.value);
        let keys: Vec<String> = self.keys.iter().map(set).collect();
        self.trace.iter().map(set).chain([format!("columns = {{ {} }}", keys.join(", "))]).collect()
    }
}

/// Guesses the table in the lines.
///
/// # Errors
/// For a table: the missing part, in words to follow "but".
pub(crate) fn guess(lines: &[Numbered<'_>]) -> Result<Guess, Option<String>> {
    let mut why = None;
    for separator in [Separator::Comma, Separator::Semicolon, Separator::Tab, Separator::Pipe, Separator::Blanks] {
        let Some(rows) = Rows::of(lines, separator, names::known) else { continue };
        let mut table = Table::new(&rows);
        match table.places() {
            Ok(places) => return Ok(table.told(&places, &rows, separator)),
            // A text with few words is no table.
            Err(said) if rows.values.len() > 1 => why = why.or(Some(said)),
            Err(_) => {}
        }
    }
    Err(why)
}

#[cfg(test)]
mod tests;

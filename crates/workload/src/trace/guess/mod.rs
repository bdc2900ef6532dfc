//! Guesses which columns a text of no known format may have, for a message: nothing is read by a guess.

mod names;
mod rows;
mod table;
mod told;

use super::column_options::Separator;
use rows::Rows;
use table::Table;

pub(crate) use rows::Numbered;

/// What a text may be as a table: keys and values of `[workload.trace]` and of its table `columns`.
pub(crate) struct Guess {
    trace: Vec<Key>,
    keys: Vec<Key>,
    /// What else should be known, as comments.
    remarks: Vec<String>,
}

struct Key {
    name: &'static str,
    value: String,
    /// What should be looked at before it is believed.
    note: Option<String>,
}

impl Key {
    fn line(&self) -> String {
        let note = self.note.as_ref().map(|note| format!(" # {note}")).unwrap_or_default();
        format!("{} = {}{note}", self.name, self.value)
    }
}

impl Guess {
    /// The end of a table `[workload.trace]`.
    pub(crate) fn block(&self) -> String {
        let mut lines: Vec<String> = self.trace.iter().map(Key::line).collect();
        lines.push("[workload.trace.columns]".to_owned());
        lines.extend(self.keys.iter().map(Key::line));
        lines.extend(self.remarks.iter().map(|remark| format!("# {remark}")));
        lines.join("\n")
    }

    /// The same as arguments of `--set`.
    pub(crate) fn sets(&self) -> Vec<String> {
        let set = |key: &Key| format!("{} = {}", key.name, key.value);
        let keys: Vec<String> = self.keys.iter().map(set).collect();
        self.trace.iter().map(set).chain([format!("columns = {{ {} }}", keys.join(", "))]).collect()
    }
}

/// What the lines of a text may be.
///
/// # Errors
/// Where it is a table: what it lacks, in words that go behind "but".
pub(crate) fn guess(lines: &[Numbered<'_>]) -> Result<Guess, Option<String>> {
    let mut why = None;
    for separator in [Separator::Comma, Separator::Semicolon, Separator::Tab, Separator::Pipe, Separator::Blanks] {
        let Some(rows) = Rows::of(lines, separator, names::known) else { continue };
        let mut table = Table::new(&rows);
        match table.places() {
            Ok(places) => return Ok(table.told(&places, &rows, separator)),
            // A text of a few words is none.
            Err(said) if rows.values.len() > 1 => why = why.or(Some(said)),
            Err(_) => {}
        }
    }
    Err(why)
}

#[cfg(test)]
mod tests;

//! What the fields of a table may be: words for operations, numbers, dates. For guesses alone; readers know.

use super::columns::bytes_of;
use super::fields::{Fields, TimeUnit};

/// A text as TOML has it.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            // The whole may stand between the single quotes of a shell.
            '\'' => quoted.push_str("\\u0027"),
            _ if letter.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(letter))),
            _ => quoted.push(letter),
        }
    }
    quoted + "\""
}

/// A value as a comment can have it.
pub(super) fn plain(text: &str) -> String {
    let all = text.chars().map(|letter| if letter.is_control() { '?' } else { letter });
    all.take(20).collect()
}

pub(super) fn is_numeric(column: &[&str]) -> bool {
    !column.is_empty() && column.iter().all(|field| field.parse::<f64>().is_ok())
}

/// Whether they are whole numbers, in any form that `columns` reads.
pub(super) fn is_whole(column: &[&str]) -> bool {
    !column.is_empty() && column.iter().all(|field| bytes_of(field.as_bytes(), 1).is_some())
}

pub(super) fn is_fraction(field: &str) -> bool {
    field.contains('.') && field.parse::<f64>().is_ok()
}

pub(super) fn is_date_time(field: &str) -> bool {
    let mut fields = Fields::new(field.as_bytes());
    fields.time("time", TimeUnit::DateTime).is_ok() && fields.at == field.len()
}

/// Whether a name of a time means how long something took.
pub(super) fn is_duration(name: &str) -> bool {
    ["lat", "resp", "dur", "service", "elapsed", "wait"].iter().any(|part| name.contains(part))
}

/// The operation that a word means.
pub(super) fn word(field: &str) -> Option<&'static str> {
    match field.to_lowercase().as_str() {
        "r" | "rd" | "rs" | "ra" | "rm" | "rsm" | "read" | "reads" | "get" | "0x28" | "0x88" => Some("read"),
        "w" | "wr" | "ws" | "wm" | "wsm" | "wa" | "wfs" | "fws" | "wfsm" | "write" | "writes" | "put" | "0x2a"
        | "0x8a" => Some("write"),
        "t" | "d" | "ds" | "trim" | "discard" | "unmap" | "delete" | "0x42" => Some("trim"),
        "f" | "ff" | "flush" | "sync" | "fsync" | "fua" | "0x35" => Some("flush"),
        _ => None,
    }
}

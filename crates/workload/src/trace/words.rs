//! Possible meanings of table fields: words for operations, numbers, dates. For guesses only; readers know.

use super::fields::{Fields, TimeUnit};

/// A text as TOML has it.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            // The whole text may stand in a shell's single quotes.
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

pub(super) fn is_fraction(field: &str) -> bool {
    field.contains('.') && field.parse::<f64>().is_ok()
}

pub(super) fn is_date_time(field: &str) -> bool {
    let mut fields = Fields::new(field.as_bytes());
    fields.time("time", TimeUnit::DateTime).is_ok() && fields.at == field.len()
}

/// A flag's meaning.
pub(super) fn truth(field: &str) -> Option<bool> {
    match field.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" => Some(true),
        "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// The opposite flag, written in the same way.
pub(super) fn opposite(field: &str) -> Option<&'static str> {
    const PAIRS: [[&str; 2]; 7] = [
        ["0", "1"],
        ["false", "true"],
        ["False", "True"],
        ["FALSE", "TRUE"],
        ["no", "yes"],
        ["No", "Yes"],
        ["NO", "YES"],
    ];
    let other = |[one, other]: [&'static str; 2]| match field {
        _ if field == one => Some(other),
        _ if field == other => Some(one),
        _ => None,
    };
    PAIRS.iter().copied().find_map(other)
}

/// A word's operation, or a SCSI command's in hexadecimal digits.
pub(super) fn word(field: &str) -> Option<&'static str> {
    match field.to_lowercase().as_str() {
        "r" | "rd" | "rs" | "ra" | "rm" | "rsm" | "ram" | "read" | "reads" | "get" | "readfile" | "diskread"
        | "irp_mj_read" | "0x28" | "0x88" | "28" | "88" => Some("read"),
        "w" | "wr" | "ws" | "wm" | "wsm" | "wa" | "wfs" | "fws" | "wfsm" | "wfm" | "write" | "writes" | "put"
        | "writefile" | "diskwrite" | "irp_mj_write" | "0x2a" | "0x8a" | "2a" | "8a" => Some("write"),
        "t" | "d" | "ds" | "trim" | "discard" | "unmap" | "delete" | "0x42" => Some("trim"),
        "f" | "ff" | "flush" | "sync" | "fsync" | "fua" | "flushbuffersfile" | "diskflush" | "0x35" => Some("flush"),
        _ => None,
    }
}

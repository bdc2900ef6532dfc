//! Column meanings in a text, as an experiment gives them.

use crate::WorkloadError;
use serde::{Deserialize, Serialize};

/// A column, by its name in the first line or by its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Column {
    /// From 1.
    Number(u32),
    /// As the first line has it.
    Name(String),
}

/// The columns that together name the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum DeviceColumns {
    /// One column has the name.
    One(Column),
    /// The name is what stands in these, with commas between.
    Several(Vec<Column>),
}

impl DeviceColumns {
    pub(super) fn columns(&self) -> &[Column] {
        match self {
            Self::One(column) => std::slice::from_ref(column),
            Self::Several(columns) => columns,
        }
    }
}

/// What stands between two columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Separator {
    /// `,`
    #[default]
    Comma,
    /// `;`
    Semicolon,
    /// A tab.
    Tab,
    /// `|`
    Pipe,
    /// Any number of spaces and tabs.
    Blanks,
}

/// The table `[workload.trace.columns]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnOptions {
    /// The time; without it all are 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Column>,
    /// Read, write, trim or flush.
    pub op: Column,
    /// Where the request starts.
    pub address: Column,
    /// How long it is; without it every request has `fixed_size_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Column>,
    /// Bytes of every read, write and trim, where no column has the size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_size_bytes: Option<u64>,
    /// The device: a column, or a list of columns such as the host and its disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceColumns>,
    /// Where the host asks a write to go: a handle such as `5`, or a group and a handle such as `1:5`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Column>,
    /// What stands between two columns.
    #[serde(default)]
    pub separator: Separator,
    /// Whether the first line names the columns; it does where one of them is given by its name.
    #[serde(default)]
    pub header: bool,
    /// Lines at the start of the file that are passed over, such as a title above the names.
    #[serde(default)]
    pub skip_lines: u32,
    /// Bytes of a unit of the address.
    #[serde(default = "sector")]
    pub address_unit_bytes: u32,
    /// Bytes of a unit of the size.
    #[serde(default = "sector")]
    pub size_unit_bytes: u32,
    /// What a read is called.
    #[serde(default = "read")]
    pub read: Vec<String>,
    /// What a write is called.
    #[serde(default = "write")]
    pub write: Vec<String>,
    /// What a trim is called.
    #[serde(default = "trim")]
    pub trim: Vec<String>,
    /// What a flush is called.
    #[serde(default = "flush")]
    pub flush: Vec<String>,
}

fn sector() -> u32 {
    512
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn read() -> Vec<String> {
    words(&["R", "r", "read", "Read", "READ"])
}

fn write() -> Vec<String> {
    words(&["W", "w", "write", "Write", "WRITE"])
}

fn trim() -> Vec<String> {
    words(&["T", "D", "trim", "discard", "unmap"])
}

fn flush() -> Vec<String> {
    words(&["F", "flush", "sync"])
}

impl ColumnOptions {
    pub(super) fn wanted(&self) -> [Option<&Column>; KEYS.len()] {
        [self.time.as_ref(), Some(&self.op), Some(&self.address), self.size.as_ref(), self.placement.as_ref()]
    }

    pub(super) fn devices(&self) -> &[Column] {
        self.device.as_ref().map_or(&[], DeviceColumns::columns)
    }

    pub(super) fn has_header(&self) -> bool {
        let mut columns = self.wanted().into_iter().flatten().chain(self.devices());
        self.header || columns.any(|column| matches!(column, Column::Name(_)))
    }

    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        let named = KEYS.into_iter().zip(self.wanted()).chain(self.devices().iter().map(|one| ("device", Some(one))));
        for (key, column) in named {
            if column == Some(&Column::Number(0)) {
                return Err(WorkloadError::option(&format!("columns.{key}"), &0, "columns are numbered from 1"));
            }
        }
        match (&self.size, self.fixed_size_bytes) {
            (None, None) => {
                let why = "it needs the column size, or fixed_size_bytes where every request is as long";
                return Err(WorkloadError::option("columns", &"a table without size", why));
            }
            (Some(_), Some(bytes)) => {
                let why = "the column size says how long a request is";
                return Err(WorkloadError::option("columns.fixed_size_bytes", &bytes, why));
            }
            (None, Some(bytes)) if !(1..=1 << 46).contains(&bytes) => {
                let why = "a request has 1 byte to 64 TiB";
                return Err(WorkloadError::option("columns.fixed_size_bytes", &bytes, why));
            }
            _ => {}
        }
        if self.devices().len() > MAX_DEVICE_COLUMNS {
            let why = format!("a device is named by at most {MAX_DEVICE_COLUMNS} columns");
            return Err(WorkloadError::option("columns.device", &format!("{} columns", self.devices().len()), why));
        }
        for (key, unit) in [("address_unit_bytes", self.address_unit_bytes), ("size_unit_bytes", self.size_unit_bytes)]
        {
            if !(1..=1 << 30).contains(&unit) {
                let why = "a unit has 1 byte to 1 GiB";
                return Err(WorkloadError::option(&format!("columns.{key}"), &unit, why));
            }
        }
        Ok(())
    }
}

pub(super) const KEYS: [&str; 5] = ["time", "op", "address", "size", "placement"];

pub(super) const MAX_DEVICE_COLUMNS: usize = 4;

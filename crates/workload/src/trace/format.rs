//! What a trace format has to do, and the list of formats.

use nandlab_block::Request;
use serde::{Deserialize, Serialize};

/// A line that is not what the format says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// Byte of the line, from 0.
    pub column: usize,
    /// What was expected and what was found.
    pub message: String,
}

impl Malformed {
    pub(crate) fn new(column: usize, message: String) -> Self {
        Self { column, message }
    }
}

/// A trace format of one request a line: it parses one record, nothing else.
pub trait Format: Send {
    /// Takes the first line, which names the columns.
    ///
    /// # Errors
    /// Where this is another header.
    fn header(&mut self, line: &[u8]) -> Result<(), Malformed>;

    /// The request of one line, given without its line end.
    ///
    /// # Errors
    /// What was expected and what was found.
    fn record(&mut self, line: &[u8]) -> Result<Request, Malformed>;
}

/// An entry of the list of trace formats.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name for `workload.trace.format`.
    pub name: &'static str,
    /// The source file, whose head comment is the docs page.
    pub source: &'static str,
}

macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident($module:ident :: $reader:ident), $file:literal;)*) => {
        /// The format of a trace.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum FormatName {
            $($(#[$doc])* $variant,)*
        }

        impl FormatName {
            /// A reader of lines of this format.
            pub fn reader(self) -> Box<dyn Format> {
                match self { $(Self::$variant => Box::new(super::$module::$reader::default()),)* }
            }
        }

        /// Every trace format.
        pub const FORMATS: &[Entry] =
            &[$(Entry { name: stringify!($module), source: include_str!($file) },)*];
    };
}

formats! {
    /// `time_us,op,sector,sectors,origin`
    #[default]
    Csv(csv::Csv), "csv.rs";
}

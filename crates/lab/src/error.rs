use nandlab_workload::WorkloadError;
use std::fmt::{self, Write as _};

/// Why an experiment cannot run, or why it stopped.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LabError {
    /// The configuration is wrong.
    #[error("{0}")]
    Config(Box<ConfigError>),
    /// A trace is wrong or cannot be read.
    #[error("{0}")]
    Trace(Box<TraceError>),
    /// Bad blocks have used up the spare blocks.
    #[error("{0}")]
    DeviceFull(String),
    /// Power is gone.
    #[error("power was lost during the run")]
    PowerLost,
    /// Simulated time has an end.
    #[error(
        "the simulated time of the device passed 2^63 ns, 292 years of 365 days or 2,562,047 h, which is as far as times go: \
         a shorter host.think_time_us, fewer requests or gaps of a trace that are cut (workload.trace.longest_gap_s) stay below"
    )]
    OutOfTime,
    /// A caller's file cannot be written.
    #[error("{0}")]
    Io(String),
}

/// An error in a configuration, and its place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConfigError {
    /// What is wrong, and the allowed values, as a sentence.
    pub message: String,
    /// The text's file or other source.
    pub file: Option<String>,
    /// Line, from 1.
    pub line: Option<usize>,
    /// Character position in the line, from 1.
    pub column: Option<usize>,
    /// The key at fault, such as `device.capacity`.
    pub key: Option<String>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The message quotes the input, which may hold any character.
        let mut f = Escaped(f);
        place(&mut f, self.file.as_deref(), self.line, self.column)?;
        f.write_str(&shortened(&self.message))
    }
}

/// Longest number shown in full, in digits.
const MANY_DIGITS: usize = 40;

/// `message` with very long numbers cut short; a float such as 1e308 can have hundreds of digits.
fn shortened(message: &str) -> String {
    let mut short = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = rest[start..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - start);
        if digits > MANY_DIGITS {
            short += &format!("{}... ({digits} digits)", &rest[..start + 6]);
        } else {
            short += &rest[..start + digits];
        }
        rest = &rest[start + digits..];
    }
    short + rest
}

/// An error in a trace, and its place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceError {
    /// What was found and expected, as a sentence.
    pub message: String,
    /// The trace.
    pub file: Option<String>,
    /// Line, from 1.
    pub line: Option<usize>,
    /// Byte position in the line, from 1.
    pub column: Option<usize>,
    /// The experiment's key that names the trace, if the file as a whole is at fault.
    pub key: Option<String>,
    /// Configuration lines that may read an unknown trace format, and a command with them.
    pub proposal: Option<String>,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = Escaped(f);
        place(&mut f, self.file.as_deref(), self.line, self.column)?;
        f.write_str(&shortened(&self.message))?;
        // Its lines stay separate, so the user can paste them.
        let Some(proposal) = &self.proposal else { return Ok(()) };
        f.0.write_str("\n")?;
        proposal.lines().try_for_each(|line| {
            f.0.write_str("\n")?;
            f.write_str(line)
        })
    }
}

/// Writes control characters as escapes and keeps the message on one line.
struct Escaped<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Escaped<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|character| match character.is_control() {
            true => write!(self.0, "{}", character.escape_debug()),
            false => self.0.write_char(character),
        })
    }
}

fn place(f: &mut impl fmt::Write, file: Option<&str>, line: Option<usize>, column: Option<usize>) -> fmt::Result {
    match (file, line, column) {
        (Some(file), Some(line), Some(column)) => write!(f, "{file}, line {line}, column {column}: "),
        (Some(file), Some(line), None) => write!(f, "{file}, line {line}: "),
        (Some(file), None, _) => write!(f, "{file}: "),
        (None, ..) => Ok(()),
    }
}

impl From<ConfigError> for LabError {
    fn from(error: ConfigError) -> Self {
        Self::Config(Box::new(error))
    }
}

impl LabError {
    /// A workload's error, as an experiment's error; `name` is the workload's name.
    pub(crate) fn from_workload(error: WorkloadError, name: &str) -> Self {
        match error {
            WorkloadError::Option { ref key, .. } => {
                let message = format!("workload.{name}.{error}");
                ConfigError { message, key: Some(format!("workload.{name}.{key}")), ..Default::default() }.into()
            }
            WorkloadError::TooSmall { ref file, .. } => {
                let key = Some(key_of(file, name));
                ConfigError { message: error.to_string(), key, ..Default::default() }.into()
            }
            WorkloadError::Record { file, line, column, message } => {
                let (line, column) = (Some(line as usize), Some(column));
                let file = Some(file);
                Self::Trace(Box::new(TraceError { message, file, line, column, ..Default::default() }))
            }
            WorkloadError::Untold { file, message, proposal } => {
                let (file, key) = (Some(file), Some(format!("workload.{name}.path")));
                Self::Trace(Box::new(TraceError { message, file, key, proposal: Some(proposal), ..Default::default() }))
            }
            WorkloadError::File { file, message } => {
                let key = Some(key_of(&file, name));
                Self::Trace(Box::new(TraceError { message, file: Some(file), key, ..Default::default() }))
            }
            WorkloadError::Stopped => Self::Io(error.to_string()),
        }
    }
}

/// The key that names `file`; lines written in the experiment itself are named by their key.
fn key_of(file: &str, workload: &str) -> String {
    let text = format!("workload.{workload}.text");
    if file == text {
        text
    } else {
        format!("workload.{workload}.path")
    }
}

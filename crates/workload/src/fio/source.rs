//! A job file's lines, with included files and the variables' values.

use super::text::bare;
use super::{Config, Malformed};
use crate::trace::unpack;
use crate::WorkloadError;
use std::io::Read;
use std::path::Path;

/// Most bytes in a job file with its includes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Deepest nesting for includes.
const MAX_DEPTH: usize = 16;

/// Looks up a variable's value.
pub(super) type Variables<'a> = dyn FnMut(&str) -> Option<String> + 'a;

/// All lines in a job, each with its file.
pub(super) struct Source {
    files: Vec<String>,
    /// File and line, from 1, for each line in the text.
    places: Vec<(usize, u64)>,
    pub(super) text: String,
}

/// A file being read.
struct Part<'a> {
    file: usize,
    /// Folder for its includes.
    folder: &'a Path,
    depth: usize,
}

impl Source {
    /// The job file from `config`; relative paths start at `base`.
    pub(super) fn read(config: &Config, base: &Path, variables: &mut Variables<'_>) -> Result<Self, WorkloadError> {
        let mut source = Self { files: Vec::new(), places: Vec::new(), text: String::new() };
        let Some(path) = &config.path else {
            source.files.push("workload.fio.text".to_owned());
            let part = Part { file: 0, folder: base, depth: 0 };
            source.add(config.text.as_deref().unwrap_or_default(), &part, variables)?;
            return Ok(source);
        };
        let file = base.join(path);
        let refuse = |message| WorkloadError::File { file: path.clone(), message };
        let text = contents(&file).map_err(refuse)?;
        source.files.push(path.clone());
        let part = Part { file: 0, folder: file.parent().unwrap_or(base), depth: 0 };
        source.add(&text, &part, variables)?;
        Ok(source)
    }

    /// The job file's name.
    pub(super) fn name(&self) -> String {
        self.files[0].clone()
    }

    /// An error in a line, with its file and line number.
    pub(super) fn error(&self, bad: Malformed) -> WorkloadError {
        let (file, line) =
            usize::try_from(bad.line - 1).ok().and_then(|at| self.places.get(at)).copied().unwrap_or((0, bad.line));
        WorkloadError::Record { file: self.files[file].clone(), line, column: bad.column, message: bad.message }
    }

    fn add(&mut self, text: &str, part: &Part<'_>, variables: &mut Variables<'_>) -> Result<(), WorkloadError> {
        for (line, whole) in (1..).zip(text.lines()) {
            let words = bare(whole);
            let column = 1 + words.len() - words.trim_start().len();
            let file = self.files[part.file].clone();
            let wrong = |column: usize, message: String| WorkloadError::Record { file, line, column, message };
            if let Some(name) = words.trim().strip_prefix("include").filter(|rest| rest.starts_with([' ', '\t'])) {
                let path = part.folder.join(name.trim());
                self.include(&path, name.trim(), part.depth, variables)
                    .map_err(|why| why.at(|why| wrong(column, why)))?;
                continue;
            }
            if part.depth > 0 && words.trim_start().starts_with('[') {
                return Err(wrong(column, "an included file has keys alone: no section begins in it".to_owned()));
            }
            let replaced = replaced(words, variables).map_err(|(column, message)| wrong(column, message))?;
            self.places.push((part.file, line));
            self.text.push_str(&replaced);
            self.text.push('\n');
        }
        Ok(())
    }

    fn include(&mut self, path: &Path, name: &str, depth: usize, variables: &mut Variables<'_>) -> Result<(), Refused> {
        if depth == MAX_DEPTH {
            return Err(Refused::Here(format!("{MAX_DEPTH} files include each other already")));
        }
        let text = contents(path).map_err(|why| Refused::Here(format!("include {name}: {why}")))?;
        if (self.text.len() + text.len()) as u64 > MAX_FILE_BYTES {
            return Err(Refused::Here(format!("with {name} the job has more than {MAX_FILE_BYTES} bytes")));
        }
        self.files.push(name.to_owned());
        let folder = path.parent().unwrap_or(path).to_owned();
        let part = Part { file: self.files.len() - 1, folder: &folder, depth: depth + 1 };
        self.add(&text, &part, variables).map_err(Refused::There)
    }
}

/// Why a file cannot be included: reported at the including line, or in the file.
enum Refused {
    Here(String),
    There(WorkloadError),
}

impl Refused {
    fn at(self, here: impl FnOnce(String) -> WorkloadError) -> WorkloadError {
        match self {
            Self::Here(why) => here(why),
            Self::There(error) => error,
        }
    }
}

/// A file's text, unpacked.
pub(super) fn contents(file: &Path) -> Result<String, String> {
    let mut text = Vec::new();
    let opened = unpack::open(file, None);
    let read = opened.and_then(|contents| contents.source.take(MAX_FILE_BYTES + 1).read_to_end(&mut text));
    read.map_err(|error| unpack::sentence(&error))?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("a file of a job has at most {MAX_FILE_BYTES} bytes, and this one has more"));
    }
    String::from_utf8(text).map_err(|_| "a file of a job is text, in UTF-8".to_owned())
}

/// A line with its variables replaced behind the equals sign (HOWTO of fio 3.33, "Environment variables"). An error
/// has the byte in the line, from 1, and the reason.
fn replaced(line: &str, variables: &mut Variables<'_>) -> Result<String, (usize, String)> {
    let start = line.find('=').map_or(line.len(), |at| at + 1);
    let (mut done, mut rest) = (line[..start].to_owned(), &line[start..]);
    while let Some(at) = rest.find("${") {
        let column = 1 + line.len() - rest.len() + at;
        let Some(end) = rest[at..].find('}') else {
            return Err((column, "expected the end of a variable: ${NAME}".to_owned()));
        };
        let name = &rest[at + 2..at + end];
        let Some(value) = variables(name) else {
            let what = "is set neither in the environment nor in workload.fio.variables";
            return Err((column, format!("the variable {name} {what}: variables = {{ {name} = \"...\" }}")));
        };
        done.push_str(&rest[..at]);
        done.push_str(&value);
        rest = &rest[at + end + 1..];
    }
    done.push_str(rest);
    Ok(done)
}

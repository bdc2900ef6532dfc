//! A run's output file: under another name beside its target until it is whole.

use crate::error::LabError;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file on its way; dropped before its end, it leaves nothing behind.
pub(crate) struct NewFile {
    target: PathBuf,
    part: PathBuf,
    is_open: bool,
}

/// A writer with an end.
pub trait Finish: Write + Send {
    /// Ends the output, with everything on disk.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

impl Finish for BufWriter<File> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }
}

impl Finish for BufWriter<GzEncoder<File>> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?.sync_all()
    }
}

impl NewFile {
    /// Starts a file for `target`, whose name must have one of these endings; `what` says so.
    ///
    /// # Errors
    /// [`LabError::Io`]: another name, or the file cannot be created.
    pub(crate) fn create(target: &Path, endings: &[&str], what: &str) -> Result<(Self, File), LabError> {
        // The finished file replaces an existing one, but it must not replace a device or a pipe.
        if target.exists() && !target.is_dir() && !target.is_file() {
            return Err(LabError::Io(format!("{}: this is not a regular file", target.display())));
        }
        let name = target.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if !endings.iter().any(|ending| name.ends_with(ending)) && !target.is_dir() {
            return Err(LabError::Io(format!("{}: {what}", target.display())));
        }
        let mut name = target.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let part = target.with_file_name(name);
        if target.file_name().is_none() || target.is_dir() {
            return Err(LabError::Io(format!("{}: this is a folder, expected the name of a file", target.display())));
        }
        let file = File::create_new(&part).map_err(|error| cannot_write(target, &error))?;
        Ok((Self { target: target.to_owned(), part, is_open: true }, file))
    }

    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Gives the file its name, if its writer `ended` well; otherwise removes it.
    pub(crate) fn close(&mut self, ended: io::Result<()>) -> Result<(), LabError> {
        ended.and_then(|()| std::fs::rename(&self.part, &self.target)).map_err(|error| {
            let _ = std::fs::remove_file(&self.part);
            cannot_write(&self.target, &error)
        })?;
        self.is_open = false;
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if self.is_open {
            let _ = std::fs::remove_file(&self.part);
        }
    }
}

/// The error for a file that `target` cannot take.
pub fn cannot_write(target: &Path, error: &io::Error) -> LabError {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "the folder does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "you may not write there".to_owned(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "the disk is full".to_owned(),
        _ => error.to_string(),
    };
    LabError::Io(format!("{} cannot be written: {why}", target.display()))
}

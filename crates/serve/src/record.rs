//! A trace with the programs' requests.

use nandlab_block::Request;
use nandlab_workload::trace::{Output, OutputFormat};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// A native trace being written.
pub(crate) struct Recorder {
    out: Output<BufWriter<File>>,
    path: PathBuf,
    requests: u64,
}

impl Recorder {
    /// Starts the trace `path`; an existing file is not overwritten.
    pub fn create(path: &Path) -> io::Result<Self> {
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("the trace {} cannot be written: {error}", path.display()))
        };
        let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(named)?;
        let out = Output::new(OutputFormat::Native, BufWriter::new(file), &[], false).map_err(named)?;
        Ok(Self { out, path: path.to_owned(), requests: 0 })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn add(&mut self, request: &Request) -> io::Result<()> {
        self.requests += 1;
        self.out.write(request, b"")
    }

    /// Ends the trace; how many requests it has.
    pub fn finish(self) -> io::Result<u64> {
        let (out, _) = self.out.finish()?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(self.requests)
    }
}

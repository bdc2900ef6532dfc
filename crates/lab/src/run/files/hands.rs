//! Operations on any file system, with contents drawn for them.

use crate::config::key_error;
use crate::error::LabError;
use crate::record::StopReason;
use nandlab_block::{Error, Op};
use nandlab_fs::{FileSystem, FsConfig, FsError, Handle, Over};
use nandlab_nand::random::{Random, Stream};
use nandlab_workload::files::{FileOp, Slot};
use std::collections::BTreeMap;

/// Carries out operations on files.
pub(in crate::run) struct Hands {
    random: Random,
    open: BTreeMap<Slot, Handle>,
    bytes: Vec<u8>,
    pub(in crate::run) read_bytes: u64,
    pub(in crate::run) written_bytes: u64,
}

impl Hands {
    pub(in crate::run) fn new(seed: u64) -> Self {
        let random = Random::of(seed, Stream::FileContents);
        Self { random, open: BTreeMap::new(), bytes: Vec::new(), read_bytes: 0, written_bytes: 0 }
    }

    /// The bytes of the latest read or write.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Carries out an operation, and returns its latency category.
    pub(in crate::run) fn carry_out(&mut self, fs: &mut dyn FileSystem, op: &FileOp) -> Result<Op, FsError> {
        let opened = |open: &BTreeMap<Slot, Handle>, file: Slot| {
            *open.get(&file).unwrap_or_else(|| panic!("the workload uses slot {file} for no open file"))
        };
        match op {
            FileOp::Transaction | FileOp::CleanUp => unreachable!("these are no operations on files"),
            FileOp::Mkdir(path) => fs.mkdir(path)?,
            FileOp::Rmdir(path) => fs.rmdir(path)?,
            FileOp::Create { file, path } => drop(self.open.insert(*file, fs.create(path)?)),
            FileOp::Open { file, path } => {
                self.open.insert(*file, fs.open(path)?);
                return Ok(Op::Read);
            }
            FileOp::Close(file) => {
                fs.close(opened(&self.open, *file))?;
                self.open.remove(file);
            }
            FileOp::Read { file, at, bytes } => {
                self.bytes.resize(*bytes as usize, 0);
                let read = fs.read(opened(&self.open, *file), *at, &mut self.bytes)?;
                self.bytes.truncate(read);
                self.read_bytes += read as u64;
                return Ok(Op::Read);
            }
            FileOp::Write { file, at, bytes } => {
                self.draw(*bytes as usize);
                fs.write(opened(&self.open, *file), *at, &self.bytes)?;
                self.written_bytes += u64::from(*bytes);
            }
            FileOp::Truncate { file, bytes } => fs.truncate(opened(&self.open, *file), *bytes)?,
            FileOp::Sync(file) => {
                fs.sync(opened(&self.open, *file))?;
                return Ok(Op::Flush);
            }
            FileOp::Rename { from, to } => fs.rename(from, to)?,
            FileOp::Unlink(path) => fs.unlink(path)?,
        }
        Ok(Op::Write)
    }

    /// Draws the next write's contents.
    fn draw(&mut self, bytes: usize) {
        self.bytes.clear();
        while self.bytes.len() < bytes {
            self.bytes.extend_from_slice(&self.random.next_u64().to_le_bytes());
        }
        self.bytes.truncate(bytes);
    }
}

/// Why operations on files end with `error`, with a sentence.
pub(in crate::run) fn reason(fs: &FsConfig, error: FsError) -> Result<(StopReason, String), LabError> {
    match error {
        FsError::Device(Error::PowerLost) => Err(LabError::PowerLost),
        FsError::Device(Error::WornOut(_)) => Ok((StopReason::WornOut, error.to_string())),
        FsError::Device(Error::Unreadable { .. }) => {
            Ok((StopReason::Unreadable, format!("{error}; the file system cannot go on without it")))
        }
        FsError::Full { .. } | FsError::NvramFull { .. } | FsError::RootFull { .. } | FsError::TooLong { .. } => {
            Ok((StopReason::FsFull, format!("{error}; {}", way_out(fs, &error))))
        }
        FsError::Option { .. } => Err(key_error(fs.name(), &error).into()),
        // Other programs may use a real directory, too.
        other if fs.over() == Over::Directory => Ok((StopReason::FsFailed, other.to_string())),
        other => panic!("a workload names only what it made, on a volume that was made for it: {other}"),
    }
}

/// Advice for a full file system, depending on `error`: a configuration with more room.
fn way_out(fs: &FsConfig, error: &FsError) -> String {
    let less = "the workload needs less";
    match (fs, error) {
        (_, FsError::RootFull { .. }) => {
            format!(
                "more fs.fat.root_entries have room for more, fs.fat.fat = \"fat32\" has a root directory that grows, and \
                 so have subdirectories, such as those of workload.postmark.subdirectories; or {less}"
            )
        }
        (_, FsError::TooLong { .. }) => "smaller files fit".to_owned(),
        (FsConfig::Fat(fat), _) if fat.volume_bytes.is_some() => {
            format!("a larger fs.fat.volume_bytes has more, or {less}")
        }
        (_, FsError::NvramFull { .. }) => format!("more fs.minv.objects have more NVRAM, or {less}"),
        (FsConfig::Posix(_), _) => format!("a directory on a larger disk has more, or {less}"),
        _ => format!("a larger device.capacity has more, or {less}"),
    }
}

//! A device in an image, served to real programs.

#![allow(clippy::needless_pass_by_value)] // Arguments are what Python hands over.

use crate::errors::{caught, raised, NandlabError};
use crate::Text;
use nandlab_lab::served::{Access, Rescued, Served};
use nandlab_serve::control::{self, Control};
use nandlab_serve::regions::Regions;
use nandlab_serve::{copy, directory, fuse, http, nbd, nvme, rescue, Described, Export, Options};
use pyo3::prelude::*;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Makes an image with the device from `text`; returns rounded and ignored settings, in sentences.
#[pyfunction]
pub(crate) fn disk_create(py: Python<'_>, text: &Text, path: PathBuf) -> PyResult<Vec<String>> {
    let experiment = text.parse_disk(py)?;
    let created = py.detach(|| caught(|| Served::create(&path, &experiment)))?;
    created.map(|()| experiment.notices.clone()).map_err(|error| raised(py, &error))
}

/// An image's description, as JSON; it may be in use.
#[pyfunction]
pub(crate) fn disk_info(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let info = py.detach(|| caught(|| Served::info(&path)))?;
    info.map(|info| info.to_string()).map_err(|error| raised(py, &error))
}

/// Sentences, and byte ranges that cannot be read.
type Rescue = (Vec<String>, Vec<(u64, u64)>);

/// Copies a disk's contents without its FTL, which cannot be mounted, into a new file; returns what a reader must know, in
/// sentences, and the byte ranges that cannot be read.
#[pyfunction]
pub(crate) fn disk_rescue(py: Python<'_>, path: PathBuf, file: PathBuf) -> PyResult<Rescue> {
    let opened = py.detach(|| caught(|| Rescued::open(&path)))?;
    let found = opened.map_err(|error| raised(py, &error))?;
    let notices = found.notices().to_vec();
    let copied = py.detach(|| caught(|| rescue(found, &file)))?;
    let bad = copied.map_err(|error| NandlabError::new_err(format!("cannot write {}: {error}", file.display())))?;
    Ok((notices, bad.into_iter().map(|range| (range.start, range.end)).collect()))
}

/// The answer from the process that serves an image; None if there is none.
#[pyfunction]
pub(crate) fn disk_ask(py: Python<'_>, path: PathBuf, question: &str) -> PyResult<Option<String>> {
    let answer = py.detach(|| control::ask(&path, question));
    answer.map_err(|error| NandlabError::new_err(format!("the process that serves the image does not answer: {error}")))
}

/// A device in an image, opened to be served. It is closed once.
#[pyclass(frozen, module = "nandlab._native")]
pub(crate) struct Disk {
    disk: Arc<nandlab_serve::Disk>,
    path: PathBuf,
    servers: Mutex<Servers>,
}

/// The servers for programs while the disk is open.
#[derive(Default)]
struct Servers {
    control: Option<Control>,
    nbd: Vec<nbd::Server>,
    nvme: Vec<nvme::Server>,
    fuse: Vec<fuse::Mounted>,
    directories: Vec<directory::Mounted>,
    http: Vec<http::Page>,
}

fn failed(error: &io::Error) -> PyErr {
    NandlabError::new_err(error.to_string())
}

impl Disk {
    /// Refuses sector operations on a file system without sectors.
    fn with_sectors(&self) -> PyResult<()> {
        match self.disk.is_bare() {
            false => Ok(()),
            true => Err(NandlabError::new_err(format!(
                "{} holds files on bare flash, and no sectors: `nandlab mount` makes a directory of it",
                self.path.display()
            ))),
        }
    }

    /// Refuses protocols that know no zones on a zoned drive.
    fn with_free_writes(&self) -> PyResult<()> {
        self.with_sectors()?;
        match self.disk.is_zoned() {
            false => Ok(()),
            true => Err(NandlabError::new_err(format!(
                "{} holds zones, and NBD and files cannot say what a zone is: serve it by --nvme",
                self.path.display()
            ))),
        }
    }

    fn servers(&self) -> MutexGuard<'_, Servers> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Disk {
    /// Opens the image `path`; `pace`: answers wait for simulated time; `durable`: flushed data also survives this
    /// machine's end; `read_only`: the file stays as it is; `rescue`: so it does, and it need not be current; `epoch`: a
    /// file that knows the image's age.
    #[new]
    #[pyo3(signature = (path, pace=false, durable=false, read_only=false, rescue=false, epoch=None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        pace: bool,
        durable: bool,
        read_only: bool,
        rescue: bool,
        epoch: Option<PathBuf>,
    ) -> PyResult<Self> {
        let access = match (rescue, read_only, durable) {
            (true, ..) => Access::Rescue,
            (false, true, _) => Access::Read,
            (false, false, true) => Access::WriteDurably,
            (false, false, false) => Access::Write,
        };
        let options = Options { pace, access };
        let opened = py.detach(|| {
            caught(|| match &epoch {
                Some(epoch) => nandlab_serve::Disk::open_with_epoch(&path, options, epoch),
                None => nandlab_serve::Disk::open(&path, options),
            })
        })?;
        let disk = opened.map_err(|error| raised(py, &error))?;
        Ok(Self { disk: Arc::new(disk), path, servers: Mutex::default() })
    }

    /// Spoilt parts, in sentences.
    fn notices(&self) -> Vec<String> {
        self.disk.notices()
    }

    /// What happened to the image's file since the opening, in sentences.
    fn faults(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.disk.faults())
    }

    /// Copies the contents into a new file; returns the byte ranges that cannot be read.
    fn export(&self, py: Python<'_>, path: PathBuf) -> PyResult<Vec<(u64, u64)>> {
        self.with_sectors()?;
        let copied = py.detach(|| caught(|| copy(&*self.disk, &path)))?;
        let bad = copied.map_err(|error| NandlabError::new_err(format!("cannot write {}: {error}", path.display())))?;
        Ok(bad.into_iter().map(|range| (range.start, range.end)).collect())
    }

    /// The mount's simulated time, us.
    fn mount_us(&self) -> Option<f64> {
        self.disk.mount_us()
    }

    /// The counts since the opening, as JSON with a run record's names.
    fn stats(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| caught(|| self.disk.stats().to_string()))
    }

    /// Whether invariants and checksums hold, as JSON.
    fn check(&self, py: Python<'_>) -> PyResult<String> {
        let checked = py.detach(|| caught(|| self.disk.check()))?;
        let checked = checked.map_err(|error| raised(py, &error))?;
        let sound = checked.is_sound();
        let json = serde_json::json!({
            "sound": sound,
            "pages": checked.pages,
            "spoilt_pages": checked.spoilt_pages,
            "broken": checked.broken,
            "notices": checked.notices,
        });
        Ok(json.to_string())
    }

    /// Starts a native trace with every request.
    fn record(&self, path: PathBuf) -> PyResult<()> {
        self.with_sectors()?;
        self.disk.record_to(&path).map_err(|error| failed(&error))
    }

    /// Gives requests their origins by the lines in `text`: sector, sectors, origin.
    fn regions(&self, text: &str) -> PyResult<()> {
        let regions = Regions::parse(text).map_err(NandlabError::new_err)?;
        self.disk.set_regions(regions);
        Ok(())
    }

    /// Answers questions on the socket beside the image from now on.
    fn answer(&self) -> PyResult<()> {
        let started = Control::start(&self.path, Arc::clone(&self.disk)).map_err(|error| {
            let socket = control::socket_of(&self.path);
            NandlabError::new_err(format!("the socket {} cannot be made: {error}", socket.display()))
        })?;
        self.servers().control = Some(started);
        Ok(())
    }

    /// Serves the disk by NBD on a unix socket.
    fn nbd(&self, socket: PathBuf) -> PyResult<()> {
        self.with_free_writes()?;
        let disk: Arc<dyn Export> = Arc::clone(&self.disk) as _;
        let started = nbd::Server::start(&socket, disk).map_err(|error| NandlabError::new_err(error.to_string()))?;
        self.servers().nbd.push(started);
        Ok(())
    }

    /// Serves the disk by NVMe over TCP on a loopback address with a port, in blocks of `block_bytes`; returns the command
    /// that connects a host.
    #[pyo3(signature = (at, block_bytes=512))]
    fn nvme(&self, at: &str, block_bytes: u32) -> PyResult<String> {
        self.with_sectors()?;
        let disk: Arc<dyn Described> = Arc::clone(&self.disk) as _;
        let settings = nvme::Settings { block_bytes, ..nvme::Settings::default() };
        let started =
            nvme::Server::start(at, disk, settings).map_err(|error| NandlabError::new_err(error.to_string()))?;
        let line = started.connect_line();
        self.servers().nvme.push(started);
        Ok(line)
    }

    /// Shows the disk at work on a page, at a loopback address with a port or on a unix socket.
    fn http(&self, at: &str) -> PyResult<()> {
        let disk: Arc<dyn http::Watched> = Arc::clone(&self.disk) as _;
        let page = http::Page::start(at, disk).map_err(|error| NandlabError::new_err(error.to_string()))?;
        self.servers().http.push(page);
        Ok(())
    }

    /// Serves the disk as the file `disk` in a directory, by FUSE.
    fn fuse(&self, directory: PathBuf) -> PyResult<()> {
        self.with_free_writes()?;
        let disk: Arc<dyn Export> = Arc::clone(&self.disk) as _;
        let mounted = fuse::mount(&directory, disk).map_err(|error| {
            NandlabError::new_err(format!("the disk cannot be mounted on {}: {error}", directory.display()))
        })?;
        self.servers().fuse.push(mounted);
        Ok(())
    }

    /// Mounts the disk's file system on a directory: the image's own, or a FAT volume; returns its name. `others`: for
    /// all users; `cache`: `writeback` or `through`.
    #[pyo3(signature = (directory, others=false, cache="writeback"))]
    fn mount(&self, py: Python<'_>, directory: PathBuf, others: bool, cache: &str) -> PyResult<&'static str> {
        if self.disk.is_zoned() {
            self.with_free_writes()?;
        }
        let cache = cache.parse().map_err(NandlabError::new_err)?;
        let mounted = py.detach(|| directory::mount(&directory, Arc::clone(&self.disk), others, cache));
        let mounted = mounted.map_err(|error| {
            let text = format!("{} cannot be mounted on {}: {error}", self.path.display(), directory.display());
            NandlabError::new_err(text)
        })?;
        let fs = mounted.fs();
        self.servers().directories.push(mounted);
        Ok(fs)
    }

    /// Finds the file system on the disk and gives requests the origins from its regions: superblocks, bitmaps, inodes,
    /// journal, data; from then on also those of each file system made on it. Returns its kind and the lines for
    /// [`Disk::regions`]; None without a known file system. The few sectors it reads are counted.
    fn follow_regions(&self, py: Python<'_>) -> PyResult<Option<(&'static str, String)>> {
        self.with_free_writes()?;
        let found = py.detach(|| self.disk.follow_regions()).map_err(|error| failed(&error))?;
        Ok(found.map(|found| (found.kind, found.lines())))
    }

    /// Ends all servers; directories are unmounted.
    fn end(&self, py: Python<'_>) {
        let servers = std::mem::take(&mut *self.servers());
        py.detach(|| drop(servers));
    }

    /// The same, flushes, and keeps the counts in the image.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.end(py);
        let closed = py.detach(|| caught(|| self.disk.close()))?;
        closed.map_err(|error| failed(&error))
    }
}

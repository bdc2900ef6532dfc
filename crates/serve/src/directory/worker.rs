//! The thread that owns the file system.

use super::names::Names;
use crate::Disk;
use fuser::Errno;
use nandlab_block::{BlockDevice, Completion, Error, Payload, Request};
use nandlab_fs::{FileSystem, FsConfig};
use nandlab_nand::SECTOR_BYTES;
use std::io;
use std::sync::mpsc::{channel, sync_channel, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Does the work of a request. What it returns answers the request, once its changes survive a kill.
type Job = Box<dyn FnOnce(&mut Names, &mut dyn FileSystem) -> Answer + Send>;

type Answer = Box<dyn FnOnce() + Send>;

/// A file system at work in its own thread.
pub(super) struct Worker {
    disk: Arc<Disk>,
    /// `None` once it was stopped.
    running: Mutex<Option<Running>>,
}

struct Running {
    jobs: Sender<Job>,
    thread: JoinHandle<()>,
}

/// The disk as a device below a file system.
struct Device(Arc<Disk>);

impl BlockDevice for Device {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        self.0.submit(request, data)
    }

    fn sectors(&self) -> u64 {
        crate::Export::size(&*self.0) / u64::from(SECTOR_BYTES)
    }
}

impl Worker {
    /// Mounts the file system on `disk`: its own on bare flash, or `fs` on its sectors.
    ///
    /// # Errors
    /// There is no such file system, or the disk fails.
    pub(super) fn start(disk: Arc<Disk>, fs: FsConfig, names: Names) -> io::Result<Self> {
        let (jobs, todo) = channel();
        let (mounted, is_mounted) = sync_channel(1);
        let work_on = Arc::clone(&disk);
        let thread = std::thread::Builder::new().name("nandlab files".into()).spawn(move || {
            let done = match work_on.is_bare() {
                true => on_flash(&work_on, names, &todo, || mounted.send(Ok(())).unwrap_or_default()),
                false => {
                    let tell = mounted.clone();
                    let work = |fs: &mut dyn FileSystem| {
                        let _ = tell.send(Ok(()));
                        on_device(fs, names, &todo);
                    };
                    fs.mounted(&mut Device(work_on), work).map_err(|error| io::Error::other(error.to_string()))
                }
            };
            if let Err(error) = done {
                // Nobody listens after the mount; the disk tells whoever closes it.
                let _ = mounted.try_send(Err(error));
            }
        })?;
        let worker = Self { disk, running: Mutex::new(Some(Running { jobs, thread })) };
        match is_mounted.recv() {
            Ok(Ok(())) => Ok(worker),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(io::Error::other("the file system cannot be mounted")),
        }
    }

    /// Carries out `work` and waits for it; the disk's end is EIO.
    pub(super) fn ask<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Names, &mut dyn FileSystem) -> Result<R, Errno> + Send + 'static,
    ) -> Result<R, Errno> {
        let (answer, answered) = sync_channel(1);
        let job: Job = Box::new(move |names, fs| {
            let done = work(names, fs);
            Box::new(move || {
                let _ = answer.send(done);
            })
        });
        let running = self.running();
        let jobs = &running.as_ref().ok_or(Errno::EIO)?.jobs;
        jobs.send(job).map_err(|_| Errno::EIO)?;
        drop(running);
        answered.recv().map_err(|_| Errno::EIO)?
    }

    /// Waits until all durable data is on this machine's disk.
    pub(super) fn keep(&self) -> Result<(), Errno> {
        self.disk.keep().map_err(|error| match error.kind() {
            io::ErrorKind::StorageFull => Errno::ENOSPC,
            _ => Errno::EIO,
        })
    }

    /// Unmounts the file system; whoever still asks gets EIO.
    pub(super) fn stop(&self) {
        let Some(Running { jobs, thread }) = self.running().take() else { return };
        drop(jobs);
        let _ = thread.join();
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The file system is the disk itself; others ask for its counts between two jobs.
fn on_flash(disk: &Disk, mut names: Names, todo: &Receiver<Job>, mounted: impl FnOnce()) -> io::Result<()> {
    disk.on_files(|fs| {
        names.begin(fs);
        None
    })?;
    mounted();
    for job in todo {
        let mut answer = None;
        let due = disk.on_files(|fs| {
            answer = Some(job(&mut names, fs));
            names.asked.take()
        });
        // Whoever gets no answer has an error: the host's disk failed, and may take the next request.
        if let (Ok(due), Some(answer)) = (due, answer) {
            answer();
            due.sleep();
        }
    }
    disk.on_files(|fs| {
        names.end(fs);
        None
    })?;
    Ok(())
}

/// The file system borrows the disk.
fn on_device(fs: &mut dyn FileSystem, mut names: Names, todo: &Receiver<Job>) {
    names.begin(fs);
    for job in todo {
        job(&mut names, fs)();
    }
    names.end(fs);
}

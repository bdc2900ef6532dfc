//! A device in an image as a byte disk.

mod bytes;
mod epoch;
mod figures;
mod followed;
mod units;
mod whole;
mod zones;

use crate::asker;
use crate::clock::Clock;
use crate::record::Recorder;
use crate::regions::Regions;
use crate::{check_range, Due, Export, Placing};
use epoch::Epoch;
use followed::Followed;
use nandlab_block::{Completion, Error, Op, Payload, Request};
use nandlab_fs::{FileSystem, FsConfig};
use nandlab_lab::served::{Access, Asked, Checked, Lifetime, QueueId, Served, SAVE_EVERY_BYTES, SAVE_EVERY_S};
use nandlab_lab::LabError;
use nandlab_nand::backed::{BackedError, ImageFile};
use nandlab_nand::{PlacementId, Time, SECTOR_BYTES};
use std::any::Any;
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use whole::Whole;

const SECTOR: u64 = SECTOR_BYTES as u64;
/// Zero bytes written at once.
const ZEROS: usize = 1 << 20;
/// Sectors trimmed at once, so other requests find a gap.
const TRIMMED: u64 = (256 << 20) / SECTOR;
/// Longest time between two saves of the counts while requests come.
const SAVE_EVERY: Duration = Duration::from_secs(SAVE_EVERY_S);

/// How a disk is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Answers go out when their simulated time is over.
    pub pace: bool,
    /// Whether the image is written, and what its data survives. One that is only read refuses writes.
    pub access: Access,
}

/// A device in an image as a disk.
///
/// Requests are simulated one at a time, in lock order. The waits for this machine's disk and for simulated time happen
/// outside the lock, so many requests can be outstanding.
pub struct Disk {
    inner: Mutex<Inner>,
    image: ImageFile,
    whole: Whole,
    /// Tells of the image's age elsewhere, if asked.
    epoch: Option<Epoch>,
    /// What the opening found, in sentences.
    notices: Vec<String>,
    /// Data placement by the host, if its FTL has it.
    placing: Option<Placing>,
    size: u64,
    page_bytes: u32,
    started: Instant,
    pace: bool,
    is_read_only: bool,
}

/// What a request is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    ToRead,
    /// It fails if the host takes no write.
    ToChange,
}

struct Inner {
    served: Served,
    clock: Clock,
    regions: Regions,
    /// Where regions follow the file system.
    followed: Option<Followed>,
    recorder: Option<Recorder>,
    /// Partial sectors, and whole ones around them.
    scratch: Vec<u8>,
    zeros: Box<[u8]>,
    trims_last: bool,
    /// Whether a write goes to the device as a whole, because a zone takes or refuses it so.
    is_zoned: bool,
    /// Where the present request asks its writes to go.
    placement: PlacementId,
    /// The I/O queue that the present request came by.
    queue: Option<QueueId>,
    /// When the counts were last kept in the image since the opening, and the sectors written until then.
    saved: Option<(Instant, u64)>,
    /// The broken invariant: nothing is carried out afterwards.
    broken: Option<String>,
    /// The current request's real time since the start, ns.
    real: Time,
}

impl Disk {
    /// Opens the image `path`.
    ///
    /// # Errors
    /// As [`Served::open`].
    pub fn open(path: &Path, options: Options) -> Result<Self, LabError> {
        let served = Served::open(path, options.access)?;
        let geometry = served.sizing().geometry;
        let page_bytes = u64::from(geometry.pages()) * u64::from(geometry.page_bytes());
        let whole =
            Whole::new(path, page_bytes).map_err(|error| LabError::Io(format!("{}: {error}", path.display())))?;
        let started = Instant::now();
        Ok(Self {
            whole,
            epoch: None,
            notices: served.notices().to_vec(),
            image: served.image().clone(),
            placing: units::placing(&served),
            size: served.sectors() * SECTOR,
            page_bytes: served.sizing().geometry.page_bytes(),
            started,
            pace: options.pace,
            is_read_only: matches!(options.access, Access::Read | Access::Rescue),
            inner: Mutex::new(Inner {
                trims_last: served.trims_last(),
                is_zoned: served.zone_shape().is_some(),
                served,
                placement: PlacementId::NONE,
                queue: None,
                clock: Clock::new(options.pace),
                regions: Regions::default(),
                followed: None,
                recorder: None,
                scratch: Vec::new(),
                zeros: vec![0; ZEROS].into(),
                saved: None,
                broken: None,
                real: 0,
            }),
        })
    }

    /// The image's file.
    pub fn image(&self) -> &ImageFile {
        &self.image
    }

    /// Gives requests their origins by these regions from now on.
    pub fn set_regions(&self, regions: Regions) {
        let mut inner = self.lock();
        (inner.regions, inner.followed) = (regions, None);
    }

    /// The image's number among all images.
    pub fn identity(&self) -> u128 {
        self.lock().served.identity()
    }

    /// Whether a trimmed and flushed page reads as zeros from then on.
    pub fn trims_last(&self) -> bool {
        self.lock().trims_last
    }

    /// Whether every answered write survives a power cut without a flush.
    pub fn writes_last(&self) -> bool {
        self.lock().served.writes_last()
    }

    /// P/E cycles that the device's data sheet guarantees.
    pub fn endurance(&self) -> u32 {
        self.lock().served.experiment().device.profile.rules.endurance
    }

    /// Everything since the image was made.
    pub fn lifetime(&self) -> Lifetime {
        self.lock().served.lifetime()
    }

    /// Spoilt parts found when the image was opened, in sentences.
    pub fn notices(&self) -> Vec<String> {
        self.notices.clone()
    }

    /// Everything that happened to the image's file since the opening, in sentences: it was deleted, cut or lengthened.
    /// This looks at the file and waits for no request.
    pub fn faults(&self) -> Vec<String> {
        self.whole.faults()
    }

    /// The mount's cost in simulated time, us.
    pub fn mount_us(&self) -> Option<f64> {
        self.lock().served.mount().time_us
    }

    /// Wall time since the opening.
    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Starts a trace with every request from now on, with its origin and the program's time.
    ///
    /// # Errors
    /// Another one is being recorded; the file exists or cannot be written.
    pub fn record_to(&self, path: &Path) -> io::Result<()> {
        let mut inner = self.lock();
        if let Some(recorder) = &inner.recorder {
            let text = format!("the disk is being recorded already, into {}", recorder.path().display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        }
        inner.recorder = Some(Recorder::create(path)?);
        Ok(())
    }

    /// Ends the trace; returns its request count, `None` if nothing was recorded.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn end_record(&self) -> io::Result<Option<u64>> {
        self.lock().recorder.take().map(Recorder::finish).transpose()
    }

    /// Derives every FTL invariant anew, and compares every page with its checksum.
    ///
    /// # Errors
    /// [`LabError::Io`] if the image cannot be read.
    pub fn check(&self) -> Result<Checked, LabError> {
        self.lock().served.check()
    }

    /// Whether it is a file system on bare flash: programs ask it for files, not for bytes.
    pub fn is_bare(&self) -> bool {
        self.lock().served.is_bare()
    }

    /// The file system on it, if its image names one.
    pub fn fs(&self) -> Option<FsConfig> {
        self.lock().served.experiment().fs.clone()
    }

    /// Carries out `work` on the file system on bare flash; it returns the program's request, for the counts.
    ///
    /// # Errors
    /// The disk was stopped.
    pub(crate) fn on_files(&self, work: impl FnOnce(&mut dyn FileSystem) -> Option<Asked>) -> io::Result<Due> {
        let took = self.gathered(Asks::ToRead, |inner| inner.served.on_files(work))?;
        // Answered changes survive a kill. Programs learn of refused writes when they synchronise a file.
        let _ = self.hand_over();
        Ok(if self.pace { Due::at(Instant::now() + Duration::from_nanos(took)) } else { Due::NOW })
    }

    /// Carries out a request with its own origin. A flush waits for this machine's disk.
    pub(crate) fn submit(&self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        let asks = if request.op == Op::Read { Asks::ToRead } else { Asks::ToChange };
        let done = self.guarded(asks, |inner| inner.ask_as(*request, data));
        let done = done.map_err(|_| Error::PowerLost)??;
        if request.op == Op::Flush {
            self.sync().map_err(|_| Error::PowerLost)?;
        }
        if self.pace {
            Due::at(self.started + Duration::from_nanos(done.done)).sleep();
        }
        Ok(done)
    }

    /// Keeps the counts in the image and waits until all writes are on this machine's disk.
    pub(crate) fn keep(&self) -> io::Result<()> {
        self.lock().served.save().map_err(|error| io::Error::other(error.to_string()))?;
        self.sync()
    }

    /// Flushes everything, keeps the counts and waits until the image is on this machine's disk; ends a trace.
    ///
    /// # Errors
    /// As a flush; the counts or the trace cannot be written.
    pub fn close(&self) -> io::Result<()> {
        self.whole.look()?;
        let flushed = match self.is_bare() {
            true => self.sync_files(),
            false => self.request(Asks::ToChange, |inner| inner.ask(Op::Flush, 0, 0, Payload::None)).map(drop),
        };
        let recorded = self.end_record();
        let saved = self.lock().served.save_last().map_err(|error| io::Error::other(error.to_string()));
        let age = self.image.age();
        let synced = self.whole.survives().and_then(|()| self.image.close().map_err(|error| of_image(&error)));
        let synced = synced.and_then(|()| self.keep_age(age, true));
        flushed.and(recorded.map(|_| ())).and(saved).and(synced)
    }

    /// Makes every file survive a power cut.
    fn sync_files(&self) -> io::Result<()> {
        let mut synced = Ok(());
        self.on_files(|files| {
            synced = files.sync_all();
            None
        })?;
        synced.map_err(|error| io::Error::other(error.to_string()))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Whoever panicked inside has left `broken` behind.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Self::gathered`], and the changes are handed over: answered data survives a kill.
    fn guarded<R>(&self, asks: Asks, work: impl FnOnce(&mut Inner) -> R) -> io::Result<R> {
        let done = self.gathered(asks, work)?;
        if asks == Asks::ToChange {
            self.hand_over()?;
        }
        Ok(done)
    }

    /// Carries out `work`, unless the disk was stopped. Where the host refuses writes, reads go on and changes fail.
    fn gathered<R>(&self, asks: Asks, work: impl FnOnce(&mut Inner) -> R) -> io::Result<R> {
        let mut inner = self.lock();
        if let Some(broken) = &inner.broken {
            return Err(io::Error::other(broken.clone()));
        }
        // An FTL with nothing to flush would not notice.
        if let Some(why) = self.image.failure().get() {
            return Err(of_image(why));
        }
        self.whole.look()?;
        // Before its work, so writes that the host refuses do not pile up in memory.
        if self.image.is_behind() && asks == Asks::ToChange {
            self.image.write_gathered().map_err(|error| of_image(&error))?;
        }
        (inner.real, inner.queue) = (self.started.elapsed().as_nanos() as Time, asker::queue());
        let done = catch_unwind(AssertUnwindSafe(|| work(&mut inner))).map_err(|panic| {
            let text = format!("internal error, the disk was stopped: {}", said(&*panic));
            inner.broken = Some(text.clone());
            io::Error::other(text)
        })?;
        inner.save_if_due();
        Ok(done)
    }

    /// Carries out `work` at the present time; when it is done. Its changes are gathered.
    fn request(&self, asks: Asks, work: impl FnOnce(&mut Inner) -> Result<Time, Error>) -> io::Result<Due> {
        let done = self.gathered(asks, work)?.map_err(|error| self.failed(&error))?;
        if !self.pace {
            return Ok(Due::NOW);
        }
        Ok(Due::at(self.started + Duration::from_nanos(done)))
    }

    /// The same; if `flushes`, all data answered until then survives a power cut.
    fn change(&self, flushes: bool, work: impl FnOnce(&mut Inner) -> Result<Time, Error>) -> io::Result<Due> {
        if !flushes {
            return self.request(Asks::ToChange, work);
        }
        let due = self.request(Asks::ToChange, |inner| {
            let done = work(inner)?;
            let done = done.max(inner.ask(Op::Flush, 0, 0, Payload::None)?);
            inner.look_if_another(self.size);
            Ok(done)
        })?;
        self.sync()?;
        Ok(due)
    }

    fn sync(&self) -> io::Result<()> {
        self.whole.survives()?;
        let age = self.image.age();
        self.image.sync().map_err(|error| of_image(&error))?;
        self.keep_age(age, false)
    }

    /// A disk error as the program sees it.
    fn failed(&self, error: &Error) -> io::Error {
        if let (Error::PowerLost, Some(why)) = (error, self.image.failure().get()) {
            return of_image(why);
        }
        let kind = match error {
            Error::OutOfRange { .. } | Error::Zone { .. } => io::ErrorKind::InvalidInput,
            Error::WornOut(_) => io::ErrorKind::StorageFull,
            Error::Unreadable { .. } | Error::PowerLost => io::ErrorKind::Other,
        };
        io::Error::new(kind, error.clone())
    }
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
    text.unwrap_or("no reason given").to_owned()
}

fn of_image(error: &BackedError) -> io::Error {
    let kind = match error {
        BackedError::Io { source, .. } => source.kind(),
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error.to_string())
}

impl Inner {
    /// Asks for sectors with one origin; returns the end.
    fn ask(&mut self, op: Op, sector: u64, sectors: u64, data: Payload<'_>) -> Result<Time, Error> {
        let origin = self.regions.origin(sector);
        let is_placed = matches!(op, Op::Write | Op::UnitUpdate);
        let placement = if is_placed { self.placement } else { PlacementId::NONE };
        let request = Request { time: 0, sector, sectors: sectors as u32, op, origin, placement };
        if let Some(followed) = &mut self.followed {
            followed.take(&request, &data);
        }
        self.ask_as(request, data).map(|completion| completion.done)
    }

    /// Asks at the present time, ignoring the request's own.
    fn ask_as(&mut self, request: Request, data: Payload<'_>) -> Result<Completion, Error> {
        let request = Request { time: self.clock.arrival(self.real), ..request };
        if let Some(recorder) = &mut self.recorder {
            if recorder.add(&Request { time: self.real, ..request }).is_err() {
                // A full disk ends the trace, not the traced program.
                self.recorder = None;
            }
        }
        let completion = self.served.submit_from(self.queue, &request, data)?;
        self.clock.complete(completion.done);
        self.save_if_due();
        Ok(completion)
    }

    /// Keeps the counts in the image when a kill would lose too many. This waits for no disk.
    fn save_if_due(&mut self) {
        let (now, written) = (Instant::now(), self.served.written_sectors());
        let is_due = self.saved.is_none_or(|(at, before)| {
            now.duration_since(at) >= SAVE_EVERY || (written - before) * SECTOR >= SAVE_EVERY_BYTES
        });
        // Counts that wait in memory for the host's disk are saved by nobody.
        if is_due && !self.served.image().is_behind() {
            self.saved = Some((now, written));
            // The counts are no data: they are kept again later.
            let _ = self.served.save();
        }
    }
}

impl Export for Disk {
    fn size(&self) -> u64 {
        self.size
    }

    fn preferred_block(&self) -> u32 {
        self.page_bytes
    }

    fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<Due> {
        check_range(self.size, offset, out.len() as u64)?;
        self.request(Asks::ToRead, |inner| inner.read_bytes(offset, out))
    }

    fn write(&self, offset: u64, data: &[u8], fua: bool) -> io::Result<Due> {
        check_range(self.size, offset, data.len() as u64)?;
        self.refuse_writes()?;
        self.change(fua, |inner| inner.write_bytes(offset, data))
    }

    fn write_zeroes(&self, offset: u64, length: u64, may_trim: bool, fua: bool) -> io::Result<Due> {
        self.zero_through(PlacementId::NONE, (offset, length), may_trim, fua)
    }

    fn trim(&self, offset: u64, length: u64, fua: bool) -> io::Result<Due> {
        check_range(self.size, offset, length)?;
        self.refuse_writes()?;
        let (first, end) = (offset.div_ceil(SECTOR), (offset + length) / SECTOR);
        self.change(fua, |inner| inner.trim(first, end.saturating_sub(first)))
    }

    /// A write that fills the host's disk fails here.
    fn hand_over(&self) -> io::Result<()> {
        let written = self.image.write_gathered();
        written.map_err(|error| of_image(self.image.failure().get().unwrap_or(&error)))
    }

    fn flush(&self) -> io::Result<Due> {
        self.change(true, |_| Ok(0))
    }
}

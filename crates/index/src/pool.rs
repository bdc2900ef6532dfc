//! A buffer pool: pages of a block device in a fixed number of frames.
//!
//! A requested page outside the pool is read; a changed page is written when it leaves, or at a flush in ascending
//! order. Requests carry the page's origin, whoever makes it leave, and follow one another in time. Pages 0 and 1 on
//! the device are headers (`header.rs`); the owner's pages begin at [`FIRST_PAGE`].
//!
//! After a power cut:
//! * with `shadow`, [`Pool::open`] always finds the state from the last acknowledged flush or, if the power went during
//!   a flush, possibly the new state, as a whole (`shadow.rs`);
//! * without, pages are written in place. Before the first one after a flush the pool writes a header that marks the
//!   index as unclean. A power cut before this header leaves the last flush's state; after it, [`Pool::open`] refuses
//!   the index as [`IndexError::Unclean`]. After a flush everything is there.

mod clock;
mod config;
mod header;
mod list;
mod lru;
mod page_mut;
mod policy;
mod shadow;
mod two_q;

pub use config::{Budget, Config, PagesByKind, Stats, WriteBack};
pub use header::META_BYTES;
pub use page_mut::PageMut;
pub use policy::{Entry, Policy, Replacement, LIST};

use crate::IndexError;
use header::Header;
use nandlab_block::{BlockDevice, Op, Payload, Request};
use nandlab_nand::{Origin, Time, SECTOR_BYTES};
use shadow::{Place, Shadow};

/// The owner's first page.
pub const FIRST_PAGE: u32 = 2;
/// No frame.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Frame {
    page: u32,
    origin: Origin,
    /// One bit for each changed sector.
    dirty: u128,
}

/// A page in a frame; valid until the next page is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameId(u32);

/// Device pages in frames.
pub struct Pool<'d> {
    device: &'d mut dyn BlockDevice,
    page_bytes: usize,
    sectors_per_page: u32,
    write_back: WriteBack,
    bytes: Vec<u8>,
    frames: Vec<Frame>,
    most_frames: u32,
    /// By page: its frame.
    place: Vec<u32>,
    policy: Box<dyn Policy>,
    shadow: Option<Shadow>,
    seq: u64,
    clean: bool,
    meta: [u8; META_BYTES],
    /// Pages ever given out, headers included, and the most there can be.
    pages: u32,
    most_pages: u32,
    now: Time,
    stats: Stats,
}

impl std::fmt::Debug for Pool<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pool {{ pages: {}, frames: {}, {:?} }}", self.pages, self.frames.len(), self.stats)
    }
}

impl<'d> Pool<'d> {
    fn new(device: &'d mut dyn BlockDevice, config: &Config) -> Result<Self, IndexError> {
        config.check()?;
        let sectors_per_page = config.page_bytes / SECTOR_BYTES;
        let most_pages = (device.sectors() / u64::from(sectors_per_page)).min(u64::from(u32::MAX - 1)) as u32;
        config.check_device(u64::from(most_pages))?;
        let page_bytes = config.page_bytes as usize;
        let most_frames = config.frames(most_pages);
        Ok(Self {
            device,
            page_bytes,
            sectors_per_page,
            write_back: config.write_back,
            bytes: vec![0; most_frames as usize * page_bytes],
            frames: Vec::with_capacity(most_frames as usize),
            most_frames,
            place: Vec::new(),
            policy: config.policy.policy(most_frames),
            shadow: config.shadow.then(|| Shadow::new(most_pages, page_bytes)),
            seq: 0,
            clean: true,
            meta: [0; META_BYTES],
            pages: FIRST_PAGE,
            most_pages,
            now: 0,
            stats: Stats::default(),
        })
    }

    /// An empty pool over a device whose contents are given up; nothing is there before the first flush.
    ///
    /// # Errors
    /// [`IndexError::Option`], [`IndexError::Device`].
    pub fn create(device: &'d mut dyn BlockDevice, config: &Config) -> Result<Self, IndexError> {
        let mut pool = Self::new(device, config)?;
        // No older index may come back once its pages are written over.
        for page in 0..FIRST_PAGE {
            pool.write_header_sector(page, &[0; SECTOR_BYTES as usize])?;
        }
        pool.flush_device(Origin::INDEX_HEADER)?;
        pool.extend_to(FIRST_PAGE);
        Ok(pool)
    }

    /// The pages as the last flush left them; [`Self::meta`] is its argument.
    ///
    /// # Errors
    /// [`IndexError::NoIndex`], [`IndexError::Unclean`], [`IndexError::Mismatch`], [`IndexError::Damaged`], and as
    /// [`Self::create`].
    pub fn open(device: &'d mut dyn BlockDevice, config: &Config) -> Result<Self, IndexError> {
        let mut pool = Self::new(device, config)?;
        let mut newest: Option<Header> = None;
        for page in 0..FIRST_PAGE {
            let mut sector = [0; SECTOR_BYTES as usize];
            let at = u64::from(page) * u64::from(pool.sectors_per_page);
            pool.submit(Op::Read, at, 1, Origin::INDEX_HEADER, Payload::Read(&mut sector))?;
            newest = newest.into_iter().chain(Header::decode(&sector)).max_by_key(|header| header.seq);
        }
        let header = newest.ok_or(IndexError::NoIndex { page_bytes: config.page_bytes })?;
        let mismatch = |key, stored: String, given: String| Err(IndexError::Mismatch { key, stored, given });
        if header.page_bytes != config.page_bytes {
            return mismatch("pool.page_bytes", header.page_bytes.to_string(), config.page_bytes.to_string());
        }
        if header.shadow != config.shadow {
            return mismatch("pool.shadow", header.shadow.to_string(), config.shadow.to_string());
        }
        if !header.clean {
            return Err(IndexError::Unclean);
        }
        if header.pages > pool.most_pages {
            return Err(IndexError::damaged(0, format!("{} pages on {}", header.pages, pool.most_pages)));
        }
        // A header perhaps not flushed becomes durable before anything relies on it.
        pool.flush_device(Origin::INDEX_HEADER)?;
        if let Some(shadow) = pool.shadow.take() {
            let loaded = shadow.load(header.pages, header.table, |slot| pool.read_table(slot))?;
            pool.shadow = Some(loaded.ok_or_else(|| IndexError::damaged(header.table, "the page table is no tree"))?);
        }
        (pool.seq, pool.meta) = (header.seq, header.meta);
        pool.extend_to(header.pages);
        Ok(pool)
    }

    fn read_table(&mut self, slot: u32) -> Result<Vec<u32>, IndexError> {
        if slot >= self.most_pages {
            return Err(IndexError::damaged(slot, "a page of the page table is beyond the device"));
        }
        let mut bytes = vec![0; self.page_bytes];
        let (at, sectors) = (u64::from(slot) * u64::from(self.sectors_per_page), self.sectors_per_page);
        self.submit(Op::Read, at, sectors, Origin::INDEX_HEADER, Payload::Read(&mut bytes))?;
        Ok(bytes.chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect())
    }

    /// The owner's data from the last flush.
    pub fn meta(&self) -> &[u8; META_BYTES] {
        &self.meta
    }

    /// Page size in bytes.
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// Frames in the pool.
    pub fn frames(&self) -> u32 {
        self.most_frames
    }

    /// Pages ever given out, the two headers included.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// The page limit.
    pub fn most_pages(&self) -> u32 {
        self.most_pages
    }

    /// Whether pages are shadowed.
    pub fn is_shadowed(&self) -> bool {
        self.shadow.is_some()
    }

    /// The pool's counts.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// When the last request was done.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Requests from now on come no earlier than `time`.
    pub fn wait_until(&mut self, time: Time) {
        self.now = self.now.max(time);
    }

    /// Whether `changed` pages can change and `new` ones be added with room left for the next flush.
    pub fn has_room(&self, changed: u32, new: u32) -> bool {
        if u64::from(self.pages) + u64::from(new) > u64::from(self.most_pages) {
            return false;
        }
        let Some(shadow) = &self.shadow else { return true };
        // Counts pages one by one only if needed.
        let needed = shadow.needed(changed, new);
        let waiting = || self.frames.iter().filter(|frame| frame.dirty != 0 && !shadow.is_fresh(frame.page)).count();
        needed + self.frames.len() <= shadow.free() || needed + waiting() <= shadow.free()
    }

    fn extend_to(&mut self, pages: u32) {
        self.pages = pages;
        self.place.resize(pages as usize, NONE);
        if let Some(shadow) = &mut self.shadow {
            shadow.extend(pages);
        }
    }

    /// Adds a page.
    ///
    /// # Errors
    /// [`IndexError::Full`].
    pub fn add_page(&mut self) -> Result<u32, IndexError> {
        if self.pages == self.most_pages {
            return Err(self.full());
        }
        self.extend_to(self.pages + 1);
        Ok(self.pages - 1)
    }

    pub(crate) fn full(&self) -> IndexError {
        IndexError::Full { pages: self.most_pages, shadow: self.is_shadowed() }
    }

    /// Brings `page` into a frame; `origin` is its current kind, for its requests from now on.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] for a number without a page, [`IndexError::Device`], [`IndexError::Full`].
    #[inline]
    pub fn fetch(&mut self, page: u32, origin: Origin) -> Result<FrameId, IndexError> {
        match self.place.get(page as usize) {
            Some(&frame) if frame != NONE => {
                self.stats.hits += 1;
                self.policy.hit(frame);
                self.frames[frame as usize].origin = origin;
                Ok(FrameId(frame))
            }
            Some(_) if page >= FIRST_PAGE => self.miss(page, origin),
            _ => Err(IndexError::damaged(page, format!("a link leads there, and there are {} pages", self.pages))),
        }
    }

    fn miss(&mut self, page: u32, origin: Origin) -> Result<FrameId, IndexError> {
        self.stats.misses += 1;
        let slot = self.shadow.as_ref().map_or(page, |shadow| shadow.slot(page));
        if slot < FIRST_PAGE {
            return Err(IndexError::damaged(page, "it was never written"));
        }
        let frame = self.empty_frame()?;
        let sector = u64::from(slot) * u64::from(self.sectors_per_page);
        let range = self.range(frame);
        let request = Request { time: self.now, origin, ..Request::new(Op::Read, sector, self.sectors_per_page) };
        let completion = self.device.submit(&request, Payload::Read(&mut self.bytes[range]))?;
        self.stats.page_reads.add(origin);
        self.now = self.now.max(completion.done);
        Ok(self.enter(frame, Frame { page, origin, dirty: 0 }))
    }

    /// A zeroed frame for `page`, whatever its contents; neither a hit nor a miss.
    ///
    /// # Errors
    /// [`IndexError::Device`], [`IndexError::Full`].
    pub fn renew(&mut self, page: u32, origin: Origin) -> Result<FrameId, IndexError> {
        let dirty = all_sectors(self.sectors_per_page);
        let mut frame = self.place[page as usize];
        if frame == NONE {
            frame = self.empty_frame()?;
            self.enter(frame, Frame { page, origin, dirty });
        } else {
            self.frames[frame as usize] = Frame { page, origin, dirty };
        }
        let range = self.range(frame);
        self.bytes[range].fill(0);
        Ok(FrameId(frame))
    }

    fn enter(&mut self, at: u32, frame: Frame) -> FrameId {
        self.place[frame.page as usize] = at;
        self.policy.enter(at, frame.page);
        if at as usize == self.frames.len() {
            self.frames.push(frame);
        } else {
            self.frames[at as usize] = frame;
        }
        FrameId(at)
    }

    fn range(&self, frame: u32) -> std::ops::Range<usize> {
        let start = frame as usize * self.page_bytes;
        start..start + self.page_bytes
    }

    /// A frame without a page: a never used one, or the policy's victim.
    fn empty_frame(&mut self) -> Result<u32, IndexError> {
        if self.frames.len() < self.most_frames as usize {
            return Ok(self.frames.len() as u32);
        }
        let frame = self.policy.victim();
        self.stats.evictions += 1;
        if self.frames[frame as usize].dirty != 0 {
            self.stats.write_backs += 1;
            self.write(frame)?;
        }
        self.place[self.frames[frame as usize].page as usize] = NONE;
        Ok(frame)
    }

    /// Sets the kind for `page`, if it is in a frame; any other page is fetched anyway before it is written.
    pub fn set_origin(&mut self, page: u32, origin: Origin) {
        if let Some(frame) = self.place.get(page as usize).and_then(|&frame| self.frames.get_mut(frame as usize)) {
            frame.origin = origin;
        }
    }

    /// The bytes in a frame.
    #[inline]
    pub fn page(&self, FrameId(frame): FrameId) -> &[u8] {
        &self.bytes[self.range(frame)]
    }

    /// The bytes in a frame, mutable.
    #[inline]
    pub fn page_mut(&mut self, FrameId(frame): FrameId) -> PageMut<'_> {
        let range = self.range(frame);
        PageMut::new(&mut self.bytes[range], &mut self.frames[frame as usize].dirty)
    }

    /// Writes the changed page in `frame`.
    fn write(&mut self, frame: u32) -> Result<(), IndexError> {
        let Frame { page, origin, dirty } = self.frames[frame as usize];
        let place = match &mut self.shadow {
            Some(shadow) => shadow.place(page),
            None => {
                self.mark_unclean()?;
                Some(Place { slot: page, holds_page: true })
            }
        };
        let Place { slot, holds_page } = place.ok_or_else(|| self.full())?;
        let parts = holds_page && self.write_back == WriteBack::Sectors;
        let mut left = if parts { dirty } else { all_sectors(self.sectors_per_page) };
        let start = self.range(frame).start;
        self.stats.page_writes.add(origin);
        while left != 0 {
            let first = left.trailing_zeros();
            let sectors = (left >> first).trailing_ones();
            let sector = u64::from(slot) * u64::from(self.sectors_per_page) + u64::from(first);
            let from = start + (first * SECTOR_BYTES) as usize;
            let bytes = &self.bytes[from..from + (sectors * SECTOR_BYTES) as usize];
            let request = Request { time: self.now, origin, ..Request::new(Op::Write, sector, sectors) };
            let completion = self.device.submit(&request, Payload::Write(bytes))?;
            self.now = self.now.max(completion.done);
            self.stats.written_sectors += u64::from(sectors);
            left &= !(all_sectors(sectors) << first);
        }
        self.frames[frame as usize].dirty = 0;
        Ok(())
    }

    /// Notes durably that pages will be written in place.
    fn mark_unclean(&mut self) -> Result<(), IndexError> {
        if !self.clean {
            return Ok(());
        }
        self.clean = false;
        self.write_header()?;
        self.flush_device(Origin::INDEX_HEADER)
    }

    /// Writes every changed page, then the header with `meta`; on return everything is durable.
    ///
    /// # Errors
    /// [`IndexError::Device`], [`IndexError::Full`].
    pub fn flush(&mut self, meta: &[u8; META_BYTES]) -> Result<(), IndexError> {
        let mut changed: Vec<(u32, u32)> = (0..)
            .zip(&self.frames)
            .filter(|(_, frame)| frame.dirty != 0)
            .map(|(at, frame): (u32, _)| (frame.page, at))
            .collect();
        if changed.is_empty() && *meta == self.meta && self.clean && self.seq > 0 && !self.has_fresh() {
            return self.flush_device(Origin::INDEX_HEADER);
        }
        changed.sort_unstable();
        for (_, frame) in changed {
            self.stats.flushed += 1;
            self.write(frame)?;
        }
        if let Some(shadow) = &mut self.shadow {
            let table = shadow.changed_table();
            for (slot, bytes) in table.ok_or_else(|| self.full())? {
                let (at, sectors) = (u64::from(slot) * u64::from(self.sectors_per_page), self.sectors_per_page);
                self.stats.table_writes += 1;
                self.stats.page_writes.add(Origin::INDEX_HEADER);
                self.stats.written_sectors += u64::from(sectors);
                self.submit(Op::Write, at, sectors, Origin::INDEX_HEADER, Payload::Write(&bytes))?;
            }
        }
        self.flush_device(Origin::INDEX_HEADER)?;
        self.clean = true;
        self.meta = *meta;
        self.write_header()?;
        self.flush_device(Origin::INDEX_HEADER)?;
        if let Some(shadow) = &mut self.shadow {
            shadow.committed();
        }
        Ok(())
    }

    /// Whether a page was shadowed since the last flush.
    fn has_fresh(&self) -> bool {
        self.shadow.as_ref().is_some_and(Shadow::has_fresh)
    }

    fn write_header(&mut self) -> Result<(), IndexError> {
        self.seq += 1;
        let header = Header {
            seq: self.seq,
            page_bytes: self.page_bytes as u32,
            shadow: self.is_shadowed(),
            clean: self.clean,
            pages: self.pages,
            table: self.shadow.as_ref().map_or(0, Shadow::root),
            meta: self.meta,
        };
        self.write_header_sector((self.seq % u64::from(FIRST_PAGE)) as u32, &header.encode())
    }

    fn write_header_sector(&mut self, page: u32, sector: &header::HeaderSector) -> Result<(), IndexError> {
        self.stats.header_writes += 1;
        self.stats.page_writes.add(Origin::INDEX_HEADER);
        self.stats.written_sectors += 1;
        let at = u64::from(page) * u64::from(self.sectors_per_page);
        self.submit(Op::Write, at, 1, Origin::INDEX_HEADER, Payload::Write(sector))
    }

    fn flush_device(&mut self, origin: Origin) -> Result<(), IndexError> {
        self.submit(Op::Flush, 0, 0, origin, Payload::None)
    }

    fn submit(
        &mut self,
        op: Op,
        sector: u64,
        sectors: u32,
        origin: Origin,
        data: Payload<'_>,
    ) -> Result<(), IndexError> {
        let request = Request { time: self.now, origin, ..Request::new(op, sector, sectors) };
        let completion = self.device.submit(&request, data)?;
        self.now = self.now.max(completion.done);
        Ok(())
    }
}

/// One bit for each sector.
fn all_sectors(sectors: u32) -> u128 {
    u128::MAX >> (128 - sectors)
}

//! Sector cache below the library: the library writes a few bytes at a time, the device takes whole
//! sectors.

mod table;

use super::layout::{Layout, FIRST_CLUSTER};
use super::WriteThrough;
use nandlab_block::{BlockDevice, Error, Op, Payload, Request};
use nandlab_nand::{Origin, Time, SECTOR_BYTES};
use std::collections::{BTreeMap, BTreeSet};

const SECTOR: usize = SECTOR_BYTES as usize;
/// Bytes in a directory entry.
pub(super) const SLOT: u64 = 32;
/// Most sectors in one write.
const LONGEST_RUN: u64 = 256;

/// A sector in memory.
#[derive(Debug)]
struct Line {
    sector: u64,
    bytes: Box<[u8; SECTOR]>,
    /// Origin of the unwritten change; `None` if the line is clean.
    dirty: Option<Origin>,
    is_file_data: bool,
    used: u64,
}

/// Sectors in memory over a device.
pub(super) struct Cache<'d> {
    device: &'d mut dyn BlockDevice,
    /// Device sectors before the volume.
    start: u64,
    through: WriteThrough,
    capacity: usize,
    trims: bool,
    layout: Option<Layout>,
    lines: Vec<Line>,
    places: BTreeMap<u64, usize>,
    last: usize,
    uses: u64,
    /// The library's next read or write position.
    pub(super) position: u64,
    /// True if accesses among the clusters belong to a file, false if they belong to a directory.
    pub(super) touches_file: bool,
    /// The first position read since this was cleared.
    pub(super) first_read: Option<u64>,
    /// Dirty sectors: metadata, then file data.
    dirty: [BTreeSet<u64>; 2],
    /// The metadata sector being changed, or the last in a run of directory sectors.
    window: Option<u64>,
    /// Position of the rest of a half-written directory entry.
    entry_goes_on: Option<u64>,
    /// Free clusters, counted at mount.
    free: u32,
    freed: BTreeSet<u32>,
    root: BTreeSet<u32>,
    /// The root directory's new, uncleared cluster.
    unclear: Option<u32>,
    /// The last file data sector touched.
    last_data: Option<u64>,
    /// True if FAT changes are tracked; false while a volume is formatted.
    is_mounted: bool,
    /// True for a blank device: nothing needs to be read before a write.
    is_blank: bool,
    /// The next write position within the file, and the file's end on the device. Sectors behind
    /// that end are not read.
    in_file: u64,
    file_end: u64,
    failed: Option<Error>,
    now: Time,
}

impl<'d> Cache<'d> {
    pub(super) fn new(
        device: &'d mut dyn BlockDevice,
        start: u64,
        through: WriteThrough,
        bytes: u64,
        trims: bool,
    ) -> Self {
        Self {
            device,
            start,
            through,
            capacity: (bytes as usize / SECTOR).max(1),
            trims,
            layout: None,
            lines: Vec::new(),
            places: BTreeMap::new(),
            last: 0,
            uses: 0,
            position: 0,
            touches_file: false,
            first_read: None,
            dirty: Default::default(),
            window: None,
            entry_goes_on: None,
            free: 0,
            freed: BTreeSet::new(),
            root: BTreeSet::new(),
            unclear: None,
            last_data: None,
            is_mounted: false,
            is_blank: false,
            in_file: 0,
            file_end: u64::MAX,
            failed: None,
            now: 0,
        }
    }

    /// A cache for formatting a volume: existing contents are not read.
    pub(super) fn blank(device: &'d mut dyn BlockDevice, start: u64, bytes: u64) -> Self {
        // All writes go out at the end, in runs.
        Self { is_blank: true, ..Self::new(device, start, WriteThrough::Operation, bytes, false) }
    }

    /// Announces that the library's next write goes to position `at` in a file with `bytes` bytes.
    pub(super) fn enter_file(&mut self, at: u64, bytes: u64) {
        (self.touches_file, self.in_file, self.file_end) = (true, at, bytes);
    }

    /// Reads the volume's layout, and counts the free clusters.
    pub(super) fn find_layout(&mut self) -> Result<Result<Layout, String>, Error> {
        let line = self.line(0, false)?;
        let layout = match Layout::parse(&self.lines[line].bytes[..]) {
            Ok(layout) if u64::from(layout.sectors) > self.sectors() => {
                let (volume, device) = (layout.sectors, self.sectors());
                return Ok(Err(format!("it has {volume} sectors, more than the {device} of the device")));
            }
            Ok(layout) => layout,
            Err(why) => return Ok(Err(why)),
        };
        self.layout = Some(layout);
        let bytes = layout.table();
        let mut table = vec![0; (bytes.end - bytes.start) as usize];
        for (n, part) in table.chunks_mut(LONGEST_RUN as usize * SECTOR).enumerate() {
            self.read_device(u64::from(layout.reserved) + n as u64 * LONGEST_RUN, part, Origin::FAT)?;
        }
        let clusters = FIRST_CLUSTER..layout.clusters + FIRST_CLUSTER;
        self.free = clusters.filter(|&cluster| layout.entry(&table, 0, cluster) == 0).count() as u32;
        let mut cluster = layout.root_cluster;
        while layout.is_link(cluster) && self.root.insert(cluster) {
            cluster = layout.entry(&table, 0, cluster);
        }
        self.is_mounted = true;
        Ok(Ok(layout))
    }

    pub(super) fn free_clusters(&self) -> u32 {
        self.free
    }

    /// The device's failure, if any; half-written sectors rule out further work.
    pub(super) fn failure(&self) -> Option<&Error> {
        self.failed.as_ref()
    }

    /// Clears a failure without half-done changes.
    pub(super) fn go_on(&mut self) {
        self.failed = None;
    }

    /// Sectors from the start of the volume to the end of the device.
    fn sectors(&self) -> u64 {
        self.device.sectors().saturating_sub(self.start)
    }

    pub(super) fn device_bytes(&self) -> u64 {
        self.sectors() * u64::from(SECTOR_BYTES)
    }

    /// Bytes of the cached sectors, and of the cache's directory.
    pub(super) fn ram(&self) -> (u64, u64) {
        (self.capacity as u64 * u64::from(SECTOR_BYTES), self.capacity as u64 * 12)
    }

    /// Fills `bytes` from the current position.
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Error> {
        self.first_read.get_or_insert(self.position);
        let left = self.device_bytes().saturating_sub(self.position);
        let wanted = bytes.len().min(left as usize);
        let mut bytes = &mut bytes[..wanted];
        while !bytes.is_empty() {
            let (sector, from) = (self.position / SECTOR as u64, self.position as usize % SECTOR);
            let run = if self.is_file_data(sector) && from == 0 { self.uncached(sector, bytes.len()) } else { 0 };
            let taken = if run > 0 {
                let taken = run * SECTOR;
                self.read_device(sector, &mut bytes[..taken], Origin::FILE_DATA)?;
                taken
            } else {
                let taken = bytes.len().min(SECTOR - from);
                let line = self.line(sector, false)?;
                bytes[..taken].copy_from_slice(&self.lines[line].bytes[from..from + taken]);
                taken
            };
            self.position += taken as u64;
            bytes = &mut bytes[taken..];
        }
        Ok(wanted)
    }

    /// Whole uncached sectors from `sector` on, within `bytes` bytes.
    fn uncached(&self, sector: u64, bytes: usize) -> usize {
        (0..bytes / SECTOR).take_while(|&n| !self.places.contains_key(&(sector + n as u64))).count()
    }

    /// Writes `bytes` at the current position.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let start = self.position;
        if self.position + bytes.len() as u64 > self.device_bytes() {
            return Ok(0);
        }
        if self.is_mark(start, bytes.len()) {
            self.change(0, start as usize, bytes)?;
            self.position += bytes.len() as u64;
            return Ok(bytes.len());
        }
        let before = self.entries(start..start + bytes.len() as u64)?;
        if before.is_empty() {
            self.clear_root(start / SECTOR as u64)?;
        }
        let goes_on = self.entry_goes_on.take();
        if goes_on.is_some_and(|at| at != start) {
            self.write_out()?;
        }
        let mut left = bytes;
        while !left.is_empty() {
            let (sector, from) = (self.position / SECTOR as u64, self.position as usize % SECTOR);
            let (part, rest) = left.split_at(left.len().min(SECTOR - from));
            self.change(sector, from, part)?;
            self.position += part.len() as u64;
            left = rest;
        }
        self.note(&before)?;
        if self.through == WriteThrough::Entry {
            let is_entry = self.is_directory(start / SECTOR as u64);
            if is_entry && bytes.len() < SECTOR && self.position % SLOT != 0 {
                self.entry_goes_on = Some(self.position);
            } else {
                self.write_out()?;
            }
        }
        Ok(bytes.len())
    }

    /// Whether a write sets the in-use mark in the boot sector. The library sets the mark in the
    /// middle of its first change. The mark is written together with that change, because an
    /// earlier write would put half an entry on the device.
    fn is_mark(&self, start: u64, bytes: usize) -> bool {
        self.is_mounted && bytes == 1 && start < SECTOR as u64
    }

    fn change(&mut self, sector: u64, from: usize, part: &[u8]) -> Result<(), Error> {
        if self.layout.is_none() && sector > 0 {
            // The boot sector comes first when a volume is formatted.
            let boot = self.line(0, false)?;
            self.layout = Layout::parse(&self.lines[boot].bytes[..]).ok();
        }
        let is_file_data = self.is_file_data(sector);
        if self.through == WriteThrough::Sector && !(self.is_mounted && sector == 0) {
            self.make_way(sector, is_file_data, part.len() == SECTOR)?;
        }
        let origin = self.origin(sector);
        let is_new = is_file_data && self.in_file - from as u64 >= self.file_end;
        if is_file_data {
            self.in_file += part.len() as u64;
        }
        let line = self.line(sector, is_new || part.len() == SECTOR)?;
        let line = &mut self.lines[line];
        line.bytes[from..from + part.len()].copy_from_slice(part);
        (line.dirty, line.is_file_data) = (Some(origin), is_file_data);
        self.dirty[usize::from(!is_file_data)].remove(&sector);
        self.dirty[usize::from(is_file_data)].insert(sector);
        Ok(())
    }

    /// Before a change to `sector`, writes out the windows it leaves.
    fn make_way(&mut self, sector: u64, is_file_data: bool, whole: bool) -> Result<(), Error> {
        if is_file_data {
            let run = &self.dirty[1];
            let Some((&first, &last)) = run.first().zip(run.last()) else { return Ok(()) };
            let joins = (first..=last + 1).contains(&sector) && sector < first + LONGEST_RUN;
            return if joins { Ok(()) } else { self.write_dirty(true) };
        }
        // The FAT copies belong to the same window.
        let at = self.layout.map_or(sector, |layout| layout.first_copy(sector));
        // A growing directory is cleared sector by sector.
        let clears = self.is_mounted && whole && self.is_directory(sector);
        if self.window.is_some_and(|window| window != at && !(clears && window + 1 == at)) {
            self.write_dirty(false)?;
        }
        self.window = Some(at);
        Ok(())
    }

    /// Writes all changes: file data first, so a directory entry on the device never points to
    /// missing data.
    pub(super) fn write_out(&mut self) -> Result<(), Error> {
        self.write_dirty(true)?;
        self.write_dirty(false)?;
        self.window = None;
        self.entry_goes_on = None;
        Ok(())
    }

    fn write_dirty(&mut self, file_data: bool) -> Result<(), Error> {
        let mut sectors = std::mem::take(&mut self.dirty[usize::from(file_data)]).into_iter().peekable();
        while let Some(first) = sectors.next() {
            let origin = self.author(first);
            let mut bytes = self.clean(first);
            let mut next = first + 1;
            while next < first + LONGEST_RUN && sectors.peek() == Some(&next) && self.author(next) == origin {
                bytes.extend(self.clean(next));
                sectors.next();
                next += 1;
            }
            let request = Request { origin, ..Request::new(Op::Write, first, (next - first) as u32) };
            self.submit(request, Payload::Write(&bytes))?;
        }
        Ok(())
    }

    fn author(&self, sector: u64) -> Origin {
        self.lines[self.places[&sector]].dirty.expect("a changed sector has an author")
    }

    fn clean(&mut self, sector: u64) -> Vec<u8> {
        let line = &mut self.lines[self.places[&sector]];
        line.dirty = None;
        line.bytes.to_vec()
    }

    /// Ends a file system operation: writes all changes and trims freed clusters. The only file
    /// data kept is the last sector touched, for the next append.
    pub(super) fn end_operation(&mut self) -> Result<(), Error> {
        self.write_out()?;
        let kept = self.last_data;
        while let Some(at) = self.lines.iter().position(|line| line.is_file_data && Some(line.sector) != kept) {
            self.remove(at);
        }
        self.trim()
    }

    fn trim(&mut self) -> Result<(), Error> {
        let (Some(layout), true) = (self.layout, self.trims) else {
            self.freed.clear();
            return Ok(());
        };
        let mut freed = std::mem::take(&mut self.freed).into_iter().peekable();
        while let Some(first) = freed.next() {
            let mut clusters = 1;
            while freed.next_if_eq(&(first + clusters)).is_some() {
                clusters += 1;
            }
            let (sector, sectors) = (layout.sector_of(first), clusters * layout.cluster_sectors);
            for sector in sector..sector + u64::from(sectors) {
                if let Some(&at) = self.places.get(&sector) {
                    self.remove(at);
                }
            }
            let request = Request { origin: Origin::FILE_DATA, ..Request::new(Op::Trim, sector, sectors) };
            self.submit(request, Payload::None)?;
        }
        Ok(())
    }

    /// Makes all writes survive a power cut.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.write_out()?;
        self.submit(Request::new(Op::Flush, 0, 0), Payload::None)
    }

    /// A sector's line; its bytes are read unless the `whole` sector is to be overwritten.
    fn line(&mut self, sector: u64, whole: bool) -> Result<usize, Error> {
        if self.lines.get(self.last).is_none_or(|line| line.sector != sector) {
            self.last = match self.places.get(&sector) {
                Some(&at) => at,
                None => self.take_in(sector, whole)?,
            };
        }
        if self.is_file_data(sector) {
            self.last_data = Some(sector);
        }
        self.uses += 1;
        self.lines[self.last].used = self.uses;
        Ok(self.last)
    }

    fn take_in(&mut self, sector: u64, whole: bool) -> Result<usize, Error> {
        let mut bytes = Box::new([0; SECTOR]);
        let is_known = whole || self.is_blank && self.origin(sector) == Origin::BOOT;
        if !is_known {
            let origin = self.origin(sector);
            self.read_device(sector, &mut bytes[..], origin)?;
        }
        // A dirty line stays until it is written.
        let dirty = self.dirty[0].len() + self.dirty[1].len();
        while self.lines.len() >= self.capacity.max(dirty + 1) {
            let clean = self.lines.iter().enumerate().filter(|(_, line)| line.dirty.is_none());
            let Some((oldest, _)) = clean.min_by_key(|(_, line)| line.used) else { break };
            self.remove(oldest);
        }
        self.places.insert(sector, self.lines.len());
        let is_file_data = self.is_file_data(sector);
        self.lines.push(Line { sector, bytes, dirty: None, is_file_data, used: 0 });
        Ok(self.lines.len() - 1)
    }

    fn remove(&mut self, at: usize) {
        let line = self.lines.swap_remove(at);
        self.places.remove(&line.sector);
        if let Some(moved) = self.lines.get(at) {
            self.places.insert(moved.sector, at);
        }
    }

    fn read_device(&mut self, sector: u64, bytes: &mut [u8], origin: Origin) -> Result<(), Error> {
        let request = Request { origin, ..Request::new(Op::Read, sector, (bytes.len() / SECTOR) as u32) };
        self.submit(request, Payload::Read(bytes))
    }

    fn submit(&mut self, request: Request, data: Payload<'_>) -> Result<(), Error> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let sector = if request.op == Op::Flush { 0 } else { self.start + request.sector };
        match self.device.submit(&Request { time: self.now, sector, ..request }, data) {
            Ok(completion) => {
                self.now = self.now.max(completion.done);
                Ok(())
            }
            Err(error) => {
                self.failed = Some(error.clone());
                Err(error)
            }
        }
    }

    fn is_file_data(&self, sector: u64) -> bool {
        self.touches_file && self.layout.is_some_and(|layout| layout.region(sector).is_none())
    }

    fn is_directory(&self, sector: u64) -> bool {
        matches!(self.origin(sector), Origin::DIRECTORY | Origin::ROOT_DIRECTORY)
    }

    fn origin(&self, sector: u64) -> Origin {
        let Some(layout) = self.layout else { return Origin::BOOT };
        if let Some(origin) = layout.region(sector) {
            return origin;
        }
        match layout.cluster_of(sector) {
            _ if self.touches_file => Origin::FILE_DATA,
            Some(cluster) if self.root.contains(&cluster) || cluster == layout.root_cluster => Origin::ROOT_DIRECTORY,
            _ => Origin::DIRECTORY,
        }
    }
}

impl std::fmt::Debug for Cache<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cache({} of {} sectors)", self.lines.len(), self.capacity)
    }
}

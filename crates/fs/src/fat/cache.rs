//! The sectors below the library: it writes a few bytes at a time, and the device takes sectors.

mod table;

use super::layout::{Layout, FIRST_CLUSTER};
use super::WriteThrough;
use nandlab_block::{BlockDevice, Error, Op, Payload, Request};
use nandlab_nand::{Origin, Time, SECTOR_BYTES};
use std::collections::{BTreeMap, BTreeSet};

const SECTOR: usize = SECTOR_BYTES as usize;
/// Bytes of a directory entry.
pub(super) const SLOT: u64 = 32;
/// Sectors of the longest write.
const LONGEST_RUN: u64 = 256;

/// A sector in memory.
#[derive(Debug)]
struct Line {
    sector: u64,
    bytes: Box<[u8; SECTOR]>,
    /// The author of what the device does not have yet.
    dirty: Option<Origin>,
    is_file_data: bool,
    used: u64,
}

/// Sectors in memory over a device.
pub(super) struct Cache<'d> {
    device: &'d mut dyn BlockDevice,
    /// Sectors of the device before the volume.
    start: u64,
    through: WriteThrough,
    capacity: usize,
    trims: bool,
    layout: Option<Layout>,
    lines: Vec<Line>,
    places: BTreeMap<u64, usize>,
    last: usize,
    uses: u64,
    /// Where the library reads and writes next.
    pub(super) position: u64,
    /// Whether what it touches among the clusters is the contents of a file, or else a directory.
    pub(super) touches_file: bool,
    /// Where the library read first since this was cleared.
    pub(super) first_read: Option<u64>,
    /// Changed sectors of metadata, and of file data.
    dirty: [BTreeSet<u64>; 2],
    /// The sector of metadata that is being changed, or the last of a run of directory sectors.
    window: Option<u64>,
    /// Where a directory entry that is being written goes on.
    entry_goes_on: Option<u64>,
    /// Free clusters; counted when mounted.
    free: u32,
    freed: BTreeSet<u32>,
    root: BTreeSet<u32>,
    /// A cluster that the root directory got; it holds whatever was there.
    unclear: Option<u32>,
    /// The sector of file data touched last.
    last_data: Option<u64>,
    /// Whether the table is kept up with; not while a volume is formatted.
    is_mounted: bool,
    /// Whether the device has nothing to be read before it is written.
    is_blank: bool,
    /// Where in its file the library writes next, and where the file ends on the device: what is behind that is not read.
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

    /// For a volume that is to be made: what is there is not looked at.
    pub(super) fn blank(device: &'d mut dyn BlockDevice, start: u64, bytes: u64) -> Self {
        // All at the end, in runs.
        Self { is_blank: true, ..Self::new(device, start, WriteThrough::Operation, bytes, false) }
    }

    /// Says that what the library writes next goes to position `at` of a file of `bytes` bytes.
    pub(super) fn enter_file(&mut self, at: u64, bytes: u64) {
        (self.touches_file, self.in_file, self.file_end) = (true, at, bytes);
    }

    /// Reads where the parts of the volume are, and which clusters are free.
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

    /// What the device failed with; there is no going on with sectors half written.
    pub(super) fn failure(&self) -> Option<&Error> {
        self.failed.as_ref()
    }

    /// Forgets a failure that left nothing half done.
    pub(super) fn go_on(&mut self) {
        self.failed = None;
    }

    /// Sectors of the device from the volume on.
    fn sectors(&self) -> u64 {
        self.device.sectors().saturating_sub(self.start)
    }

    pub(super) fn device_bytes(&self) -> u64 {
        self.sectors() * u64::from(SECTOR_BYTES)
    }

    /// Bytes of the sectors, and of what is kept about them.
    pub(super) fn ram(&self) -> (u64, u64) {
        (self.capacity as u64 * u64::from(SECTOR_BYTES), self.capacity as u64 * 12)
    }

    /// Fills `bytes` from the position on.
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

    /// Whole sectors from `sector` on, of at most `bytes`, that are not in memory.
    fn uncached(&self, sector: u64, bytes: usize) -> usize {
        (0..bytes / SECTOR).take_while(|&n| !self.places.contains_key(&(sector + n as u64))).count()
    }

    /// Takes `bytes` from the position on.
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

    /// Whether a write is the mark in the boot sector that the volume is in use. The library sets it in the middle of
    /// whatever it changes first; it waits for that to be written, or half an entry would be.
    fn is_mark(&self, start: u64, bytes: usize) -> bool {
        self.is_mounted && bytes == 1 && start < SECTOR as u64
    }

    fn change(&mut self, sector: u64, from: usize, part: &[u8]) -> Result<(), Error> {
        if self.layout.is_none() && sector > 0 {
            // A volume that is being formatted: its boot sector comes first.
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

    /// Writes what is left behind when `sector` is changed.
    fn make_way(&mut self, sector: u64, is_file_data: bool, whole: bool) -> Result<(), Error> {
        if is_file_data {
            let run = &self.dirty[1];
            let Some((&first, &last)) = run.first().zip(run.last()) else { return Ok(()) };
            let joins = (first..=last + 1).contains(&sector) && sector < first + LONGEST_RUN;
            return if joins { Ok(()) } else { self.write_dirty(true) };
        }
        // The copies of a table change with it.
        let at = self.layout.map_or(sector, |layout| layout.first_copy(sector));
        // A directory that grows is cleared, sector after sector.
        let clears = self.is_mounted && whole && self.is_directory(sector);
        if self.window.is_some_and(|window| window != at && !(clears && window + 1 == at)) {
            self.write_dirty(false)?;
        }
        self.window = Some(at);
        Ok(())
    }

    /// Writes everything that is changed: file data first, so that no entry on the device names what is not there.
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

    /// Ends an operation of the file system: writes what is changed, trims what was freed, and keeps of file data only
    /// the sector touched last, which the next append goes on in.
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

    /// Makes what was written survive a power cut.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.write_out()?;
        self.submit(Request::new(Op::Flush, 0, 0), Payload::None)
    }

    /// The line of a sector; its bytes are read unless `whole` of it is to be written.
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
        // What is changed stays until it is written.
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

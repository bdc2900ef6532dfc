//! A small zoned drive in memory, as weak as its contract allows: of a zone's requests since the last flush any prefix
//! survives a power cut, and its last write may be torn.

use nandlab_block::{
    BlockDevice, Completion, Error, Op, Payload, Request, ZoneCommand, ZoneFault, ZoneReport, ZoneShape, ZoneState,
};
use nandlab_nand::random::Random;
use nandlab_nand::Origin;
use std::collections::BTreeMap;

type Sector = [u8; 512];

#[derive(Clone)]
enum Change {
    Write(Vec<Sector>),
    Reset,
    Finish,
}

#[derive(Clone, Default, PartialEq, Debug)]
struct Zone {
    sectors: Vec<Sector>,
    is_finished: bool,
}

impl Zone {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Write(sectors) => self.sectors.extend(sectors),
            Change::Reset => *self = Self::default(),
            Change::Finish => self.is_finished = true,
        }
    }
}

/// A zone that its host finished: what the drive looked like.
#[derive(Clone, Debug)]
pub struct Finish {
    pub active: u32,
    /// Sectors left in the zone, and whether tables are in it.
    pub left: u64,
    pub has_tables: bool,
    /// Sectors left in each other active zone with tables.
    pub others: Vec<u64>,
    /// Whether the next write opened an empty zone; `None` before it.
    pub opens: Option<bool>,
}

/// The drive.
#[derive(Clone)]
pub struct Zoned {
    durable: Vec<Zone>,
    now: Vec<Zone>,
    /// By zone: changes since the last flush.
    changes: BTreeMap<usize, Vec<Change>>,
    /// Sectors that can be written to a zone, and from one zone's start to the next one's.
    capacity: u64,
    size: u64,
    max_active: u32,
    /// Requests until the power goes.
    pub left: u64,
    pub resets: u64,
    pub finished: Vec<Finish>,
    pub most_active: u32,
    /// By zone: the origin of its last write.
    writer: Vec<Option<Origin>>,
}

impl Zoned {
    pub fn new(zones: usize, capacity: u64, size: u64, max_active: u32) -> Self {
        let empty = vec![Zone::default(); zones];
        Self {
            durable: empty.clone(),
            now: empty,
            changes: BTreeMap::new(),
            capacity,
            size,
            max_active,
            left: u64::MAX,
            resets: 0,
            finished: Vec::new(),
            most_active: 0,
            writer: vec![None; zones],
        }
    }

    fn is_full(&self, zone: &Zone) -> bool {
        zone.is_finished || zone.sectors.len() as u64 == self.capacity
    }

    fn is_active(&self, zone: usize) -> bool {
        !self.now[zone].sectors.is_empty() && !self.is_full(&self.now[zone])
    }

    fn active(&self) -> u32 {
        (0..self.now.len()).filter(|&zone| self.is_active(zone)).count() as u32
    }

    /// Empty zones from this one on.
    pub fn empty(&self, from: usize) -> usize {
        self.now[from..].iter().filter(|zone| zone.sectors.is_empty() && !zone.is_finished).count()
    }

    fn note_finish(&mut self, zone: usize) {
        let left = |zone: usize| self.capacity - self.now[zone].sectors.len() as u64;
        let has_tables = |zone: usize| matches!(self.writer[zone], Some(Origin::INDEX_LEAF | Origin::INDEX_INNER));
        let others = (0..self.now.len()).filter(|&other| other != zone && self.is_active(other) && has_tables(other));
        let finish = Finish {
            active: self.active(),
            left: left(zone),
            has_tables: has_tables(zone),
            others: others.map(left).collect(),
            opens: None,
        };
        self.finished.push(finish);
    }

    fn note_write(&mut self, zone: usize, origin: Origin) {
        let opens = self.now[zone].sectors.is_empty();
        if let Some(finish) = self.finished.last_mut() {
            finish.opens.get_or_insert(opens);
        }
        self.writer[zone] = Some(origin);
    }

    fn change(&mut self, zone: usize, change: Change) {
        self.now[zone].apply(&change);
        self.changes.entry(zone).or_default().push(change);
        self.most_active = self.most_active.max(self.active());
    }

    /// Power goes and comes back.
    pub fn cut(&mut self, random: &mut Random) {
        let kept = random.unit();
        for (zone, changes) in std::mem::take(&mut self.changes) {
            for change in changes {
                if !random.chance(kept) {
                    if let Change::Write(mut sectors) = change {
                        sectors.truncate(random.below(sectors.len() as u64 + 1) as usize);
                        self.durable[zone].apply(&Change::Write(sectors));
                    }
                    break;
                }
                self.durable[zone].apply(&change);
            }
        }
        self.now.clone_from(&self.durable);
        self.left = u64::MAX;
    }

    /// Nothing but what was flushed is left.
    pub fn forget(&mut self) {
        self.changes.clear();
        self.now.clone_from(&self.durable);
    }

    /// The first `changes` of a zone since the last flush survive from now on.
    pub fn keep(&mut self, zone: usize, changes: usize) {
        for change in self.changes.get_mut(&zone).expect("the zone has changed").drain(..changes) {
            self.durable[zone].apply(&change);
        }
    }

    /// Reads without a request.
    pub fn look(&self, sector: u64, bytes: &mut [u8]) {
        let (zone, at) = ((sector / self.size) as usize, (sector % self.size) as usize);
        for (at, bytes) in (at..).zip(bytes.chunks_exact_mut(512)) {
            bytes.copy_from_slice(self.now[zone].sectors.get(at).unwrap_or(&[0; 512]));
        }
    }

    /// The zone of a sector.
    pub fn zone_of(&self, sector: u64) -> usize {
        (sector / self.size) as usize
    }

    /// Written sectors: zone and place in it.
    pub fn written(&self) -> Vec<(usize, usize)> {
        let zones = self.now.iter().enumerate();
        zones.flat_map(|(zone, kept)| (0..kept.sectors.len()).map(move |at| (zone, at))).collect()
    }

    pub fn sector_mut(&mut self, (zone, at): (usize, usize)) -> &mut Sector {
        &mut self.now[zone].sectors[at]
    }

    fn refuse(&self, request: &Request) -> Result<(), ZoneFault> {
        let zone = &self.now[(request.sector / self.size) as usize];
        let (at, written) = (request.sector % self.size, zone.sectors.len() as u64);
        match request.op {
            Op::Write if self.is_full(zone) => Err(ZoneFault::Full),
            Op::Write if at != written => Err(ZoneFault::InvalidWrite),
            Op::Write if at + u64::from(request.sectors) > self.capacity => Err(ZoneFault::Boundary),
            Op::Write if written == 0 && self.max_active > 0 && self.active() == self.max_active => {
                Err(ZoneFault::TooManyActive)
            }
            Op::Zone(_) if at != 0 => Err(ZoneFault::InvalidField),
            _ => Ok(()),
        }
    }
}

impl BlockDevice for Zoned {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        let is_last = self.left == 1;
        self.left = self.left.checked_sub(1).ok_or(Error::PowerLost)?;
        let zone = (request.sector / self.size) as usize;
        self.refuse(request).map_err(|fault| Error::Zone { zone: zone as u32, fault })?;
        match (request.op, data) {
            (Op::Flush, _) => {
                for (zone, changes) in std::mem::take(&mut self.changes) {
                    changes.iter().for_each(|change| self.durable[zone].apply(change));
                }
            }
            (Op::Write, Payload::Write(bytes)) => {
                self.note_write(zone, request.origin);
                let sectors = bytes.chunks_exact(512).map(|bytes| bytes.try_into().unwrap()).collect();
                self.change(zone, Change::Write(sectors));
                // The power goes during the write.
                return if is_last { Err(Error::PowerLost) } else { Ok(Completion::default()) };
            }
            (Op::Zone(ZoneCommand::Reset), _) => {
                self.resets += 1;
                self.change(zone, Change::Reset);
            }
            (Op::Zone(ZoneCommand::Finish), _) => {
                self.note_finish(zone);
                self.change(zone, Change::Finish);
            }
            (Op::Read, Payload::Read(bytes)) => {
                assert!(request.sector % self.size + u64::from(request.sectors) <= self.size, "one zone a read");
                self.look(request.sector, bytes);
            }
            other => panic!("{other:?}"),
        }
        Ok(Completion::default())
    }

    fn zone_shape(&self) -> Option<ZoneShape> {
        Some(ZoneShape {
            size: self.size,
            capacity: self.capacity,
            max_open: 0,
            max_active: self.max_active,
            conventional: 0,
        })
    }

    fn zone_at(&self, sector: u64) -> Option<ZoneReport> {
        let number = (sector / self.size) as usize;
        let (zone, start) = (self.now.get(number)?, number as u64 * self.size);
        let state = match zone.sectors.len() {
            _ if self.is_full(zone) => ZoneState::Full,
            0 => ZoneState::Empty,
            _ => ZoneState::Closed,
        };
        let write_pointer = (state != ZoneState::Full).then(|| start + zone.sectors.len() as u64);
        Some(ZoneReport { start, capacity: self.capacity, write_pointer, state, has_random_area: false })
    }

    fn sectors(&self) -> u64 {
        self.now.len() as u64 * self.size
    }
}

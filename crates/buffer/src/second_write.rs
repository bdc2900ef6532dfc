//! Second write: keeps pages that are written again within a period; a page's first write goes to flash.
//!
//! ## Idea
//! Most pages are written once. They would only push out pages that are written again and again, and a full buffer would
//! make the next write wait for them. A filter remembers which pages were written in this period. A page's first write
//! goes to flash while the flash has nothing else to do; the second and all later ones stay in the buffer.
//!
//! ## Write path
//! A page outside the filter enters it, is written to the device below with all its dirty sectors, and leaves the
//! buffer. A page in the filter is updated in the buffer or takes a place there, evicting the least recently used page.
//! When `period_us` has passed, the filter is emptied: each page's next write is its first again.
//!
//! ## Recovery
//! Everything is in DRAM: a power cut loses all unflushed data.
//!
//! ## Invariants
//! Every page is on the list once, and the pages fit the buffer. Without `cache_reads` a buffered page is dirty, or a flush
//! made it clean.
//!
//! ## Differences
//! This is the rule of the `ADVANCED` data cache in MQSim, whose filter has no false answers either. MQSim keeps the first
//! write's data until flash has it; here it leaves at once, and a controller with `write_buffer_bytes` holds it that
//! long. MQSim empties the filter after the request that finds the period over, and here before it. Its first write sends only
//! its own sectors and drops older dirty ones of the page; here all dirty sectors go. On a device without time the period
//! never ends.
//!
//! ## References
//! A. Tavakkol, J. Gómez-Luna, M. Sadrosadati, S. Ghose, O. Mutlu, "MQSim: a framework for enabling realistic studies of modern
//! multi-queue SSD devices", FAST 2018; its source `Data_Cache_Manager_Flash_Advanced.cpp`.

use crate::parts::cache::{Access, Cached, Policy};
use crate::parts::io::Io;
use crate::parts::list::{Links, List};
use crate::parts::pages::{Pages, Slot, FRAME_BYTES};
use crate::parts::sizes::one_memory;
use crate::parts::table::Table;
use crate::{Memory, MountError, Options};
use nandlab_block::{ByteCount, Error, Op, RamUse, Request};
use nandlab_nand::nvm::Nvm;
use nandlab_nand::{Geometry, Time};

/// A year: longer than any run.
const MAX_PERIOD_US: f64 = 3.2e13;

/// Options of `[buffer.second_write]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Buffer size; rounded down to whole pages.
    pub size: ByteCount,
    /// Whether to cache pages on reads.
    pub cache_reads: bool,
    /// Time until the filter is emptied, us; at least 1. A second, as in MQSim.
    pub period_us: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { size: crate::DEFAULT_SIZE, cache_reads: false, period_us: 1e6 }
    }
}

impl Options for Config {
    one_memory!("second_write");

    fn variants(&self) -> Vec<(&'static str, Self)> {
        vec![
            ("reads", Self { cache_reads: true, ..self.clone() }),
            ("short", Self { period_us: 2000.0, ..self.clone() }),
        ]
    }
}

impl Config {
    pub(crate) fn mount(&self, geometry: &Geometry, nvram: &mut dyn Nvm) -> Result<Cached<SecondWrite>, MountError> {
        if !(self.period_us >= 1.0 && self.period_us <= MAX_PERIOD_US) {
            let message =
                format!("buffer.second_write.period_us = {} is not in 1 to {MAX_PERIOD_US:e}", self.period_us);
            return Err(MountError::Config(message));
        }
        let policy = SecondWrite {
            links: Links::default(),
            list: List::default(),
            capacity: self.memories()[0].units(geometry)?,
            page_bytes: geometry.page_bytes().into(),
            caches_reads: self.cache_reads,
            period: (self.period_us * 1000.0).round() as Time,
            began: None,
            written: Filter::default(),
            device_pages: geometry.pages().into(),
            is_first: false,
        };
        Ok(Cached::new(Pages::mount(geometry, nvram, 0)?, policy))
    }
}

/// A set of pages, one bit each.
#[derive(Debug, Default)]
struct Filter(Vec<u64>);

impl Filter {
    /// Whether the page was not in it; now it is.
    fn insert(&mut self, lpn: u32) -> bool {
        let (word, bit) = (lpn as usize / 64, 1 << (lpn % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }
}

/// The list by last use, and the filter.
#[derive(Debug)]
pub(crate) struct SecondWrite {
    links: Links,
    list: List,
    capacity: u32,
    page_bytes: u64,
    caches_reads: bool,
    period: Time,
    /// The period's beginning; the first request sets it.
    began: Option<Time>,
    /// Pages written in this period.
    written: Filter,
    device_pages: u64,
    /// Whether this access is a page's first write of the period.
    is_first: bool,
}

impl SecondWrite {
    fn note(&mut self, access: &Access) {
        self.is_first = access.is_write && self.written.insert(access.lpn);
    }
}

impl Policy for SecondWrite {
    fn begin(&mut self, request: &Request) {
        let began = *self.began.get_or_insert(request.time);
        // The clock begins anew after preconditioning.
        if request.op == Op::Write && (request.time < began || request.time - began >= self.period) {
            self.began = Some(request.time);
            self.written.0.fill(0);
        }
    }

    fn caches_reads(&self) -> bool {
        self.caches_reads
    }

    fn prefetch_slot(&self, slot: Slot) {
        self.links.prefetch(slot);
    }

    fn prefetch_neighbours(&self, slot: Slot) {
        self.links.prefetch_neighbours(slot);
    }

    fn touch(&mut self, _: &mut Io<'_>, slot: Slot, access: &Access) -> Result<(), Error> {
        self.note(access);
        self.list.move_to_front(&mut self.links, slot);
        Ok(())
    }

    fn admit(&mut self, io: &mut Io<'_>, access: &Access) -> Result<Slot, Error> {
        if self.list.len() == self.capacity {
            let victim = self.list.back();
            io.evict(victim)?;
            self.list.remove(&mut self.links, victim);
        }
        self.note(access);
        let slot = io.pages.take(access.lpn, Memory::Dram);
        self.list.push_front(&mut self.links, slot);
        Ok(slot)
    }

    fn stored(&mut self, io: &mut Io<'_>, slot: Slot) -> Result<(), Error> {
        if std::mem::take(&mut self.is_first) {
            io.evict(slot)?;
            self.list.remove(&mut self.links, slot);
        }
        Ok(())
    }

    fn forget(&mut self, _: &mut Pages, slot: Slot) {
        self.list.remove(&mut self.links, slot);
    }

    fn ram(&self) -> RamUse {
        let pages = u64::from(self.capacity);
        let lists = FRAME_BYTES * pages + Table::bytes(pages) + Links::bytes(pages);
        let filter = self.device_pages.div_ceil(8);
        RamUse {
            sram: [("buffer_lists", lists), ("buffer_filter", filter)].into(),
            dram: [("buffer_pages", pages * self.page_bytes)].into(),
        }
    }
}

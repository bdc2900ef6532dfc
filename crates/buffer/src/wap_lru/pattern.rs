//! The 2OS table of WAP-LRU: what the requests of an interval were, and where the next ones go.

use super::Config;
use crate::{Memory, MountError, Placement};
use nandlab_block::{Op, Request};
use nandlab_nand::Geometry;

/// Thresholds of Table 4 of the paper: those of the state, of reads and of writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// 125, 512 and 600.
    Financial,
    /// 160, 271 and 38.
    Online,
    /// 211, 700 and 2500.
    WebVm,
    /// 230, 2500 and 3500.
    Webmail,
}

impl Preset {
    fn thresholds(self) -> [f64; 3] {
        match self {
            Self::Financial => [125.0, 512.0, 600.0],
            Self::Online => [160.0, 271.0, 38.0],
            Self::WebVm => [211.0, 700.0, 2500.0],
            Self::Webmail => [230.0, 2500.0, 3500.0],
        }
    }
}

/// How often writes occurred in an interval: what the pages written are divided by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Frequency {
    /// Runs of writes without a read between them.
    Runs,
    /// 1, and 1 for each request of another kind than the one before.
    Switches,
}

/// What the size of a request is counted in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SizeUnit {
    /// Pages that it touches.
    Page,
    /// Sectors.
    Sector,
    /// Pages that it and the requests of its kind before it touch that it continues.
    Run,
}

/// The table, and the state that follows from the last one.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    interval: u32,
    t_state: f64,
    t_read: f64,
    t_write: f64,
    frequency: Frequency,
    unit: SizeUnit,
    sectors_per_page: u64,
    is_write_intensive: bool,
    /// Requests of the interval so far.
    requests: u32,
    /// Sizes of its writes.
    written: u64,
    runs: u32,
    switches: u32,
    /// Whether the request before was a write; `None` at the start of an interval.
    last: Option<bool>,
    /// The sequential run that the request before ended: its kind, the sector behind it, and its pages.
    run: (bool, u64, u64),
    placement: Placement,
}

impl Pattern {
    pub(super) fn new(config: &Config, geometry: &Geometry) -> Result<Self, MountError> {
        let [state, read, write] = config.thresholds.thresholds();
        let given = |key: &str, number: Option<f64>, preset: f64| match number.unwrap_or(preset) {
            number if number >= 0.0 => Ok(number),
            wrong => Err(MountError::Config(format!("buffer.wap_lru.{key} = {wrong} is not a number from 0 on"))),
        };
        if config.interval == 0 {
            return Err(MountError::Config("buffer.wap_lru.interval = 0: an interval has 1 request at least".into()));
        }
        Ok(Self {
            interval: config.interval,
            t_state: given("t_state", config.t_state, state)?,
            t_read: given("t_read", config.t_read, read)?,
            t_write: given("t_write", config.t_write, write)?,
            frequency: config.fw,
            unit: config.size_unit,
            sectors_per_page: geometry.sectors_per_page().into(),
            is_write_intensive: false,
            requests: 0,
            written: 0,
            runs: 0,
            switches: 0,
            last: None,
            run: (false, u64::MAX, 0),
            placement: Placement::default(),
        })
    }

    pub(super) fn placement(&self) -> Placement {
        self.placement
    }

    /// Takes the next request into the table; where its pages go.
    #[inline]
    pub(super) fn place(&mut self, request: &Request) -> Memory {
        let is_write = request.op == Op::Write;
        let pages = request.end().div_ceil(self.sectors_per_page) - request.sector / self.sectors_per_page;
        let size = match self.unit {
            SizeUnit::Page => pages,
            SizeUnit::Sector => request.sectors.into(),
            SizeUnit::Run => self.length_of_run(request, is_write, pages),
        };
        let memory = self.decide(is_write, size);
        match memory {
            Memory::Dram => self.placement.dram_requests += 1,
            Memory::Nvram => self.placement.nvram_requests += 1,
        }
        self.note(is_write, if self.unit == SizeUnit::Run { pages } else { size });
        memory
    }

    fn length_of_run(&mut self, request: &Request, is_write: bool, pages: u64) -> u64 {
        let (kind, end, before) = self.run;
        let continues = kind == is_write && end == request.sector;
        self.run = (is_write, request.end(), if continues { before + pages } else { pages });
        self.run.2
    }

    fn decide(&self, is_write: bool, size: u64) -> Memory {
        let to_dram = match (self.is_write_intensive, is_write) {
            (true, is_write) => is_write,
            (false, true) => (size as f64) < self.t_write,
            (false, false) => (size as f64) < self.t_read,
        };
        if to_dram {
            Memory::Dram
        } else {
            Memory::Nvram
        }
    }

    fn note(&mut self, is_write: bool, size: u64) {
        if is_write {
            self.written += size;
            self.runs += u32::from(self.last != Some(true));
        }
        self.switches += u32::from(self.last.is_some_and(|last| last != is_write));
        self.last = Some(is_write);
        self.requests += 1;
        if self.requests < self.interval {
            return;
        }
        match self.is_write_intensive {
            false => self.placement.balanced_intervals += 1,
            true => self.placement.write_intensive_intervals += 1,
        }
        let frequency = match self.frequency {
            Frequency::Runs => self.runs.max(1),
            Frequency::Switches => 1 + self.switches,
        };
        // An interval without writes is balanced, whatever the threshold.
        self.is_write_intensive = self.written > 0 && self.written as f64 / f64::from(frequency) >= self.t_state;
        (self.requests, self.written, self.runs, self.switches, self.last) = (0, 0, 0, 0, None);
    }
}

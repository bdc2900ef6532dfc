//! Write buffers.
//!
//! Read this file first: [`Buffer`] is the contract, and [`buffers!`] is the list. To add a buffer, write one
//! file and add one line to the list. The configuration, `nandlab list`, the Python function, the docs page
//! and the stack comparison runs follow from it.
//!
//! A buffer is a block device on another block device: [`Buffered`] stacks the two.
//!
//! Every NVRAM page with data newer than below has a header; its checksum is stored last and cleared first. A
//! change goes to another place, and at mount the higher sequence number wins. The header is cleared only
//! after the device below was flushed, following the write-back or trim of the page. A page is in one memory
//! only, so no newer copy in DRAM hides a copy in NVRAM.

mod parts;

pub mod arc;
pub mod bplru;
pub mod cbm;
pub mod cflru;
pub mod clock;
pub mod clock_dnv;
pub mod fab;
pub mod hybrid_lru;
pub mod lb_clock;
pub mod lru;
pub mod own;
pub mod pass_through;
pub mod python;
pub mod s3_fifo;
pub mod second_write;
pub mod sieve;
pub mod wap_lru;

use nandlab_block::{BlockDevice, ByteCount, Completion, Error, Op, Payload, RamUse, Request};
use nandlab_nand::nvm::{CountedNvram, Nvm, NvmCost, PowerLost};
use nandlab_nand::Geometry;
use nandlab_nand::Timeline;
use parts::places::Places;
use parts::sizes::Size;
use wap_lru::profile::{Profiler, Thresholds};

/// The devices under a buffer, lent to it for each request; they survive when the buffer is dropped.
pub struct Devices<'a> {
    /// The device for write-backs.
    pub below: &'a mut dyn BlockDevice,
    /// Its NVRAM; zero bytes if it has none.
    pub nvram: &'a mut dyn Nvm,
}

/// A write buffer: the state in RAM. The device below and the NVRAM are separate values, as the NAND is for
/// an FTL. So `drop` is the power cut: it loses the DRAM and nothing else.
///
/// Reads return the latest data, from the buffer or from below. After a [`nandlab_block::Op::Flush`], all
/// acknowledged data survives: the buffer sends DRAM data to the device below, and NVRAM data stays in place.
/// Acknowledged data in NVRAM survives without a flush. [`BufferConfig::mount`] is the only constructor; it
/// recovers the NVRAM contents.
///
/// Without bytes ([`Payload::None`]) the buffer sends the same requests below and makes the same NVRAM
/// accesses. A write-back carries the origin and the placement of the request that wrote the data, not of the request
/// that evicts it.
pub trait Buffer: Send {
    /// Carries out one request that arrived at `request.time`, using the devices below as needed.
    ///
    /// # Errors
    /// Device errors from below, and power loss in NVRAM. After a failed write-back the data stays in the
    /// buffer.
    fn submit(&mut self, devices: Devices<'_>, request: &Request, data: Payload<'_>) -> Result<Completion, Error>;

    /// Starts loading table entries for the requests that follow; the first of `ahead` is carried out next.
    fn prefetch(&self, _ahead: &[Request]) {}

    /// Counts since the mount.
    fn counts(&self) -> Counts;

    /// Sets the time of a page read and write in DRAM, in ns; initially 0.
    fn set_dram_times(&mut self, _read_ns: f64, _write_ns: f64) {}

    /// Memory for cached pages and their metadata, without NVRAM.
    fn ram(&self) -> RamUse;

    /// Decisions by a policy that analyses access patterns.
    fn placement(&self) -> Option<Placement> {
        None
    }

    /// The memory holding a logical page; `None` if it is not buffered.
    fn kept_in(&self, page: u32) -> Option<Memory>;

    /// Sectors in a logical page, one bit each, with newer data than below that survives a power cut.
    fn surviving(&self, page: u32) -> u64;
}

/// A buffer memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// Volatile.
    Dram,
    /// Nonvolatile.
    Nvram,
}

/// Reasons a buffer cannot be mounted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MountError {
    /// The options or the NVRAM size do not fit.
    #[error("{0}")]
    Config(String),
    /// Power was lost while the NVRAM was read.
    #[error("power lost")]
    PowerLost,
}

impl From<PowerLost> for MountError {
    fn from(_: PowerLost) -> Self {
        Self::PowerLost
    }
}

/// Buffer counts. Accesses count once per page: a request for three pages counts three.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Pages read from the buffer alone.
    pub read_hits: u64,
    /// Pages read with help from the device below.
    pub read_misses: u64,
    /// Pages written with at least one sector already in the buffer.
    pub write_hits: u64,
    /// Pages written with no sector in the buffer.
    pub write_misses: u64,
    /// Pages moved between the buffer's memories.
    pub demotions: u64,
    /// Write-back batches of dirty pages, each as one ordered run.
    pub flushes: u64,
    /// Dirty pages in those batches, without padding.
    pub flushed_pages: u64,
    /// Pages read from below to complete a write-back.
    pub fill_reads: u64,
    /// Padding pages: not buffered, but written back to complete a block.
    pub padded_pages: u64,
    /// Accesses to DRAM, in pages.
    pub dram: Accesses,
    /// Accesses to NVRAM, in pages.
    pub nvram: Accesses,
    /// Header words stored in NVRAM, 8 bytes each.
    pub header_words: u64,
    /// DRAM pages a power cut would lose now.
    pub dirty_dram_pages: u64,
    /// Maximum of `dirty_dram_pages`.
    pub dirty_dram_pages_max: u64,
}

impl Counts {
    /// Read and write hits.
    pub fn hits(&self) -> u64 {
        self.read_hits + self.write_hits
    }

    /// Read and write misses.
    pub fn misses(&self) -> u64 {
        self.read_misses + self.write_misses
    }
}

/// Accesses to a memory, each to a whole or partial page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Accesses {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
}

/// Decisions by a policy that analyses access patterns.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Placement {
    /// Intervals in the balanced state, including the first.
    pub balanced_intervals: u64,
    /// Intervals in the write-intensive state.
    pub write_intensive_intervals: u64,
    /// Requests placing new pages in DRAM.
    pub dram_requests: u64,
    /// Requests placing new pages in NVRAM.
    pub nvram_requests: u64,
    /// Current threshold for the write-intensive state, in consecutive written pages.
    pub t_state: f64,
    /// Current minimum size for reads placed in NVRAM while balanced.
    pub t_read: f64,
    /// Current minimum size for writes placed in NVRAM while balanced.
    pub t_write: f64,
}

/// A buffer and the device below, as one device.
pub struct Buffered<'a> {
    buffer: &'a mut dyn Buffer,
    nvram: &'a mut dyn Nvm,
    below: &'a mut dyn BlockDevice,
}

impl<'a> Buffered<'a> {
    /// Puts `buffer` on `below`; `nvram` and `below` must be the same devices as before.
    pub fn new(buffer: &'a mut dyn Buffer, nvram: &'a mut dyn Nvm, below: &'a mut dyn BlockDevice) -> Self {
        Self { buffer, nvram, below }
    }
}

impl std::fmt::Debug for Buffered<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffered({:?} over {} sectors)", self.buffer.counts(), self.below.sectors())
    }
}

impl BlockDevice for Buffered<'_> {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        if request.sectors == 0 && request.op == Op::Read {
            return self.below.submit(request, data);
        }
        self.buffer.submit(Devices { below: self.below, nvram: self.nvram }, request, data)
    }

    #[inline]
    fn prefetch(&self, ahead: &[Request]) {
        self.buffer.prefetch(ahead);
        // What misses is asked for below; nobody knows yet what will.
        self.below.prefetch(ahead);
    }

    fn request_done(&mut self, completion: &Completion) {
        self.below.request_done(completion);
    }

    fn timeline(&mut self) -> Option<&mut Timeline> {
        self.below.timeline()
    }

    fn sectors(&self) -> u64 {
        self.below.sectors()
    }
}

/// Default buffer size, from the WAP-LRU paper.
const DEFAULT_SIZE: ByteCount = ByteCount(32 << 20);

/// Default memories for a hybrid buffer, 1 : 4.
const DEFAULT_DRAM: ByteCount = ByteCount(DEFAULT_SIZE.0 / 5);
const DEFAULT_NVRAM: ByteCount = ByteCount(DEFAULT_SIZE.0 - DEFAULT_DRAM.0);

/// Operations on every buffer's options.
pub(crate) trait Options: Sized {
    /// Configured sizes: DRAM, then NVRAM if there is any.
    fn memories(&self) -> Vec<Size>;

    /// NVRAM page count.
    fn nvram_pages(&self, geometry: &Geometry) -> u64 {
        self.memories().get(1).map_or(0, |nvram| nvram.pages(geometry).map_or(0, u64::from))
    }

    /// The same options with about `bytes` in total.
    fn sized(&self, bytes: u64, geometry: &Geometry) -> Self;

    /// A profiler for the requests before the run, if the options depend on it.
    fn profiler(&self, _: &Geometry) -> Option<Profiler> {
        None
    }

    /// The same options with the given thresholds.
    fn with_thresholds(&self, _: Thresholds) -> Self
    where
        Self: Clone,
    {
        self.clone()
    }

    /// Other option sets for the proofs, each with a name.
    fn variants(&self) -> Vec<(&'static str, Self)> {
        Vec::new()
    }
}

/// An entry in the list of buffers.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in `[buffer.<name>]`.
    pub name: &'static str,
    /// The source file, whose head comment is the docs page.
    pub source: &'static str,
    /// Short reference to the paper or book; empty if there is none.
    pub paper: &'static str,
    /// Its option schema.
    pub options: fn() -> schemars::Schema,
}

/// Makes every buffer's configuration and list entry from one line each.
macro_rules! buffers {
    ($($(#[$doc:meta])* $variant:ident($module:ident), $file:literal, $paper:literal;)*) => {
        /// The `[buffer.<name>]` table of an experiment: which buffer, with its options.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum BufferConfig {
            $($(#[$doc])* $variant($module::Config),)*
        }

        impl BufferConfig {
            /// Mounts the chosen buffer for a device with flash of shape `geometry`, with the contents of
            /// `nvram`.
            ///
            /// # Errors
            /// [`MountError::Config`] if options, flash and NVRAM do not fit; [`MountError::PowerLost`].
            pub fn mount(&self, geometry: &Geometry, nvram: &mut dyn Nvm) -> Result<Box<dyn Buffer>, MountError> {
                Ok(match self { $(Self::$variant(config) => Box::new(config.mount(geometry, nvram)?),)* })
            }

            /// Bytes of NVRAM it needs, including page headers; 0 for a buffer without NVRAM.
            pub fn nvram_bytes(&self, geometry: &Geometry) -> u64 {
                let pages = match self { $(Self::$variant(config) => config.nvram_pages(geometry),)* };
                Places::bytes(pages, geometry.page_bytes().into())
            }

            /// A profiler for the requests before the run, if the options depend on it.
            pub fn profiler(&self, geometry: &Geometry) -> Option<Profiler> {
                match self { $(Self::$variant(config) => config.profiler(geometry),)* }
            }

            /// The same buffer with thresholds from [`Self::profiler`].
            #[must_use]
            pub fn with_thresholds(&self, found: Thresholds) -> Self {
                match self { $(Self::$variant(config) => Self::$variant(config.with_thresholds(found)),)* }
            }

            /// Whether the options fit flash with the shape `geometry`.
            ///
            /// # Errors
            /// A sentence naming the option.
            pub fn check(&self, geometry: &Geometry) -> Result<(), String> {
                let mut nvram = CountedNvram::new(self.nvram_bytes(geometry), NvmCost::default());
                let known = self.with_thresholds(Thresholds { t_state: 0.0, t_read: 0.0, t_write: 0.0 });
                let buffer = if self.profiler(geometry).is_some() { &known } else { self };
                buffer.mount(geometry, &mut nvram).map(drop).map_err(|error| error.to_string())
            }

            /// Sentences about sizes rounded down.
            pub fn notices(&self, geometry: &Geometry) -> Vec<String> {
                let memories = match self { $(Self::$variant(config) => config.memories(),)* };
                memories.iter().filter_map(|memory| memory.notice(geometry)).collect()
            }

            /// Configured DRAM and NVRAM bytes for pages.
            pub fn nominal_bytes(&self) -> (u64, u64) {
                let memories = match self { $(Self::$variant(config) => config.memories(),)* };
                let sum = |is_nvram: bool| {
                    let of_kind = memories.iter().filter(|memory| memory.key.ends_with("nvram") == is_nvram);
                    of_kind.map(|memory| memory.bytes.0).sum()
                };
                (sum(false), sum(true))
            }

            /// The same buffer with about `bytes` in total, with at least one page or block in each
            /// memory.
            #[must_use]
            pub fn sized(&self, bytes: u64, geometry: &Geometry) -> Self {
                match self { $(Self::$variant(config) => Self::$variant(config.sized(bytes, geometry)),)* }
            }

            /// Other option sets for the proofs, each with a name.
            pub fn variants(&self) -> Vec<(&'static str, Self)> {
                match self { $(
                    Self::$variant(config) => {
                        config.variants().into_iter().map(|(name, config)| (name, Self::$variant(config))).collect()
                    }
                )* }
            }

            /// Every buffer with its default options, in [`LIST`] order; one in Python has no default class.
            pub fn all() -> Vec<Self> {
                let all = [$(Self::$variant($module::Config::default()),)*];
                all.into_iter().filter(|buffer| !matches!(buffer, Self::Python(_))).collect()
            }

            /// The chosen buffer's name.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => stringify!($module),)* }
            }
        }

        /// Every buffer.
        pub const LIST: &[Entry] = &[
            $(Entry {
                name: stringify!($module),
                source: include_str!($file),
                paper: $paper,
                options: || schemars::schema_for!($module::Config),
            },)*
        ];
    };
}

buffers! {
    /// Forwards every request unbuffered.
    PassThrough(pass_through), "pass_through.rs", "";
    /// Evicts the least recently used page.
    Lru(lru), "lru.rs", "Denning 1968";
    /// Evicts the oldest page not used since the hand passed it.
    Clock(clock), "clock.rs", "Corbato 1968";
    /// Evicts clean pages at the old end of the list before dirty ones.
    Cflru(cflru), "cflru.rs", "Park et al., CASES 2006";
    /// Three queues: new pages, reused pages, and ghosts.
    S3Fifo(s3_fifo), "s3_fifo.rs", "Yang et al., SOSP 2023";
    /// One queue; reused pages keep their place.
    Sieve(sieve), "sieve.rs", "Zhang et al., NSDI 2024";
    /// Pages written again within a period; first writes go to flash.
    SecondWrite(second_write), "second_write.rs", "Tavakkol et al., FAST 2018";
    /// An adaptive balance of recency and frequency.
    Arc(arc), "arc.rs", "Megiddo and Modha, FAST 2003";
    /// Evicts the block with the most pages.
    Fab(fab), "fab.rs", "Jo et al., TCE 2006";
    /// Evicts the least recently written block, padded to a whole block.
    Bplru(bplru), "bplru.rs", "Kim and Ahn, FAST 2008";
    /// Evicts the largest block not written recently.
    LbClock(lb_clock), "lb_clock.rs", "Debnath et al., MASCOTS 2009";
    /// Clean pages in DRAM, dirty ones in NVRAM.
    HybridLru(hybrid_lru), "hybrid_lru.rs", "";
    /// A clock of pages in DRAM before a clock of blocks in NVRAM.
    ClockDnv(clock_dnv), "clock_dnv.rs", "Kang et al., TCE 2017";
    /// Pages and blocks in NVRAM, a read cache in DRAM that completes blocks.
    Cbm(cbm), "cbm.rs", "Wei et al., MSST 2014";
    /// Places requests in DRAM or NVRAM by write pattern.
    WapLru(wap_lru), "wap_lru.rs", "Kim et al., IEMEK 2018";
    /// Evicts what a class in Python chooses.
    Python(python), "python.rs", "";
}

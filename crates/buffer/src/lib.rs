//! Write buffers.
//!
//! Read this file first: [`Buffer`] is the contract, and [`buffers!`] is the list. A new buffer is one new
//! file and one line of that list; the configuration, `nandlab list`, the Python function, the docs page and
//! the runs that compare stacks follow from it.
//!
//! A buffer is a block device over a block device: [`Buffered`] puts one over another device.
//!
//! A page in NVRAM that is newer than below has a header. Its checksum is stored last and cleared first. A change goes to
//! another place, and the higher sequence number wins at mount. The page leaves when the device below was flushed after
//! the write-back or the trim that replaces it. A page is in one memory only, so no newer copy in DRAM hides one in NVRAM.

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
pub mod pass_through;
pub mod s3_fifo;
pub mod sieve;
pub mod wap_lru;

use nandlab_block::{BlockDevice, ByteCount, Completion, Error, Payload, RamUse, Request};
use nandlab_nand::nvm::{CountedNvram, Nvm, NvmCost, PowerLost};
use nandlab_nand::Geometry;
use parts::places::Places;
use parts::sizes::Size;
use wap_lru::profile::{Profiler, Thresholds};

/// The devices under a buffer, lent to it for each request: what survives when it is dropped.
pub struct Devices<'a> {
    /// What it writes back to.
    pub below: &'a mut dyn BlockDevice,
    /// Its NVRAM; without bytes where it has none.
    pub nvram: &'a mut dyn Nvm,
}

/// A write buffer: the state in RAM. The device below and the NVRAM are separate values, as the NAND is to an FTL, so
/// that `drop` is the power cut: it takes the DRAM and nothing else.
///
/// Reads see what was written, whether it is still here or below. After a [`nandlab_block::Op::Flush`] everything
/// acknowledged survives: what is in DRAM is sent to the device below, what is in NVRAM stays there. What was
/// acknowledged and is in NVRAM survives without a flush. [`BufferConfig::mount`] is the only constructor, and finds
/// again what the NVRAM holds.
///
/// Without bytes ([`Payload::None`]) it does the same requests below and the same accesses to NVRAM. What it writes back
/// carries the origin of the request that wrote it, not of the one that evicts it.
pub trait Buffer: Send {
    /// Carries out one request that came at `request.time`, with what it needs of the devices below.
    ///
    /// # Errors
    /// Those of the device below, and that power was lost in NVRAM. A write-back that failed stays in the buffer.
    fn submit(&mut self, devices: Devices<'_>, request: &Request, data: Payload<'_>) -> Result<Completion, Error>;

    /// What it did since it was mounted.
    fn counts(&self) -> Counts;

    /// How long a read and a write of a page in DRAM take from now on, in ns; 0 at first.
    fn set_dram_times(&mut self, _read_ns: f64, _write_ns: f64) {}

    /// Memory that it needs, the cached pages and what firmware keeps about them. NVRAM is not part of it.
    fn ram(&self) -> RamUse;

    /// What a policy that looks at patterns decided by them.
    fn placement(&self) -> Option<Placement> {
        None
    }

    /// Which memory a logical page is in; `None` where it is not here.
    fn kept_in(&self, page: u32) -> Option<Memory>;

    /// Sectors of a logical page that are newer here than below and survive a power cut, a bit each.
    fn surviving(&self, page: u32) -> u64;
}

/// A memory of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// Lost with the power.
    Dram,
    /// Survives.
    Nvram,
}

/// Why a buffer cannot be mounted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MountError {
    /// The options, or the NVRAM, do not fit.
    #[error("{0}")]
    Config(String),
    /// Power went while the NVRAM was read.
    #[error("power lost")]
    PowerLost,
}

impl From<PowerLost> for MountError {
    fn from(_: PowerLost) -> Self {
        Self::PowerLost
    }
}

/// What a buffer did. Accesses are counted a page at a time: a request that touches three pages is three.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Pages read without the device below: everything that was asked of them was here.
    pub read_hits: u64,
    /// Pages read with it.
    pub read_misses: u64,
    /// Pages written of which something was here.
    pub write_hits: u64,
    /// Pages written of which nothing was here.
    pub write_misses: u64,
    /// Pages moved from one memory of the buffer to another.
    pub demotions: u64,
    /// Batches of dirty pages written back, each one ordered run of writes.
    pub flushes: u64,
    /// Pages in those batches, without padding.
    pub flushed_pages: u64,
    /// Pages read from below to complete what is written back.
    pub fill_reads: u64,
    /// Pages that were not here and written back with others, to make a block whole.
    pub padded_pages: u64,
    /// Accesses to DRAM, in pages.
    pub dram: Accesses,
    /// Accesses to NVRAM, in pages.
    pub nvram: Accesses,
    /// Words of 8 bytes stored in the headers of pages in NVRAM.
    pub header_words: u64,
    /// Pages in DRAM that a power cut would take now.
    pub dirty_dram_pages: u64,
    /// The most that there were of them.
    pub dirty_dram_pages_max: u64,
}

impl Counts {
    /// Hits of both kinds.
    pub fn hits(&self) -> u64 {
        self.read_hits + self.write_hits
    }

    /// Misses of both kinds.
    pub fn misses(&self) -> u64 {
        self.read_misses + self.write_misses
    }
}

/// Accesses to a memory, a page or a part of one at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Accesses {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
}

/// What a policy that looks at patterns decided by them.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Placement {
    /// Intervals in the balanced state, the first one included.
    pub balanced_intervals: u64,
    /// Intervals in the write-intensive state.
    pub write_intensive_intervals: u64,
    /// Requests whose pages go to DRAM where they are not here.
    pub dram_requests: u64,
    /// Requests whose pages go to NVRAM where they are not here.
    pub nvram_requests: u64,
    /// Pages written in a row from which an interval is write-intensive, as it stands now.
    pub t_state: f64,
    /// Size from which reads go to NVRAM while balanced, as it stands now.
    pub t_read: f64,
    /// Size from which writes do.
    pub t_write: f64,
}

/// A buffer over the devices below, as one device.
pub struct Buffered<'a> {
    buffer: &'a mut dyn Buffer,
    nvram: &'a mut dyn Nvm,
    below: &'a mut dyn BlockDevice,
}

impl<'a> Buffered<'a> {
    /// Puts `buffer` over `below`; `nvram` and `below` must be those that it was over before.
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
        self.buffer.submit(Devices { below: self.below, nvram: self.nvram }, request, data)
    }

    fn request_done(&mut self, completion: &Completion) {
        self.below.request_done(completion);
    }

    fn sectors(&self) -> u64 {
        self.below.sectors()
    }
}

/// The size of a buffer where none is given, that of the paper on WAP-LRU.
const DEFAULT_SIZE: ByteCount = ByteCount(32 << 20);

/// The memories of a hybrid buffer of that size, 1 : 4.
const DEFAULT_DRAM: ByteCount = ByteCount(DEFAULT_SIZE.0 / 5);
const DEFAULT_NVRAM: ByteCount = ByteCount(DEFAULT_SIZE.0 - DEFAULT_DRAM.0);

/// What the options of every buffer can do.
pub(crate) trait Options: Sized {
    /// The sizes that are written: of DRAM, then of NVRAM where there is any.
    fn memories(&self) -> Vec<Size>;

    /// Pages of NVRAM.
    fn nvram_pages(&self, geometry: &Geometry) -> u64 {
        self.memories().get(1).map_or(0, |nvram| nvram.pages(geometry).map_or(0, u64::from))
    }

    /// The same options with about so many bytes in all.
    fn sized(&self, bytes: u64, geometry: &Geometry) -> Self;

    /// What looks at the requests before they are played, where the options follow from them.
    fn profiler(&self, _: &Geometry) -> Option<Profiler> {
        None
    }

    /// The same options with the thresholds that were found.
    fn with_thresholds(&self, _: Thresholds) -> Self
    where
        Self: Clone,
    {
        self.clone()
    }

    /// Other options that the proofs run, each with a name.
    fn variants(&self) -> Vec<(&'static str, Self)> {
        Vec::new()
    }
}

/// An entry of the list of buffers.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in `[buffer.<name>]`.
    pub name: &'static str,
    /// The source file, whose head comment is the docs page.
    pub source: &'static str,
    /// The paper or book it comes from, short; empty where there is none.
    pub paper: &'static str,
    /// The schema of its options.
    pub options: fn() -> schemars::Schema,
}

/// Makes the configuration and the list of every buffer from one line each.
macro_rules! buffers {
    ($($(#[$doc:meta])* $variant:ident($module:ident), $file:literal, $paper:literal;)*) => {
        /// The `[buffer.<name>]` table of an experiment: which buffer, with its options.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum BufferConfig {
            $($(#[$doc])* $variant($module::Config),)*
        }

        impl BufferConfig {
            /// The chosen buffer for a device whose flash has the shape `geometry`, with what `nvram` holds.
            ///
            /// # Errors
            /// [`MountError::Config`] where options, flash and NVRAM do not fit; [`MountError::PowerLost`].
            pub fn mount(&self, geometry: &Geometry, nvram: &mut dyn Nvm) -> Result<Box<dyn Buffer>, MountError> {
                Ok(match self { $(Self::$variant(config) => Box::new(config.mount(geometry, nvram)?),)* })
            }

            /// Bytes of NVRAM that it needs, with the headers of its pages; 0 for a buffer without.
            pub fn nvram_bytes(&self, geometry: &Geometry) -> u64 {
                let pages = match self { $(Self::$variant(config) => config.nvram_pages(geometry),)* };
                Places::bytes(pages, geometry.page_bytes().into())
            }

            /// What looks at the requests before they are played, where the options follow from them.
            pub fn profiler(&self, geometry: &Geometry) -> Option<Profiler> {
                match self { $(Self::$variant(config) => config.profiler(geometry),)* }
            }

            /// The same buffer with the thresholds that a [`Self::profiler`] has found.
            #[must_use]
            pub fn with_thresholds(&self, found: Thresholds) -> Self {
                match self { $(Self::$variant(config) => Self::$variant(config.with_thresholds(found)),)* }
            }

            /// Whether the options fit flash of the shape `geometry`.
            ///
            /// # Errors
            /// A sentence that names the option.
            pub fn check(&self, geometry: &Geometry) -> Result<(), String> {
                let mut nvram = CountedNvram::new(self.nvram_bytes(geometry), NvmCost::default());
                let known = self.with_thresholds(Thresholds { t_state: 0.0, t_read: 0.0, t_write: 0.0 });
                let buffer = if self.profiler(geometry).is_some() { &known } else { self };
                buffer.mount(geometry, &mut nvram).map(drop).map_err(|error| error.to_string())
            }

            /// What of its sizes is not used, in sentences.
            pub fn notices(&self, geometry: &Geometry) -> Vec<String> {
                let memories = match self { $(Self::$variant(config) => config.memories(),)* };
                memories.iter().filter_map(|memory| memory.notice(geometry)).collect()
            }

            /// Bytes of DRAM and of NVRAM for pages, as they are written.
            pub fn nominal_bytes(&self) -> (u64, u64) {
                let memories = match self { $(Self::$variant(config) => config.memories(),)* };
                let sum = |is_nvram: bool| {
                    let of_kind = memories.iter().filter(|memory| memory.key.ends_with("nvram") == is_nvram);
                    of_kind.map(|memory| memory.bytes.0).sum()
                };
                (sum(false), sum(true))
            }

            /// The same buffer with about so many bytes in all, at least a page or a block for each of its memories.
            #[must_use]
            pub fn sized(&self, bytes: u64, geometry: &Geometry) -> Self {
                match self { $(Self::$variant(config) => Self::$variant(config.sized(bytes, geometry)),)* }
            }

            /// The options that the proofs run beside the default ones, each with a name.
            pub fn variants(&self) -> Vec<(&'static str, Self)> {
                match self { $(
                    Self::$variant(config) => {
                        config.variants().into_iter().map(|(name, config)| (name, Self::$variant(config))).collect()
                    }
                )* }
            }

            /// Every buffer with its default options, in the order of [`LIST`].
            pub fn all() -> Vec<Self> {
                vec![$(Self::$variant($module::Config::default()),)*]
            }

            /// The name of the chosen buffer.
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
    /// Nothing is kept.
    PassThrough(pass_through), "pass_through.rs", "";
    /// The least recently used page goes.
    Lru(lru), "lru.rs", "Denning 1968";
    /// The oldest page goes that was not used since the hand passed it.
    Clock(clock), "clock.rs", "Corbato 1968";
    /// A clean page at the old end of the list goes before a dirty one.
    Cflru(cflru), "cflru.rs", "Park et al., CASES 2006";
    /// Three queues: new pages, those that were used again, and ghosts.
    S3Fifo(s3_fifo), "s3_fifo.rs", "Yang et al., SOSP 2023";
    /// One queue in which what was used again keeps its place.
    Sieve(sieve), "sieve.rs", "Zhang et al., NSDI 2024";
    /// Recency and frequency in a balance that adapts.
    Arc(arc), "arc.rs", "Megiddo and Modha, FAST 2003";
    /// The block with the most pages goes.
    Fab(fab), "fab.rs", "Jo et al., TCE 2006";
    /// The least recently written block goes, padded to a whole block.
    Bplru(bplru), "bplru.rs", "Kim and Ahn, FAST 2008";
    /// Of the blocks that were not written of late, the largest goes.
    LbClock(lb_clock), "lb_clock.rs", "Debnath et al., MASCOTS 2009";
    /// Clean pages in DRAM, dirty ones in NVRAM.
    HybridLru(hybrid_lru), "hybrid_lru.rs", "";
    /// A clock of pages in DRAM before a clock of blocks in NVRAM.
    ClockDnv(clock_dnv), "clock_dnv.rs", "Kang et al., TCE 2017";
    /// Pages and blocks in NVRAM, a read cache in DRAM that completes blocks.
    Cbm(cbm), "cbm.rs", "Wei et al., MSST 2014";
    /// Requests go to DRAM or NVRAM by the pattern of writes.
    WapLru(wap_lru), "wap_lru.rs", "Kim et al., IEMEK 2018";
}

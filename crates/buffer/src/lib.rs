//! Write buffers.
//!
//! Read this file first: [`Buffer`] is the contract, and [`buffers!`] is the list. A new buffer is one new
//! file and one line of that list; the configuration, `nandlab list`, the Python function, the docs page and
//! the runs that compare stacks follow from it.
//!
//! A buffer is a block device over a block device: [`Buffered`] puts one over another device.

pub mod pass_through;

use nandlab_block::{BlockDevice, Completion, Error, Payload, RamUse, Request};
use nandlab_nand::Geometry;

/// A write buffer: the state in RAM. The device below is a separate value, as the NAND is to an FTL.
///
/// Reads see what was written, whether it is still here or below. A [`nandlab_block::Op::Flush`] persists: it
/// sends everything that a power cut would take to the device below, and then flushes that. `drop` is the
/// power cut.
///
/// Without bytes ([`Payload::None`]) it does the same requests below. What it writes back carries the origin
/// of the request that wrote it, not of the one that evicts it.
pub trait Buffer {
    /// Carries out one request that came at `request.time`, with what it needs of the device below.
    ///
    /// # Errors
    /// Those of the device below. A write-back that failed stays in the buffer.
    fn submit(
        &mut self,
        below: &mut dyn BlockDevice,
        request: &Request,
        data: Payload<'_>,
    ) -> Result<Completion, Error>;

    /// What it did since it was opened.
    fn counts(&self) -> Counts;

    /// Memory that it needs, the cached pages and what firmware keeps about them.
    fn ram(&self) -> RamUse;
}

/// What a buffer did. Accesses are counted a page at a time: a request that touches three pages is three.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Pages read or written without the device below.
    pub hits: u64,
    /// Pages read or written with it.
    pub misses: u64,
    /// Pages moved from one memory of the buffer to another.
    pub demotions: u64,
    /// Batches of dirty pages written back, each one ordered run of writes.
    pub flushes: u64,
}

/// A buffer over the device below, as one device.
pub struct Buffered<'a> {
    buffer: &'a mut dyn Buffer,
    below: &'a mut dyn BlockDevice,
}

impl<'a> Buffered<'a> {
    /// Puts `buffer` over `below`; `below` must be the device that it was over before.
    pub fn new(buffer: &'a mut dyn Buffer, below: &'a mut dyn BlockDevice) -> Self {
        Self { buffer, below }
    }
}

impl std::fmt::Debug for Buffered<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffered({:?} over {} sectors)", self.buffer.counts(), self.below.sectors())
    }
}

impl BlockDevice for Buffered<'_> {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        self.buffer.submit(self.below, request, data)
    }

    fn sectors(&self) -> u64 {
        self.below.sectors()
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
            /// The chosen buffer, empty, for a device whose flash has the shape `geometry`.
            pub fn open(&self, geometry: &Geometry) -> Box<dyn Buffer> {
                match self { $(Self::$variant(config) => Box::new(config.open(geometry)),)* }
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
}

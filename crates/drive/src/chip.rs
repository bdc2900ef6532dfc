//! Device information beside operations, accessible through all wrappers.

use nandlab_nand::aging::{Aging, AgingCounts};
use nandlab_nand::backed::{Backed, Image, Verified};
use nandlab_nand::counting::SpareStore;
use nandlab_nand::damaged::Damaged;
use nandlab_nand::faulty::{FaultCounts, Faulty};
use nandlab_nand::plain::WithContent;
use nandlab_nand::power_cut::PowerCut;
use nandlab_nand::slc::Metered;
use nandlab_nand::timed::Timed;
use nandlab_nand::traced::Traced;
use nandlab_nand::{BlockId, Content, Counting, Kind, Nand, NandError, Time};
use std::any::Any;

/// Busy time for each part of a device, in ns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Busy {
    /// Dies; planes if they work independently.
    pub units: Vec<Time>,
    /// Channels.
    pub channels: Vec<Time>,
}

/// Device information beside operations. What a device does not know itself, the device inside answers.
pub trait Chip {
    /// The device inside; `None` for the innermost one.
    fn inside(&self) -> Option<&dyn Chip>;
    /// The same, to be changed.
    fn inside_mut(&mut self) -> Option<&mut dyn Chip>;
    /// P/E cycles per block. The innermost device has an answer of its own, here and to the next two.
    fn pe_cycles(&self) -> &[u32] {
        self.inside().expect(INNERMOST).pe_cycles()
    }
    /// Programmed pages, including retired blocks.
    fn programmed_pages(&self) -> u64 {
        self.inside().expect(INNERMOST).programmed_pages()
    }
    /// Pages still unprogrammed when their block was erased.
    fn unused_at_erase(&self) -> u64 {
        self.inside().expect(INNERMOST).unused_at_erase()
    }
    /// The plain innermost device, if it stores whole spare areas and no bytes.
    fn full(&self) -> Option<&Counting> {
        self.inside()?.full()
    }
    /// How long each die and each channel was busy so far, on a device with time.
    fn busy(&self) -> Option<Busy> {
        self.inside()?.busy()
    }
    /// Faults so far.
    fn faults(&self) -> Option<FaultCounts> {
        self.inside()?.faults()
    }
    /// ECC activity so far, if cells age.
    fn aging(&self) -> Option<AgingCounts> {
        self.inside()?.aging()
    }
    /// Leaves the device idle for this many nanoseconds.
    fn lie(&mut self, ns: Time) {
        if let Some(inside) = self.inside_mut() {
            inside.lie(ns);
        }
    }
    /// Compares each page's bytes with their checksum, if an image keeps both.
    fn verify(&mut self) -> Option<Result<Verified, NandError>> {
        self.inside_mut()?.verify()
    }
    /// Each block's use, if the device keeps whole spare areas; else empty.
    fn uses(&self) -> Vec<BlockKind> {
        self.inside().map_or_else(Vec::new, Chip::uses)
    }
}

const INNERMOST: &str = "the innermost device counts";

/// A block's use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockKind {
    /// Nothing is programmed.
    Erased,
    /// Its first page is a host page.
    Data,
    /// Its first page belongs to the FTL: a map, a list, a checkpoint, a trim note.
    Map,
    /// It is marked bad.
    Retired,
}

impl<S: SpareStore + 'static> Chip for Counting<S> {
    fn inside(&self) -> Option<&dyn Chip> {
        None
    }
    fn inside_mut(&mut self) -> Option<&mut dyn Chip> {
        None
    }
    fn pe_cycles(&self) -> &[u32] {
        self.pe_cycles()
    }
    fn programmed_pages(&self) -> u64 {
        self.programmed_pages()
    }
    fn unused_at_erase(&self) -> u64 {
        self.unused_at_erase()
    }
    fn full(&self) -> Option<&Counting> {
        (self as &dyn Any).downcast_ref()
    }
    fn uses(&self) -> Vec<BlockKind> {
        self.full().map_or_else(Vec::new, uses)
    }
}

/// Makes a chip of each device with bytes. The device inside only counts, so nothing of it is changed from here.
macro_rules! with_bytes {
    ($($shape:ty $(, $more:item)*;)*) => {$(
        impl Chip for $shape {
            fn inside(&self) -> Option<&dyn Chip> { Some(self.counting()) }
            fn inside_mut(&mut self) -> Option<&mut dyn Chip> { None }
            fn full(&self) -> Option<&Counting> { None }
            $($more)*
        }
    )*};
}

with_bytes! {
    Backed;
    Backed<Image>, fn verify(&mut self) -> Option<Result<Verified, NandError>> { Some(Backed::verify(self)) };
}

/// Makes a chip of each wrapper; it adds what it answers itself.
macro_rules! wrappers {
    ($([$($params:tt)*] $shape:ty $(, $more:item)*;)*) => {$(
        impl<$($params)*> Chip for $shape {
            fn inside(&self) -> Option<&dyn Chip> { Some(self.inner()) }
            fn inside_mut(&mut self) -> Option<&mut dyn Chip> { Some(self.inner_mut()) }
            $($more)*
        }
    )*};
}

wrappers! {
    [N: Nand + Chip, const EXTRAS: bool] Timed<N, EXTRAS>,
        fn busy(&self) -> Option<Busy> { Some(Busy { units: self.unit_busy_ns(), channels: self.channel_busy_ns() }) };
    [N: Nand + Chip] Faulty<N>, fn faults(&self) -> Option<FaultCounts> { Some(*self.counts()) };
    [N: Nand + Chip] Aging<N>,
        fn aging(&self) -> Option<AgingCounts> { Some(*self.counts()) },
        fn lie(&mut self, ns: Time) { Aging::lie(self, ns) };
    [N: Nand + Chip] Damaged<N>;
    [N: Nand + Chip] Metered<N>;
    [N: Nand + Chip] PowerCut<N>;
    [N: Nand + Chip] Traced<N>;
    [N: Nand<Buf = ()> + Chip] WithContent<N>;
}

/// The use of each block in `device`.
fn uses(device: &Counting) -> Vec<BlockKind> {
    let use_of = |block| {
        if device.is_bad(block) {
            return BlockKind::Retired;
        }
        match device.first_kind(block) {
            None => BlockKind::Erased,
            Some(Kind::Data | Kind::Sectors | Kind::Lost | Kind::Header | Kind::Deleted) => BlockKind::Data,
            Some(Kind::TrimNote | Kind::Map | Kind::Checkpoint | Kind::List) => BlockKind::Map,
        }
    };
    (0..device.geometry().blocks()).map(BlockId).map(use_of).collect()
}

/// A device whose type is known only at run time: with bytes, faults or an operation log.
pub trait Device: Nand<Buf = Content> + Chip + Send + 'static {
    /// The same, to find its type again.
    fn as_any(&self) -> &dyn Any;
    /// The same, to find its type again.
    fn as_any_mut(&mut self) -> &mut dyn Any;
    /// The same, to find its type again.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<N: Nand<Buf = Content> + Chip + Send + 'static> Device for N {
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl Chip for Box<dyn Device> {
    fn inside(&self) -> Option<&dyn Chip> {
        Some(&**self)
    }
    fn inside_mut(&mut self) -> Option<&mut dyn Chip> {
        Some(&mut **self)
    }
}

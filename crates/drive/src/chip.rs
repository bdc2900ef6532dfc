//! Device information beside operations, accessible through all wrappers.

use nandlab_nand::aging::{Aging, AgingCounts};
use nandlab_nand::backed::{Backed, Image, Verified};
use nandlab_nand::counting::SpareStore;
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

/// Device information beside operations.
pub trait Chip {
    /// P/E cycles per block.
    fn pe_cycles(&self) -> &[u32];
    /// Programmed pages, including retired blocks.
    fn programmed_pages(&self) -> u64;
    /// Pages still unprogrammed when their block was erased.
    fn unused_at_erase(&self) -> u64;
    /// The plain inner device, if it stores whole spare areas and nothing else.
    fn full(&self) -> Option<&Counting> {
        None
    }
    /// How long each die and each channel was busy so far, on a device with time.
    fn busy(&self) -> Option<Busy> {
        None
    }
    /// Faults so far.
    fn faults(&self) -> Option<FaultCounts> {
        None
    }
    /// ECC activity so far, if cells age.
    fn aging(&self) -> Option<AgingCounts> {
        None
    }
    /// Leaves the device idle for this many nanoseconds.
    fn lie(&mut self, _ns: Time) {}
    /// Compares each page's bytes with their checksum, if an image keeps both.
    fn verify(&mut self) -> Option<Result<Verified, NandError>> {
        None
    }
    /// Each block's use, if the device keeps whole spare areas; else empty.
    fn uses(&self) -> Vec<BlockKind> {
        Vec::new()
    }
}

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
    fn full(&self) -> Option<&Counting> {
        (self as &dyn Any).downcast_ref()
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
}

/// Forwards the questions to the inner device.
macro_rules! chip_of_inner {
    ($(<$($param:ident: $bound:path),*> $shape:ty, $inner:ident $(, $more:item)*;)*) => {$(
        impl<$($param: $bound + Chip),*> Chip for $shape {
            fn pe_cycles(&self) -> &[u32] { Chip::pe_cycles(self.$inner()) }
            fn programmed_pages(&self) -> u64 { Chip::programmed_pages(self.$inner()) }
            fn unused_at_erase(&self) -> u64 { Chip::unused_at_erase(self.$inner()) }
            $($more)*
        }
    )*};
}

chip_of_inner! {
    <> Backed, counting;
    <> Backed<Image>, counting,
        fn verify(&mut self) -> Option<Result<Verified, NandError>> { Some(Backed::verify(self)) },
        fn uses(&self) -> Vec<BlockKind> { uses(self.counting()) };
    <N: Nand> Timed<N>, inner,
        fn busy(&self) -> Option<Busy> { Some(Busy { units: self.unit_busy_ns(), channels: self.channel_busy_ns() }) },
        fn verify(&mut self) -> Option<Result<Verified, NandError>> { self.inner_mut().verify() },
        fn uses(&self) -> Vec<BlockKind> { self.inner().uses() },
        fn full(&self) -> Option<&Counting> { self.inner().full() },
        fn faults(&self) -> Option<FaultCounts> { self.inner().faults() };
    <N: Nand> Timed<N, true>, inner,
        fn busy(&self) -> Option<Busy> { Some(Busy { units: self.unit_busy_ns(), channels: self.channel_busy_ns() }) },
        fn verify(&mut self) -> Option<Result<Verified, NandError>> { self.inner_mut().verify() },
        fn uses(&self) -> Vec<BlockKind> { self.inner().uses() },
        fn full(&self) -> Option<&Counting> { self.inner().full() },
        fn faults(&self) -> Option<FaultCounts> { self.inner().faults() };
    <N: Nand> Faulty<N>, inner,
        fn busy(&self) -> Option<Busy> { self.inner().busy() },
        fn faults(&self) -> Option<FaultCounts> { Some(*self.counts()) };
    <N: Nand> Metered<N>, inner,
        fn busy(&self) -> Option<Busy> { self.inner().busy() },
        fn verify(&mut self) -> Option<Result<Verified, NandError>> { self.inner_mut().verify() },
        fn uses(&self) -> Vec<BlockKind> { self.inner().uses() },
        fn full(&self) -> Option<&Counting> { self.inner().full() },
        fn faults(&self) -> Option<FaultCounts> { self.inner().faults() };
    <N: Nand> PowerCut<N>, inner, fn busy(&self) -> Option<Busy> { self.inner().busy() };
    <N: Nand> Traced<N>, inner,
        fn busy(&self) -> Option<Busy> { self.inner().busy() },
        fn faults(&self) -> Option<FaultCounts> { self.inner().faults() };
    <N: Nand> Aging<N>, inner,
        fn busy(&self) -> Option<Busy> { self.inner().busy() },
        fn faults(&self) -> Option<FaultCounts> { self.inner().faults() },
        fn aging(&self) -> Option<AgingCounts> { Some(*self.counts()) },
        fn lie(&mut self, ns: Time) { Aging::lie(self, ns) };
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

impl<N: Nand<Buf = ()> + Chip> Chip for WithContent<N> {
    fn full(&self) -> Option<&Counting> {
        self.inner().full()
    }
    fn busy(&self) -> Option<Busy> {
        self.inner().busy()
    }
    fn pe_cycles(&self) -> &[u32] {
        self.inner().pe_cycles()
    }
    fn programmed_pages(&self) -> u64 {
        self.inner().programmed_pages()
    }
    fn unused_at_erase(&self) -> u64 {
        self.inner().unused_at_erase()
    }
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
    fn full(&self) -> Option<&Counting> {
        (**self).full()
    }
    fn pe_cycles(&self) -> &[u32] {
        (**self).pe_cycles()
    }
    fn programmed_pages(&self) -> u64 {
        (**self).programmed_pages()
    }
    fn unused_at_erase(&self) -> u64 {
        (**self).unused_at_erase()
    }
    fn busy(&self) -> Option<Busy> {
        (**self).busy()
    }
    fn faults(&self) -> Option<FaultCounts> {
        (**self).faults()
    }
    fn aging(&self) -> Option<AgingCounts> {
        (**self).aging()
    }
    fn lie(&mut self, ns: Time) {
        (**self).lie(ns);
    }
    fn verify(&mut self) -> Option<Result<Verified, NandError>> {
        (**self).verify()
    }
    fn uses(&self) -> Vec<BlockKind> {
        (**self).uses()
    }
}

/// Inside an `impl Chip`: forwards the common methods to the inner device in a field.
#[macro_export]
macro_rules! chip_inside {
    ($field:ident) => {
        fn busy(&self) -> Option<$crate::Busy> {
            self.$field.busy()
        }
        fn pe_cycles(&self) -> &[u32] {
            self.$field.pe_cycles()
        }
        fn programmed_pages(&self) -> u64 {
            self.$field.programmed_pages()
        }
        fn unused_at_erase(&self) -> u64 {
            self.$field.unused_at_erase()
        }
    };
}

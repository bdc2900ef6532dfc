//! Page-metadata storage.

use crate::address::{BlockId, Geometry, Lpn, Ppa, Seq};
use crate::context::Origin;
use crate::oob::{Kind, Oob};
use crate::prefetch::prefetch;
use crate::side_table::SideTable;
use crate::tables::filled;

/// Author, logical page and kind of a page that was copied.
pub(crate) type Renewed = (Origin, (Lpn, Kind));

/// Page-metadata storage.
pub trait SpareStore: Send + 'static {
    /// Whether it keeps neither sequence numbers nor aux, so that it cannot be mounted.
    const FORGETS_ORDER: bool = false;

    /// Storage for the pages in `geometry`, all erased.
    fn new(geometry: &Geometry) -> Self;
    /// Stores a page's metadata; `first` if it is the block's first program since the erase.
    fn set(&mut self, at: Ppa, block: BlockId, first: bool, oob: Oob);
    /// A page's metadata; `None`: erased.
    fn get(&self, at: Ppa, block: BlockId) -> Option<Oob>;
    /// Starts loading a page's metadata, if the page exists.
    fn prefetch(&self, at: Ppa);
    /// Stores the metadata of the programmed page `from` again for `to`, with another aux and sequence number;
    /// returns who wrote the page, and what it holds.
    #[inline]
    fn renew(&mut self, from: (Ppa, BlockId), to: (Ppa, BlockId), first: bool, aux: u16, seq: Seq) -> Option<Renewed> {
        let old = self.get(from.0, from.1)?;
        self.set(to.0, to.1, first, Oob { aux, seq, ..old });
        Some((old.origin, (old.lpn, old.kind)))
    }
    /// True for an erased page.
    fn is_erased(&self, at: Ppa) -> bool;
    /// Erases pages' metadata.
    fn clear(&mut self, pages: std::ops::Range<u32>);
    /// Drops additional data for `pages`, kept outside the table.
    fn forget(&mut self, _pages: std::ops::Range<u32>) {}
}

/// Four bytes per page: a 27-bit logical page, a 5-bit origin. It forgets `aux`, the handle and the sequence number,
/// since only mounts need them. A side table holds exceptions, such as metadata pages.
#[derive(Clone, Debug)]
pub struct Lean {
    words: Vec<u32>,
    others: SideTable<Oob>,
}

impl Lean {
    /// Most logical pages in this form.
    pub const MAX_LOGICAL_PAGES: u32 = Self::ELSEWHERE;
    const LPN_BITS: u32 = 27;
    const LPN_MASK: u32 = (1 << Self::LPN_BITS) - 1;
    const ELSEWHERE: u32 = Self::LPN_MASK;
    const ERASED: u32 = u32::MAX;
}

impl SpareStore for Lean {
    const FORGETS_ORDER: bool = true;

    fn new(geometry: &Geometry) -> Self {
        Self { words: filled(Self::ERASED, geometry.pages() as usize), others: SideTable::default() }
    }

    #[inline]
    fn set(&mut self, at: Ppa, _: BlockId, _: bool, oob: Oob) {
        let plain = oob.lpn.0 < Self::ELSEWHERE && oob.kind == Kind::Data;
        let lpn = if plain {
            oob.lpn.0
        } else {
            self.others.insert(at, oob);
            Self::ELSEWHERE
        };
        self.words[at.index()] = lpn | u32::from(oob.origin.0) << Self::LPN_BITS;
    }

    #[inline]
    fn get(&self, at: Ppa, _: BlockId) -> Option<Oob> {
        let word = self.words[at.index()];
        if word == Self::ERASED {
            return None;
        }
        let lpn = word & Self::LPN_MASK;
        if lpn == Self::ELSEWHERE {
            return self.others.get(at).copied();
        }
        Some(Oob::data(Lpn(lpn), Seq(0), Origin((word >> Self::LPN_BITS) as u8)))
    }

    #[inline]
    fn prefetch(&self, at: Ppa) {
        prefetch(&self.words, at.index());
    }

    #[inline]
    fn renew(&mut self, from: (Ppa, BlockId), to: (Ppa, BlockId), first: bool, aux: u16, seq: Seq) -> Option<Renewed> {
        let word = self.words[from.0.index()];
        let lpn = word & Self::LPN_MASK;
        if lpn == Self::ELSEWHERE {
            let old = self.get(from.0, from.1)?;
            self.set(to.0, to.1, first, Oob { aux, seq, ..old });
            return Some((old.origin, (old.lpn, old.kind)));
        }
        self.words[to.0.index()] = word;
        Some((Origin((word >> Self::LPN_BITS) as u8), (Lpn(lpn), Kind::Data)))
    }

    #[inline]
    fn is_erased(&self, at: Ppa) -> bool {
        self.words[at.index()] == Self::ERASED
    }

    fn clear(&mut self, pages: std::ops::Range<u32>) {
        self.words[pages.start as usize..pages.end as usize].fill(Self::ERASED);
    }

    #[inline]
    fn forget(&mut self, pages: std::ops::Range<u32>) {
        self.others.remove_range(pages);
    }
}

/// Twelve bytes per page: logical page, aux, kind, origin, handle, and the sequence as an offset from the block's base.
/// A page programmed too long after the block's first page, for example in an idle frontier, has its sequence
/// in a side table.
#[derive(Clone, Debug)]
pub struct Full {
    words: Vec<Word>,
    pub(crate) bases: Vec<u64>,
    far: SideTable<Seq>,
}

#[derive(Clone, Copy, Debug)]
struct Word {
    lpn: u32,
    aux: u16,
    /// Kind, origin and handle.
    author: [u8; 2],
    /// Programs since the base; [`Full::FAR`] if the sequence is in the side table.
    delta: u32,
}

const _: () = assert!(size_of::<Word>() == 12, "the memory that a page may take");

impl Full {
    const FAR: u32 = u32::MAX;
    const ERASED_AUTHOR: [u8; 2] = [u8::MAX; 2];
    const ERASED: Word = Word { lpn: u32::MAX, aux: 0, author: Self::ERASED_AUTHOR, delta: 0 };
}

impl SpareStore for Full {
    fn new(geometry: &Geometry) -> Self {
        Self {
            words: filled(Self::ERASED, geometry.pages() as usize),
            bases: vec![0; geometry.blocks() as usize],
            far: SideTable::default(),
        }
    }

    #[inline]
    fn set(&mut self, at: Ppa, block: BlockId, first: bool, oob: Oob) {
        let base = &mut self.bases[block.index()];
        if first {
            *base = oob.seq.0;
        }
        let delta = u32::try_from(oob.seq.0.wrapping_sub(*base)).unwrap_or(Self::FAR);
        if delta == Self::FAR {
            self.far.insert(at, oob.seq);
        }
        self.words[at.index()] = Word { lpn: oob.lpn.0, aux: oob.aux, author: oob.author(), delta };
    }

    #[inline]
    fn get(&self, at: Ppa, block: BlockId) -> Option<Oob> {
        let word = self.words[at.index()];
        let (kind, origin, handle) = Oob::from_author(word.author)?;
        let seq = if word.delta == Self::FAR {
            *self.far.get(at).expect("a page whose sequence is aside was stored with it")
        } else {
            Seq(self.bases[block.index()] + u64::from(word.delta))
        };
        Some(Oob { lpn: Lpn(word.lpn), aux: word.aux, kind, origin, handle, seq })
    }

    #[inline]
    fn prefetch(&self, at: Ppa) {
        prefetch(&self.words, at.index());
    }

    #[inline]
    fn is_erased(&self, at: Ppa) -> bool {
        self.words[at.index()].author == Self::ERASED_AUTHOR
    }

    fn clear(&mut self, pages: std::ops::Range<u32>) {
        self.words[pages.start as usize..pages.end as usize].fill(Self::ERASED);
    }

    #[inline]
    fn forget(&mut self, pages: std::ops::Range<u32>) {
        self.far.remove_range(pages);
    }
}

#[cfg(test)]
impl Full {
    pub(super) fn keeps_nothing_aside(&self) -> bool {
        self.far.is_empty()
    }
}

//! Page-metadata storage.

mod full;

pub use full::Full;

use crate::address::{BlockId, Geometry, Lpn, Ppa, Seq};
use crate::context::Origin;
use crate::oob::{Kind, Oob};
use crate::side_table::SideTable;
use crate::tables::{zeroed, Entry, Table};

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
    /// The same for several data pages, by their logical pages, from `at` on; sequence numbers ascend from the one in `oob`.
    #[inline]
    fn set_run(&mut self, pages: &[Lpn], (at, block): (Ppa, BlockId), first: bool, oob: Oob) {
        for (n, &lpn) in (0..).zip(pages) {
            let oob = Oob { lpn, seq: Seq(oob.seq.0 + u64::from(n)), ..oob };
            self.set(Ppa(at.0 + n), block, first && n == 0, oob);
        }
    }
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
    /// Stores the metadata of `from`, data pages by one author, again for `to` and the following pages, and writes what they
    /// hold to `held`. It returns the author, or stores nothing if the pages are not such.
    #[inline]
    fn renew_alike(&mut self, _from: &[Ppa], _to: Ppa, _held: &mut [(Lpn, Kind)]) -> Option<Origin> {
        None
    }
    /// True for an erased page.
    fn is_erased(&self, at: Ppa) -> bool;
    /// Erases pages' metadata.
    fn clear(&mut self, pages: std::ops::Range<u32>);
    /// Drops additional data for `pages`, kept outside the table.
    fn forget(&mut self, _pages: std::ops::Range<u32>) {}
}

/// Four bytes per page: a logical page of 27 bits and an origin of 5. It forgets `aux`, the handle and the sequence number,
/// since only mounts need them. A side table holds exceptions, such as metadata pages.
///
/// On a device with more pages the logical page has all 32 bits, and a fifth byte has the origin as soon as there is another
/// one than the host.
#[derive(Clone, Debug)]
pub struct Lean {
    words: Table<u32>,
    /// By page: its origin, on a device with many pages that has several; else empty.
    origins: Vec<u8>,
    /// Bits of a word for the logical page; the origin is above them.
    lpn_bits: u32,
    /// The logical page in a word, and the one of a page whose metadata is in the side table.
    lpn_mask: u32,
    elsewhere: u32,
    others: SideTable<Oob>,
}

impl Lean {
    /// Bits for the logical page beside an origin.
    const LPN_BITS: u32 = 27;
    const ERASED: u32 = <u32 as Entry>::BLANK;

    /// For logical pages of this many bits.
    fn with_bits(geometry: &Geometry, lpn_bits: u32) -> Self {
        let lpn_mask = Self::ERASED >> (u32::BITS - lpn_bits);
        Self {
            words: Table::blank(geometry.pages() as usize),
            origins: Vec::new(),
            lpn_bits,
            lpn_mask,
            elsewhere: lpn_mask - u32::from(lpn_bits == u32::BITS),
            others: SideTable::default(),
        }
    }

    /// The origin of the page `at`, which has this word.
    #[inline]
    fn origin(&self, at: Ppa, word: u32) -> Origin {
        if !self.origins.is_empty() {
            return Origin(self.origins[at.index()]);
        }
        // Nothing of a word is above 32 bits: the host's.
        const { assert!(Origin::HOST.0 == 0, "pages without a note are the host's") };
        Origin((u64::from(word) >> self.lpn_bits) as u8)
    }

    /// Notes the origin of a page whose word has no room for it.
    #[cold]
    fn note_origin(&mut self, at: Ppa, origin: Origin) {
        if self.origins.is_empty() {
            self.origins = zeroed(self.words.len());
        }
        self.origins[at.index()] = origin.0;
    }
}

impl SpareStore for Lean {
    const FORGETS_ORDER: bool = true;

    fn new(geometry: &Geometry) -> Self {
        Self::with_bits(geometry, if geometry.pages() < 1 << Self::LPN_BITS { Self::LPN_BITS } else { u32::BITS })
    }

    #[inline]
    fn set(&mut self, at: Ppa, _: BlockId, _: bool, oob: Oob) {
        let lpn = if oob.lpn.0 < self.elsewhere && oob.kind == Kind::Data {
            oob.lpn.0
        } else {
            self.others.insert(at, oob);
            self.elsewhere
        };
        let origin = u64::from(oob.origin.0) << self.lpn_bits;
        self.words.set(at.index(), lpn | origin as u32);
        if origin >> u32::BITS != 0 || !self.origins.is_empty() {
            self.note_origin(at, oob.origin);
        }
    }

    #[inline]
    fn set_run(&mut self, pages: &[Lpn], (at, block): (Ppa, BlockId), _: bool, oob: Oob) {
        let origin = u64::from(oob.origin.0) << self.lpn_bits;
        let has_room = origin >> u32::BITS == 0 && self.origins.is_empty();
        let most = pages.iter().map(|lpn| lpn.0).max().unwrap_or(0);
        if has_room && most < self.elsewhere && oob.kind == Kind::Data {
            self.words.set_run(at.index(), pages.iter().map(|lpn| lpn.0 | origin as u32));
        } else {
            (at.0..).zip(pages).for_each(|(at, &lpn)| self.set(Ppa(at), block, false, Oob { lpn, ..oob }));
        }
    }

    #[inline]
    fn get(&self, at: Ppa, _: BlockId) -> Option<Oob> {
        let word = self.words.at(at.index());
        if word == Self::ERASED {
            return None;
        }
        let lpn = word & self.lpn_mask;
        if lpn == self.elsewhere {
            return self.others.get(at).copied();
        }
        Some(Oob::data(Lpn(lpn), Seq(0), self.origin(at, word)))
    }

    #[inline]
    fn prefetch(&self, at: Ppa) {
        self.words.prefetch(at.index());
    }

    #[inline]
    fn renew(&mut self, from: (Ppa, BlockId), to: (Ppa, BlockId), first: bool, aux: u16, seq: Seq) -> Option<Renewed> {
        let word = self.words.at(from.0.index());
        let lpn = word & self.lpn_mask;
        if lpn >= self.elsewhere {
            let old = self.get(from.0, from.1)?;
            self.set(to.0, to.1, first, Oob { aux, seq, ..old });
            return Some((old.origin, (old.lpn, old.kind)));
        }
        let origin = self.origin(from.0, word);
        self.words.set(to.0.index(), word);
        if !self.origins.is_empty() {
            self.note_origin(to.0, origin);
        }
        Some((origin, (Lpn(lpn), Kind::Data)))
    }

    #[inline]
    fn renew_alike(&mut self, from: &[Ppa], to: Ppa, held: &mut [(Lpn, Kind)]) -> Option<Origin> {
        let first = self.words.at(from.first()?.index());
        let (mut differ, mut most) = (0, 0);
        for (&from, held) in from.iter().zip(&mut *held) {
            let word = self.words.at(from.index());
            let lpn = word & self.lpn_mask;
            (differ, most) = (differ | (word ^ first), most.max(lpn));
            *held = (Lpn(lpn), Kind::Data);
        }
        if differ & !self.lpn_mask != 0 || most >= self.elsewhere || !self.origins.is_empty() {
            return None;
        }
        let author = first & !self.lpn_mask;
        self.words.set_run(to.index(), held[..from.len()].iter().map(|(lpn, _)| lpn.0 | author));
        Some(self.origin(from[0], first))
    }

    #[inline]
    fn is_erased(&self, at: Ppa) -> bool {
        self.words.at(at.index()) == Self::ERASED
    }

    fn clear(&mut self, pages: std::ops::Range<u32>) {
        self.words.clear(pages.start as usize..pages.end as usize);
    }

    #[inline]
    fn forget(&mut self, pages: std::ops::Range<u32>) {
        self.others.remove_range(pages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn agree(full: &impl SpareStore, lean: &impl SpareStore, geometry: &Geometry) {
        for at in (0..geometry.pages()).map(Ppa) {
            let found = |oob: Oob| (oob.lpn, oob.kind, oob.origin);
            let block = geometry.block_of(at);
            assert_eq!(full.get(at, block).map(found), lean.get(at, block).map(found), "page {at}");
            assert_eq!(full.is_erased(at), lean.is_erased(at), "page {at}");
        }
    }

    /// On a device with many pages the words have no room for origins; both forms hold what whole spare areas hold.
    #[test]
    fn few_bytes_hold_what_whole_spare_areas_hold() {
        let geometry = Geometry::single_die(4, 8, 512).unwrap();
        for (lpn_bits, origins) in [(Lean::LPN_BITS, 9), (u32::BITS, 9), (u32::BITS, 1)] {
            let (mut full, mut lean) = (Full::new(&geometry), Lean::with_bits(&geometry, lpn_bits));
            let mut random = Random::new(3);
            for round in 0..2000 {
                let at = Ppa(random.below(32) as u32);
                let block = geometry.block_of(at);
                if round % 50 == 0 {
                    let first = geometry.page(block, 0).0;
                    full.clear(first..first + 8);
                    lean.clear(first..first + 8);
                    full.forget(first..first + 8);
                    lean.forget(first..first + 8);
                } else {
                    let kind = if random.below(5) == 0 { Kind::TrimNote } else { Kind::Data };
                    let origin = Origin(random.below(origins) as u8);
                    let lpn = Lpn([7, (1 << 27) - 1, 1 << 29, u32::MAX - 1][random.below(4) as usize]);
                    let oob = Oob { kind, ..Oob::data(lpn, Seq(round), origin) };
                    full.set(at, block, false, oob);
                    lean.set(at, block, false, oob);
                    let to = Ppa(random.below(32) as u32);
                    let (from, to) = ((at, block), (to, geometry.block_of(to)));
                    let renewed = full.renew(from, to, false, 0, Seq(round));
                    assert_eq!(renewed, lean.renew(from, to, false, 0, Seq(round)));
                }
                agree(&full, &lean, &geometry);
            }
            assert_eq!(lean.origins.is_empty(), lpn_bits < u32::BITS || origins == 1);
        }
    }
}

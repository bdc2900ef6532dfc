//! Whole spare areas in eight bytes a page.
//!
//! Four bytes are the logical page. The other four are a distance and a label:
//!
//! * The distance is the sequence number less the first page's in the block, 24 bits. A page programmed too late for them,
//!   for example in an idle frontier, has its sequence number in a side table.
//! * The label stands for aux, kind, origin and handle, in 8 bits. A block's pages mostly have the same aux, such as the
//!   block's erase count, so a label has its difference from the first page's. A device needs few labels. A page without
//!   one has four more bytes in a table, and the table takes memory only as it is written.

use super::SpareStore;
use crate::address::{BlockId, Geometry, Lpn, Ppa, Seq};
use crate::oob::Oob;
use crate::prefetch::prefetch;
use crate::side_table::SideTable;
use crate::tables::zeroed;

/// Eight bytes per page: logical page, sequence number as a distance, and a label for the rest.
#[derive(Clone, Debug)]
pub struct Full {
    /// By page: logical page, distance and label, from the highest bits down; zero if it is erased.
    words: Vec<u64>,
    /// By block: see [`base_of`].
    bases: Vec<u64>,
    far: SideTable<Seq>,
    labels: Labels,
    /// By page: the meaning, if it has no label; empty until there is such a page.
    unlabelled: Vec<u32>,
}

/// Sequence number and aux in a block's first page since the erase. They are a number, because the allocator makes a table
/// full with zeros without touching it. The sequence number has 48 bits, as in flash; a page with a higher one is out of
/// reach, and in the side table.
fn base_of(seq: u64, aux: u16) -> u64 {
    seq << AUX_BITS | u64::from(aux)
}

const AUX_BITS: u32 = u16::BITS;
const LABEL_BITS: u32 = 8;
const DISTANCE_BITS: u32 = 24;
const _: () = assert!(LABEL_BITS + DISTANCE_BITS == 32, "they share half a word");

/// The distance if the sequence number is in the side table.
const FAR: u32 = (1 << DISTANCE_BITS) - 1;
/// The label in an erased page, and in a page without a label.
const ERASED: u32 = 0;
const UNLABELLED: u32 = (1 << LABEL_BITS) - 1;
/// Most pages' label: the host's data, with the same aux as the block's first page. Its meaning is 0, its place the first.
const USUAL: u32 = 1;

impl Full {
    /// The sequence number from which a block's pages count.
    pub(crate) fn base(&self, block: BlockId) -> u64 {
        self.bases[block.index()] >> AUX_BITS
    }

    /// Sets an erased block's base.
    pub(crate) fn set_base(&mut self, block: BlockId, seq: u64, aux: u16) {
        self.bases[block.index()] = base_of(seq, aux);
    }

    /// Keeps the meaning for a page without a label.
    #[cold]
    fn set_unlabelled(&mut self, at: Ppa, what: u32) {
        if self.unlabelled.is_empty() {
            self.unlabelled = zeroed(self.words.len());
        }
        self.unlabelled[at.index()] = what;
    }

    /// The meaning in a page, if it is not the usual one.
    #[inline(never)]
    fn unusual(&self, at: Ppa, label: u32) -> u32 {
        if label == UNLABELLED {
            self.unlabelled[at.index()]
        } else {
            self.labels.what(label)
        }
    }

    #[cold]
    fn far_seq(&self, at: Ppa) -> Seq {
        *self.far.get(at).expect("a page whose sequence is aside was stored with it")
    }
}

impl SpareStore for Full {
    fn new(geometry: &Geometry) -> Self {
        Self {
            words: zeroed(geometry.pages() as usize),
            bases: vec![0; geometry.blocks() as usize],
            far: SideTable::default(),
            labels: Labels::default(),
            unlabelled: Vec::new(),
        }
    }

    #[inline(always)]
    fn set(&mut self, at: Ppa, block: BlockId, first: bool, oob: Oob) {
        let base = &mut self.bases[block.index()];
        if first {
            *base = base_of(oob.seq.0, oob.aux);
        }
        let distance = oob.seq.0.wrapping_sub(*base >> AUX_BITS).min(u64::from(FAR));
        if distance == u64::from(FAR) {
            self.far.insert(at, oob.seq);
        }
        let what = u32::from(oob.aux ^ *base as u16) << AUX_BITS | u32::from(u16::from_le_bytes(oob.author()));
        let label = if what == 0 { USUAL } else { self.labels.of(what) };
        if label == UNLABELLED {
            self.set_unlabelled(at, what);
        }
        self.words[at.index()] = u64::from(oob.lpn.0) << 32 | distance << LABEL_BITS | u64::from(label);
    }

    #[inline]
    fn get(&self, at: Ppa, block: BlockId) -> Option<Oob> {
        let word = self.words[at.index()];
        let label = word as u32 & UNLABELLED;
        if label == ERASED {
            return None;
        }
        let what = if label == USUAL { 0 } else { self.unusual(at, label) };
        let (kind, origin, handle) = Oob::from_author((what as u16).to_le_bytes())?;
        let base = self.bases[block.index()];
        let distance = word as u32 >> LABEL_BITS;
        let seq = if distance == FAR { self.far_seq(at) } else { Seq((base >> AUX_BITS) + u64::from(distance)) };
        Some(Oob {
            lpn: Lpn((word >> 32) as u32),
            aux: base as u16 ^ (what >> AUX_BITS) as u16,
            kind,
            origin,
            handle,
            seq,
        })
    }

    #[inline]
    fn prefetch(&self, at: Ppa) {
        prefetch(&self.words, at.index());
    }

    #[inline]
    fn is_erased(&self, at: Ppa) -> bool {
        self.words[at.index()] as u32 & UNLABELLED == ERASED
    }

    fn clear(&mut self, pages: std::ops::Range<u32>) {
        self.words[pages.start as usize..pages.end as usize].fill(0);
    }

    #[inline]
    fn forget(&mut self, pages: std::ops::Range<u32>) {
        self.far.remove_range(pages);
    }
}

#[cfg(test)]
impl Full {
    pub(in crate::counting) fn keeps_nothing_aside(&self) -> bool {
        self.far.is_empty()
    }
}

/// The labels' meanings: aux beside the first page's in the high half, kind, origin and handle in the low half.
///
/// A meaning gives its first place; if it is taken, one among the next few. A label is its place and one.
#[derive(Clone, Debug)]
struct Labels([u32; Self::COUNT]);

impl Default for Labels {
    fn default() -> Self {
        let mut labels = [Self::FREE; Self::COUNT];
        labels[USUAL as usize - 1] = 0;
        Self(labels)
    }
}

impl Labels {
    const HOME_BITS: u32 = 7;
    /// Places looked at. 60 random labels all found their places in 3,000 tries, 100 labels in nine tries in ten.
    const TRIED: usize = 32;
    const COUNT: usize = (1 << Self::HOME_BITS) + Self::TRIED;
    /// No page has this kind.
    const FREE: u32 = u32::MAX;

    /// The meaning's label, a new one if there is a place; else [`UNLABELLED`].
    #[inline(never)]
    fn of(&mut self, what: u32) -> u32 {
        // Fibonacci hashing: the golden ratio spreads numbers with few different bits.
        let home = (what.wrapping_mul(0x9E37_79B9) >> (u32::BITS - Self::HOME_BITS)) as usize;
        let mut tried = (home..).zip(&mut self.0[home..home + Self::TRIED]);
        let Some((place, held)) = tried.find(|(_, held)| **held == what || **held == Self::FREE) else {
            return UNLABELLED;
        };
        *held = what;
        place as u32 + 1
    }

    #[inline]
    fn what(&self, label: u32) -> u32 {
        self.0[label as usize - 1]
    }
}

const _: () = assert!(Labels::COUNT < UNLABELLED as usize, "a label is its place and one");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Origin;
    use crate::oob::Kind;
    use crate::random::Random;
    use std::collections::HashMap;

    fn pages_set_at_random(kinds: u64, seqs: &[u64], auxes: u64) -> Full {
        let geometry = Geometry::single_die(4, 8, 512).unwrap();
        let (mut full, mut random, mut held) = (Full::new(&geometry), Random::new(7), HashMap::new());
        let mut below = |most: u64| random.below(most);
        for _ in 0..20_000 {
            let at = Ppa(below(32) as u32);
            let block = geometry.block_of(at);
            let pages = geometry.page(block, 0).0..geometry.page(block, 0).0 + 8;
            if below(10) == 0 {
                full.clear(pages.clone());
                full.forget(pages.clone());
                held.retain(|page, _| !pages.contains(page));
            }
            let first = pages.clone().all(|page| !held.contains_key(&page));
            let oob = Oob {
                aux: below(auxes) as u16,
                kind: Kind::from_byte(below(kinds) as u8).unwrap(),
                handle: below(3) as u8 * 50,
                ..Oob::data(
                    Lpn(below(1 << 32) as u32),
                    Seq(seqs[below(seqs.len() as u64) as usize]),
                    Origin(below(kinds) as u8),
                )
            };
            full.set(at, block, first, oob);
            held.insert(at.0, oob);
            for page in pages {
                assert_eq!(full.get(Ppa(page), block), held.get(&page).copied());
                assert_eq!(full.is_erased(Ppa(page)), !held.contains_key(&page));
            }
        }
        full
    }

    #[test]
    fn few_labels_need_no_further_bytes() {
        let full = pages_set_at_random(2, &[5, 6, 4 + u64::from(FAR)], 2);
        assert!(full.unlabelled.is_empty());
    }

    #[test]
    fn pages_without_a_label_hold_the_same() {
        let full = pages_set_at_random(9, &[5, 6, 9], 1 << 16);
        assert!(!full.unlabelled.is_empty());
    }

    /// On both sides of the largest distance, before the base, and up to 48 bits, the most in flash.
    #[test]
    fn sequence_numbers_out_of_reach_are_kept_aside() {
        let base = 1 << 40;
        let far = base + u64::from(FAR);
        let full = pages_set_at_random(2, &[base, far - 1, far, far + 1, base - 1, (1 << 48) - 1], 1);
        assert!(!full.far.is_empty());
    }

    /// Each page's erase count is its block's, so as many blocks as there are have one label.
    #[test]
    fn an_aux_of_the_whole_block_takes_no_label() {
        let geometry = Geometry::single_die(2_000, 8, 512).unwrap();
        let mut full = Full::new(&geometry);
        for at in (0..geometry.pages()).map(Ppa) {
            let block = geometry.block_of(at);
            let oob = Oob { aux: block.0 as u16, ..Oob::data(Lpn(at.0), Seq(at.0.into()), Origin::HOST) };
            full.set(at, block, geometry.page_in_block(at) == 0, oob);
            assert_eq!(full.get(at, block), Some(oob));
        }
        assert!(full.labels.0.iter().filter(|&&what| what != Labels::FREE).eq(&[0]));
    }
}

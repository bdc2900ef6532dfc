//! Block and page records.
//!
//! * Block record: P/E cycles, bad mark, by origin the pages copied away since the erase, and all its pages' programs
//!   before the erase. All zeros: a block never touched.
//! * Page record: the spare area's 16 bytes, a generation, the tail length, the programs since the erase, the page's
//!   CRC-32, the program's number in the image, and the tail if it is short. A page is programmed if its generation is
//!   its block's P/E cycles + 1, so one block record write erases all its pages.
//!
//! Each ends in a CRC-32 and lies in one 512-byte sector. Each stands in the file twice; [`best`] picks the copy that
//! counts.

use super::layout::{is_sealed, seal, u16_at, u32_at, u64_at, Tag, BLOCK_BYTES, PAGE_FIXED_BYTES};
use crate::address::{BlockId, Lpn, Ppa, Seq};
use crate::context::Origin;
use crate::oob::{Kind, Oob};
use crate::rules::ProgramOrder;

/// The tail's start in a page record.
const TAIL_AT: usize = PAGE_FIXED_BYTES - 4;

/// A block record's contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockRecord {
    pub pe_cycles: u32,
    pub is_bad: bool,
    /// By origin: pages copied away since the erase.
    pub left: [u16; Origin::COUNT],
    /// Its pages' programs up to its last erase; in a bad block, all programs.
    pub programs: u64,
}

/// Position for the programs; zeros in images from versions without this count.
const PROGRAMS_AT: usize = 8 + 2 * Origin::COUNT;

impl BlockRecord {
    pub fn to_bytes(self, block: BlockId) -> [u8; BLOCK_BYTES] {
        let mut bytes = [0; BLOCK_BYTES];
        bytes[..4].copy_from_slice(&self.pe_cycles.to_le_bytes());
        bytes[4] = u8::from(self.is_bad);
        for (place, pages) in bytes[8..PROGRAMS_AT].chunks_exact_mut(2).zip(self.left) {
            place.copy_from_slice(&pages.to_le_bytes());
        }
        bytes[PROGRAMS_AT..PROGRAMS_AT + 8].copy_from_slice(&self.programs.to_le_bytes());
        seal(Tag::Block(block), &mut bytes);
        bytes
    }

    /// The record in `bytes`; `None`: the block was never touched.
    ///
    /// # Errors
    /// The checksum is wrong.
    pub fn from_bytes(bytes: &[u8], block: BlockId) -> Result<Option<Self>, WrongSum> {
        if bytes.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        // No chip lives that long, and one more erase must be possible.
        if !is_sealed(Tag::Block(block), bytes) || u32_at(bytes, 0) == u32::MAX {
            return Err(WrongSum);
        }
        let left = std::array::from_fn(|origin| u16_at(bytes, 8 + 2 * origin));
        Ok(Some(Self {
            pe_cycles: u32_at(bytes, 0),
            is_bad: bytes[4] != 0,
            left,
            programs: u64_at(bytes, PROGRAMS_AT),
        }))
    }
}

/// A record contradicts its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WrongSum;

/// A programmed page's record, except its tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageRecord {
    pub oob: Oob,
    pub generation: u32,
    pub tail_bytes: u16,
    pub programs: u8,
    /// The page's CRC-32.
    pub sum: u32,
    /// The program's number in the image.
    pub number: Number,
}

impl PageRecord {
    /// Writes the record into `slot`, with the tail if there is room.
    pub fn put(&self, at: Ppa, slot: &mut [u8], tail: &[u8]) {
        slot.fill(0);
        slot[..16].copy_from_slice(&self.oob.to_bytes());
        slot[16..20].copy_from_slice(&self.generation.to_le_bytes());
        slot[20..22].copy_from_slice(&self.tail_bytes.to_le_bytes());
        slot[22] = self.programs;
        slot[24..28].copy_from_slice(&self.sum.to_le_bytes());
        self.number.put(slot);
        if let Some(place) = inline(slot.len(), tail.len()) {
            slot[place].copy_from_slice(tail);
        }
        seal(Tag::Page(at), slot);
    }

    /// Overwrites the record in `slot` and leaves the tail.
    pub fn put_again(&self, at: Ppa, slot: &mut [u8]) {
        let tail = slot[TAIL_AT..slot.len() - 4].to_vec();
        self.put(at, slot, &[]);
        let end = slot.len() - 4;
        slot[TAIL_AT..end].copy_from_slice(&tail);
        seal(Tag::Page(at), slot);
    }

    /// The record in `slot`; `None`: nothing was ever written there.
    ///
    /// # Errors
    /// The checksum is wrong, or the spare area is invalid.
    pub fn from_slot(slot: &[u8], at: Ppa) -> Result<Option<Self>, WrongSum> {
        if !is_sealed(Tag::Page(at), slot) {
            return if slot.iter().all(|&byte| byte == 0) { Ok(None) } else { Err(WrongSum) };
        }
        let spare: &[u8; Oob::BYTES] = slot[..16].try_into().expect("sixteen bytes");
        let oob = Oob::from_bytes(spare).filter(|oob| usize::from(oob.origin.0) < Origin::COUNT).ok_or(WrongSum)?;
        Ok(Some(Self {
            oob,
            generation: u32_at(slot, 16),
            tail_bytes: u16_at(slot, 20),
            programs: slot[22],
            sum: u32_at(slot, 24),
            number: Number::of(slot),
        }))
    }
}

/// The lowest 40 bits of a program's number in its image: programs of 4 PiB in pages of 4 KiB have different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number(u64);

impl Number {
    const BITS: u32 = 40;

    pub fn new(program: u64) -> Self {
        Self(program % (1 << Self::BITS))
    }

    /// The number in a page record.
    pub fn of(slot: &[u8]) -> Self {
        Self(u64::from(u32_at(slot, 28)) | u64::from(slot[23]) << 32)
    }

    fn put(self, slot: &mut [u8]) {
        slot[28..32].copy_from_slice(&(self.0 as u32).to_le_bytes());
        slot[23] = (self.0 >> 32) as u8;
    }

    /// How many programs came after this one, up to and with `program`.
    pub fn age(self, program: u64) -> u64 {
        program.wrapping_sub(self.0) % (1 << Self::BITS)
    }

    /// The whole number, if the program came after `program`.
    pub fn after(self, program: u64) -> Option<u64> {
        let later = self.0.wrapping_sub(program) % (1 << Self::BITS);
        (1..1 << (Self::BITS - 1)).contains(&later).then(|| program + later)
    }
}

/// The tail's place in a record with `slot` bytes; `None`: only in its page.
pub(super) fn inline(slot: usize, tail_bytes: usize) -> Option<std::ops::Range<usize>> {
    let place = TAIL_AT..TAIL_AT + tail_bytes;
    (place.end <= slot - 4).then_some(place)
}

/// A copy of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    /// All zeros: never written.
    Blank,
    /// Whole; of two, the one with the higher age was written later.
    Whole(u64),
    /// It contradicts its checksum.
    Spoilt,
}

impl Stored {
    pub fn of_block(bytes: &[u8], block: BlockId) -> Self {
        match BlockRecord::from_bytes(bytes, block) {
            Ok(None) => Self::Blank,
            Ok(Some(record)) => {
                let left: u64 = record.left.iter().map(|&pages| u64::from(pages)).sum();
                Self::Whole(u64::from(record.pe_cycles) << 24 | u64::from(record.is_bad) << 20 | left)
            }
            Err(WrongSum) => Self::Spoilt,
        }
    }

    pub fn of_page(slot: &[u8], at: Ppa) -> Self {
        match PageRecord::from_slot(slot, at) {
            Ok(None) => Self::Blank,
            Ok(Some(record)) => Self::Whole(u64::from(record.generation) << 8 | u64::from(record.programs)),
            Err(WrongSum) => Self::Spoilt,
        }
    }

    pub fn of_word(bytes: &[u8], word: u64) -> Self {
        if bytes.iter().all(|&byte| byte == 0) {
            Self::Blank
        } else if is_sealed(Tag::Word(word), bytes) {
            Self::Whole(u32_at(bytes, 8).into())
        } else {
            Self::Spoilt
        }
    }
}

/// Which copy of a record counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Best {
    pub is_second: bool,
    /// The other copy must be written again.
    pub differs: bool,
    /// Something spoilt one copy: no end of a process leaves them so.
    pub is_spoilt: bool,
    /// Neither copy can be read.
    pub is_lost: bool,
}

/// Picks one of a record's copies. The first one is written first, so a process that ends in between leaves a newer first
/// one, or a first one alone.
pub(super) fn best(first: Stored, second: Stored, are_equal: bool) -> Best {
    let is_second = match (first, second) {
        (Stored::Whole(first), Stored::Whole(second)) => second > first,
        (Stored::Blank | Stored::Spoilt, Stored::Whole(_)) => true,
        // A program that only the spoilt first copy had was not flushed.
        (Stored::Spoilt, Stored::Blank) => true,
        _ => false,
    };
    let is_lost = (first, second) == (Stored::Spoilt, Stored::Spoilt);
    let is_spoilt = is_second || is_lost || second == Stored::Spoilt;
    Best { is_second, differs: !are_equal && !is_lost, is_spoilt, is_lost }
}

/// A page in a block, according to its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Programmed.
    Page(PageRecord),
    /// Programmed, and the record is spoilt: it cannot be read.
    Torn,
}

/// The programmed pages among a block's records `slots` after `pe_cycles` erases, ascending.
///
/// A spoilt record may be from before the erase. It counts as a programmed page if a programmed page lies behind it or
/// just before it. On a chip without gaps, every page before a programmed one is programmed.
pub(super) fn programmed(
    slots: &[u8],
    (first, slot): (Ppa, usize),
    pe_cycles: u32,
    page_bytes: u32,
    order: ProgramOrder,
) -> Vec<(u32, Found)> {
    let mut found: Vec<(u32, Found)> = Vec::new();
    let mut spoilt: Vec<u32> = Vec::new();
    for (page, record) in (0..).zip(slots.chunks_exact(slot)) {
        match PageRecord::from_slot(record, Ppa(first.0 + page)) {
            Ok(Some(record)) if record.generation == pe_cycles.wrapping_add(1) => {
                if u32::from(record.tail_bytes) > page_bytes {
                    spoilt.push(page);
                    continue;
                }
                found.extend(spoilt.drain(..).map(|page| (page, Found::Torn)));
                if order == ProgramOrder::AscendingDense {
                    fill_gaps(&mut found, page);
                }
                found.push((page, Found::Page(record)));
            }
            Ok(_) => {}
            Err(WrongSum) => spoilt.push(page),
        }
    }
    for page in spoilt {
        if page == found.last().map_or(0, |(last, _)| last + 1) {
            found.push((page, Found::Torn));
        }
    }
    found
}

/// Fills missing pages below `page` with torn ones.
fn fill_gaps(found: &mut Vec<(u32, Found)>, page: u32) {
    if found.len() == page as usize {
        return;
    }
    let known = std::mem::take(found);
    let mut known = known.into_iter().peekable();
    for page in 0..page {
        let is = known.next_if(|(at, _)| *at == page);
        found.push(is.unwrap_or((page, Found::Torn)));
    }
}

/// Metadata for an unreadable page.
pub(super) fn torn_oob(seq: Seq) -> Oob {
    Oob { lpn: Lpn::NONE, aux: 0, kind: Kind::Data, origin: Origin::HOST, handle: 0, seq }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Ppa = Ppa(9);

    fn record(lpn: u32, generation: u32) -> PageRecord {
        let oob = Oob::data(Lpn(lpn), Seq(u64::from(lpn) + 9), Origin::JOURNAL);
        PageRecord { oob, generation, tail_bytes: 3, programs: 1, sum: 0xABCD, number: Number::new(77 << 32 | 5) }
    }

    fn slots(records: &[Option<PageRecord>]) -> Vec<u8> {
        let mut slots = vec![0; 64 * records.len()];
        for ((at, slot), record) in (0..).map(Ppa).zip(slots.chunks_exact_mut(64)).zip(records) {
            if let Some(record) = record {
                record.put(at, slot, &[7, 8, 9]);
            }
        }
        slots
    }

    #[test]
    fn records_come_back_and_every_flipped_bit_is_seen() {
        let mut slot = [0; 64];
        record(5, 2).put(AT, &mut slot, &[7, 8, 9]);
        assert_eq!(PageRecord::from_slot(&slot, AT), Ok(Some(record(5, 2))));
        assert_eq!(slot[inline(64, 3).unwrap()], [7, 8, 9]);
        let again = PageRecord { programs: 2, ..record(5, 2) };
        let mut spared = slot;
        again.put_again(AT, &mut spared);
        assert_eq!((PageRecord::from_slot(&spared, AT), &spared[32..35]), (Ok(Some(again)), &[7, 8, 9][..]));
        let mut block = BlockRecord { pe_cycles: 7, is_bad: false, left: [0; Origin::COUNT], programs: 1 << 40 };
        block.left[31] = 300;
        let bytes = block.to_bytes(BlockId(3));
        assert_eq!(BlockRecord::from_bytes(&bytes, BlockId(3)), Ok(Some(block)));
        assert_eq!(BlockRecord::from_bytes(&[0; BLOCK_BYTES], BlockId(3)), Ok(None));
        for bit in 0..512 {
            let flip = |bytes: &mut [u8]| bytes[bit / 8] ^= 1 << (bit % 8);
            let mut spoilt = slot;
            flip(&mut spoilt);
            assert_eq!(PageRecord::from_slot(&spoilt, AT), Err(WrongSum), "bit {bit}");
            let mut spoilt = bytes;
            flip(&mut spoilt);
            assert_eq!(BlockRecord::from_bytes(&spoilt, BlockId(3)), Err(WrongSum), "bit {bit}");
        }
    }

    #[test]
    fn numbers_are_compared_over_their_end() {
        let end = 1 << 40;
        for last in [9, end - 1, end, 3 * end + 2] {
            for (program, age) in [(last, 0), (last - 1, 1), (last - 9, 9)] {
                assert_eq!((Number::new(program).age(last), Number::new(program).after(last)), (age, None));
            }
            assert_eq!(Number::new(last + 7).after(last), Some(last + 7));
        }
    }

    #[test]
    fn a_record_in_the_place_of_another_is_spoilt() {
        let mut slot = [0; 64];
        record(5, 2).put(AT, &mut slot, &[]);
        assert_eq!(PageRecord::from_slot(&slot, Ppa(10)), Err(WrongSum));
        let block = BlockRecord { pe_cycles: 7, ..BlockRecord::default() }.to_bytes(BlockId(3));
        assert_eq!(BlockRecord::from_bytes(&block, BlockId(4)), Err(WrongSum));
    }

    #[test]
    fn of_two_copies_the_whole_and_newer_one_counts() {
        use Stored::{Blank, Spoilt, Whole};
        for (first, second, is_second, is_spoilt) in [
            (Blank, Blank, false, false),
            (Whole(1), Whole(1), false, false),
            // The process ended between two writes.
            (Whole(2), Whole(1), false, false),
            (Whole(1), Blank, false, false),
            // It wrote both, and something else happened to one.
            (Whole(1), Whole(2), true, true),
            (Blank, Whole(1), true, true),
            (Spoilt, Whole(1), true, true),
            (Whole(1), Spoilt, false, true),
            (Spoilt, Blank, true, true),
            (Blank, Spoilt, false, true),
        ] {
            let found = best(first, second, first == second);
            let expected = Best { is_second, differs: first != second, is_spoilt, is_lost: false };
            assert_eq!(found, expected, "{first:?} {second:?}");
        }
        let lost = best(Spoilt, Spoilt, false);
        assert!(lost.is_lost && lost.is_spoilt && !lost.differs);
    }

    fn pages(slots: &[u8], order: ProgramOrder) -> Vec<(u32, bool)> {
        let found = programmed(slots, (Ppa(0), 64), 1, 4096, order);
        found.into_iter().map(|(page, found)| (page, matches!(found, Found::Page(_)))).collect()
    }

    #[test]
    fn a_spoilt_record_costs_its_page() {
        let old = Some(record(9, 1));
        let is = |lpn| Some(record(lpn, 2));
        let mut slots = slots(&[is(0), is(1), is(2), old, None, old]);
        assert_eq!(pages(&slots, ProgramOrder::AscendingDense), [(0, true), (1, true), (2, true)]);
        slots[64 + 17] ^= 1;
        assert_eq!(pages(&slots, ProgramOrder::AscendingDense), [(0, true), (1, false), (2, true)]);
        slots[5 * 64] ^= 1;
        assert_eq!(pages(&slots, ProgramOrder::Ascending).len(), 3, "a record of before the erase");
        slots[3 * 64] ^= 1;
        let last = pages(&slots, ProgramOrder::Ascending);
        assert_eq!(last.last(), Some(&(3, false)), "it may be the page after the last one");
        slots[64..128].fill(0);
        assert_eq!(pages(&slots, ProgramOrder::AscendingDense)[1], (1, false), "this chip has no gaps");
        assert_eq!(pages(&slots, ProgramOrder::Ascending)[1], (2, true));
    }

    #[test]
    fn a_long_tail_is_in_its_page_only() {
        assert_eq!(inline(64, 28), Some(32..60));
        assert_eq!(inline(64, 29), None);
    }
}

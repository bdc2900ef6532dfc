//! Invariants, derived again from flash.

use super::blocks::State;
use super::mount::{Found, Traces};
use super::objects::{Object, Objects, Owner};
use super::scan_large::Backwards;
use super::Yaffs;
use crate::parts::tags::Tags;
use nandlab_nand::{BlockId, Kind, Nand, Ppa};

impl<N: Nand> Yaffs<N> {
    /// Reads every spare area and every header, and compares them with the tables. This counts every page.
    ///
    /// # Panics
    /// If an invariant is broken, or the device fails.
    pub fn check(&mut self) {
        let mut used = 0;
        for block in (0..self.geometry.blocks()).map(BlockId) {
            used += self.check_block(block);
        }
        let mut owned = 0;
        for number in self.objects.numbers() {
            let object = self.objects.get(number).clone();
            if Objects::is_on_flash(number) {
                owned += self.check_object(number, &object);
            }
        }
        assert_eq!(used, owned, "pages in use and pages of objects");
        if !self.small {
            self.check_order();
        }
    }

    /// Checks the pages of a block; returns the number of used pages.
    fn check_block(&mut self, block: BlockId) -> u32 {
        let entry = *self.blocks.get(block);
        let (mut used, mut soft) = (0, 0);
        let pages: Vec<Ppa> = self.pages_of(block).collect();
        for (page, at) in (0..).zip(pages) {
            let in_use = self.blocks.is_used(at);
            let found = self.look(at).expect("the device answers");
            match (entry.state, found) {
                (State::Bad, None) => assert!(!in_use, "page {at} is in use in the bad block {block}"),
                (_, None) => panic!("block {block} is bad, and it is taken for {:?}", entry.state),
                (State::Empty { erased: true }, Some(Found::Erased)) => {}
                (State::Empty { erased: true }, found) => panic!("page {at} of an erased block holds {found:?}"),
                (State::Open, Some(found)) => {
                    let next = self.blocks.open.map_or(0, |(_, next)| next);
                    assert_eq!(page >= next, found == Found::Erased, "page {at} of the open block holds {found:?}");
                }
                _ => {}
            }
            if in_use {
                let Some(Found::Page(oob)) = found else { panic!("page {at} is in use and holds {found:?}") };
                let owner = self.owners[at.index()];
                let tags = Tags::from_oob(self.small, &oob);
                assert_eq!((tags.object, tags.chunk, oob.kind), (owner.object, owner.chunk, owner.kind()), "page {at}");
                assert!(!self.small || tags.serial == owner.serial, "page {at}: the serial number");
                assert!(
                    tags.bytes >= owner.bytes,
                    "page {at} has {} bytes and is taken for {}",
                    tags.bytes,
                    owner.bytes
                );
                used += 1;
                soft += u32::from(self.objects.get(owner.object).deleted && owner.chunk > 0);
            } else {
                self.check_void(block, at, found);
            }
        }
        assert_eq!((entry.in_use, entry.soft), (used, soft), "pages in use of block {block}");
        used
    }

    /// Checks a void page. A void 512 B page must have a deletion mark, unless its block will be erased
    /// before its next use.
    fn check_void(&self, block: BlockId, at: Ppa, found: Option<Found>) {
        assert_eq!(self.owners[at.index()], Owner::NONE, "page {at} is void and has an owner");
        let Some(Found::Page(oob)) = found else { return };
        if self.small && self.config.mark_copied && self.blocks.get(block).state != (State::Empty { erased: false }) {
            assert_eq!(oob.kind, Kind::Deleted, "page {at} is void and has no deletion mark");
        }
    }

    /// Checks an object against its header; returns its page count.
    fn check_object(&mut self, number: u32, object: &Object) -> u32 {
        let header = self.load_header(object.header).expect("the device answers");
        let header = header.unwrap_or_else(|| panic!("the header of object {number} cannot be read"));
        let same = (header.kind, header.parent, &header.name, &header.target, header.equivalent)
            == (object.kind, object.parent, &object.name, &object.target, object.equivalent);
        assert!(same || object.parent == super::objects::LOST, "object {number} is {object:?}, on flash {header:?}");
        assert_eq!(header.size, object.stored_size, "length of object {number} on flash");
        assert!(
            object.dirty || object.size == object.stored_size || object.deleted,
            "object {number} has a new length"
        );
        for (chunk, at) in object.mapped_chunks() {
            let Owner { object: owner, chunk: owned, .. } = self.owners[at.index()];
            assert_eq!((owner, owned), (number, chunk), "the owner of page {at}");
        }
        assert_eq!(object.mapped as usize, object.mapped_chunks().count(), "pages of object {number}");
        1 + object.mapped
    }

    /// Checks that a scan would find the same newest copies as the tables.
    fn check_order(&mut self) {
        let mut used: Vec<(u32, BlockId)> = self
            .blocks
            .iter()
            .filter(|(_, block)| matches!(block.state, State::Full | State::Open))
            .map(|(block, entry)| (entry.sequence, block))
            .collect();
        used.sort_unstable();
        let mut found = Backwards { has_end: true, ..Backwards::default() };
        for &(_, block) in used.iter().rev() {
            let shrinks = self.blocks.get(block).shrinks;
            self.scan_back(block, &mut found).expect("the device answers");
            assert_eq!(self.blocks.get(block).shrinks, shrinks, "block {block} holds a header that cuts a file");
        }
        for number in self.objects.numbers().into_iter().filter(|&number| Objects::is_on_flash(number)) {
            let object = self.objects.get(number);
            let traces = found.scan.remove(&number).unwrap_or_default();
            assert_eq!(
                traces.header.as_ref().map(|(copy, _)| copy.at),
                Some(object.header),
                "header of object {number}"
            );
            if !object.deleted {
                self.compare(number, object, &traces);
            }
        }
        for (number, traces) in found.scan {
            let parent = traces.header.map(|(_, header)| header.parent);
            assert_eq!(parent, Some(super::objects::UNLINKED), "object {number} is gone, and would come back");
        }
    }

    fn compare(&self, number: u32, object: &Object, traces: &Traces) {
        let on_flash: Vec<(u32, Ppa)> = traces.chunks.iter().map(|(&chunk, copy)| (chunk, copy.at)).collect();
        let in_memory: Vec<(u32, Ppa)> = object.mapped_chunks().collect();
        assert_eq!(on_flash, in_memory, "chunks of object {number}, by a scan and in memory");
        if self.cache.is_off() {
            let size = traces.extent.max(object.stored_size);
            assert_eq!(size, object.size, "length of object {number}, by a scan and in memory");
        }
    }
}

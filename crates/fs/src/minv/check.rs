//! Invariants: the map rebuilt from the tags on flash must match the NVRAM.

use super::layout::{CHILDREN, FANOUT, LINKS, NEXT, NODES, ROOT_NODE};
use super::memory::{Change, Type};
use super::names::ROOT;
use super::pages::State;
use super::Minv;
use crate::parts::tags::Tags;
use nandlab_nand::nvm::Nvm;
use nandlab_nand::{BlockId, Kind, Nand, Ppa};
use std::collections::{BTreeMap, BTreeSet};

/// Pages and nodes referenced by the NVRAM.
#[derive(Default)]
struct Reached {
    /// Pages by object and chunk.
    pages: BTreeMap<(u32, u32), Ppa>,
    nodes: BTreeSet<u32>,
}

impl<N: Nand, V: Nvm> Minv<N, V> {
    /// Reads every spare area and the whole NVRAM and compares them. This counts every page, node and object.
    ///
    /// # Panics
    /// If an invariant is broken, or a device fails.
    pub fn check(&mut self) {
        let newest = self.check_blocks();
        let reached = self.check_objects();
        let owned: BTreeSet<Ppa> = reached.pages.values().copied().collect();
        assert_eq!(owned.len(), reached.pages.len(), "a page is in two maps");
        let mut used = BTreeSet::new();
        for page in (0..self.geometry.pages()).map(Ppa) {
            if self.is_used(page).expect("the NVRAM answers") {
                used.insert(page);
            }
        }
        assert_eq!(used, owned, "pages in use and pages of maps");
        assert_eq!(used.len() as u32, self.registers.in_use, "the number of pages in use");
        for (chunk, page) in &reached.pages {
            assert_eq!(newest.get(chunk).map(|found| found.1), Some(*page), "the newest page of {chunk:?} by its tags");
        }
        self.check_nodes(&reached.nodes);
        self.check_names();
    }

    /// Checks the block states; returns the newest page of each object and chunk, by tags.
    fn check_blocks(&mut self) -> BTreeMap<(u32, u32), (u32, Ppa)> {
        let mut newest: BTreeMap<(u32, u32), (u32, Ppa)> = BTreeMap::new();
        let (mut empty, mut usable) = (0, 0);
        for block in (0..self.geometry.blocks()).map(BlockId) {
            let entry = self.block(block).expect("the NVRAM answers");
            empty += u32::from(entry.state == State::Empty);
            usable += u32::from(entry.state != State::Bad && !entry.failing);
            let is_open = self.registers.open.is_some_and(|(open, _)| open == block);
            assert_eq!(entry.state == State::Open, is_open, "whether block {block} is open");
            for (page, at) in (0..).zip(self.pages_of(block)) {
                let found = self.nand.read_spare(at);
                match (entry.state, found) {
                    (State::Bad, Ok(_)) => panic!("block {block} is good and taken for bad"),
                    (State::Empty, Ok(None)) => {}
                    (State::Empty, found) => panic!("page {at} of the empty block {block} holds {found:?}"),
                    (State::Open, Ok(None)) => {
                        let next = self.registers.open.map_or(0, |(_, next)| next);
                        assert!(page >= next, "page {at} below the allocation point is erased");
                    }
                    (_, Ok(Some(oob))) if matches!(oob.kind, Kind::Data | Kind::Lost) => {
                        let tags = Tags::from_oob(false, &oob);
                        let place = newest.entry((tags.object, tags.chunk)).or_insert((tags.sequence, at));
                        *place = (*place).max((tags.sequence, at));
                    }
                    _ => {}
                }
            }
        }
        assert_eq!((empty, usable), (self.registers.empty, self.registers.usable), "empty and usable blocks");
        newest
    }

    /// Checks all objects.
    fn check_objects(&mut self) -> Reached {
        let mut reached = Reached::default();
        let none = Change::default();
        for object in 0..self.layout.objects {
            let Some(head) = self.head(object).expect("the NVRAM answers") else { continue };
            assert_ne!(head.kind, Type::Removed, "object {object} waits for its pages to be given up");
            let root = self.half(&none, self.field(object, ROOT_NODE)).expect("the NVRAM answers");
            match head.kind {
                Type::File => self.walk(&mut reached, object, root, head.height, 0),
                Type::Symlink => {
                    let mut node = root;
                    while node > 0 {
                        assert!(reached.nodes.insert(node - 1), "node {} is used twice", node - 1);
                        node = self.half(&none, self.layout.node(node - 1)).expect("the NVRAM answers");
                    }
                }
                _ => assert_eq!(root, 0, "object {object} has no map"),
            }
        }
        reached
    }

    fn walk(&mut self, reached: &mut Reached, object: u32, value: u32, height: u8, index: u32) {
        if value == 0 {
            return;
        }
        if height == 0 {
            reached.pages.insert((object, index + 1), Ppa(value - 1));
            return;
        }
        assert!(reached.nodes.insert(value - 1), "node {} is used twice", value - 1);
        for entry in 0..FANOUT {
            let at = self.layout.node(value - 1) + u64::from(entry) * 4;
            let below = self.half(&Change::default(), at).expect("the NVRAM answers");
            self.walk(reached, object, below, height - 1, index + (entry << (4 * u32::from(height - 1))));
        }
    }

    /// Checks that every node is used, free, or never used.
    fn check_nodes(&mut self, used: &BTreeSet<u32>) {
        let word = self.now(NODES).expect("the NVRAM answers");
        let (mut free, fresh) = (word as u32, (word >> 32) as u32);
        let mut seen = used.clone();
        while free > 0 {
            assert!(seen.insert(free - 1), "node {} is free and used, or free twice", free - 1);
            free = self.half(&Change::default(), self.layout.node(free - 1)).expect("the NVRAM answers");
        }
        assert_eq!(seen.len() as u32, fresh, "nodes that are used or free");
        assert!(seen.last().is_none_or(|&last| last < fresh), "a node beyond the last one is used");
    }

    /// Checks the names: every object except the root is in the hash chain of its name, its directory counts
    /// it, and every hard link is in its file's list.
    fn check_names(&mut self) {
        let none = Change::default();
        let (mut chained, mut children, mut linked) = (BTreeSet::new(), BTreeMap::new(), 0i64);
        for bucket in 0..self.layout.buckets {
            let mut object = self.half(&none, self.layout.bucket(bucket)).expect("the NVRAM answers");
            while object > 0 {
                assert!(chained.insert(object - 1), "object {} is in two chains", object - 1);
                object = self.half(&none, self.field(object - 1, NEXT)).expect("the NVRAM answers");
            }
        }
        for object in 0..self.layout.objects {
            let Some(head) = self.head(object).expect("the NVRAM answers") else { continue };
            assert_eq!(chained.contains(&object), object != ROOT, "object {object} is in a chain");
            if object != ROOT {
                *children.entry(head.parent).or_insert(0u64) += 1;
            }
            if head.kind == Type::File {
                let mut link = self.half(&none, self.field(object, LINKS)).expect("the NVRAM answers");
                while link > 0 {
                    assert_eq!(self.equivalent(link - 1), Ok(object), "the file of hard link {}", link - 1);
                    linked += 1;
                    link = self.half(&none, self.field(link - 1, LINKS)).expect("the NVRAM answers");
                }
            }
            linked -= i64::from(head.kind == Type::HardLink);
        }
        assert_eq!(linked, 0, "hard links and those in lists");
        for object in 0..self.layout.objects {
            if let Ok(Some(head)) = self.head(object) {
                let counted = self.now(self.field(object, CHILDREN)).expect("the NVRAM answers");
                let expected = children.get(&object).copied().unwrap_or(0);
                assert!(head.kind != Type::Directory || counted == expected, "{counted} names in directory {object}");
            }
        }
    }
}

//! NVRAM words: reads, and atomic changes of several words.

use super::layout::{Layout, EQUIVALENT, FANOUT, HEAD, INTENT, INTENT_WORDS, NODES, PARENT};
use super::Minv;
use crate::parts::dark;
use crate::FsError;
use nandlab_nand::nvm::Nvm;
use nandlab_nand::Nand;

/// Words changed together.
#[derive(Clone, Debug, Default)]
pub(super) struct Change {
    words: Vec<(u64, u64)>,
}

impl Change {
    fn get(&self, at: u64) -> Option<u64> {
        self.words.iter().find(|word| word.0 == at).map(|word| word.1)
    }

    pub(super) fn put(&mut self, at: u64, value: u64) {
        debug_assert_eq!(at % 8, 0, "a word stands at a multiple of 8");
        match self.words.iter_mut().find(|word| word.0 == at) {
            Some(word) => word.1 = value,
            None => self.words.push((at, value)),
        }
    }

    /// Whether nothing changes.
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
}

/// Type of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Type {
    File = 1,
    Symlink = 2,
    Directory = 3,
    HardLink = 4,
    /// Nameless; its pages are being given up.
    Removed = 5,
}

/// First word of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) kind: Type,
    pub(super) name_bytes: u8,
    /// True if the last page may hold stale bytes behind the end of the file.
    pub(super) stale_tail: bool,
    /// Map levels.
    pub(super) height: u8,
    pub(super) parent: u32,
}

impl Head {
    pub(super) fn to_word(self) -> u64 {
        let bytes = [self.kind as u8, self.name_bytes, u8::from(self.stale_tail), self.height];
        u64::from(u32::from_le_bytes(bytes)) | u64::from(self.parent) << 32
    }

    /// `None` if there is no object.
    pub(super) fn from_word(word: u64) -> Option<Self> {
        let [kind, name_bytes, flags, height, ..] = word.to_le_bytes();
        let kind = match kind {
            1 => Type::File,
            2 => Type::Symlink,
            3 => Type::Directory,
            4 => Type::HardLink,
            5 => Type::Removed,
            _ => return None,
        };
        Some(Self { kind, name_bytes, stale_tail: flags & 1 == 1, height, parent: (word >> 32) as u32 })
    }
}

impl<N: Nand, V: Nvm> Minv<N, V> {
    pub(super) fn word(&mut self, change: &Change, at: u64) -> Result<u64, FsError> {
        if let Some(word) = change.get(at) {
            return Ok(word);
        }
        let mut bytes = [0; 8];
        self.nvm.read(at, &mut bytes).map_err(dark)?;
        Ok(u64::from_le_bytes(bytes))
    }

    pub(super) fn now(&mut self, at: u64) -> Result<u64, FsError> {
        self.word(&Change::default(), at)
    }

    /// Reads half a word.
    pub(super) fn half(&mut self, change: &Change, at: u64) -> Result<u32, FsError> {
        let word = self.word(change, at & !7)?;
        Ok((word >> (at % 8 * 8)) as u32)
    }

    pub(super) fn put_half(&mut self, change: &mut Change, at: u64, value: u32) -> Result<(), FsError> {
        let word = self.word(change, at & !7)?;
        let shift = at % 8 * 8;
        change.put(at & !7, word & !(u64::from(u32::MAX) << shift) | u64::from(value) << shift);
        Ok(())
    }

    pub(super) fn store(&mut self, at: u64, word: u64) -> Result<(), FsError> {
        self.nvm.store(at, word.to_le_bytes()).map_err(dark)
    }

    /// Changes all words or none, even across a power cut. Several words go to the intent record first;
    /// storing its word count makes them valid.
    pub(super) fn commit(&mut self, change: &Change) -> Result<(), FsError> {
        if let [(at, word)] = change.words[..] {
            return self.store(at, word);
        }
        if change.is_empty() {
            return Ok(());
        }
        assert!(change.words.len() <= INTENT_WORDS, "{} words change at once", change.words.len());
        let mut record = Vec::with_capacity(change.words.len() * 16);
        for &(at, word) in &change.words {
            record.extend(at.to_le_bytes());
            record.extend(word.to_le_bytes());
        }
        self.nvm.write(INTENT + 8, &record).map_err(dark)?;
        self.store(INTENT, change.words.len() as u64)?;
        self.apply(&change.words)
    }

    fn apply(&mut self, words: &[(u64, u64)]) -> Result<(), FsError> {
        for &(at, word) in words {
            self.store(at, word)?;
        }
        self.store(INTENT, 0)
    }

    /// Completes a change interrupted by a power cut after it became valid.
    pub(super) fn redo(&mut self) -> Result<(), FsError> {
        let words = self.now(INTENT)?;
        if words == 0 {
            return Ok(());
        }
        if words > INTENT_WORDS as u64 {
            return Err(FsError::Damaged(format!("the intent record holds {words} words")));
        }
        let mut change = Vec::new();
        for entry in 0..words {
            let at = INTENT + 8 + entry * 16;
            change.push((self.now(at)?, self.now(at + 8)?));
        }
        self.apply(&change)
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn field(&self, object: u32, field: u64) -> u64 {
        self.layout.object(object) + field
    }

    /// First word of an object; `None` if the object does not exist.
    pub(super) fn head(&mut self, object: u32) -> Result<Option<Head>, FsError> {
        let at = self.field(object, HEAD);
        Ok(Head::from_word(self.now(at)?))
    }

    /// First word of an existing object.
    pub(super) fn known(&mut self, object: u32) -> Result<Head, FsError> {
        let head = self.head(object)?;
        head.ok_or_else(|| FsError::Damaged(format!("there is no object {object}, and something speaks of it")))
    }

    pub(super) fn parent_of(&mut self, object: u32) -> Result<u32, FsError> {
        let at = self.field(object, PARENT);
        self.half(&Change::default(), at)
    }

    pub(super) fn equivalent(&mut self, object: u32) -> Result<u32, FsError> {
        let at = self.field(object, EQUIVALENT);
        self.half(&Change::default(), at)
    }

    pub(super) fn put_head(&mut self, change: &mut Change, object: u32, head: Head) {
        change.put(self.field(object, HEAD), head.to_word());
    }

    /// Takes a free node, filled with zeros.
    pub(super) fn take_node(&mut self, change: &mut Change) -> Result<u32, FsError> {
        let word = self.word(change, NODES)?;
        let (free, fresh) = (word as u32, (word >> 32) as u32);
        let node = if free > 0 {
            let next = self.half(change, self.layout.node(free - 1))?;
            change.put(NODES, u64::from(next) | u64::from(fresh) << 32);
            free - 1
        } else if fresh < self.layout.nodes {
            change.put(NODES, u64::from(fresh + 1) << 32);
            fresh
        } else {
            return Err(FsError::NvramFull { what: "the NVRAM has no room for another piece of a map".into() });
        };
        let at = self.layout.node(node);
        (0..u64::from(FANOUT) / 2).for_each(|word| change.put(at + word * 8, 0));
        Ok(node)
    }

    /// Frees a node.
    pub(super) fn drop_node(&mut self, change: &mut Change, node: u32) -> Result<(), FsError> {
        let word = self.word(change, NODES)?;
        self.put_half(change, self.layout.node(node), word as u32)?;
        change.put(NODES, word & !u64::from(u32::MAX) | u64::from(node + 1));
        Ok(())
    }
}

//! Objects and their names, in memory.

use super::header::{Header, Type};
use crate::parts::tags::MAX_OBJECT;
use crate::Attributes;
use nandlab_nand::{Kind, Ppa};
use std::collections::{BTreeMap, BTreeSet};

/// The root directory.
pub(super) const ROOT: u32 = 1;
/// Directory for objects whose directory is lost.
pub(super) const LOST: u32 = 2;
/// Directory for removed objects.
pub(super) const UNLINKED: u32 = 3;
/// First number for objects on flash; lower numbers belong to directories in memory only.
const FIRST: u32 = 257;

/// Contents of a used page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Owner {
    pub(super) object: u32,
    pub(super) chunk: u32,
    pub(super) serial: u8,
    /// Bytes of the page that belong to the file, at most the count in the tags. Bytes behind them were cut
    /// off, and a copy must not claim them, even if the file has grown again in the cache.
    pub(super) bytes: u32,
    /// True if the page replaces an unreadable one.
    pub(super) lost: bool,
}

impl Owner {
    pub(super) const NONE: Self = Self { object: 0, chunk: 0, serial: 0, bytes: 0, lost: false };

    /// Kind of the page.
    pub(super) fn kind(&self) -> Kind {
        match self.chunk {
            0 => Kind::Header,
            _ if self.lost => Kind::Lost,
            _ => Kind::Data,
        }
    }
}

/// An object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Object {
    pub(super) kind: Type,
    pub(super) parent: u32,
    pub(super) name: String,
    pub(super) size: u64,
    /// The length in the header on flash.
    pub(super) stored_size: u64,
    pub(super) time: u64,
    /// Page of the header.
    pub(super) header: Ppa,
    /// Pages of the file, by chunk.
    pub(super) chunks: Vec<Ppa>,
    /// Number of mapped pages.
    pub(super) mapped: u32,
    /// True if removed; the pages wait for collection.
    pub(super) deleted: bool,
    /// True if the header on flash is outdated.
    pub(super) dirty: bool,
    /// True if the last page may hold stale bytes behind the end of the file.
    pub(super) stale_tail: bool,
    pub(super) target: String,
    pub(super) equivalent: u32,
    /// Hard links to this file.
    pub(super) links: BTreeSet<u32>,
    pub(super) attributes: Attributes,
}

impl Object {
    pub(super) fn new(kind: Type, parent: u32, name: &str) -> Self {
        Self {
            kind,
            parent,
            name: name.to_owned(),
            size: 0,
            stored_size: 0,
            time: 0,
            header: Ppa::NONE,
            chunks: Vec::new(),
            mapped: 0,
            deleted: false,
            dirty: false,
            stale_tail: false,
            target: String::new(),
            equivalent: 0,
            links: BTreeSet::new(),
            attributes: Attributes::default(),
        }
    }

    pub(super) fn from_header(header: Header, at: Ppa) -> Self {
        Self {
            size: header.size,
            stored_size: header.size,
            time: header.time,
            header: at,
            target: header.target,
            equivalent: header.equivalent,
            attributes: header.attributes,
            ..Self::new(header.kind, header.parent, &header.name)
        }
    }

    pub(super) fn header(&self, shadows: u32) -> Header {
        Header {
            kind: self.kind,
            parent: self.parent,
            size: self.size,
            time: self.time,
            equivalent: self.equivalent,
            shadows,
            name: self.name.clone(),
            target: self.target.clone(),
            attributes: self.attributes,
        }
    }

    /// The page of a chunk.
    pub(super) fn page(&self, chunk: u32) -> Ppa {
        self.chunks.get(chunk as usize - 1).copied().unwrap_or(Ppa::NONE)
    }

    /// Maps a chunk; returns its previous page.
    pub(super) fn map(&mut self, chunk: u32, to: Ppa) -> Ppa {
        let at = chunk as usize - 1;
        if self.chunks.len() <= at {
            self.chunks.resize(at + 1, Ppa::NONE);
        }
        let before = std::mem::replace(&mut self.chunks[at], to);
        self.mapped = self.mapped + u32::from(to.is_some()) - u32::from(before.is_some());
        before
    }

    /// Mapped chunks and their pages, ascending.
    pub(super) fn mapped_chunks(&self) -> impl Iterator<Item = (u32, Ppa)> + '_ {
        (1..).zip(&self.chunks).filter(|(_, page)| page.is_some()).map(|(chunk, &page)| (chunk, page))
    }
}

/// All objects, and the names in directories.
#[derive(Debug, Default)]
pub(super) struct Objects {
    table: BTreeMap<u32, Object>,
    names: BTreeMap<(u32, String), u32>,
    last: u32,
}

impl Objects {
    /// The root directory alone; it is never on flash.
    pub(super) fn new() -> Self {
        let mut objects = Self { last: FIRST - 1, ..Self::default() };
        objects.table.insert(ROOT, Object::new(Type::Directory, ROOT, ""));
        objects
    }

    pub(super) fn is_on_flash(number: u32) -> bool {
        number >= FIRST
    }

    pub(super) fn get(&self, number: u32) -> &Object {
        self.table.get(&number).expect("numbers come from the table")
    }

    pub(super) fn get_mut(&mut self, number: u32) -> &mut Object {
        self.table.get_mut(&number).expect("numbers come from the table")
    }

    pub(super) fn known(&self, number: u32) -> Option<&Object> {
        self.table.get(&number)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Object)> {
        self.table.iter().map(|(&number, object)| (number, object))
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    pub(super) fn numbers(&self) -> Vec<u32> {
        self.table.keys().copied().collect()
    }

    /// An unused object number; `None` if all are taken.
    pub(super) fn vacant(&self) -> Option<u32> {
        (self.last + 1..MAX_OBJECT).chain(FIRST..=self.last).find(|number| !self.table.contains_key(number))
    }

    /// Adds an object, and its name unless it is unlinked.
    pub(super) fn insert(&mut self, number: u32, object: Object) {
        self.last = number.max(FIRST - 1);
        if object.parent != UNLINKED {
            self.names.insert((object.parent, object.name.clone()), number);
        }
        self.table.insert(number, object);
    }

    pub(super) fn remove(&mut self, number: u32) {
        self.forget_name(number);
        self.table.remove(&number);
    }

    /// Removes the name if it still refers to this object.
    pub(super) fn forget_name(&mut self, number: u32) {
        let object = self.get(number);
        let key = (object.parent, object.name.clone());
        if self.names.get(&key) == Some(&number) {
            self.names.remove(&key);
        }
    }

    /// Renames an object; the new name then refers to it.
    pub(super) fn rename(&mut self, number: u32, parent: u32, name: &str) {
        self.forget_name(number);
        let object = self.get_mut(number);
        object.parent = parent;
        name.clone_into(&mut object.name);
        if parent != UNLINKED {
            self.names.insert((parent, name.to_owned()), number);
        }
    }

    pub(super) fn find(&self, directory: u32, name: &str) -> Option<u32> {
        self.names.get(&(directory, name.to_owned())).copied()
    }

    /// Names in a directory, ascending.
    pub(super) fn names_in(&self, directory: u32) -> impl Iterator<Item = (&str, u32)> {
        let range = (directory, String::new())..(directory + 1, String::new());
        self.names.range(range).map(|((_, name), &number)| (name.as_str(), number))
    }
}

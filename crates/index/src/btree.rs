//! A B+tree: records in leaves, sorted by key, over a buffer pool.
//!
//! ## Idea
//! Keys are byte strings in byte order (numbers are stored most significant byte first). Inner pages name the lowest
//! key for each child. An insert without room splits the page into two equal halves by bytes and puts a separator into
//! the page above; each leaf links to the next one. New page numbers ascend, but freed pages come first.
//!
//! ## Write path
//! `insert`, `update`, `put` and `delete` change one leaf in the pool, at most one more page for each level, and for a
//! split or merge the free list. Pages are written only when the pool needs a frame or the caller asks for a flush.
//!
//! ## Recovery
//! The header holds the root, the record count and the free list's head as at the last flush; the pool decides how much
//! survives a power cut (`pool.rs`).
//!
//! ## Invariants
//! [`Tree::check`] asserts: keys ascend within and between pages and lie between the separators above; all leaves have
//! level 0 and are linked in order; every inner page has children; each page ever given out is in the tree or in the
//! free list, once; the record count is as noted.
//!
//! ## Differences
//! A page less than a quarter full after a delete merges with a neighbour below the same parent if both fill at most
//! three quarters together. Single records never move between pages: this would write three pages and save none.
//! Textbooks merge at half full, but the next inserts split such pages again. Freeing only empty pages (Johnson and
//! Shasha show the small space cost) lets a scan read nearly empty pages. An empty page merges with any neighbour, and
//! stays only without one. Updates never merge.
//!
//! ## References
//! R. Bayer, E. McCreight: Organization and maintenance of large ordered indexes. Acta Informatica 1, 1972.
//! D. Comer: The ubiquitous B-tree. ACM Computing Surveys 11(2), 1979.
//! T. Johnson, D. Shasha: B-trees with inserts and deletes: why free-at-empty is better than merge-at-half. Journal
//! of Computer and System Sciences 47(1), 1993.

mod bulk;
mod check;
mod deltas;
mod fixed;
mod layout;
mod merge;
mod range;
mod records;
mod slotted;
mod split;

pub use check::Report;
pub use range::{Cursor, Record};
pub use records::{Config, FixedRecords, Records};

use crate::pool::{self, FrameId, Pool, Stats, META_BYTES};
use crate::IndexError;
use layout::{Head, Layout, Mode, Put, Span, FREE, NODE};
use nandlab_block::BlockDevice;
use nandlab_nand::Origin;

/// No page, in links.
const NO_PAGE: u32 = 0;
/// Bytes in a page number, the value in inner pages.
const LINK_BYTES: usize = 4;
/// More levels than any tree has: each level but the root has at least two pages for one above, mostly.
const MOST_LEVELS: u8 = 64;

/// A B+tree on a block device.
#[derive(Debug)]
pub struct Tree<'d> {
    pool: Pool<'d>,
    records_as: Records,
    leaf: Box<dyn Layout>,
    inner: Box<dyn Layout>,
    root: u32,
    /// Levels with pages; 1: the root is a leaf.
    levels: u8,
    records: u64,
    /// The free list's head and length.
    free: u32,
    free_pages: u32,
    /// Inner pages on the way to the leaf, the root first.
    path: Vec<u32>,
    /// Copies for pages being split or merged, and their records.
    scratch: Vec<u8>,
    spans: Vec<Span>,
    broken: bool,
}

impl<'d> Tree<'d> {
    /// An empty tree on a device whose contents are given up; it is there once this returns.
    ///
    /// # Errors
    /// [`IndexError::Option`], [`IndexError::Device`], [`IndexError::Full`].
    pub fn create(device: &'d mut dyn BlockDevice, config: &Config) -> Result<Self, IndexError> {
        config.check()?;
        let mut tree = Self::over(Pool::create(device, &config.pool)?, config.records);
        tree.root = tree.pool.add_page()?;
        let frame = tree.pool.renew(tree.root, Origin::INDEX_ROOT)?;
        tree.leaf.build(&mut tree.pool.page_mut(frame), Head { kind: NODE, level: 0, next: NO_PAGE }, &[], &[]);
        tree.flush()?;
        Ok(tree)
    }

    /// The tree as the last flush left it on the device.
    ///
    /// # Errors
    /// [`IndexError::NoIndex`], [`IndexError::Unclean`], [`IndexError::Mismatch`], [`IndexError::Damaged`], and as
    /// [`Self::create`].
    pub fn open(device: &'d mut dyn BlockDevice, config: &pool::Config) -> Result<Self, IndexError> {
        let pool = Pool::open(device, config)?;
        let meta = records::Meta::decode(pool.meta());
        let meta = meta.filter(|meta| (1..=MOST_LEVELS).contains(&meta.levels));
        let meta = meta.ok_or_else(|| IndexError::damaged(0, "the header describes no tree"))?;
        Config { pool: config.clone(), records: meta.records_as }.check()?;
        let mut tree = Self::over(pool, meta.records_as);
        (tree.root, tree.levels, tree.records) = (meta.root, meta.levels, meta.records);
        (tree.free, tree.free_pages) = (meta.free, meta.free_pages);
        Ok(tree)
    }

    fn over(pool: Pool<'d>, records_as: Records) -> Self {
        let (leaf, inner) = records_as.layouts(pool.page_bytes());
        Self {
            pool,
            records_as,
            leaf,
            inner,
            root: NO_PAGE,
            levels: 1,
            records: 0,
            free: NO_PAGE,
            free_pages: 0,
            path: Vec::new(),
            scratch: Vec::new(),
            spans: Vec::new(),
            broken: false,
        }
    }

    /// Makes everything so far survive (how far, without shadowing, see `pool.rs`).
    ///
    /// # Errors
    /// [`IndexError::Device`], [`IndexError::Full`], [`IndexError::Broken`].
    pub fn flush(&mut self) -> Result<(), IndexError> {
        let meta = self.meta();
        self.guarded(|tree| tree.pool.flush(&meta))
    }

    fn meta(&self) -> [u8; META_BYTES] {
        records::Meta {
            root: self.root,
            levels: self.levels,
            records: self.records,
            free: self.free,
            free_pages: self.free_pages,
            records_as: self.records_as,
        }
        .encode()
    }

    /// Records.
    pub fn len(&self) -> u64 {
        self.records
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Page levels; 1: the root is a leaf.
    pub fn levels(&self) -> u8 {
        self.levels
    }

    /// The record format.
    pub fn records_as(&self) -> Records {
        self.records_as
    }

    /// The pool's counts.
    pub fn stats(&self) -> &Stats {
        self.pool.stats()
    }

    /// The pool.
    pub fn pool(&self) -> &Pool<'d> {
        &self.pool
    }

    /// The pool, to set its time.
    pub fn pool_mut(&mut self) -> &mut Pool<'d> {
        &mut self.pool
    }

    /// The value for `key`.
    ///
    /// # Errors
    /// [`IndexError::Length`], [`IndexError::Device`], [`IndexError::Damaged`], [`IndexError::Broken`].
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, IndexError> {
        self.get_with(key, |value| value.map(<[u8]>::to_vec))
    }

    /// Calls `with` on the value in place.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn get_with<T>(&mut self, key: &[u8], with: impl FnOnce(Option<&[u8]>) -> T) -> Result<T, IndexError> {
        self.records_as.check_key(key)?;
        self.guarded(|tree| {
            let leaf = tree.descend(key)?;
            let frame = tree.node(leaf, 0)?;
            let page = tree.pool.page(frame);
            Ok(with(tree.leaf.find(page, key).map(|value| &page[value])))
        })
    }

    /// Adds a record; `false`, and no change, if the key exists.
    ///
    /// # Errors
    /// As [`Self::get`]; [`IndexError::Full`].
    pub fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        Ok(self.store(key, value, Mode::Insert)? == Put::Inserted)
    }

    /// Changes a key's value; `false`, and no change, if the key is missing.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn update(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        Ok(self.store(key, value, Mode::Update)? == Put::Replaced)
    }

    /// Adds a record or changes its value; `true` if the key existed.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        Ok(self.store(key, value, Mode::Upsert)? == Put::Replaced)
    }

    fn store(&mut self, key: &[u8], value: &[u8], mode: Mode) -> Result<Put, IndexError> {
        self.records_as.check_key(key)?;
        self.records_as.check_value(value)?;
        self.check_record(key, value)?;
        let levels = u32::from(self.levels);
        // Two pages for each level's split and for a new root; twice as many, so deletes find room afterwards.
        self.check_room(4 * levels + 8, (levels + 1).saturating_sub(self.free_pages))?;
        self.guarded(|tree| {
            let leaf = tree.descend(key)?;
            let frame = tree.node(leaf, 0)?;
            let mut put = tree.leaf.put(&mut tree.pool.page_mut(frame), key, value, mode);
            if put == Put::Full {
                put = tree.split_upwards(leaf, key, value)?;
            }
            tree.records += u64::from(put == Put::Inserted);
            Ok(put)
        })
    }

    fn check_record(&self, key: &[u8], value: &[u8]) -> Result<(), IndexError> {
        self.records_as.check_record(&*self.leaf, &*self.inner, key.len(), value.len())
    }

    fn check_room(&self, changed: u32, new: u32) -> Result<(), IndexError> {
        if self.pool.has_room(changed, new) {
            Ok(())
        } else {
            Err(self.pool.full())
        }
    }

    /// Deletes a record; `false` if the key is missing.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn delete(&mut self, key: &[u8]) -> Result<bool, IndexError> {
        self.records_as.check_key(key)?;
        // A merge at every level: two pages and their parent.
        self.check_room(3 * u32::from(self.levels) + 2, 0)?;
        self.guarded(|tree| {
            let leaf = tree.descend(key)?;
            let frame = tree.node(leaf, 0)?;
            if !tree.leaf.remove(&mut tree.pool.page_mut(frame), key) {
                return Ok(false);
            }
            tree.records -= 1;
            tree.merge_upwards(leaf)?;
            Ok(true)
        })
    }

    /// Runs an operation unless an earlier one failed half way, and remembers if this one does.
    #[inline]
    fn guarded<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T, IndexError>) -> Result<T, IndexError> {
        if self.broken {
            return Err(IndexError::Broken);
        }
        let result = run(self);
        self.broken = result.is_err();
        result
    }

    fn layout(&self, level: u8) -> &dyn Layout {
        if level == 0 {
            &*self.leaf
        } else {
            &*self.inner
        }
    }

    fn origin(&self, page: u32, level: u8) -> Origin {
        match (page == self.root, level) {
            (true, _) => Origin::INDEX_ROOT,
            (false, 0) => Origin::INDEX_LEAF,
            (false, _) => Origin::INDEX_INNER,
        }
    }

    /// Brings a tree page into a frame.
    #[inline]
    fn node(&mut self, page: u32, level: u8) -> Result<FrameId, IndexError> {
        let frame = self.pool.fetch(page, self.origin(page, level))?;
        let head = Head::of(self.pool.page(frame));
        if head.kind != NODE || head.level != level {
            let why = format!("a page of level {level} is due, found kind {:#04x} of level {}", head.kind, head.level);
            return Err(IndexError::damaged(page, why));
        }
        Ok(frame)
    }

    /// The leaf for `key`; [`Self::path`] holds the pages above it.
    #[inline]
    fn descend(&mut self, key: &[u8]) -> Result<u32, IndexError> {
        self.path.clear();
        let mut page = self.root;
        for level in (1..self.levels).rev() {
            let frame = self.node(page, level)?;
            let bytes = self.pool.page(frame);
            let link = self.inner.find_at_most(bytes, key);
            let link = link.ok_or_else(|| IndexError::damaged(page, "an inner page without children"))?;
            self.path.push(page);
            page = layout::number(bytes, link.start);
        }
        Ok(page)
    }

    /// A page for the tree: a free one, else a new one.
    fn allocate(&mut self) -> Result<u32, IndexError> {
        if self.free == NO_PAGE {
            return self.pool.add_page();
        }
        let page = self.free;
        let frame = self.pool.fetch(page, Origin::INDEX_HEADER)?;
        let head = Head::of(self.pool.page(frame));
        if head.kind != FREE || self.free_pages == 0 {
            return Err(IndexError::damaged(page, "it is in the list of free pages and no free page"));
        }
        self.free = head.next;
        self.free_pages -= 1;
        Ok(page)
    }

    /// Puts a page into the free list.
    fn release(&mut self, page: u32) -> Result<(), IndexError> {
        let frame = self.pool.renew(page, Origin::INDEX_HEADER)?;
        Head { kind: FREE, level: 0, next: self.free }.write(&mut self.pool.page_mut(frame), 0);
        self.free = page;
        self.free_pages += 1;
        Ok(())
    }

    /// Makes `page` a tree page with the records from `spans` in `source`; its old contents do not matter.
    fn build(&mut self, page: u32, level: u8, next: u32, spans: &[Span], source: &[u8]) -> Result<(), IndexError> {
        let frame = self.pool.renew(page, self.origin(page, level))?;
        let layout = if level == 0 { &*self.leaf } else { &*self.inner };
        layout.build(&mut self.pool.page_mut(frame), Head { kind: NODE, level, next }, spans, source);
        Ok(())
    }

    /// Appends a copy from `page` to `bytes` and its records to `spans`.
    fn copy(&mut self, page: u32, level: u8, bytes: &mut Vec<u8>, spans: &mut Vec<Span>) -> Result<Head, IndexError> {
        let frame = self.node(page, level)?;
        let (start, first) = (bytes.len(), spans.len());
        bytes.extend_from_slice(self.pool.page(frame));
        self.layout(level).spans(&bytes[start..], spans);
        for span in &mut spans[first..] {
            span.key = start + span.key.start..start + span.key.end;
            span.value = start + span.value.start..start + span.value.end;
        }
        Ok(Head::of(&bytes[start..]))
    }
}

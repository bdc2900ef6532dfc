//! A B+tree: records in leaves, sorted by key, over a buffer pool.
//!
//! ## Idea
//! Keys are byte strings in the order of their bytes (numbers are stored most significant byte first). Inner pages
//! name, for each child, the lowest key that belongs to it. An insert that finds no room splits the page into two
//! halves of equal bytes and puts a separator into the page above; each leaf knows the next one. Page numbers are
//! given out in the order of need, freed pages again first.
//!
//! ## Write path
//! `insert`, `update`, `put` and `delete` change one leaf in the pool, at most one more page for each level, and for
//! a split or merge the list of free pages. Nothing is written before the pool needs a frame or the caller asks for a
//! flush.
//!
//! ## Recovery
//! The header holds the root, the number of records and the head of the list of free pages as of the last flush; what
//! survives a power cut is up to the pool (`pool.rs`).
//!
//! ## Invariants
//! What [`Tree::check`] asserts: keys ascend within and between pages and lie between the separators above; all
//! leaves have level 0 and are linked in order; no inner page is without children; each page ever given out is in the tree or in the list of free pages, once; the number of records is as noted.
//!
//! ## Differences
//! A delete that leaves a page less than a quarter full merges it with a neighbour below the same parent if both fill
//! at most three quarters of a page, and never moves single records between pages: that would write three pages and
//! save none. Merging at half full, as textbooks have it, makes pages that the next inserts split again; freeing
//! only empty pages (Johnson and Shasha, who show that it costs little space) lets a scan read nearly empty pages. An
//! empty page merges with any neighbour, and stays only where it has none. Updates never merge.
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
/// Bytes of a page number, the value in inner pages.
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
    /// The list of free pages and its length.
    free: u32,
    free_pages: u32,
    /// Inner pages on the way to the leaf, the root first.
    path: Vec<u32>,
    /// Copies of pages that are split or merged, and the records in them.
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

    /// The tree that the last flush left on the device.
    ///
    /// # Errors
    /// [`IndexError::NoIndex`], [`IndexError::Unclean`], [`IndexError::Mismatch`], [`IndexError::Damaged`],
    /// and those of [`Self::create`].
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

    /// Levels of pages; 1: the root is a leaf.
    pub fn levels(&self) -> u8 {
        self.levels
    }

    /// What records are like.
    pub fn records_as(&self) -> Records {
        self.records_as
    }

    /// What the pool did.
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

    /// The value of `key`.
    ///
    /// # Errors
    /// [`IndexError::Length`], [`IndexError::Device`], [`IndexError::Damaged`], [`IndexError::Broken`].
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, IndexError> {
        self.get_with(key, |value| value.map(<[u8]>::to_vec))
    }

    /// Calls `with` with the value of `key`, where it lies.
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

    /// Adds a record; `false`, and nothing is changed, where the key is there.
    ///
    /// # Errors
    /// As [`Self::get`]; [`IndexError::Full`].
    pub fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        Ok(self.store(key, value, Mode::Insert)? == Put::Inserted)
    }

    /// Changes the value of a key; `false`, and nothing is changed, where the key is not there.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn update(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        Ok(self.store(key, value, Mode::Update)? == Put::Replaced)
    }

    /// Adds a record or changes its value; `true` where the key was there.
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
        // A split of every level and a new root: two pages each; twice as many, so that deletes find room after it.
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

    /// Takes a record away; `false` where the key is not there.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn delete(&mut self, key: &[u8]) -> Result<bool, IndexError> {
        self.records_as.check_key(key)?;
        // A merge of every level: two pages and the one above, where they are named.
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

    /// Brings a page of the tree into a frame.
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

    /// The leaf that `key` belongs to; [`Self::path`] holds the pages above it.
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

    /// Puts a page into the list of free pages.
    fn release(&mut self, page: u32) -> Result<(), IndexError> {
        let frame = self.pool.renew(page, Origin::INDEX_HEADER)?;
        Head { kind: FREE, level: 0, next: self.free }.write(&mut self.pool.page_mut(frame), 0);
        self.free = page;
        self.free_pages += 1;
        Ok(())
    }

    /// Makes `page`, whose contents do not matter, a page of the tree with the records of `spans` in `source`.
    fn build(&mut self, page: u32, level: u8, next: u32, spans: &[Span], source: &[u8]) -> Result<(), IndexError> {
        let frame = self.pool.renew(page, self.origin(page, level))?;
        let layout = if level == 0 { &*self.leaf } else { &*self.inner };
        layout.build(&mut self.pool.page_mut(frame), Head { kind: NODE, level, next }, spans, source);
        Ok(())
    }

    /// Appends a copy of `page` to `bytes` and its records to `spans`.
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

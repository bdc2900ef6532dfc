//! The short-op cache: pages of which a part was read or written.
//!
//! A read of a part of a chunk goes through the cache, and so does each write; the code of 2007 writes a whole chunk past
//! it. The least recently used page makes room and is written first if it is dirty; in the code of 2007 all dirty pages of
//! its file are. There, a page that is written back leaves the cache; later it stays until its file is closed. A file's pages
//! go to flash in the order of their places in the cache; in the code of 2007 in the order of the file.

/// A cached page.
#[derive(Debug)]
struct Entry<B> {
    object: u32,
    chunk: u32,
    page: B,
    /// Its place in the cache.
    slot: usize,
    /// True if the page differs from flash.
    dirty: bool,
}

/// Bytes of a cached page's entry on a machine of 32 bits: pointers to the object and to the page, chunk, time of the
/// last use, flags for dirty and locked, and a byte count, of four bytes each.
const ENTRY_BYTES: u64 = 28;

/// Cached pages by last use, oldest first.
#[derive(Debug)]
pub(super) struct Cache<B> {
    entries: Vec<Entry<B>>,
    pages: usize,
}

impl<B: Clone> Cache<B> {
    pub(super) fn new(pages: u32) -> Self {
        Self { entries: Vec::new(), pages: pages as usize }
    }

    pub(super) fn is_off(&self) -> bool {
        self.pages == 0
    }

    pub(super) fn is_full(&self) -> bool {
        self.entries.len() >= self.pages
    }

    /// Bytes of RAM for pages of `page_bytes` bytes.
    pub(super) fn ram_bytes(&self, page_bytes: u64) -> u64 {
        self.pages as u64 * (page_bytes + ENTRY_BYTES)
    }

    fn position(&self, object: u32, chunk: u32) -> Option<usize> {
        self.entries.iter().position(|entry| entry.object == object && entry.chunk == chunk)
    }

    /// The page of a chunk; marks it as most recently used.
    pub(super) fn get(&mut self, object: u32, chunk: u32) -> Option<&mut B> {
        let at = self.position(object, chunk)?;
        let entry = self.entries.remove(at);
        self.entries.push(entry);
        self.entries.last_mut().map(|entry| &mut entry.page)
    }

    pub(super) fn holds(&self, object: u32, chunk: u32) -> bool {
        self.position(object, chunk).is_some()
    }

    /// Puts a clean page in.
    pub(super) fn insert(&mut self, object: u32, chunk: u32, page: B) {
        debug_assert!(!self.holds(object, chunk) && !self.is_full(), "there is room for one copy");
        let is_free = |&slot: &usize| self.entries.iter().all(|entry| entry.slot != slot);
        let slot = (0..self.pages).find(is_free).expect("the cache is not full");
        self.entries.push(Entry { object, chunk, page, slot, dirty: false });
    }

    pub(super) fn set_dirty(&mut self, object: u32, chunk: u32) {
        self.mark(object, chunk, true);
    }

    pub(super) fn set_clean(&mut self, object: u32, chunk: u32) {
        self.mark(object, chunk, false);
    }

    fn mark(&mut self, object: u32, chunk: u32, dirty: bool) {
        if let Some(at) = self.position(object, chunk) {
            self.entries[at].dirty = dirty;
        }
    }

    /// The least recently used page; true if it is dirty.
    pub(super) fn oldest(&self) -> Option<(u32, u32, bool)> {
        self.entries.first().map(|entry| (entry.object, entry.chunk, entry.dirty))
    }

    /// The dirty chunk of an object in the first place.
    pub(super) fn first_dirty(&self, object: u32) -> Option<u32> {
        self.dirty_of(object).min_by_key(|entry| entry.slot).map(|entry| entry.chunk)
    }

    /// The lowest dirty chunk of an object.
    pub(super) fn lowest_dirty(&self, object: u32) -> Option<u32> {
        self.dirty_of(object).map(|entry| entry.chunk).min()
    }

    fn dirty_of(&self, object: u32) -> impl Iterator<Item = &Entry<B>> {
        self.entries.iter().filter(move |entry| entry.dirty && entry.object == object)
    }

    /// All dirty chunks.
    pub(super) fn dirty(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.entries.iter().filter(|entry| entry.dirty).map(|entry| (entry.object, entry.chunk))
    }

    /// Drops an object's chunks.
    pub(super) fn drop_object(&mut self, object: u32) {
        self.entries.retain(|entry| entry.object != object);
    }

    pub(super) fn drop_chunk(&mut self, object: u32, chunk: u32) {
        self.entries.retain(|entry| entry.object != object || entry.chunk != chunk);
    }
}

//! What an FTL did, counted.

/// An FTL's events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Events {
    /// Victim blocks collected.
    pub gc_runs: u64,
    /// Collected victims without a valid page: they were erased, and nothing moved or merged for them.
    pub empty_gc_runs: u64,
    /// Victims chosen in a gap between requests.
    pub idle_gc_runs: u64,
    /// Copies, erases and looks at spare areas carried out in gaps between requests.
    pub idle_steps: u64,
    /// Blocks emptied to even out wear.
    pub wear_moves: u64,
    /// Blocks rewritten since their bit errors came near the ECC's limit.
    pub refreshes: u64,
    /// Log blocks turned into data blocks as they were.
    pub switch_merges: u64,
    /// Log blocks completed.
    pub partial_merges: u64,
    /// Data blocks gathered anew.
    pub full_merges: u64,
    /// Log blocks renewed by moving their valid pages.
    pub migrations: u64,
    /// Blocks retired after a failure.
    pub retired_blocks: u64,
    /// Pages with contents lost to bit errors during a move.
    pub lost_pages: u64,
    /// Paged-map entries, or units, found in memory when asked for.
    pub map_hits: u64,
    /// Entries or units read from flash, or never written there.
    pub map_misses: u64,
    /// Entries or units written to flash before they left memory.
    pub map_dirty_evictions: u64,
    /// Host reads of a page that had to read its map page, or a wrong page, from flash first.
    pub map_double_reads: u64,
    /// Victim blocks with map pages.
    pub map_gc_runs: u64,
    /// Map pages moved for their collection.
    pub map_gc_copies: u64,
    /// Logical pages with scattered sectors, put together by garbage collection.
    pub folded_pages: u64,
    /// Host pages written to blocks with one bit per cell.
    pub slc_pages: u64,
    /// Host pages written past these blocks for lack of room.
    pub slc_direct_pages: u64,
    /// Blocks with one bit per cell emptied to have room in them again.
    pub slc_folds: u64,
}

impl Events {
    /// Both together.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            gc_runs: self.gc_runs + other.gc_runs,
            empty_gc_runs: self.empty_gc_runs + other.empty_gc_runs,
            idle_gc_runs: self.idle_gc_runs + other.idle_gc_runs,
            idle_steps: self.idle_steps + other.idle_steps,
            wear_moves: self.wear_moves + other.wear_moves,
            refreshes: self.refreshes + other.refreshes,
            switch_merges: self.switch_merges + other.switch_merges,
            partial_merges: self.partial_merges + other.partial_merges,
            full_merges: self.full_merges + other.full_merges,
            migrations: self.migrations + other.migrations,
            retired_blocks: self.retired_blocks + other.retired_blocks,
            lost_pages: self.lost_pages + other.lost_pages,
            map_hits: self.map_hits + other.map_hits,
            map_misses: self.map_misses + other.map_misses,
            map_dirty_evictions: self.map_dirty_evictions + other.map_dirty_evictions,
            map_double_reads: self.map_double_reads + other.map_double_reads,
            map_gc_runs: self.map_gc_runs + other.map_gc_runs,
            map_gc_copies: self.map_gc_copies + other.map_gc_copies,
            folded_pages: self.folded_pages + other.folded_pages,
            slc_pages: self.slc_pages + other.slc_pages,
            slc_direct_pages: self.slc_direct_pages + other.slc_direct_pages,
            slc_folds: self.slc_folds + other.slc_folds,
        }
    }
}

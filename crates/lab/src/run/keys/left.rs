//! What an index leaves for the record.

use crate::record::{IndexRecord, LsmRecord, PageKinds, PoolRecord};
use nandlab_index::pool::PagesByKind;
use nandlab_index::{btree, lsm, IndexError};

pub(super) fn of_btree(tree: &mut btree::Tree<'_>, record: &mut IndexRecord) {
    let stats = *tree.stats();
    let pool = tree.pool();
    record.pool = PoolRecord {
        frames: pool.frames(),
        bytes: u64::from(pool.frames()) * pool.page_bytes() as u64,
        hits: stats.hits,
        misses: stats.misses,
        evictions: stats.evictions,
        write_backs: stats.write_backs,
        flushed: stats.flushed,
    };
    record.page_reads = page_kinds(&stats.page_reads);
    record.page_writes = page_kinds(&stats.page_writes);
    (record.records, record.height) = (tree.len(), tree.levels());
    match tree.check() {
        Ok(walk) => {
            record.leaves = Some(walk.leaves);
            record.inner_pages = Some(walk.inner);
            record.free_pages = Some(walk.free);
            record.leaf_fill = Some(walk.leaf_fill);
            record.inner_fill = (walk.inner > 0).then_some(walk.inner_fill);
        }
        Err(IndexError::Broken) => {}
        Err(error) => panic!("the index is not what it must be: {error}"),
    }
}

pub(super) fn of_lsm(tree: &mut lsm::Tree<'_>, record: &mut IndexRecord) {
    let (stats, levels) = (tree.stats(), tree.levels());
    let mut lsm = LsmRecord::of(&stats, &levels);
    lsm.table_memory_bytes = tree.table_memory_bytes();
    record.height = levels.iter().filter(|(tables, _)| *tables > 0).count() as u8;
    match tree.check() {
        Ok(walk) => {
            record.records = walk.records;
            lsm.space_amplification = walk.space_amplification();
        }
        Err(IndexError::Broken) => {}
        Err(error) => panic!("the index is not what it must be: {error}"),
    }
    record.lsm = Some(lsm);
}

fn page_kinds(pages: &PagesByKind) -> PageKinds {
    let PagesByKind { leaf, inner, root, header } = *pages;
    PageKinds { leaf, inner, root, header, total: pages.total() }
}

//! Reads blocks at mount: all spare areas, and in full the pages that a power cut may have torn.
//!
//! The page programmed last in a block may be torn. So may a page right below one with the resumed mark, and every page
//! in a block with an unreadable one, which may have carried that mark. Page maps set this mark (`parts/engine`).
//!
//! On a chip with unstable pages a last page that reads well may be unstable. A mount notes the youngest of them
//! ([`nandlab_nand::Ctx::doubt`]) and writes them again. One program a die was under way at the cut. Mounts that were cut may have programmed a few pages since.

use super::frontier::{has_cycles, RESUMED, SLC};
use crate::parts::trim_note;
use crate::FtlError;
use nandlab_nand::{BlockId, Cause, Doubted, Geometry, Kind, Lpn, Nand, NandError, Oob, PageBuf, Ppa};

/// Set in `aux` of the last page of a merge.
pub(crate) const COMPLETE: u16 = 2;

/// Position in `aux` of a merge's logical-block size, in pages.
const SPAN: u32 = 2;

/// `aux` of a page gathered by a merge in logical blocks of `span` pages; a flash block has 2^14 - 1 pages at most.
#[inline]
pub(crate) fn gathered(span: u32) -> u16 {
    (span << SPAN) as u16
}

/// The logical-block size, in pages, for a page gathered by a merge; 0 for any other page.
pub(crate) fn merge_span(oob: Oob) -> u32 {
    u32::from(oob.aux >> SPAN)
}

/// Tells a flash map's pages from another FTL's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapForm {
    /// `aux` of its pages, without [`Self::MARKS`].
    pub(crate) tag: u16,
    /// Map pages in the map.
    pub(crate) pages: u32,
}

impl MapForm {
    /// Bits of `aux` with another meaning than the map's tag.
    pub(crate) const MARKS: u16 = RESUMED | Self::LOST;
    /// Set on a page in place of a map page lost to bit errors.
    pub(crate) const LOST: u16 = 1 << 14;
}

/// A readable page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    pub(crate) place: u32,
    pub(crate) oob: Oob,
}

/// A block as found by a mount.
#[derive(Debug)]
pub(crate) struct BlockScan {
    /// The whole pages, in program order.
    pub(crate) pages: Vec<Page>,
    /// Pages up to the last one that is not erased.
    pub(crate) used: u32,
    /// Whether an erased page lies below a programmed one; a torn erase may do this.
    gaps: bool,
    /// The highest sequence number, torn pages included, so that it is not given out again.
    pub(crate) highest: u64,
}

impl BlockScan {
    /// Whether pages are left above the last programmed one. The next one may have a cut program and read as erased all the
    /// same, so mounts close the block.
    pub(crate) fn is_open(&self, geometry: &Geometry) -> bool {
        !self.gaps && self.used < geometry.pages_per_block()
    }

    /// The cause for erasing a free block before its first page: `stale` if it holds pages that count no more.
    pub(crate) fn erase_cause(&self, stale: Cause) -> Cause {
        if self.used == 0 {
            Cause::Reerase
        } else {
            stale
        }
    }

    /// Whether a page marks the block as holding one bit per cell.
    pub(crate) fn is_slc(&self) -> bool {
        self.copies().any(|page| page.oob.aux & SLC != 0)
    }

    /// Whether an erased page lies below a programmed one.
    pub(crate) fn has_gaps(&self) -> bool {
        self.gaps
    }

    /// The host's pages.
    pub(crate) fn copies(&self) -> impl Iterator<Item = &Page> {
        self.pages.iter().filter(|page| matches!(page.oob.kind, Kind::Data | Kind::Lost))
    }

    /// The map pages.
    pub(crate) fn map_pages(&self) -> impl Iterator<Item = &Page> {
        self.pages.iter().filter(|page| page.oob.kind == Kind::Map)
    }

    /// The trim notes.
    pub(crate) fn notes(&self) -> impl Iterator<Item = &Page> {
        self.pages.iter().filter(|page| page.oob.kind == Kind::TrimNote)
    }
}

/// All blocks as found by a mount; `None`: a bad one.
#[derive(Debug)]
pub(crate) struct Scans {
    /// By block; empty for an untouched device.
    found: Vec<Option<BlockScan>>,
    /// Blocks of an untouched device, else none.
    untouched: usize,
    /// Whether every page is known to be erased. A device that only reads as erased may have a page with a cut program.
    is_blank: bool,
}

/// A block without any page.
static ERASED: Option<BlockScan> = Some(BlockScan { pages: Vec::new(), used: 0, gaps: false, highest: 0 });

impl Scans {
    /// Whether the mount did not look, because the device knows that nothing was ever programmed.
    pub(crate) fn are_untouched(&self) -> bool {
        self.untouched > 0
    }

    /// Whether every page is known to be erased, so blocks need no erase before their first page.
    pub(crate) fn are_blank(&self) -> bool {
        self.is_blank
    }

    /// The number of blocks.
    pub(crate) fn len(&self) -> usize {
        self.found.len() + self.untouched
    }

    pub(crate) fn iter(&self) -> Iter<'_> {
        self.found.iter().chain(std::iter::repeat_n(&ERASED, self.untouched))
    }

    /// The blocks that hold something.
    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Option<BlockScan>> {
        self.found.iter_mut()
    }

    /// The highest sequence number on flash, torn pages included; 0 on an empty device.
    pub(crate) fn highest(&self) -> u64 {
        self.found.iter().flatten().map(|scan| scan.highest).max().unwrap_or(0)
    }
}

type Iter<'a> = std::iter::Chain<std::slice::Iter<'a, Option<BlockScan>>, std::iter::RepeatN<&'a Option<BlockScan>>>;

impl<'a> IntoIterator for &'a Scans {
    type Item = &'a Option<BlockScan>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl std::ops::Index<usize> for Scans {
    type Output = Option<BlockScan>;

    fn index(&self, block: usize) -> &Option<BlockScan> {
        if self.are_untouched() {
            &ERASED
        } else {
            &self.found[block]
        }
    }
}

impl From<Vec<Option<BlockScan>>> for Scans {
    fn from(found: Vec<Option<BlockScan>>) -> Self {
        Self { found, untouched: 0, is_blank: false }
    }
}

/// Reads every block. On a device that knows that it is untouched the reads are counted and not made.
pub(crate) fn scan<N: Nand>(nand: &mut N) -> Result<Scans, FtlError> {
    scan_in(nand, |page| page.oob.seq.0)
}

/// The same if blocks are filled page by page: a page's place tells when it was programmed, since its sequence number
/// may be older.
pub(crate) fn scan_ascending<N: Nand>(nand: &mut N) -> Result<Scans, FtlError> {
    scan_in(nand, |page| page.place.into())
}

fn scan_in<N: Nand>(nand: &mut N, order: fn(&Page) -> u64) -> Result<Scans, FtlError> {
    let blocks = nand.geometry().blocks();
    if nand.read_untouched() {
        return Ok(Scans { found: Vec::new(), untouched: blocks as usize, is_blank: true });
    }
    let is_erased = nand.is_known_erased();
    let found: Result<Vec<_>, _> = (0..blocks).map(|block| scan_block(nand, BlockId(block), order)).collect();
    let found = found?;
    if nand.ctx().reads_again() > 0 {
        doubt(nand, &found);
    }
    let is_blank = is_erased && found.iter().flatten().all(|scan| scan.used == 0);
    Ok(Scans { found, untouched: 0, is_blank })
}

/// Notes the blocks' last pages, if they are the host's, no newer copy is known, and few pages are younger.
fn doubt<N: Nand>(nand: &mut N, found: &[Option<BlockScan>]) {
    let geometry = *nand.geometry();
    let highest = found.iter().flatten().map(|scan| scan.highest).max().unwrap_or(0);
    let since = highest.saturating_sub(u64::from(geometry.pages_per_block() + geometry.dies()));
    let last = found.iter().flatten().filter_map(|scan| scan.pages.last()).map(|page| page.oob);
    let young = last.filter(|oob| oob.seq.0 > since && matches!(oob.kind, Kind::Data | Kind::Sectors));
    let (mut doubted, gathered): (Vec<Oob>, Vec<Oob>) = young.partition(|oob| oob.kind == Kind::Data);
    doubted.sort_unstable_by_key(|oob| (oob.lpn, std::cmp::Reverse(oob.seq)));
    doubted.dedup_by_key(|oob| oob.lpn);
    let mut is_replaced = vec![false; doubted.len()];
    for copy in found.iter().flatten().flat_map(BlockScan::copies).map(|page| page.oob) {
        if let Ok(place) = doubted.binary_search_by_key(&copy.lpn, |oob| oob.lpn) {
            is_replaced[place] |= copy.seq > doubted[place].seq;
        }
    }
    let newest = doubted.into_iter().zip(is_replaced).filter(|one| !one.1).map(|one| one.0);
    let gathered = gathered.into_iter().map(|oob| Oob { lpn: Lpn::NONE, ..oob });
    newest.chain(gathered).for_each(|Oob { lpn, seq, origin, .. }| nand.ctx().doubt(Doubted { lpn, seq, origin }));
}

fn scan_block<N: Nand>(nand: &mut N, block: BlockId, order: fn(&Page) -> u64) -> Result<Option<BlockScan>, FtlError> {
    let geometry = *nand.geometry();
    let mut scan = BlockScan { pages: Vec::new(), used: 0, gaps: false, highest: 0 };
    let mut unreadable = false;
    for place in 0..geometry.pages_per_block() {
        match nand.read_spare(geometry.page(block, place)) {
            Err(NandError::BadBlock(_)) => return Ok(None),
            Ok(None) => continue,
            Ok(Some(oob)) => scan.pages.push(Page { place, oob }),
            Err(NandError::Uncorrectable(_)) => unreadable = true,
            Err(error) => return Err(error.into()),
        }
        scan.gaps |= place > scan.used;
        scan.used = place + 1;
    }
    scan.pages.sort_unstable_by_key(order);
    scan.highest = scan.pages.iter().map(|page| page.oob.seq.0).max().unwrap_or(0);
    let mut whole = Vec::with_capacity(scan.pages.len());
    let mut contents = None;
    for (at, &page) in scan.pages.iter().enumerate() {
        // This page was the last one before a power cut, the latest or an earlier one: the next page has the resumed
        // mark, or is unreadable and may have had it.
        let suspect = unreadable || scan.pages.get(at + 1).is_none_or(|next| next.oob.aux & RESUMED != 0);
        let at = geometry.page(block, page.place);
        // A flushed page counts though it is damaged: its reads fail.
        if !suspect || reads(nand, at, &mut contents)? || nand.is_settled(at) {
            whole.push(page);
        }
    }
    scan.pages = whole;
    Ok(Some(scan))
}

fn reads<N: Nand>(nand: &mut N, at: Ppa, contents: &mut Option<N::Buf>) -> Result<bool, FtlError> {
    let page_bytes = nand.geometry().page_bytes();
    match nand.read(at, contents.get_or_insert_with(|| N::Buf::zeroed(page_bytes))) {
        Ok(_) => Ok(true),
        Err(NandError::Uncorrectable(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Removes pages that gather sectors from several logical pages from the scans, and returns them. Pages with bits in
/// `aux` outside `marks` are another FTL's; they stay for [`refuse_foreign`].
pub(crate) fn take_listed(scans: &mut Scans, marks: u16) -> Vec<(BlockId, Page)> {
    let is_listed = |page: &Page| page.oob.kind == Kind::Sectors && page.oob.aux & !marks == 0;
    let mut listed = Vec::new();
    for (block, scan) in
        (0..).map(BlockId).zip(scans.iter_mut()).filter_map(|(block, scan)| Some((block, scan.as_mut()?)))
    {
        listed.extend(scan.pages.iter().filter(|page| is_listed(page)).map(|&page| (block, page)));
        scan.pages.retain(|page| !is_listed(page));
    }
    listed
}

/// Removes blank pages from the scans; they stand only above lower pages of pairs.
pub(crate) fn drop_blank(scans: &mut Scans) {
    let is_blank = |page: &Page| page.oob.kind == Kind::Deleted && page.oob.lpn == Lpn::NONE;
    scans.iter_mut().flatten().for_each(|scan| scan.pages.retain(|page| !is_blank(page)));
}

/// Refuses flash that `ftl` would misread, because another FTL, capacity or option set wrote it.
///
/// `span` is the logical-block size in pages, if the FTL merges such blocks and keeps notes in blocks apart. `map` is
/// the form of its map on flash, if that map records trims.
///
/// Accepted are host pages, since the newest copy counts for every FTL; trim notes; merges with the same logical
/// blocks; and padding and block-map pages, which every block-mapped FTL ignores. Where pages may lie is checked by the
/// FTL.
pub(crate) fn refuse_foreign(
    geometry: &Geometry,
    logical_pages: u32,
    scans: &Scans,
    ftl: &str,
    (span, map): (Option<u32>, Option<MapForm>),
) -> Result<(), FtlError> {
    for (block, scan) in (0..).map(BlockId).zip(scans) {
        let Some(scan) = scan else { continue };
        for &Page { place, oob } in &scan.pages {
            if let Some(why) = foreign(geometry, logical_pages, oob, ftl, (span, map)) {
                return Err(FtlError::Config(format!("page {} {why}", geometry.page(block, place))));
            }
        }
        if span.is_some() && scan.notes().next().is_some() && scan.copies().next().is_some() {
            return Err(FtlError::Config(format!(
                "block {block} holds notes of trims among pages of the host: the device was used by another FTL than {ftl}"
            )));
        }
    }
    Ok(())
}

/// Why the FTL would misread a page.
fn foreign(
    geometry: &Geometry,
    logical_pages: u32,
    oob: Oob,
    ftl: &str,
    (span, map): (Option<u32>, Option<MapForm>),
) -> Option<String> {
    let lpn = oob.lpn;
    if oob.seq.0 == 0 {
        return Some("carries no sequence number: a lean device that was written cannot be mounted again".into());
    }
    let limit = match oob.kind {
        Kind::Data | Kind::Lost => logical_pages,
        Kind::Map if map.is_some_and(|map| oob.aux & !MapForm::MARKS == map.tag) => map.map_or(0, |map| map.pages),
        Kind::TrimNote if map.is_none() => trim_note::segments(geometry, logical_pages),
        // Padding below a page on a chip without gaps, or a block-map page, which no mount needs.
        Kind::Deleted | Kind::Map if span.is_some() => u32::MAX,
        kind => return Some(format!("is of kind {kind:?}: the device was used by another FTL than {ftl}")),
    };
    if lpn.0 >= limit {
        let what = match oob.kind {
            Kind::TrimNote => "notes the trims of segment",
            Kind::Map => "holds map page",
            _ => "holds logical page",
        };
        return Some(format!(
            "{what} {lpn} and {logical_pages} logical pages are exported: the device was used with a larger capacity"
        ));
    }
    match merge_span(oob) {
        _ if oob.kind == Kind::Map && map.is_some() => None,
        0 => None,
        pages if span == Some(pages) => None,
        // The page map stores its block's erase count there, and never completes merges.
        _ if span.is_none() && oob.aux & COMPLETE == 0 => None,
        _ if has_cycles(oob.aux) => {
            Some(format!("carries the erases of its block, which {ftl} does not: the device was used by another FTL"))
        }
        pages => Some(format!(
            "is of a merge in logical blocks of {pages} pages, which {ftl} does not have: the device was used by \
             another FTL or with other options"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::blocks::frontier::Frontier;
    use nandlab_nand::{Origin, Seq};

    /// The error for a block with these pages, on a device with notes for 4032 pages and 4000 exported ones.
    fn refused(span: Option<u32>, pages: &[Oob]) -> String {
        let geometry = Geometry::single_die(600, 8, 512).unwrap();
        let pages: Vec<Page> = (0..).zip(pages).map(|(place, &oob)| Page { place, oob }).collect();
        let scan = BlockScan { used: pages.len() as u32, pages, gaps: false, highest: 9 };
        match refuse_foreign(&geometry, 4000, &Scans::from(vec![None, Some(scan)]), "fast", (span, None)) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_would_be_misread_is_refused_with_a_sentence() {
        let page = |lpn, kind, aux| Oob { kind, aux, ..Oob::data(Lpn(lpn), Seq(7), Origin::HOST) };
        let (data, note) = (page(3999, Kind::Data, 0), page(0, Kind::TrimNote, 0));
        let merged = page(0, Kind::Data, gathered(8) | COMPLETE);
        for (span, taken) in [
            (None, &[data, note, page(9, Kind::Lost, RESUMED)][..]),
            (Some(8), &[data, merged, page(9, Kind::Deleted, 0), page(9, Kind::Map, 0)]),
            (Some(8), &[note, note]),
        ] {
            assert_eq!(refused(span, taken), "");
        }
        // An erase count of eight is not a merge in logical blocks of eight pages.
        let block = BlockId(0);
        let erased = Frontier::at_start(&Geometry::single_die(1, 8, 512).unwrap(), block).with_cycles(8).take().1;
        assert_eq!(refused(None, &[page(0, Kind::Data, erased)]), "");
        let larger = "the device was used with a larger capacity";
        for (span, page, why) in [
            (None, page(4000, Kind::Data, 0), larger),
            (Some(8), page(4000, Kind::Lost, 0), larger),
            (None, page(1, Kind::TrimNote, 0), larger),
            (Some(8), page(1, Kind::TrimNote, 0), larger),
            (None, merged, "is of a merge in logical blocks of 8 pages, which fast does not have"),
            (Some(4), merged, "is of a merge in logical blocks of 8 pages, which fast does not have"),
            (Some(8), page(0, Kind::Data, erased), "carries the erases of its block, which fast does not"),
            (None, page(0, Kind::Deleted, 0), "is of kind Deleted"),
            (None, page(0, Kind::Map, 0), "is of kind Map"),
            (Some(8), page(0, Kind::Header, 0), "is of kind Header"),
            (Some(8), Oob { seq: Seq(0), ..data }, "a lean device that was written cannot be mounted again"),
        ] {
            let found = refused(span, &[data, page]);
            assert!(found.contains("page 9 ") && found.contains(why), "{found}");
        }
        assert!(refused(Some(8), &[note, data]).contains("block 1 holds notes of trims among pages of the host"));
    }

    #[test]
    fn the_longest_logical_block_has_its_mark() {
        let oob = |aux| Oob { aux, ..Oob::data(Lpn(0), Seq(1), Origin::HOST) };
        let longest = Geometry::MAX_PAGES_PER_BLOCK;
        assert_eq!(merge_span(oob(gathered(longest) | COMPLETE | RESUMED)), longest);
        assert_eq!(merge_span(oob(COMPLETE | RESUMED)), 0);
    }
}

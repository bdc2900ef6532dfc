//! Where a zone's pages lie.

use crate::parts::blocks::scan::COMPLETE;
use crate::{error, FtlError};
use nandlab_block::ByteCount;
use nandlab_nand::{Geometry, Oob, Ppa};

/// Options of a zoned device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ZoneOptions {
    /// Blocks of a zone on each of its dies, at least 1. Default 1.
    pub blocks_per_die: u32,
    /// Dies over which a zone's pages are striped; they divide the device's dies. 0 is all of them. Default 0.
    pub dies: u32,
    /// Consecutive pages of a zone that one die takes, 1 to a block's; as many as the die programs at once, in a drive that
    /// programs several. Default 1.
    #[serde(skip_serializing_if = "is_one")]
    pub pages_per_die: u32,
    /// Bytes that can be written to a zone, a whole number of pages. All that its blocks hold unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<ByteCount>,
    /// Bytes from one zone's start to the next one's, a whole number of pages and at least the capacity. The capacity unless
    /// given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<ByteCount>,
    /// Most zones that are open at a time; 0 is no limit. Default 0.
    pub max_open: u32,
    /// Most zones that are open or closed at a time; 0 is no limit. Default 0.
    pub max_active: u32,
    /// Bytes behind a write pointer that the host may write in any order, and again, if it opens the zone for that (NVMe's
    /// Zone Random Write Area), a whole number of pages; for `ftl.zns`. No zone has such an area unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub random_write_area: Option<ByteCount>,
    /// Bytes by which a write pointer moves when a part of the area becomes final: a whole number of pages, and a divisor of
    /// the area. A page unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_granularity: Option<ByteCount>,
    /// Most zones with a random write area at a time; 0 is no limit. Default 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub max_random_write_areas: u32,
    /// Whether a read may go from one zone into the next (NVMe's Read Across Zone Boundaries); for `ftl.zns`. If not, such a
    /// read is refused with `boundary`. Default true.
    #[serde(skip_serializing_if = "is_true")]
    pub read_across_zones: bool,
    /// Most bytes of an append (NVMe's Zone Append Size Limit), a power of two from 8 KiB; for `ftl.zns`. A longer one is
    /// refused with `invalid_field`. No limit unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_append: Option<ByteCount>,
    /// Conventional zones: the first ones take writes in any order, and again, and know no write pointer; for `ftl.zns`, which
    /// keeps a page map and blocks of their own for them. Default 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub conventional: u32,
    /// Spare space of the conventional zones, per cent of their size. Default 7; a small device may take more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conventional_spare_percent: Option<u32>,
    /// Blocks kept on each die in place of blocks that go bad, at least 1: after a power cut a block may have to be written
    /// again in another one. Default 2.
    pub spare_blocks: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn is_one(count: &u32) -> bool {
    *count == 1
}

fn is_true(option: &bool) -> bool {
    *option
}

impl Default for ZoneOptions {
    fn default() -> Self {
        Self {
            blocks_per_die: 1,
            dies: 0,
            pages_per_die: 1,
            capacity: None,
            size: None,
            max_open: 0,
            max_active: 0,
            random_write_area: None,
            commit_granularity: None,
            max_random_write_areas: 0,
            read_across_zones: true,
            max_append: None,
            conventional: 0,
            conventional_spare_percent: None,
            spare_blocks: 2,
        }
    }
}

impl ZoneOptions {
    /// The limit has NVMe's form, so that a served drive can tell it: a power of two of 4 KiB, whose exponent 0 is no limit.
    ///
    /// # Errors
    /// [`FtlError::Config`].
    pub(crate) fn check_append(&self) -> Result<(), FtlError> {
        match self.max_append {
            Some(bytes) if !bytes.0.is_power_of_two() || bytes.0 < LEAST_APPEND_LIMIT => {
                Err(FtlError::Config(format!(
                    "device.zones.max_append = {bytes}: it is a power of two, and at least {}",
                    ByteCount(LEAST_APPEND_LIMIT)
                )))
            }
            _ => Ok(()),
        }
    }

    /// The spare space of conventional zones, as a part of their size.
    ///
    /// # Errors
    /// [`FtlError::Config`] if there are no such zones.
    pub(crate) fn conventional_spare(&self) -> Result<f64, FtlError> {
        match self.conventional_spare_percent {
            Some(percent) if self.conventional == 0 => Err(FtlError::Config(format!(
                "device.zones.conventional_spare_percent = {percent}: it needs device.zones.conventional"
            ))),
            percent => Ok(f64::from(percent.unwrap_or(7)) / 100.0),
        }
    }

    /// Zones that can be active at a time, of so many.
    pub(crate) fn most_active(&self, zones: u32) -> u32 {
        if self.max_active > 0 {
            self.max_active.min(zones)
        } else {
            zones
        }
    }
}

/// The least limit of appends, bytes.
const LEAST_APPEND_LIMIT: u64 = 8192;

/// The capacity in pages.
fn pages_in(capacity: ByteCount, most: u32, page_bytes: u32) -> Result<u32, FtlError> {
    let (pages, rest) = (capacity.0 / u64::from(page_bytes), capacity.0 % u64::from(page_bytes));
    if rest > 0 || pages == 0 || pages > u64::from(most) {
        return Err(FtlError::Config(format!(
            "device.zones.capacity = {capacity}: it is a whole number of pages of {page_bytes} bytes, 1 to the {most} that a \
             zone's blocks hold"
        )));
    }
    Ok(pages as u32)
}

/// The size in pages.
fn pitch_in(size: ByteCount, capacity: u32, page_bytes: u32) -> Result<u32, FtlError> {
    let (pages, rest) = (size.0 / u64::from(page_bytes), size.0 % u64::from(page_bytes));
    match u32::try_from(pages) {
        Ok(pages) if rest == 0 && pages >= capacity => Ok(pages),
        _ => Err(FtlError::Config(format!(
            "device.zones.size = {size}: it is a whole number of pages of {page_bytes} bytes, no less than the zone's \
             capacity of {capacity} pages, and no more than {} pages",
            u32::MAX
        ))),
    }
}

/// Most block rows of all zones: a page carries its row's number in [`ROW_BITS`] bits, and 0 is none.
const MOST_ROWS: u32 = (1 << ROW_BITS) - 1;

/// Bits of a row's number in `aux`. The bit above them marks erase counts, which zones do not store.
const ROW_BITS: u32 = 12;

/// Where a zone's pages lie: group after group of pages over its dies, block row after block row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    geometry: Geometry,
    /// Dies of a zone.
    pub(crate) dies: u32,
    /// Consecutive pages that one die takes. The last group of a block is smaller if they do not divide the block.
    group: u32,
    /// Block rows of a zone: its blocks on each of its dies.
    pub(crate) rows: u32,
    /// Pages that can be written to a zone.
    pub(crate) capacity: u32,
    pub(crate) zones: u32,
    /// Pages from one zone's start to the next one's.
    pub(crate) pitch: u32,
}

/// A page's place in its zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// The block's number among the zone's blocks.
    pub(crate) block: usize,
    /// The page in the block.
    pub(crate) page: u32,
}

impl Layout {
    /// # Errors
    /// [`FtlError::Config`] if the options do not fit the device.
    pub(crate) fn new(geometry: &Geometry, options: &ZoneOptions) -> Result<Self, FtlError> {
        let ZoneOptions {
            blocks_per_die, dies, pages_per_die, capacity, size, max_open, max_active, spare_blocks, ..
        } = *options;
        let dies = if dies == 0 { geometry.dies() } else { dies };
        if geometry.dies() % dies != 0 {
            return Err(FtlError::Config(format!(
                "device.zones.dies = {dies}: it divides the {} dies of the device, so that every zone has as many",
                geometry.dies()
            )));
        }
        let of_die = geometry.blocks() / geometry.dies();
        error::in_range("device.zones.blocks_per_die", blocks_per_die, 1..=of_die)?;
        error::in_range("device.zones.spare_blocks", spare_blocks, 1..=of_die.saturating_sub(blocks_per_die).max(1))?;
        error::in_range("device.zones.pages_per_die", pages_per_die, 1..=geometry.pages_per_block())?;
        let pages = u64::from(blocks_per_die) * u64::from(dies) * u64::from(geometry.pages_per_block());
        let pages = u32::try_from(pages).unwrap_or(u32::MAX);
        let capacity = capacity.map_or(Ok(pages), |capacity| pages_in(capacity, pages, geometry.page_bytes()))?;
        if max_active > 0 && max_open > max_active {
            return Err(FtlError::Config(format!(
                "device.zones.max_open = {max_open}: an open zone is active, and device.zones.max_active = {max_active}"
            )));
        }
        let zones = of_die.saturating_sub(spare_blocks) / blocks_per_die * (geometry.dies() / dies);
        if zones * blocks_per_die > MOST_ROWS {
            return Err(FtlError::Config(format!(
                "device.zones.blocks_per_die = {blocks_per_die}: {zones} zones have {} rows of blocks, and a page can name \
                 {MOST_ROWS} of them; take a smaller device or one with larger blocks",
                zones * blocks_per_die
            )));
        }
        let pitch = size.map_or(Ok(capacity), |size| pitch_in(size, capacity, geometry.page_bytes()))?;
        Ok(Self { geometry: *geometry, dies, group: pages_per_die, rows: blocks_per_die, capacity, zones, pitch })
    }

    /// Blocks of a zone.
    pub(crate) fn blocks(&self) -> usize {
        (self.rows * self.dies) as usize
    }

    /// The first die of a zone.
    pub(crate) fn first_die(&self, zone: u32) -> u32 {
        zone % (self.geometry.dies() / self.dies) * self.dies
    }

    /// The die of a zone's block.
    pub(crate) fn die_of(&self, zone: u32, block: usize) -> u32 {
        self.first_die(zone) + block as u32 % self.dies
    }

    /// Where the zone's page `at` lies.
    #[inline]
    pub(crate) fn place(&self, at: u32) -> Place {
        let of_block = self.geometry.pages_per_block();
        // The usual case, with fewer divisions.
        if self.group == 1 {
            let (stripe, slot) = (at / self.dies, at % self.dies);
            return Place { block: (stripe / of_block * self.dies + slot) as usize, page: stripe % of_block };
        }
        let (row, at) = (at / (of_block * self.dies), at % (of_block * self.dies));
        let (first, group, at) = self.stripe(at);
        Place { block: (row * self.dies + at / group) as usize, page: first + at % group }
    }

    /// The stripe of a page in a block row: its first page in each block, how many pages each die has in it, and the page's
    /// place in it.
    fn stripe(&self, at: u32) -> (u32, u32, u32) {
        let of_block = self.geometry.pages_per_block();
        let first = at / (self.group * self.dies) * self.group;
        (first, self.group.min(of_block - first), at - first * self.dies)
    }

    /// The reverse of [`Self::place`].
    pub(crate) fn at(&self, place: Place) -> u32 {
        let of_block = self.geometry.pages_per_block();
        let (row, slot) = (place.block as u32 / self.dies, place.block as u32 % self.dies);
        let first = place.page / self.group * self.group;
        let group = self.group.min(of_block - first);
        (row * of_block + first) * self.dies + slot * group + (place.page - first)
    }

    /// Pages of a zone's block that can be written.
    pub(crate) fn pages_of(&self, block: usize) -> u32 {
        self.written_in(block, self.capacity)
    }

    /// Pages in a zone's block once `written` pages were written to the zone.
    pub(crate) fn written_in(&self, block: usize, written: u32) -> u32 {
        let (row, slot) = (block as u32 / self.dies, block as u32 % self.dies);
        let of_row = self.dies * self.geometry.pages_per_block();
        let in_row = written.saturating_sub(row * of_row).min(of_row);
        if in_row == of_row {
            return self.geometry.pages_per_block();
        }
        let (first, group, at) = self.stripe(in_row);
        first + at.saturating_sub(slot * group).min(group)
    }

    /// What the pages of a zone's block carry in `aux`, beside the mark of a block that goes on after a mount. No other
    /// FTL writes it to every page, so each refuses the other's flash.
    pub(crate) fn tag(&self, zone: u32, block: usize) -> u16 {
        ((zone * self.rows + block as u32 / self.dies + 1) << TAG) as u16 | COMPLETE
    }

    /// A number for the shape of the zones. Its parts stand in every page, so that zones of another shape are not taken for
    /// these.
    fn shape(&self) -> u32 {
        let shape = self.rows.wrapping_mul(0x9E37_79B1) ^ self.dies.wrapping_mul(0x85EB_CA77) ^ self.capacity;
        let shape = shape ^ (self.group - 1).wrapping_mul(0x27D4_EB2F);
        shape.wrapping_mul(0xC2B2_AE3D)
    }

    /// What every page carries as its reclaim unit handle: a device of zones has none, and other FTLs mark no page like
    /// this.
    pub(crate) fn handle(&self) -> u8 {
        64 | (self.shape() >> 26) as u8
    }

    /// What a page carries that waits for its zone in a block apart: no page in a zone does.
    pub(crate) fn staged_handle(&self) -> u8 {
        self.handle() ^ 1
    }

    /// Whether a page waits for one of these zones in a block apart.
    pub(crate) fn is_staged(&self, oob: Oob) -> bool {
        oob.handle == self.staged_handle() && self.is_numbered(oob)
    }

    /// Whether a page's sequence number begins as those of these zones do.
    fn is_numbered(&self, oob: Oob) -> bool {
        oob.seq.0 >> SEQ_BITS == self.first_seq() >> SEQ_BITS
    }

    /// Sequence numbers begin behind this one.
    pub(crate) fn first_seq(&self) -> u64 {
        u64::from(self.shape() as u8) << SEQ_BITS
    }

    /// The zone and its block for a page at `page`; `None` if it is none of a zone.
    pub(crate) fn tagged(&self, page: Ppa, oob: Oob) -> Option<(u32, usize)> {
        let is_shaped = oob.handle == self.handle() && self.is_numbered(oob);
        let is_tagged = oob.aux & COMPLETE != 0 && is_shaped;
        let row = u32::from(oob.aux >> TAG).checked_sub(1).filter(|_| is_tagged)?;
        let (zone, row) = (row / self.rows, row % self.rows);
        let die = self.geometry.die_of(self.geometry.block_of(page));
        let slot =
            (zone < self.zones).then(|| die.checked_sub(self.first_die(zone)))?.filter(|&slot| slot < self.dies)?;
        Some((zone, (row * self.dies + slot) as usize))
    }
}

/// Bits of a sequence number for the programs of a device's life.
const SEQ_BITS: u32 = 40;

/// Position of a row's number in `aux`.
const TAG: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use nandlab_nand::{BlockId, Seq, Shape};

    fn striped(channels: u32, blocks_per_plane: u32, pages_per_block: u32) -> Geometry {
        let one = *Geometry::single_die(blocks_per_plane, pages_per_block, 512).unwrap().shape();
        Geometry::new(Shape { channels, ..one }).unwrap()
    }

    #[test]
    fn places_follow_dies_then_pages_then_rows() {
        let geometry = striped(4, 16, 8);
        let options =
            ZoneOptions { blocks_per_die: 2, dies: 2, capacity: Some(ByteCount(30 * 512)), ..ZoneOptions::default() };
        let layout = Layout::new(&geometry, &options).unwrap();
        assert_eq!((layout.zones, layout.blocks(), layout.capacity), (14, 4, 30));
        assert_eq!(layout.place(0), Place { block: 0, page: 0 });
        assert_eq!(layout.place(3), Place { block: 1, page: 1 });
        assert_eq!(layout.place(16), Place { block: 2, page: 0 });
        for at in 0..32 {
            assert_eq!(layout.at(layout.place(at)), at);
            let written = (0..layout.blocks()).map(|block| layout.written_in(block, at)).sum::<u32>();
            assert_eq!(written, at);
        }
        assert_eq!((layout.first_die(0), layout.first_die(1), layout.first_die(2)), (0, 2, 0));
        let page = geometry.page(BlockId(geometry.blocks_of_die(3).start), 5);
        let of_zone =
            |zone| Oob { handle: layout.handle(), ..Oob::renewed(layout.tag(zone, 3), Seq(layout.first_seq() + 1)) };
        assert_eq!(layout.tagged(page, of_zone(5)), Some((5, 3)));
        assert_eq!(layout.tagged(page, of_zone(4)), None, "zone 4 is on the first two dies");
        assert_eq!(layout.tagged(page, Oob { handle: 0, ..of_zone(5) }), None);
    }

    #[test]
    fn groups_of_pages_go_to_one_die_after_the_other_and_the_last_group_is_smaller() {
        let geometry = striped(4, 16, 8);
        let options = ZoneOptions { blocks_per_die: 2, dies: 2, pages_per_die: 3, ..ZoneOptions::default() };
        let layout = Layout::new(&geometry, &options).unwrap();
        let places = (0..16).map(|at| layout.place(at)).map(|place| (place.block, place.page)).collect::<Vec<_>>();
        let stripe = |first: u32, pages: u32| {
            (0..2).flat_map(move |block| (first..first + pages).map(move |page| (block, page)))
        };
        assert_eq!(places, stripe(0, 3).chain(stripe(3, 3)).chain(stripe(6, 2)).collect::<Vec<_>>());
        assert_eq!(layout.place(16), Place { block: 2, page: 0 });
        for at in 0..32 {
            assert_eq!(layout.at(layout.place(at)), at);
            for block in 0..layout.blocks() {
                let before = (0..at).filter(|&page| layout.place(page).block == block).count();
                assert_eq!(layout.written_in(block, at) as usize, before, "block {block} after {at} pages");
            }
        }
        let one = Layout::new(&geometry, &ZoneOptions { pages_per_die: 1, ..options }).unwrap();
        assert_ne!((one.handle(), one.first_seq()), (layout.handle(), layout.first_seq()), "another shape");
        for wrong in [0, 9] {
            let error = Layout::new(&geometry, &ZoneOptions { pages_per_die: wrong, ..options }).unwrap_err();
            assert!(error.to_string().contains("device.zones.pages_per_die"), "{error}");
        }
    }
}

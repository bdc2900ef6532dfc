//! FTLs on devices, chosen at run time: `nandlab-drive` has compiled them, and no test here compiles one again.

use nandlab_block::{BlockDevice, Op, Payload, Request};
use nandlab_drive::{inside, on, Device, DriveOn};
use nandlab_ftl::{
    bast, block, dftl, fast, fmax, hybrid_map, kast, last, lazyftl, migration, mtbs, nftl, page, sector_log,
    sector_map, superblock, superpage, FtlConfig, FtlError,
};
use nandlab_nand::backed::Backed;
use nandlab_nand::faulty::{Config as Faults, Faulty};
use nandlab_nand::plain::WithContent;
use nandlab_nand::power_cut::PowerCut;
use nandlab_nand::profile::Timing;
use nandlab_nand::timed::Timed;
use nandlab_nand::{BlockId, Cause, Cell, Counting, Geometry, Kind, Lpn, Matrix, Ppa, ProgramOrder, Rules};

/// An FTL on a device, with everything tests ask for.
pub type Lab = Box<dyn DriveOn>;

/// A device that counts, keeps time, and can fail programs and lose power on demand.
pub type Flash = PowerCut<Faulty<Timed<WithContent<Counting>>>>;

/// Pages per block, of one sector each.
pub const PAGES: u64 = 8;

pub const ORDERS: [ProgramOrder; 3] = [ProgramOrder::Any, ProgramOrder::Ascending, ProgramOrder::AscendingDense];

/// An FTL's options, which also name the FTL.
pub trait Options {
    fn ftl(&self) -> FtlConfig;
}

macro_rules! options {
    ($($module:ident: $variant:ident),* $(,)?) => {$(
        impl Options for $module::Config {
            fn ftl(&self) -> FtlConfig {
                FtlConfig::$variant(self.clone())
            }
        }
    )*};
}

options! {
    page: Page, block: Block, nftl: Nftl, fmax: Fmax, mtbs: Mtbs, bast: Bast, fast: Fast, kast: Kast, last: Last,
    superblock: Superblock, migration: Migration, superpage: Superpage, sector_map: SectorMap, hybrid_map: HybridMap,
    sector_log: SectorLog, dftl: Dftl, lazyftl: Lazyftl,
}

impl Options for FtlConfig {
    fn ftl(&self) -> FtlConfig {
        self.clone()
    }
}

/// Mounts an FTL, or says why not.
pub fn mounted(nand: impl Device, pages: u32, options: &impl Options) -> Result<Lab, FtlError> {
    on(&options.ftl(), Box::new(nand), pages).map_err(|not| not.error)
}

/// Mounts an FTL.
pub fn mount(nand: impl Device, pages: u32, options: &impl Options) -> Lab {
    mounted(nand, pages, options).unwrap_or_else(|error| panic!("{error}"))
}

/// Drops the RAM state and mounts with other options.
pub fn mount_again(lab: Lab, pages: u32, options: &impl Options) -> Lab {
    on(&options.ftl(), lab.into_nand(), pages).unwrap_or_else(|not| panic!("{}", not.error))
}

/// The device below, with the type known to the test.
pub fn device<N: 'static>(lab: &mut Lab) -> &mut N {
    lab.nand_mut().as_any_mut().downcast_mut().expect("the test made a device of this type")
}

/// Drops the RAM state and restores the power.
pub fn restored(lab: Lab) -> Flash {
    let mut nand: Flash = inside(lab.into_nand());
    nand.restore();
    nand
}

pub fn rules(program_order: ProgramOrder) -> Rules {
    Rules { program_order, ..Rules::default() }
}

/// An erased device that only counts, and takes no time.
pub fn flash(geometry: Geometry, rules: Rules) -> Flash {
    timed_flash(geometry, rules, &Timing::array(0.0, 0.0, 0.0))
}

/// An erased device that counts and keeps time.
pub fn timed_flash(geometry: Geometry, rules: Rules, timing: &Timing) -> Flash {
    let chip = WithContent::new(Counting::new(geometry, rules));
    PowerCut::new(Faulty::new(Timed::new(chip, timing), Faults::default()).unwrap())
}

/// An erased device with bytes and with `faults`.
pub fn faulty_flash(geometry: Geometry, rules: Rules, faults: Faults) -> Faulty<Backed> {
    Faulty::new(Backed::ram(geometry, rules), faults).unwrap()
}

/// An erased device with two parallel dies: 10 blocks each, with 4 one-sector pages.
pub fn two_dies() -> Flash {
    let timing = Timing::array(1.0, 10.0, 100.0);
    timed_flash(Geometry::two_dies(10, 4, 512).unwrap(), Rules::default(), &timing)
}

/// An erased disk of `pages` pages on `blocks` blocks.
pub fn erased(order: ProgramOrder, blocks: u32, pages: u64, options: &impl Options) -> Lab {
    let geometry = Geometry::single_die(blocks, PAGES as u32, 512).unwrap();
    mount(flash(geometry, rules(order)), pages as u32, options)
}

/// A disk with `logical_blocks` blocks of [`PAGES`] pages, all written once, in order, and 12 blocks more.
pub fn filled(order: ProgramOrder, logical_blocks: u32, options: &impl Options) -> Lab {
    let pages = u64::from(logical_blocks) * PAGES;
    let mut lab = erased(order, logical_blocks + 12, pages, options);
    write(&mut lab, 0..pages);
    lab
}

pub fn write(lab: &mut Lab, pages: impl IntoIterator<Item = u64>) {
    for page in pages {
        submit(lab, Op::Write, page, 1);
    }
}

#[inline(never)]
pub fn submit(lab: &mut Lab, op: Op, first: u64, sectors: u32) {
    lab.submit(&Request::new(op, first, sectors), Payload::None).unwrap();
}

/// The cost of `work`, without the mounts.
pub fn cost(lab: &mut Lab, work: impl FnOnce(&mut Lab)) -> Cell {
    let before = lab.ctx().matrix().clone();
    work(lab);
    cost_since(lab, &before)
}

fn cost_since(lab: &mut Lab, before: &Matrix) -> Cell {
    let cost = lab.ctx().matrix().since(before);
    lab.check();
    cost.sum(|_, cause| !matches!(cause, Cause::Mount | Cause::Reerase))
}

/// The cost of writing `pages`: host programs, copies and erases.
pub fn cost_of(lab: &mut Lab, pages: impl IntoIterator<Item = u64>) -> (u64, u64, u64) {
    let cost = cost(lab, |lab| write(lab, pages));
    (cost.page_programs, cost.copies, cost.erases() as u64)
}

/// Switch, partial and full merges so far.
pub fn merges(lab: &Lab) -> (u64, u64, u64) {
    let events = lab.events();
    (events.switch_merges, events.partial_merges, events.full_merges)
}

/// Free blocks.
pub fn free_blocks(lab: &Lab) -> usize {
    lab.blocks().iter().filter(|block| block.is_free).count()
}

/// Blocks in use.
pub fn blocks_in_use(lab: &Lab) -> Vec<BlockId> {
    (0..).map(BlockId).zip(lab.blocks()).filter(|(_, state)| !state.is_free).map(|(block, _)| block).collect()
}

/// The logical pages in a block's spare areas, host pages only.
pub fn logical_pages_in(lab: &mut Lab, block: BlockId) -> Vec<u64> {
    let geometry = *lab.nand().geometry();
    let nand = lab.nand_mut();
    let spare = |page| nand.read_spare(geometry.page(block, page)).unwrap();
    let oobs = (0..geometry.pages_per_block()).filter_map(spare);
    oobs.filter(|oob| oob.kind == Kind::Data).map(|oob| oob.lpn.0.into()).collect()
}

/// The logical block with pages in a block.
pub fn logical_block_in(lab: &mut Lab, block: BlockId) -> Option<u64> {
    logical_pages_in(lab, block).first().map(|page| page / PAGES)
}

/// Whether a page is mapped: reading an unmapped page asks nothing of the device.
pub fn is_mapped(lab: &mut Lab, page: u64) -> bool {
    let before = lab.ctx().matrix().total().reads();
    submit(lab, Op::Read, page, 1);
    lab.ctx().matrix().total().reads() > before
}

/// A page's newest copy, by the sequence numbers on flash.
pub fn newest(lab: &mut Lab, at: Lpn) -> Ppa {
    let geometry = *lab.nand().geometry();
    let nand = lab.nand_mut();
    let pages = (0..geometry.pages()).map(Ppa);
    let copies = pages.filter_map(|page| Some((page, nand.read_spare(page).unwrap()?)));
    let copies = copies.filter(|(_, oob)| oob.kind == Kind::Data && oob.lpn == at);
    copies.max_by_key(|(_, oob)| oob.seq).expect("the page was written").0
}

//! What the tests of single FTLs share.

use crate::parts::block_mapped::{BlockMapped, Scheme};
use crate::parts::store::EraseWhen;
use crate::{bast, block, fast, fmax, migration, mtbs, nftl, Disk, Ftl, FtlError};
use nandlab_block::{BlockDevice, Error, Op, Payload, Request};
use nandlab_nand::backed::Backed;
use nandlab_nand::faulty::{Config as Faults, Faulty};
use nandlab_nand::plain::WithContent;
use nandlab_nand::power_cut::{CutPlan, Form, PowerCut};
use nandlab_nand::profile::Timing;
use nandlab_nand::timed::Timed;
use nandlab_nand::{
    BlockId, Cause, Cell, Content, Counting, Ctx, Done, Geometry, Lpn, Nand, NandError, Oob, Ppa, ProgramOrder, Rules,
    Shape,
};

/// Pages of a block, of one sector each.
pub(crate) const PAGES: u64 = 8;

pub(crate) const ORDERS: [ProgramOrder; 3] = [ProgramOrder::Any, ProgramOrder::Ascending, ProgramOrder::AscendingDense];

pub(crate) fn rules(program_order: ProgramOrder) -> Rules {
    Rules { program_order, ..Rules::default() }
}

/// The device of every unit test. One type for all, so that each FTL is compiled once for them.
pub(crate) type Flash = PowerCut<Faulty<Timed<Chip>>>;

/// What holds the pages: counts alone, or bytes too.
#[derive(Clone, Debug)]
pub(crate) enum Chip {
    Counts(WithContent<Counting>),
    Bytes(Backed),
}

impl Chip {
    /// What only counts.
    pub(crate) fn counts(&self) -> &Counting {
        match self {
            Self::Counts(chip) => chip.inner(),
            Self::Bytes(_) => unreachable!("the test asked for a device that only counts"),
        }
    }
}

/// Forwards the methods of [`Nand`] to what holds the pages; out of line, so that FTLs stay small.
macro_rules! of_chip {
    ($($name:ident(&mut self $(, $arg:ident: $of:ty)*) -> $out:ty;)*) => {$(
        #[inline(never)]
        fn $name(&mut self $(, $arg: $of)*) -> $out {
            match self {
                Self::Counts(chip) => chip.$name($($arg),*),
                Self::Bytes(chip) => chip.$name($($arg),*),
            }
        }
    )*};
}

impl Nand for Chip {
    type Buf = Content;

    fn geometry(&self) -> &Geometry {
        match self {
            Self::Counts(chip) => chip.geometry(),
            Self::Bytes(chip) => chip.geometry(),
        }
    }

    fn rules(&self) -> &Rules {
        match self {
            Self::Counts(chip) => chip.rules(),
            Self::Bytes(chip) => chip.rules(),
        }
    }

    fn is_slc(&self, block: BlockId) -> bool {
        match self {
            Self::Counts(chip) => chip.is_slc(block),
            Self::Bytes(chip) => chip.is_slc(block),
        }
    }

    of_chip! {
        read(&mut self, at: Ppa, page: &mut Content) -> Result<Oob, NandError>;
        read_spare(&mut self, at: Ppa) -> Result<Option<Oob>, NandError>;
        program(&mut self, at: Ppa, page: &Content, tail: &[u8], oob: Oob) -> Result<Done, NandError>;
        read_tail(&mut self, at: Ppa, tail: &mut [u8]) -> Result<Oob, NandError>;
        read_with_tail(&mut self, at: Ppa, page: &mut Content, tail: &mut [u8]) -> Result<Oob, NandError>;
        copy(&mut self, from: Ppa, to: Ppa, oob: Oob) -> Result<Oob, NandError>;
        program_spare(&mut self, at: Ppa, oob: Oob) -> Result<Done, NandError>;
        erase(&mut self, block: BlockId) -> Result<Done, NandError>;
        retire(&mut self, block: BlockId) -> Result<Done, NandError>;
        set_slc(&mut self, block: BlockId, slc: bool) -> ();
        ctx(&mut self) -> &mut Ctx;
    }
}

/// An erased device that only counts, and takes no time.
pub(crate) fn flash(geometry: Geometry, rules: Rules) -> Flash {
    timed_flash(geometry, rules, &Timing::array(0.0, 0.0, 0.0))
}

/// An erased device that counts and keeps time.
pub(crate) fn timed_flash(geometry: Geometry, rules: Rules, timing: &Timing) -> Flash {
    let chip = Chip::Counts(WithContent::new(Counting::new(geometry, rules)));
    PowerCut::new(Faulty::new(Timed::new(chip, timing), Faults::default()).unwrap())
}

/// An erased device with bytes and these faults.
pub(crate) fn faulty_flash(geometry: Geometry, rules: Rules, faults: Faults) -> Flash {
    let chip = Timed::new(Chip::Bytes(Backed::ram(geometry, rules)), &Timing::array(0.0, 0.0, 0.0));
    PowerCut::new(Faulty::new(chip, faults).unwrap())
}

/// An erased device of two dies that work at the same time: 10 blocks each, of 4 pages of one sector.
pub(crate) fn two_dies() -> Flash {
    let shape = Shape {
        channels: 2,
        dies_per_channel: 1,
        planes_per_die: 1,
        blocks_per_plane: 10,
        pages_per_block: 4,
        page_bytes: 512,
        spare_bytes: 16,
    };
    let timing = Timing::array(1.0, 10.0, 100.0);
    timed_flash(Geometry::new(shape).unwrap(), Rules::default(), &timing)
}

/// An erased disk of `pages` pages on `blocks` blocks.
pub(crate) fn erased<F: Ftl>(order: ProgramOrder, blocks: u32, pages: u64, config: &F::Config) -> Disk<F, Flash> {
    let geometry = Geometry::single_die(blocks, PAGES as u32, 512).unwrap();
    Disk::mount(flash(geometry, rules(order)), pages as u32, config).unwrap()
}

/// A disk of `logical_blocks` blocks of [`PAGES`] pages, all written once, in order, on 12 blocks more.
pub(crate) fn filled<F: Ftl>(order: ProgramOrder, logical_blocks: u32, config: &F::Config) -> Disk<F, Flash> {
    let pages = u64::from(logical_blocks) * PAGES;
    let mut disk = erased(order, logical_blocks + 12, pages, config);
    write(&mut disk, 0..pages);
    disk
}

pub(crate) fn write<F: Ftl, N: Nand>(disk: &mut Disk<F, N>, pages: impl IntoIterator<Item = u64>) {
    for page in pages {
        submit(disk, Op::Write, page, 1);
    }
}

pub(crate) fn submit<F: Ftl, N: Nand>(disk: &mut Disk<F, N>, op: Op, first: u64, pages: u32) {
    disk.submit(&Request::new(op, first, pages), Payload::None).unwrap();
}

/// What `work` costs, without the mounts.
pub(crate) fn cost<F: Ftl>(disk: &mut Disk<F, Flash>, work: impl FnOnce(&mut Disk<F, Flash>)) -> Cell {
    let before = disk.nand_mut().ctx().matrix().clone();
    work(disk);
    let cost = disk.nand_mut().ctx().matrix().since(&before);
    disk.check();
    cost.sum(|_, cause| cause != Cause::Mount)
}

/// What writing `pages` costs: programs of the host, copies and erases.
pub(crate) fn cost_of<F: Ftl>(disk: &mut Disk<F, Flash>, pages: impl IntoIterator<Item = u64>) -> (u64, u64, u64) {
    let cost = cost(disk, |disk| write(disk, pages));
    (cost.page_programs, cost.copies, cost.erases() as u64)
}

/// Switch, partial and full merges so far.
pub(crate) fn merges<F: Ftl, N: Nand>(disk: &Disk<F, N>) -> (u64, u64, u64) {
    let events = disk.ftl().events();
    (events.switch_merges, events.partial_merges, events.full_merges)
}

/// What schemes have in common.
struct Shared {
    reserve_blocks: u32,
    erase_when: EraseWhen,
    durable_trim: bool,
}

const SHARED: Shared = Shared { reserve_blocks: 2, erase_when: EraseWhen::OnFree, durable_trim: true };

/// Runs a function for each scheme, with what makes its options: those that the schemes share, the others as they are.
macro_rules! each_scheme {
    ($test:ident) => {
        each_scheme!($test: block, nftl, fmax, mtbs, bast, fast, migration);
    };
    ($test:ident: $($module:ident),*) => {
        $($test::<$module::Scheme>(|Shared { reserve_blocks, erase_when, durable_trim }| {
            $module::Config { reserve_blocks, erase_when, durable_trim, ..Default::default() }
        });)*
    };
}

#[test]
fn capacity_is_what_the_reserve_the_notes_and_a_block_beside_the_data_leave() {
    fn test<S: Scheme>(config: impl Fn(Shared) -> S::Config) {
        // 20 blocks of 8 pages of 512 bytes: a note page for 4096 logical pages, so one block holds the notes. Every
        // scheme but MTBS takes one block beside those of the data, and one more for a block map; a logical block of MTBS
        // has half the pages.
        let geometry = Geometry::single_die(20, PAGES as u32, 512).unwrap();
        let most = |shared| BlockMapped::<S>::max_logical_pages(&geometry, &Rules::default(), &config(shared));
        let (beside, span) = match S::NAME {
            "mtbs" => (0, 4),
            "migration" => (2, 8),
            _ => (1, 8),
        };
        for reserve_blocks in [1, 2, 5] {
            let blocks = 20 - beside - reserve_blocks;
            assert_eq!(most(Shared { reserve_blocks, ..SHARED }), Ok((blocks - 1) * span), "{}", S::NAME);
            let forgetful = Shared { reserve_blocks, durable_trim: false, ..SHARED };
            assert_eq!(most(forgetful), Ok(blocks * span), "{}", S::NAME);
        }
        // One block of data must be left.
        let least = 20 - beside - 1 - 1;
        assert_eq!(most(Shared { reserve_blocks: least, ..SHARED }), Ok(span), "{}", S::NAME);
        for reserve_blocks in [0, least + 1, u32::MAX] {
            let Err(FtlError::Config(why)) = most(Shared { reserve_blocks, ..SHARED }) else {
                panic!("{}: reserve_blocks = {reserve_blocks} is taken", S::NAME);
            };
            let start = format!("ftl.{}.reserve_blocks = {reserve_blocks} would deadlock", S::NAME);
            assert!(why.starts_with(&start), "{why}");
            let hint = format!("takes ftl.{}.reserve_blocks = {least} at most", S::NAME);
            assert_eq!(why.contains(&hint), reserve_blocks > 0, "{why}");
        }
    }
    each_scheme!(test);
}

#[test]
fn a_device_with_more_logical_pages_than_fit_is_refused() {
    fn test<S: Scheme>(config: impl Fn(Shared) -> S::Config) {
        let geometry = Geometry::single_die(20, PAGES as u32, 512).unwrap();
        let most = BlockMapped::<S>::max_logical_pages(&geometry, &Rules::default(), &config(SHARED)).unwrap();
        let mount = |pages| {
            let nand = flash(geometry, Rules::default());
            Disk::<BlockMapped<S>, _>::mount(nand, pages, &config(SHARED)).map(drop)
        };
        assert_eq!(mount(most), Ok(()), "{}", S::NAME);
        let Err(FtlError::Config(why)) = mount(most + 1) else { panic!("{}: {} pages", S::NAME, most + 1) };
        assert!(why.starts_with(&format!("{} logical pages are more than ftl.{}", most + 1, S::NAME)), "{why}");
    }
    each_scheme!(test);
}

#[test]
fn an_erase_waits_until_its_block_is_taken_where_the_option_says_so() {
    fn test<S: Scheme>(config: impl Fn(Shared) -> S::Config) {
        // Both runs give back and take the same blocks, the same number of times. The late one has not erased those that
        // are free in the end and were used before; and after few writes it still takes blocks that never were.
        let run = |erase_when| {
            let mut disk: Disk<BlockMapped<S>, Flash> =
                erased(ProgramOrder::Ascending, 18, 16, &config(Shared { erase_when, ..SHARED }));
            write(&mut disk, 0..16);
            let few = cost_of(&mut disk, (0..80).map(|_| 9));
            let many = cost_of(&mut disk, (0..2000).map(|at| at * 5 % 16));
            let free = disk.ftl().store.free.count();
            (few, many, free, Cause::ALL.map(|cause| disk.nand_mut().ctx().matrix().sum(|_, of| of == cause).erases()))
        };
        let (eager_few, eager_many, eager_free, eager_causes) = run(EraseWhen::OnFree);
        let (late_few, late_many, late_free, late_causes) = run(EraseWhen::OnAlloc);
        assert_eq!((late_few.0, late_few.1), (eager_few.0, eager_few.1), "{}", S::NAME);
        assert_eq!((late_many.0, late_many.1), (eager_many.0, eager_many.1), "{}", S::NAME);
        assert_eq!(late_free, eager_free, "{}", S::NAME);
        let waiting = eager_few.2 + eager_many.2 - late_few.2 - late_many.2;
        assert!(late_few.2 < eager_few.2, "{}: {late_few:?} {eager_few:?}", S::NAME);
        assert!(0 < waiting && waiting <= u64::from(late_free), "{}: {waiting}, {late_free} free", S::NAME);
        // An erase counts for what freed its block, so that each cause lacks no more than the erases that still wait.
        let waits: Vec<f64> = eager_causes.iter().zip(late_causes).map(|(eager, late)| eager - late).collect();
        assert!(waits.iter().all(|&waits| waits >= 0.0), "{}: {eager_causes:?} {late_causes:?}", S::NAME);
        assert_eq!(waits.iter().sum::<f64>(), waiting as f64, "{}", S::NAME);
    }
    each_scheme!(test);
}

#[test]
fn a_flush_notes_trims_where_the_option_says_so() {
    fn test<S: Scheme>(config: impl Fn(Shared) -> S::Config) {
        for (durable_trim, notes) in [(true, 1), (false, 0)] {
            let config = config(Shared { durable_trim, ..SHARED });
            let mut disk: Disk<BlockMapped<S>, Flash> = erased(ProgramOrder::Ascending, 18, 16, &config);
            write(&mut disk, 0..16);
            let cost = cost(&mut disk, |disk| {
                submit(disk, Op::Trim, 3, 1);
                submit(disk, Op::Trim, 9, 1);
                submit(disk, Op::Flush, 0, 0);
                submit(disk, Op::Flush, 0, 0);
            });
            assert_eq!((cost.programs(), cost.copies, cost.erases() as u64), (notes, 0, 0), "{}", S::NAME);
            if durable_trim {
                let disk = Disk::<BlockMapped<S>, _>::mount(disk.into_nand(), 16, &config).unwrap();
                let unmapped = (0..16).filter(|&page| !disk.ftl().store.lookup(Lpn(page)).is_some());
                assert_eq!(unmapped.collect::<Vec<_>>(), [3, 9], "{}", S::NAME);
            }
        }
    }
    each_scheme!(test);
}

/// A logical block that is trimmed gives its blocks back unerased. Were the note lost after the next block is opened, on
/// another die, a mount would find the logical block in more blocks than it may have: this once happened to MTBS.
#[test]
fn a_note_is_certain_before_the_next_block_is_opened() {
    fn test<S: Scheme>(config: impl Fn(Shared) -> S::Config) {
        let shape = Shape {
            channels: 2,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_plane: 10,
            pages_per_block: PAGES as u32,
            page_bytes: 512,
            spare_bytes: 16,
        };
        let config = config(Shared { erase_when: EraseWhen::OnAlloc, ..SHARED });
        let span = if S::NAME == "mtbs" { PAGES / 2 } else { PAGES };
        let mut cuts = 0;
        // The note and the block that is opened next lie on one die or on two.
        for (other_pages, operation) in (0..4 * span).step_by(span as usize).flat_map(|pages| [(pages, 1), (pages, 2)])
        {
            let nand = flash(Geometry::new(shape).unwrap(), Rules::default());
            let mut disk = Disk::<BlockMapped<S>, _>::mount(nand, 6 * span as u32, &config).unwrap();
            write(&mut disk, (0..span).chain([0]).chain(span..span + other_pages));
            submit(&mut disk, Op::Flush, 0, 0);
            submit(&mut disk, Op::Trim, 0, span as u32);
            disk.nand_mut().arm(CutPlan { operation: operation + 1, form: Form::LostTail });
            let mut writes = (0..3).map(|page| disk.submit(&Request::new(Op::Write, page, 1), Payload::None).err());
            assert_eq!(writes.find(Option::is_some), Some(Some(Error::PowerLost)), "{}", S::NAME);
            let mut nand = disk.into_nand();
            nand.restore();
            let mount = Disk::<BlockMapped<S>, _>::mount(nand, 6 * span as u32, &config);
            let mut disk = mount.unwrap_or_else(|why| panic!("{}, {other_pages} other pages: {why}", S::NAME));
            disk.check();
            cuts += 1;
        }
        assert_eq!(cuts, 8);
    }
    each_scheme!(test);
}

//! The rules that every block-mapped FTL must keep, whatever its scheme.

use crate::lab::{
    cost, cost_of, device, erased, flash, free_blocks, is_mapped, mount, mount_again, mounted, restored, submit, write,
    Flash, Options, PAGES,
};
use nandlab_block::{BlockDevice, Error, Op, Payload, Request};
use nandlab_ftl::parts::store::EraseWhen;
use nandlab_ftl::{bast, block, fast, fmax, kast, last, migration, mtbs, nftl, superblock, FtlConfig, FtlError};
use nandlab_nand::power_cut::{CutPlan, Form};
use nandlab_nand::{Cause, Geometry, ProgramOrder, Rules};

/// The options that all schemes have.
struct Shared {
    reserve_blocks: u32,
    erase_when: EraseWhen,
    durable_trim: bool,
}

const SHARED: Shared = Shared { reserve_blocks: 2, erase_when: EraseWhen::OnFree, durable_trim: true };

/// Runs a function for each scheme; its argument makes the scheme's options from the shared ones.
macro_rules! each_scheme {
    ($test:ident) => {
        each_scheme!($test: block, nftl, fmax, mtbs, bast, fast, kast, last, superblock, migration);
    };
    ($test:ident: $($module:ident),*) => {
        $($test(&|Shared { reserve_blocks, erase_when, durable_trim }| {
            $module::Config { reserve_blocks, erase_when, durable_trim, ..Default::default() }.ftl()
        });)*
    };
}

#[test]
fn capacity_is_what_the_reserve_the_notes_and_a_block_beside_the_data_leave() {
    fn test(config: &dyn Fn(Shared) -> FtlConfig) {
        let name = config(SHARED).name();
        // 20 blocks with 8 pages of 512 bytes: one note page covers 4096 logical pages, so one block holds the notes.
        // Every scheme except MTBS takes one block beside the data, and one more for a block map; an MTBS logical block
        // has half the pages.
        let geometry = Geometry::single_die(20, PAGES as u32, 512).unwrap();
        let most = |shared| config(shared).max_logical_pages(&geometry, &Rules::default());
        let (beside, span) = match name {
            "mtbs" => (0, 4),
            "migration" => (2, 8),
            _ => (1, 8),
        };
        for reserve_blocks in [1, 2, 5] {
            let blocks = 20 - beside - reserve_blocks;
            assert_eq!(most(Shared { reserve_blocks, ..SHARED }), Ok((blocks - 1) * span), "{}", name);
            let forgetful = Shared { reserve_blocks, durable_trim: false, ..SHARED };
            assert_eq!(most(forgetful), Ok(blocks * span), "{}", name);
        }
        // One data block must be left.
        let least = 20 - beside - 1 - 1;
        assert_eq!(most(Shared { reserve_blocks: least, ..SHARED }), Ok(span), "{}", name);
        for reserve_blocks in [0, least + 1, u32::MAX] {
            let Err(FtlError::Config(why)) = most(Shared { reserve_blocks, ..SHARED }) else {
                panic!("{}: reserve_blocks = {reserve_blocks} is taken", name);
            };
            let start = format!("ftl.{}.reserve_blocks = {reserve_blocks} would deadlock", name);
            assert!(why.starts_with(&start), "{why}");
            let hint = format!("takes ftl.{}.reserve_blocks = {least} at most", name);
            assert_eq!(why.contains(&hint), reserve_blocks > 0, "{why}");
        }
    }
    each_scheme!(test);
}

#[test]
fn a_device_with_more_logical_pages_than_fit_is_refused() {
    fn test(config: &dyn Fn(Shared) -> FtlConfig) {
        let name = config(SHARED).name();
        let geometry = Geometry::single_die(20, PAGES as u32, 512).unwrap();
        let most = config(SHARED).max_logical_pages(&geometry, &Rules::default()).unwrap();
        let mount = |pages| mounted(flash(geometry, Rules::default()), pages, &config(SHARED)).map(drop);
        assert_eq!(mount(most), Ok(()), "{}", name);
        let Err(FtlError::Config(why)) = mount(most + 1) else { panic!("{}: {} pages", name, most + 1) };
        assert!(why.starts_with(&format!("{} logical pages are more than ftl.{}", most + 1, name)), "{why}");
    }
    each_scheme!(test);
}

#[test]
fn an_erase_waits_until_its_block_is_taken_where_the_option_says_so() {
    fn test(config: &dyn Fn(Shared) -> FtlConfig) {
        let name = config(SHARED).name();
        // Both runs give back and take the same blocks, the same number of times. The late one has not erased used
        // blocks that are free in the end; and after few writes it still takes fresh blocks.
        let run = |erase_when| {
            let mut disk = erased(ProgramOrder::Ascending, 18, 16, &config(Shared { erase_when, ..SHARED }));
            write(&mut disk, 0..16);
            let few = cost_of(&mut disk, (0..80).map(|_| 9));
            let many = cost_of(&mut disk, (0..2000).map(|at| at * 5 % 16));
            let free = free_blocks(&disk) as u64;
            (few, many, free, Cause::ALL.map(|cause| disk.ctx().matrix().sum(|_, of| of == cause).erases()))
        };
        let (eager_few, eager_many, eager_free, eager_causes) = run(EraseWhen::OnFree);
        let (late_few, late_many, late_free, late_causes) = run(EraseWhen::OnAlloc);
        assert_eq!((late_few.0, late_few.1), (eager_few.0, eager_few.1), "{}", name);
        assert_eq!((late_many.0, late_many.1), (eager_many.0, eager_many.1), "{}", name);
        assert_eq!(late_free, eager_free, "{}", name);
        let waiting = eager_few.2 + eager_many.2 - late_few.2 - late_many.2;
        assert!(late_few.2 < eager_few.2, "{}: {late_few:?} {eager_few:?}", name);
        assert!(0 < waiting && waiting <= late_free, "{}: {waiting}, {late_free} free", name);
        // An erase is charged to the cause that freed its block, so each cause lacks at most the erases still waiting.
        let waits: Vec<f64> = eager_causes.iter().zip(late_causes).map(|(eager, late)| eager - late).collect();
        assert!(waits.iter().all(|&waits| waits >= 0.0), "{}: {eager_causes:?} {late_causes:?}", name);
        assert_eq!(waits.iter().sum::<f64>(), waiting as f64, "{}", name);
    }
    each_scheme!(test);
}

#[test]
fn a_flush_notes_trims_where_the_option_says_so() {
    fn test(config: &dyn Fn(Shared) -> FtlConfig) {
        let name = config(SHARED).name();
        for (durable_trim, notes) in [(true, 1), (false, 0)] {
            let config = config(Shared { durable_trim, ..SHARED });
            let mut disk = erased(ProgramOrder::Ascending, 18, 16, &config);
            write(&mut disk, 0..16);
            let cost = cost(&mut disk, |disk| {
                submit(disk, Op::Trim, 3, 1);
                submit(disk, Op::Trim, 9, 1);
                submit(disk, Op::Flush, 0, 0);
                submit(disk, Op::Flush, 0, 0);
            });
            assert_eq!((cost.programs(), cost.copies, cost.erases() as u64), (notes, 0, 0), "{}", name);
            if durable_trim {
                let mut disk = mount_again(disk, 16, &config);
                let unmapped = (0..16).filter(|&page| !is_mapped(&mut disk, page));
                assert_eq!(unmapped.collect::<Vec<_>>(), [3, 9], "{}", name);
            }
        }
    }
    each_scheme!(test);
}

/// A trimmed logical block gives its blocks back unerased. If its note were lost after the next block is opened on
/// another die, a mount would find the logical block in more blocks than it may have: this once happened to MTBS.
#[test]
fn a_note_is_certain_before_the_next_block_is_opened() {
    fn test(config: &dyn Fn(Shared) -> FtlConfig) {
        let name = config(SHARED).name();
        let config = config(Shared { erase_when: EraseWhen::OnAlloc, ..SHARED });
        let span = if name == "mtbs" { PAGES / 2 } else { PAGES };
        let mut cuts = 0;
        // The note and the next opened block lie on one die or on two.
        for (other_pages, operation) in (0..4 * span).step_by(span as usize).flat_map(|pages| [(pages, 1), (pages, 2)])
        {
            let nand = flash(Geometry::two_dies(10, PAGES as u32, 512).unwrap(), Rules::default());
            let mut disk = mount(nand, 6 * span as u32, &config);
            write(&mut disk, (0..span).chain([0]).chain(span..span + other_pages));
            submit(&mut disk, Op::Flush, 0, 0);
            submit(&mut disk, Op::Trim, 0, span as u32);
            device::<Flash>(&mut disk).arm(CutPlan { operation: operation + 1, form: Form::LostTail });
            let mut writes = (0..3).map(|page| disk.submit(&Request::new(Op::Write, page, 1), Payload::None).err());
            assert_eq!(writes.find(Option::is_some), Some(Some(Error::PowerLost)), "{}", name);
            let mount = mounted(restored(disk), 6 * span as u32, &config);
            let mut disk = mount.unwrap_or_else(|why| panic!("{}, {other_pages} other pages: {why}", name));
            disk.check();
            cuts += 1;
        }
        assert_eq!(cuts, 8);
    }
    each_scheme!(test);
}

//! YAFFS's collector since 2010: a few pages at each write.

use super::model::Op;
use super::rig::{device, systems, Lent, Rig};
use nandlab_fs::yaffs::{self, Yaffs};
use nandlab_fs::{FileSystem, Handle};
use nandlab_nand::plain::WithContent;
use nandlab_nand::power_cut::{CutPlan, Form};
use nandlab_nand::{Counting, Geometry, Nand, ProgramOrder, Rules};

type Flash = WithContent<Counting>;

const PAGES_PER_BLOCK: u32 = 64;

/// Pages of the file, copies and erases of yaffs2.
const REAL: [(u64, u64, u32); 3] = [(1024, 160, 60), (2048, 2022, 102), (3072, 16_350, 342)];

fn flash(blocks: u32, page_bytes: u32) -> Flash {
    let rules = Rules { program_order: ProgramOrder::Any, partial_programs: 3, ..Rules::default() };
    let geometry = Geometry::single_die(blocks, PAGES_PER_BLOCK, page_bytes).expect("the shape is sound");
    WithContent::new(Counting::new(geometry, rules))
}

/// Pages in an order without a pattern: the constants are those of the C standard's example of `rand`.
fn drawn(pages: u64) -> impl Iterator<Item = u64> {
    let next = |state: &u64| Some((state * 1_103_515_245 + 12_345) % (1 << 31));
    std::iter::successors(next(&1), next).map(move |state| (state >> 16) % pages)
}

/// A file of that many pages, written in pieces of 32.
fn filled(fs: &mut Yaffs<Lent<'_>>, pages: u64, page_bytes: u64) -> Handle {
    let file = fs.create("f").expect("there is room");
    for at in (0..pages).step_by(32) {
        fs.write(file, at * page_bytes, &vec![1; 32 * page_bytes as usize]).expect("there is room");
    }
    fs.close(file).expect("it is open");
    fs.open("f").expect("it is there")
}

/// Each overwrite of a page, as the collector sees it.
struct Step {
    erased_before: u32,
    free_before: u32,
    copied: u64,
    runs: u64,
    aggressive: u64,
}

/// Overwrites `count` drawn pages of a file.
fn overwritten(flash: &mut Flash, config: &yaffs::Config, pages: u64, count: usize) -> Vec<Step> {
    let page_bytes = u64::from(flash.geometry().page_bytes());
    let mut fs = Yaffs::mount(flash as Lent<'_>, config).expect("the options suit the device");
    let file = filled(&mut fs, pages, page_bytes);
    let mut steps = Vec::new();
    for page in drawn(pages).take(count) {
        let (before, erased_before) = (fs.collections(), fs.empty_blocks());
        let free_before = fs.block_uses().iter().map(|block| PAGES_PER_BLOCK - block.live).sum();
        fs.write(file, page * page_bytes, &vec![2; page_bytes as usize]).expect("there is room");
        let after = fs.collections();
        steps.push(Step {
            erased_before,
            free_before,
            copied: after.copied - before.copied,
            runs: after.runs - before.runs,
            aggressive: after.aggressive - before.aggressive,
        });
    }
    fs.close(file).expect("it is open");
    fs.check();
    steps
}

/// Outside source: yaffs2 474b3ac under the same operations, in `examples/firmware/yaffs` with the options `no_summary`.
#[test]
fn copies_and_erases_are_those_of_the_real_yaffs2() {
    for (pages, copies, erases) in REAL {
        let mut flash = flash(64, 2048);
        overwritten(&mut flash, &yaffs::Config::default(), pages, 5990);
        let total = flash.ctx().matrix().total();
        let erased: u32 = flash.into_inner().pe_cycles().iter().sum();
        assert_eq!((total.copies, erased), (copies, erases), "{pages} pages");
    }
}

#[test]
fn a_write_moves_at_most_five_pages_while_enough_blocks_are_erased() {
    let steps = overwritten(&mut flash(128, 2048), &yaffs::Config::default(), 4096, 12_000);
    let passive: Vec<&Step> = steps.iter().filter(|step| step.aggressive == 0 && step.copied > 0).collect();
    assert!(passive.iter().all(|step| step.copied <= 5));
    let parts = passive.iter().filter(|step| step.copied == 5 && step.runs == 0).count();
    assert!(parts > 100, "{parts} writes moved a part of a block");
}

#[test]
fn nothing_is_collected_while_more_than_a_quarter_of_the_free_pages_is_erased() {
    let steps = overwritten(&mut flash(128, 2048), &yaffs::Config::default(), 4096, 12_000);
    let mut collected = 0;
    for step in steps.iter().filter(|step| step.copied > 0 && step.aggressive == 0) {
        let erased = step.erased_before * PAGES_PER_BLOCK;
        assert!(erased <= step.free_before / 4, "{erased} of {} free pages were erased", step.free_before);
        collected += 1;
    }
    assert!(collected > 100);
}

#[test]
fn without_deletion_marks_a_block_is_emptied_at_once() {
    let gc = yaffs::Collection { passive_limit: Some(60), ..yaffs::Collection::default() };
    for mark_copied in [true, false] {
        let config = yaffs::Config { mark_copied, gc: gc.clone(), ..yaffs::Config::default() };
        let steps = overwritten(&mut flash(128, 512), &config, 4096, 12_000);
        assert_eq!(steps.iter().any(|step| step.copied > 0 && step.runs == 0), mark_copied);
        assert_eq!(steps.iter().any(|step| step.copied > 5), !mark_copied);
    }
}

#[test]
fn the_oldest_block_is_collected_for_its_age_unless_that_is_switched_off() {
    let copied = |refresh_period| {
        let gc = yaffs::Collection { refresh_period, ..yaffs::Collection::default() };
        let config = yaffs::Config { gc, ..yaffs::Config::default() };
        overwritten(&mut flash(128, 2048), &config, 4096, 12_000).iter().map(|step| step.copied).sum::<u64>()
    };
    let (never, often) = (copied(Some(0)), copied(Some(1)));
    assert!(never < often, "{never} copies, and {often}");
}

/// Cuts at each operation while blocks are being emptied over several writes.
#[test]
fn a_cut_in_a_block_that_is_partly_emptied_loses_nothing() {
    for subject in systems().into_iter().filter(|subject| subject.name.ends_with(":gradual")) {
        let page = u64::from(subject.geometry.page_bytes());
        let pages = 96;
        let over = |page_at: u64, seed| Op::Write("f".into(), page_at * page, page as usize, seed);
        let mut ops = vec![Op::Create("f".into()), Op::Write("f".into(), 0, (pages * page) as usize, 1)];
        ops.extend(drawn(pages).take(140).map(|at| over(at, 2)));
        let mut ready = Rig::new(&subject, device(&subject));
        ready.session(&ops).unwrap_or_else(|error| panic!("{subject}: {error}"));
        let then: Vec<Op> = drawn(pages).skip(140).take(40).map(|at| over(at, 3)).collect();
        let mut cases = 0;
        'cuts: for operation in 1.. {
            let mut hit = None;
            for form in Form::WITHOUT_WEAK {
                if hit.is_some_and(|hit| !form.applies_to(hit)) {
                    continue;
                }
                let mut rig = ready.clone();
                rig.device.flash.arm(CutPlan { operation, form });
                let Some((before, after)) = rig.until_cut(&then) else { break 'cuts };
                hit = rig.device.flash.cut_operation();
                rig.device.restore();
                rig.recover(&before, &after).unwrap_or_else(|error| panic!("{subject} {operation} {form}: {error}"));
                rig.session(&then[..6]).unwrap_or_else(|error| panic!("{subject} {operation} {form}: {error}"));
                cases += 1;
            }
        }
        assert!(cases > 300, "{subject}: only {cases} cuts");
    }
}

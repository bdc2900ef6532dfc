//! Pairs of pages: what padding costs, what happens without it, and who refuses such a device.

use nandlab_block::{Error, Op, Request};
use nandlab_drive::{Chip, Device as AnyDevice};
use nandlab_ftl::page::{Config, Dynamic, SlcCache};
use nandlab_ftl::FtlConfig;
use nandlab_nand::power_cut::{CutPlan, Form};
use nandlab_nand::{as_inside, Cause, Content, Nand, Rules};
use nandlab_proof::cuts::{Case, Outcome};
use nandlab_proof::device::{paired_devices, Device};
use nandlab_proof::rig::{flash, Flash};
use nandlab_proof::{exportable, Lost, Rig, Step};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// A device that does not tell its FTL about its pairs.
struct Hidden {
    inner: Flash,
    rules: Rules,
}

impl Nand for Hidden {
    type Buf = Content;

    as_inside!(inner: geometry, is_known_erased, is_settled, read, read_spare, program, read_tail, read_with_tail, copy, program_spare, erase,
        retire, set_slc, is_slc, ctx);

    fn rules(&self) -> &Rules {
        &self.rules
    }
}

impl Chip for Hidden {
    fn inside(&self) -> Option<&dyn Chip> {
        Some(&self.inner)
    }
    fn inside_mut(&mut self) -> Option<&mut dyn Chip> {
        Some(&mut self.inner)
    }
}

fn page_map() -> FtlConfig {
    FtlConfig::Page(Config::default())
}

fn write(device: &Device, at: u64) -> Step {
    let page = device.geometry.sectors_per_page();
    Step::Do(Request::new(Op::Write, at * u64::from(page), page))
}

const FLUSH: fn() -> Step = || Step::Do(Request::new(Op::Flush, 0, 0));

/// Flushes one page, and cuts an operation of the writes that follow; whether the flushed page is there afterwards.
fn survives<N: AnyDevice>(nand: N, flash: fn(&mut N) -> &mut Flash, operation: u64) -> bool {
    let device = paired_devices()[0];
    let (config, pages) = (page_map(), exportable(&page_map(), &device).unwrap());
    let mut rig = Rig::new(nand, pages, &config).unwrap();
    [write(&device, 0), FLUSH()].iter().for_each(|&step| rig.step(step).unwrap());
    flash(rig.disk_mut().nand_mut()).arm(CutPlan { operation, form: Form::PairedPage });
    let cut = (1..).map(|at| rig.step(write(&device, at))).find_map(Result::err);
    assert_eq!(cut, Some(Error::PowerLost));
    let Lost { mut nand, model } = rig.power_lost();
    flash(&mut nand).restore();
    catch_unwind(AssertUnwindSafe(|| Rig::recovered(nand, &model, pages, &config).is_ok())).unwrap_or(false)
}

#[test]
fn without_padding_a_cut_destroys_a_flushed_page() {
    let device = paired_devices()[0];
    let rules = Rules { pair_distance: 0, ..device.rules };
    let hidden = || Hidden { inner: flash(&device, Default::default()), rules };
    let lost: Vec<u64> =
        (1..=6).filter(|&cut| !survives(hidden(), |hidden: &mut Hidden| &mut hidden.inner, cut)).collect();
    assert_eq!(lost, [1], "the next page is the upper one of the pair");
    assert!((1..=6).all(|cut| survives(flash(&device, Default::default()), |flash: &mut Flash| flash, cut)));
}

/// A block with a failed program is retired after its pages have moved. This case fails if their pairs are still open then.
#[test]
fn a_retirement_waits_for_the_pairs_of_the_moved_pages() {
    let case = "page:fifo/2x10x6x512-dense-pairs1-timed/1884630/program:77/cut:99:torn_erase.weak/cut:3:lost_tail";
    assert_eq!(case.parse::<Case>().unwrap().replay(), Some(Outcome::Survived));
}

/// Closed form: with distance 2 and a flush after each page, a block of eight pages is filled as page, blank, blank, page, twice.
#[test]
fn each_flush_programs_as_many_blank_pages_as_its_pairs_need() {
    let device = paired_devices()[1];
    let blank = |flush_every: u64| {
        let pages = exportable(&page_map(), &device).unwrap();
        let mut rig = Rig::new(flash(&device, Default::default()), pages, &page_map()).unwrap();
        for at in 0..8 {
            rig.step(write(&device, at)).unwrap();
            if (at + 1) % flush_every == 0 {
                rig.step(FLUSH()).unwrap();
            }
        }
        rig.disk_mut().nand_mut().ctx().matrix().sum(|_, cause| cause == Cause::Padding).programs()
    };
    assert_eq!([1, 2, 4, 8].map(blank), [8, 8, 0, 0]);
}

#[test]
fn who_does_not_pad_refuses_a_device_with_pairs() {
    let device = paired_devices()[0];
    for config in FtlConfig::all().into_iter().filter(|config| config.name() != "page") {
        let error = config.max_logical_pages(&device.geometry, &device.rules).unwrap_err().to_string();
        assert!(error.contains("device.rules.pair_distance = 1") && error.contains("take ftl.page"), "{error}");
        let mounted = Rig::new(flash(&device, Default::default()), 1, &config);
        assert!(mounted.is_err(), "{} mounts on a device with pairs", config.name());
    }
    let cached = Config { slc_cache: SlcCache::Dynamic(Dynamic::default()), ..Config::default() };
    for (config, why) in [
        (cached, "slc_cache = \"none\""),
        (Config { reserve_blocks: 1, ..Config::default() }, "reserve_blocks of at least 2"),
    ] {
        let error = FtlConfig::Page(config).max_logical_pages(&device.geometry, &device.rules).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

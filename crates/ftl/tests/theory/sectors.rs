//! The sector map against the closed form: to uniform writes of sectors a block is one of as many pages as it gathers
//! sectors, and each bank is a device of its own.

use crate::{forms, totals};
use nandlab_block::{BlockDevice, HostClock, Op, Request};
use nandlab_ftl::sector_map::{Config, SectorMap};
use nandlab_ftl::{Disk, Ftl};
use nandlab_nand::counting::Lean;
use nandlab_nand::random::Random;
use nandlab_nand::{Counting, Geometry, Rules, Shape};

/// Banks of so many blocks of pages of sectors, what each of them keeps free, and how much more than what is exported the
/// others take.
struct Bench {
    banks: u32,
    blocks: u32,
    pages: u32,
    sectors: u32,
    reserve: u32,
    /// Blocks of a bank that the map has a claim to.
    map: u32,
    spare: f64,
}

impl Bench {
    /// Blocks of a bank that hold data when a victim is chosen (D7: those that never do are left out).
    fn with_data(&self) -> u32 {
        self.blocks - self.map - self.reserve
    }

    fn logical_pages(&self) -> u32 {
        let usable = f64::from(self.banks * self.with_data() * self.pages * (self.sectors - 1));
        (usable / (1.0 + self.spare) / f64::from(self.sectors)) as u32
    }

    fn expected(&self) -> f64 {
        let valid = f64::from(self.logical_pages() * self.sectors) / f64::from(self.banks);
        forms::gathered(self.with_data(), self.pages, self.sectors - 1, valid)
    }

    /// Sectors programmed for each that is written, and what ran a second.
    fn measured(&self) -> (f64, f64) {
        let shape = Shape {
            channels: 1,
            dies_per_channel: self.banks,
            planes_per_die: 1,
            blocks_per_plane: self.blocks,
            pages_per_block: self.pages,
            page_bytes: 512 * self.sectors,
            spare_bytes: 64,
        };
        let config = Config { cmt_units: 0, map_spare_percent: 1, reserve_blocks: self.reserve, ..Config::default() };
        let nand = Counting::<Lean>::new(Geometry::new(shape).expect("a plain shape"), Rules::default());
        let mut disk = Disk::<SectorMap, _>::mount(nand, self.logical_pages(), &config).expect("it fits");
        let space = u64::from(self.logical_pages() * self.sectors);
        let mut random = Random::new(3);
        let mut clock = HostClock::closed_loop(1);
        let (mut batch, mut done) = (Vec::new(), Vec::new());
        let mut write = |disk: &mut Disk<SectorMap, Counting<Lean>>, count: u64| {
            let before = totals(disk).programs();
            let started = std::time::Instant::now();
            for _ in 0..count / 1024 {
                batch.clear();
                done.clear();
                batch.extend((0..1024).map(|_| Request::new(Op::Write, random.below(space), 1)));
                disk.submit_batch(&batch, &mut clock, &mut done).expect("the device has no faults");
            }
            let pages = (totals(disk).programs() - before) as f64;
            let sectors = (count / 1024 * 1024) as f64;
            (pages * f64::from(self.sectors) / sectors, sectors / started.elapsed().as_secs_f64())
        };
        write(&mut disk, 6 * space);
        let found = write(&mut disk, 4 * space);
        assert_eq!(disk.ftl().events().map_dirty_evictions, 0, "the map is in memory");
        found
    }

    fn agrees_within(&self, tolerance: f64) {
        let ((waf, speed), expected) = (self.measured(), self.expected());
        println!(
            "{} x {} blocks: {waf:.4} sectors programmed for each written, {expected:.4} expected; {:.2} M sectors a second",
            self.banks,
            self.blocks,
            speed / 1e6
        );
        assert!((waf / expected - 1.0).abs() < tolerance, "{waf} against {expected}");
    }
}

#[test]
fn gathered_sectors_cost_what_large_blocks_cost() {
    let usual = Bench { banks: 1, blocks: 256, pages: 64, sectors: 32, reserve: 2, map: 4, spare: 0.28 };
    usual.agrees_within(0.01);
    // The four blocks of the map are shared among the banks.
    Bench { banks: 4, blocks: 64, reserve: 1, map: 1, ..usual }.agrees_within(0.01);
}

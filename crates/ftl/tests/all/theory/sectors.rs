//! The sector map against the closed form. For uniform sector writes a block acts like one with a page for each
//! gathered sector, and each bank like a device of its own.

use super::{forms, mount, totals, Lab};
use nandlab_block::{BlockDevice, HostClock, Op, Request};
use nandlab_ftl::sector_map::Config;
use nandlab_nand::counting::Lean;
use nandlab_nand::random::Random;
use nandlab_nand::{Counting, Geometry, Rules, Shape};

/// Banks, blocks, pages and sectors; the blocks kept free; and the spare room over the exported pages.
struct Bench {
    banks: u32,
    blocks: u32,
    pages: u32,
    sectors: u32,
    /// Reserved blocks per bank.
    reserve: u32,
    /// Blocks claimed by the map, dealt to the banks in turn; the first ones get the rest.
    map: u32,
    spare: f64,
}

impl Bench {
    /// A bank's blocks with data when a victim is chosen (blocks that never hold data are left out).
    fn with_data(&self, bank: u32) -> u32 {
        self.blocks - self.reserve - (self.map + self.banks - 1 - bank) / self.banks
    }

    fn logical_pages(&self) -> u32 {
        let blocks: u32 = (0..self.banks).map(|bank| self.with_data(bank)).sum();
        let usable = f64::from(blocks * self.pages * (self.sectors - 1));
        (usable / (1.0 + self.spare) / f64::from(self.sectors)).round() as u32
    }

    /// The mean field stands for many blocks; a simulation over pages with hundreds of blocks is within 0.3 % of it.
    /// All banks take as many pages and so hold as many valid sectors; one with fewer blocks moves more of them.
    fn expected(&self) -> f64 {
        let valid = f64::from(self.logical_pages() * self.sectors) / f64::from(self.banks);
        let of = |blocks| forms::gathered(blocks, self.pages, self.sectors - 1, valid);
        let (most, least) = (self.with_data(self.banks - 1), self.with_data(0));
        let few = (0..self.banks).filter(|&bank| self.with_data(bank) == least).count() as f64;
        (few * of(least) + (f64::from(self.banks) - few) * of(most)) / f64::from(self.banks)
    }

    /// Programmed sectors per written sector, and simulated writes per second.
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
        let config = Config { cmt_units: 0, reserve_blocks: self.reserve, ..Config::default() };
        let nand = Counting::<Lean>::new(Geometry::new(shape).expect("a plain shape"), Rules::default());
        let mut disk = mount(nand, self.logical_pages(), &config);
        let space = u64::from(self.logical_pages() * self.sectors);
        let mut clock = HostClock::closed_loop(1);
        let (mut batch, mut done) = (Vec::new(), Vec::new());
        let mut write = |disk: &mut Lab, at: &mut dyn FnMut(u64) -> u64, count: u64| {
            let before = totals(disk).programs();
            let started = std::time::Instant::now();
            for first in (0..count).step_by(1024) {
                batch.clear();
                done.clear();
                let requests = (first..count.min(first + 1024)).map(|number| Request::new(Op::Write, at(number), 1));
                batch.extend(requests);
                disk.submit_batch(&batch, &mut clock, &mut done).expect("the device has no faults");
            }
            let programmed = (totals(disk).programs() - before) as f64 * f64::from(self.sectors);
            (programmed / count as f64, count as f64 / started.elapsed().as_secs_f64())
        };
        let mut random = Random::new(3);
        write(&mut disk, &mut |number| number, space);
        write(&mut disk, &mut |_| random.below(space), 3 * space);
        let found = write(&mut disk, &mut |_| random.below(space), 3 * space);
        assert_eq!(disk.events().map_dirty_evictions, 0, "the map is in memory");
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
    Bench { banks: 4, blocks: 64, reserve: 1, ..usual }.agrees_within(0.01);
}

/// Banks with 37 blocks, as in the paper's file; on seven banks one block is for the map.
#[test]
fn banks_of_the_board_collect_as_devices_of_their_own() {
    let board = Bench { banks: 8, blocks: 37, pages: 128, sectors: 64, reserve: 1, map: 7, spare: 0.0805 };
    assert_eq!(board.logical_pages(), 1 << 15);
    board.agrees_within(0.01);
}

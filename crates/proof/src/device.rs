//! The proof devices: tiny and odd ones.

use nandlab_nand::profile::{PlaneOverlap, Timing};
use nandlab_nand::{Geometry, ProgramOrder, Rules, Shape};

/// A conformance device.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    /// Its name in failures.
    pub name: &'static str,
    /// Its geometry.
    pub geometry: Geometry,
    /// Its rules.
    pub rules: Rules,
    /// Its times; [`UNTIMED`] if it keeps none.
    pub timing: Timing,
}

/// Everything ends at time 0, so every fence covers everything issued.
pub const UNTIMED: Timing = Timing::array(0.0, 0.0, 0.0);

/// Erases take so long that an erasing die falls behind the others.
const TIMED: Timing = Timing {
    read_us: 25.0,
    program_us: 300.0,
    erase_us: 2000.0,
    transfer_ns_per_byte: 25.0,
    plane_overlap: PlaneOverlap::Independent,
    ..UNTIMED
};

impl Device {
    /// Whether operations take time, so a bounded fence covers only operations ended by then.
    pub fn is_timed(&self) -> bool {
        self.timing != UNTIMED
    }
}

/// Tiny and odd devices: every program order, one die and several, one plane and two, one sector a page and many, one
/// program per page and partial ones.
///
/// The names give: channels x dies x planes if there is more than one, blocks per plane, pages, bytes; the order; `pN`
/// for N programs per page.
pub fn devices() -> Vec<Device> {
    use ProgramOrder::{Any, Ascending, AscendingDense};
    vec![
        device("8x4x512-ascending", [1, 1, 1, 8, 4, 512], Ascending, 1),
        device("8x4x512-any", [1, 1, 1, 8, 4, 512], Any, 1),
        device("9x3x1024-dense", [1, 1, 1, 9, 3, 1024], AscendingDense, 1),
        device("24x16x2048-ascending", [1, 1, 1, 24, 16, 2048], Ascending, 1),
        device("2x2x2x6x5x1024-dense", [2, 2, 2, 6, 5, 1024], AscendingDense, 1),
        device("13x8x4096-any", [1, 1, 1, 13, 8, 4096], Any, 1),
        // Room for many open blocks.
        device("16x4x512-dense", [1, 1, 1, 16, 4, 512], AscendingDense, 1),
        device("18x3x512-any", [1, 1, 1, 18, 3, 512], Any, 1),
        device("2x1x2x4x4x512-any-p2", [2, 1, 2, 4, 4, 512], Any, 2),
        device("1x2x1x9x3x1024-ascending-p4", [1, 2, 1, 9, 3, 1024], Ascending, 4),
    ]
}

/// A device whose map takes more than two flash blocks, so map victims still hold pages.
pub fn device_of_a_map() -> Device {
    device("300x16x512-ascending", [1, 1, 1, 300, 16, 512], ProgramOrder::Ascending, 1)
}

/// Timed devices, for power cuts: their dies, and planes, work at the same time.
pub fn timed_devices() -> Vec<Device> {
    let timed = |name, shape, program_order| Device { timing: TIMED, ..device(name, shape, program_order, 1) };
    vec![
        timed("2x1x2x4x4x512-any-timed", [2, 1, 2, 4, 4, 512], ProgramOrder::Any),
        timed("2x2x1x7x4x512-ascending-timed", [2, 2, 1, 7, 4, 512], ProgramOrder::Ascending),
    ]
}

/// Devices with pairs of pages, for power cuts: on a chip of two bits a cell, an upper page one or two pages above its lower one.
pub fn paired_devices() -> Vec<Device> {
    use ProgramOrder::{Ascending, AscendingDense};
    let paired = |pair_distance, device: Device| {
        let rules = Rules { bits_per_cell: 2, pair_distance, ..device.rules };
        Device { rules, ..device }
    };
    let of_two_dies = [2, 1, 1, 10, 6, 512];
    vec![
        paired(1, device("10x6x512-ascending-pairs1", [1, 1, 1, 10, 6, 512], Ascending, 1)),
        paired(2, device("12x8x512-dense-pairs2", [1, 1, 1, 12, 8, 512], AscendingDense, 1)),
        Device { timing: TIMED, ..paired(1, device("2x10x6x512-dense-pairs1-timed", of_two_dies, AscendingDense, 1)) },
    ]
}

/// Devices with unstable pages, for power cuts: every program order, one die and several, one with pairs of pages too.
pub fn unstable_devices() -> Vec<Device> {
    use ProgramOrder::{Any, Ascending, AscendingDense};
    let of_four_dies = [2, 2, 1, 7, 4, 512];
    let paired = device("12x8x512-dense-pairs2-unstable", [1, 1, 1, 12, 8, 512], AscendingDense, 1);
    let stable = [
        device("8x4x512-ascending-unstable", [1, 1, 1, 8, 4, 512], Ascending, 1),
        device("18x3x512-any-unstable", [1, 1, 1, 18, 3, 512], Any, 1),
        device("16x4x512-dense-unstable", [1, 1, 1, 16, 4, 512], AscendingDense, 1),
        device("2x1x2x4x4x512-any-p2-unstable", [2, 1, 2, 4, 4, 512], Any, 2),
        Device { timing: TIMED, ..device("2x2x1x7x4x512-ascending-unstable-timed", of_four_dies, Ascending, 1) },
        Device { rules: Rules { bits_per_cell: 2, pair_distance: 2, ..paired.rules }, ..paired },
    ];
    stable.map(|device| Device { rules: Rules { unstable_pages: true, ..device.rules }, ..device }).to_vec()
}

/// An untimed device from channels x dies x planes, blocks, pages and bytes.
fn device(name: &'static str, shape: [u32; 6], program_order: ProgramOrder, partial_programs: u8) -> Device {
    let [channels, dies_per_channel, planes_per_die, blocks_per_plane, pages_per_block, page_bytes] = shape;
    let shape = Shape {
        channels,
        dies_per_channel,
        planes_per_die,
        blocks_per_plane,
        pages_per_block,
        page_bytes,
        spare_bytes: if partial_programs > 1 { 16 } else { 64 },
    };
    let geometry = Geometry::new(shape).expect("the shapes above can be built");
    let rules = Rules { program_order, partial_programs, bits_per_cell: 3, ..Rules::default() };
    Device { name, geometry, rules, timing: UNTIMED }
}

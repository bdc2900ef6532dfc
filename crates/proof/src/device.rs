//! The devices that FTLs are proved on: tiny and odd ones.

use nandlab_nand::profile::{PlaneOverlap, Timing};
use nandlab_nand::{Geometry, ProgramOrder, Rules, Shape};

/// A device of the conformance runs.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    /// Its name in failures.
    pub name: &'static str,
    /// Its geometry.
    pub geometry: Geometry,
    /// Its rules.
    pub rules: Rules,
    /// Its times; [`UNTIMED`] where it keeps none.
    pub timing: Timing,
}

/// Everything ends at time 0, where every fence holds for everything that was issued.
pub const UNTIMED: Timing = Timing::array(0.0, 0.0, 0.0);

/// An erase takes so long that a die which erases falls behind the others.
const TIMED: Timing = Timing {
    read_us: 25.0,
    program_us: 300.0,
    erase_us: 2000.0,
    transfer_ns_per_byte: 25.0,
    plane_overlap: PlaneOverlap::Independent,
    ..UNTIMED
};

impl Device {
    /// Whether operations take time, so that a bounded fence holds only for what ends by then.
    pub fn is_timed(&self) -> bool {
        self.timing != UNTIMED
    }
}

/// Tiny and odd devices: every order of programs, one die and several, one plane and two, one sector a page and
/// many, one program of a page and partial ones.
///
/// In the names: channels x dies x planes where there is more than one, blocks of a plane, pages, bytes; the order;
/// `pN` for N programs of a page.
pub fn devices() -> Vec<Device> {
    use ProgramOrder::{Any, Ascending, AscendingDense};
    vec![
        device("8x4x512-ascending", [1, 1, 1, 8, 4, 512], Ascending, 1),
        device("8x4x512-any", [1, 1, 1, 8, 4, 512], Any, 1),
        device("9x3x1024-dense", [1, 1, 1, 9, 3, 1024], AscendingDense, 1),
        device("24x16x2048-ascending", [1, 1, 1, 24, 16, 2048], Ascending, 1),
        device("2x2x2x6x5x1024-dense", [2, 2, 2, 6, 5, 1024], AscendingDense, 1),
        device("13x8x4096-any", [1, 1, 1, 13, 8, 4096], Any, 1),
        // Room for many blocks that are being filled.
        device("16x4x512-dense", [1, 1, 1, 16, 4, 512], AscendingDense, 1),
        device("18x3x512-any", [1, 1, 1, 18, 3, 512], Any, 1),
        device("2x1x2x4x4x512-any-p2", [2, 1, 2, 4, 4, 512], Any, 2),
        device("1x2x1x9x3x1024-ascending-p4", [1, 2, 1, 9, 3, 1024], Ascending, 4),
    ]
}

/// A device whose map on flash takes more than two blocks, so that victims of the map still hold pages.
pub fn device_of_a_map() -> Device {
    device("300x16x512-ascending", [1, 1, 1, 300, 16, 512], ProgramOrder::Ascending, 1)
}

/// Devices that keep time, for power cuts: dies, and planes, that work at the same time.
pub fn timed_devices() -> Vec<Device> {
    let timed = |name, shape, program_order| Device { timing: TIMED, ..device(name, shape, program_order, 1) };
    vec![
        timed("2x1x2x4x4x512-any-timed", [2, 1, 2, 4, 4, 512], ProgramOrder::Any),
        timed("2x2x1x7x4x512-ascending-timed", [2, 2, 1, 7, 4, 512], ProgramOrder::Ascending),
    ]
}

/// A device without times of channels x dies x planes, so many blocks, pages and bytes.
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

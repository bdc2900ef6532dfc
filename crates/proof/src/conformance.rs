//! Conformance: random requests on an FTL with bytes and on the model, everything compared.

use crate::rig::Rig;
use crate::script::{self, Mix, Step};
use nandlab_block::{Op, Request};
use nandlab_ftl::Ftl;
use nandlab_nand::backed::Backed;
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
}

/// Tiny and odd devices: every order of programs, one die and several, one sector a page and many.
pub fn devices() -> Vec<Device> {
    let device = |name, shape: [u32; 6], program_order| {
        let [channels, dies_per_channel, planes_per_die, blocks_per_plane, pages_per_block, page_bytes] = shape;
        let shape = Shape {
            channels,
            dies_per_channel,
            planes_per_die,
            blocks_per_plane,
            pages_per_block,
            page_bytes,
            spare_bytes: 64,
        };
        let geometry = Geometry::new(shape).expect("the shapes below can be built");
        Device { name, geometry, rules: Rules { program_order, ..Rules::default() } }
    };
    vec![
        device("8x4x512-ascending", [1, 1, 1, 8, 4, 512], ProgramOrder::Ascending),
        device("8x4x512-any", [1, 1, 1, 8, 4, 512], ProgramOrder::Any),
        device("9x3x1024-dense", [1, 1, 1, 9, 3, 1024], ProgramOrder::AscendingDense),
        device("24x16x2048-ascending", [1, 1, 1, 24, 16, 2048], ProgramOrder::Ascending),
        device("2x2x2x6x5x1024-dense", [2, 2, 2, 6, 5, 1024], ProgramOrder::AscendingDense),
        device("13x8x4096-any", [1, 1, 1, 13, 8, 4096], ProgramOrder::Any),
    ]
}

/// Runs `steps` random steps of `seed` with `check()` after each and a full comparison at each remount.
///
/// Returns the number of blocks that were collected, or `None` where the FTL refuses the device.
///
/// # Panics
/// At the first difference.
pub fn run<F: Ftl>(device: &Device, config: &F::Config, seed: u64, steps: usize) -> Option<u64> {
    let pages = crate::exportable::<F>(&device.geometry, &device.rules, config)?;
    let sectors = u64::from(pages) * u64::from(device.geometry.sectors_per_page());
    let script = script::random(seed, sectors, device.geometry.sectors_per_page(), steps, Mix::USUAL);
    Some(play::<F>(device, config, pages, &script))
}

/// Plays a script; returns the erases of the device.
///
/// # Panics
/// At the first difference.
pub fn play<F: Ftl>(device: &Device, config: &F::Config, logical_pages: u32, script: &[Step]) -> u64 {
    let nand = Backed::ram(device.geometry, device.rules);
    let mut rig = Rig::<F, _>::new(nand, logical_pages, config).expect("an erased device mounts");
    for (at, &step) in script.iter().enumerate() {
        rig.step(step).unwrap_or_else(|error| panic!("{}: step {at} {step:?}: {error}", device.name));
        rig.disk_mut().check();
        if step == Step::Remount {
            let ram = rig.disk().ftl().ram();
            rig = rig.remount(config).unwrap_or_else(|error| panic!("{}: remount at step {at}: {error}", device.name));
            rig.disk_mut().check();
            assert_eq!(rig.disk().ftl().ram(), ram, "{}: memory after the remount at step {at}", device.name);
            rig.compare_all().expect("a mounted disk reads");
        }
    }
    rig.step(Step::Do(Request::new(Op::Flush, 0, 0))).expect("a flush goes well");
    let mut rig = rig.remount(config).expect("a flushed disk mounts");
    rig.compare_all().expect("a mounted disk reads");
    rig.disk().nand().pe_cycles().iter().map(|&cycles| u64::from(cycles)).sum()
}

//! A device that another FTL used, or the same with other options: a mount refuses it with a sentence or reads what is there.

use nandlab_block::{Op, Request};
use nandlab_ftl::{Ftl, FtlError, Visitor};
use nandlab_proof::device::{devices, Device};
use nandlab_proof::rig::{flash, Flash};
use nandlab_proof::script::{self, Mix};
use nandlab_proof::{every_subject, exportable, on_all_cores, subjects, Lost, Rig, Step, Subject};

/// Steps before the last flush: some leave merges and notes, some do not.
const STEPS: [usize; 4] = [3, 12, 40, 120];

/// Most pages that can be exported.
struct Pages<'a>(&'a Device);

impl Visitor for Pages<'_> {
    type Out = Option<u32>;

    fn visit<F: Ftl>(self, config: &F::Config) -> Option<u32> {
        exportable::<F>(&self.0.geometry, &self.0.rules, config)
    }
}

/// Uses an erased device; its last request is a flush.
struct Used<'a> {
    device: &'a Device,
    pages: u32,
    steps: usize,
}

impl Visitor for Used<'_> {
    type Out = Lost<Flash>;

    fn visit<F: Ftl>(self, config: &F::Config) -> Lost<Flash> {
        let nand = flash(self.device, Default::default());
        let mut rig = Rig::<F, _>::new(nand, self.pages, config).expect("an erased device mounts");
        let page = self.device.geometry.sectors_per_page();
        let mix = Mix { trims: 20, ..Mix::CHANGES };
        let script = script::random(self.steps as u64, u64::from(self.pages) * u64::from(page), page, self.steps, mix);
        for step in script.into_iter().chain([Step::Do(Request::new(Op::Flush, 0, 0))]) {
            rig.step(step).expect("there is room");
        }
        rig.power_lost()
    }
}

/// Mounts a device that was used; false where it is refused.
struct Mounted<'a> {
    used: &'a Lost<Flash>,
    pages: u32,
}

impl Visitor for Mounted<'_> {
    type Out = bool;

    fn visit<F: Ftl>(self, config: &F::Config) -> bool {
        match F::mount(&mut self.used.nand.clone(), self.pages, config) {
            Ok(_) => {}
            Err(FtlError::Config(why)) => {
                assert!(why.contains("the device was used by another FTL"), "{why}");
                return false;
            }
            Err(error) => panic!("the mount: {error}"),
        }
        let Lost { nand, model } = self.used.clone();
        let Ok(mut rig) = Rig::<F, _>::recovered(nand, &model, self.pages, config) else {
            panic!("power is lost without a cut")
        };
        rig.disk_mut().check();
        true
    }
}

#[test]
fn what_another_ftl_left_is_refused_or_read() {
    let writers = every_subject().concat();
    let place = |subject: &Subject| writers.iter().position(|writer| writer == subject).expect("it is on the list");
    let readers: Vec<(usize, Subject)> = subjects().concat().into_iter().map(|one| (place(&one), one)).collect();
    let devices = devices();
    let counts = on_all_cores(&readers, |(at, reader)| {
        let (mut read, mut refused) = (0, 0);
        for (other, writer) in writers.iter().enumerate() {
            let device = &devices[(at + other) % devices.len()];
            let pages = |subject: &Subject| subject.config.dispatch(Pages(device));
            let (Some(most), Some(enough)) = (pages(writer), pages(reader)) else { continue };
            for steps in STEPS {
                let pages = most.min(enough);
                let used = writer.config.dispatch(Used { device, pages, steps });
                println!("{writer} used {}, {pages} pages, {steps} steps; {reader} mounts it", device.name);
                let mounts = reader.config.dispatch(Mounted { used: &used, pages });
                assert!(mounts || writer != reader, "{reader} refuses what it left");
                *(if mounts { &mut read } else { &mut refused }) += 1;
            }
        }
        println!("{reader}: {read} devices read, {refused} refused");
        (read, refused)
    });
    for ((_, reader), (read, refused)) in readers.iter().zip(counts) {
        assert!(read > STEPS.len() && refused > STEPS.len(), "{reader}: {read} read, {refused} refused");
    }
}

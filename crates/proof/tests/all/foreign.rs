//! A device used by another FTL, or with other options: a mount refuses it with a sentence or reads its data.
//!
//! With `NANDLAB_LONG=1` two different FTLs are tried after four numbers of steps, else after one of them.

use nandlab_block::{Op, Request};
use nandlab_ftl::{FtlConfig, FtlError};
use nandlab_proof::device::{devices, Device};
use nandlab_proof::rig::{flash, Flash};
use nandlab_proof::script::{self, Mix};
use nandlab_proof::{every_subject, exportable, on_all_cores, subjects, Disk, Lost, Rig, Step, Subject};

/// Steps before the last flush: some leave merges and notes, some do not.
const STEPS: [usize; 4] = [3, 12, 40, 120];

/// Uses an erased device; the last request is a flush.
fn used(writer: &FtlConfig, device: &Device, pages: u32, steps: usize) -> Lost<Flash> {
    let nand = flash(device, Default::default());
    let mut rig = Rig::new(nand, pages, writer).expect("an erased device mounts");
    let page = device.geometry.sectors_per_page();
    let mix = Mix { trims: 20, ..Mix::CHANGES };
    let script = script::random(steps as u64, u64::from(pages) * u64::from(page), page, steps, mix);
    for step in script.into_iter().chain([Step::Do(Request::new(Op::Flush, 0, 0))]) {
        rig.step(step).expect("there is room");
    }
    rig.power_lost()
}

/// Mounts a used device; false if it is refused.
fn mounts(reader: &FtlConfig, used: &Lost<Flash>, pages: u32) -> bool {
    match Disk::mount(used.nand.clone(), pages, reader) {
        Ok(_) => {}
        Err(FtlError::Config(why)) => {
            assert!(why.contains("the device was used by another FTL"), "{why}");
            return false;
        }
        Err(error) => panic!("the mount: {error}"),
    }
    let Lost { nand, model } = used.clone();
    let Ok(mut rig) = Rig::recovered(nand, &model, pages, reader) else { panic!("power is lost without a cut") };
    rig.disk_mut().check();
    true
}

#[test]
fn what_another_ftl_left_is_refused_or_read() {
    let writers = every_subject().concat();
    let place = |subject: &Subject| writers.iter().position(|writer| writer == subject).expect("it is on the list");
    let readers: Vec<(usize, Subject)> = subjects().concat().into_iter().map(|one| (place(&one), one)).collect();
    let devices = devices();
    let is_long = std::env::var_os("NANDLAB_LONG").is_some();
    let counts = on_all_cores(&readers, |(at, reader)| {
        let (mut read, mut refused) = (0, 0);
        for (other, writer) in writers.iter().enumerate() {
            // The next device, in turn, that is large enough for both.
            let turn = (at + other) % devices.len();
            let in_turn = devices[turn..].iter().chain(&devices[..turn]);
            let mut fitting = in_turn.filter_map(|device| {
                let pages = |subject: &Subject| exportable(&subject.config, device);
                Some((device, pages(writer)?, pages(reader)?))
            });
            let Some((device, most, enough)) = fitting.next() else { continue };
            // The quick form takes one number of steps for two different FTLs, in turn.
            let is_same = std::mem::discriminant(&writer.config) == std::mem::discriminant(&reader.config);
            let steps = if is_long || is_same {
                &STEPS[..]
            } else {
                std::slice::from_ref(&STEPS[(at + other / STEPS.len()) % STEPS.len()])
            };
            for &steps in steps {
                let pages = most.min(enough);
                let used = used(&writer.config, device, pages, steps);
                println!("{writer} used {}, {pages} pages, {steps} steps; {reader} mounts it", device.name);
                let mounts = mounts(&reader.config, &used, pages);
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

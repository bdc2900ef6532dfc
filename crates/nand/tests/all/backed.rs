//! Bytes come back, snapshots stand still, and an image file continues where it was left.

use crate::support::{apply, geometry, oob, page, program, read, rules, Script, ORDERS};
use nandlab_nand::address::Shape;
use nandlab_nand::backed::{Backed, BackedError, Verified};
use nandlab_nand::nvm::{Nvm, NvmCost};
use nandlab_nand::{BlockId, Bytes, Content, Geometry, Nand, NandError, Oob, PageBuf, Ppa, ProgramOrder, Rules};
use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

fn bytes<N: Nand<Buf = Content>>(device: &mut N, at: u32) -> Bytes {
    let mut buffers = [Content(None), page(0xEE)];
    buffers.iter_mut().for_each(|buffer| assert!(device.read(Ppa(at), buffer).is_ok()));
    assert_eq!(buffers[0], buffers[1], "whatever the buffer held, it holds the page");
    buffers[0].0.take().expect("a device with bytes fills the buffer")
}

#[test]
fn a_page_reads_back_with_its_tail_in_its_last_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let image = Backed::create(&directory.path().join("image"), geometry(8, 4), Rules::default()).unwrap();
    let devices: [Box<dyn Nand<Buf = Content>>; 2] =
        [Box::new(Backed::ram(geometry(8, 4), Rules::default())), Box::new(image)];
    for mut device in devices {
        device.program(Ppa(0), &page(7), &[1, 2, 3], oob(0, 1)).unwrap();
        device.copy(Ppa(0), Ppa(1), oob(0, 2)).unwrap();
        device.program(Ppa(2), &Content(None), &[4], oob(1, 3)).unwrap();
        device.program(Ppa(3), &Content(None), &[], oob(2, 4)).unwrap();
        for at in [0, 1] {
            let page = bytes(&mut device, at);
            assert!(page[..509].iter().all(|&byte| byte == 7));
            assert_eq!(page[509..], [1, 2, 3]);
            let mut tail = [0; 2];
            device.read_tail(Ppa(at), &mut tail).unwrap();
            assert_eq!(tail, [2, 3]);
        }
        assert_eq!(
            (bytes(&mut device, 2)[510..].to_vec(), bytes(&mut device, 2)[..511].to_vec()),
            (vec![0, 4], vec![0; 511])
        );
        assert_eq!(*bytes(&mut device, 3), [0; 512], "no bytes are zeros");
        device.erase(BlockId(0)).unwrap();
        device.program(Ppa(0), &Content(None), &[], oob(3, 5)).unwrap();
        assert_eq!(*bytes(&mut device, 0), [0; 512], "nothing of the page before the erase shines through");
    }
}

#[test]
#[should_panic(expected = "a buffer of 100 bytes does not fit a page of 512")]
fn a_buffer_of_another_size_is_refused() {
    let mut device = Backed::ram(geometry(8, 4), Rules::default());
    let _ = device.program(Ppa(0), &Content(Some(vec![0; 100].into())), &[], oob(0, 1));
}

#[test]
fn a_snapshot_is_another_device() {
    let mut device = Backed::ram(geometry(8, 4), Rules::default());
    (0..8).for_each(|at| program(&mut device, at).unwrap());
    let mut before = device.clone();
    device.erase(BlockId(0)).unwrap();
    device.program(Ppa(0), &page(99), &[], oob(5, 50)).unwrap();
    for at in 0..8 {
        assert_eq!(read(&mut before, at).unwrap(), (oob(at, at.into()), at as u8));
    }
    assert_eq!(read(&mut device, 0).unwrap(), (oob(5, 50), 99));
    assert_eq!(before.pe_cycles()[0] + 1, device.pe_cycles()[0]);
    program(&mut before, 8).unwrap();
    assert_eq!(device.read_spare(Ppa(8)), Ok(None));
}

/// Runs `steps` on a device in RAM and on an image that is closed and opened before every step of `reopen`.
fn runs_as_in_ram(seed: u64, order: ProgramOrder, steps: usize, reopen: usize) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    let (g, r) = (geometry(9, 5), rules(order));
    let mut script = Script::new(seed, g, r);
    let mut ram = Backed::ram(g, r);
    let mut image = Backed::create(&path, g, r).unwrap();
    for block in [BlockId(3), BlockId(4)] {
        script.mark_bad(block);
        ram.mark_factory_bad(block).unwrap();
        image.mark_factory_bad(block).unwrap();
    }
    let mut counted = ram.ctx().matrix().clone();
    for number in 0..steps {
        let step = script.step();
        if number % reopen == 0 {
            drop(image);
            image = Backed::open(&path).unwrap();
            assert_eq!((image.geometry(), image.rules()), (&g, &r));
            // The counts are the session's, the asker is named anew.
            let (origin, cause) = (ram.ctx().origin(), ram.ctx().cause());
            image.ctx().begin(origin, 0);
            image.ctx().set_cause(cause);
            counted = ram.ctx().matrix().clone();
        }
        assert_eq!(apply(&mut ram, &step), apply(&mut image, &step), "step {number}: {step:?}");
        assert_eq!(&ram.ctx().matrix().since(&counted), image.ctx().matrix(), "step {number}: {step:?}");
    }
    assert_eq!(ram.pe_cycles(), image.pe_cycles());
    for block in (0..9).map(BlockId) {
        assert_eq!(ram.high_water(block), image.high_water(block));
    }
}

#[test]
fn a_reopened_image_continues_exactly() {
    for order in ORDERS {
        for seed in 0..2 {
            runs_as_in_ram(seed, order, 600, 1);
            runs_as_in_ram(seed + 10, order, 3_000, 97);
        }
    }
}

#[test]
fn the_gaps_of_a_reopened_image_are_not_counted_as_pages() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    let mut device = Backed::create(&path, geometry(8, 4), Rules::default()).unwrap();
    [0, 3, 4].iter().for_each(|&at| program(&mut device, at).unwrap());
    assert_eq!(device.counting().programmed_pages(), 3);
    drop(device);
    let mut device = Backed::open(&path).unwrap();
    assert_eq!(device.counting().programmed_pages(), 3);
    assert_eq!(device.read_spare(Ppa(2)), Ok(None));
    device.erase(BlockId(0)).unwrap();
    assert_eq!((device.counting().programmed_pages(), device.counting().unused_at_erase()), (1, 2));
}

#[test]
fn rules_outlive_the_image_being_closed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    let mut device = Backed::create(&path, geometry(8, 4), rules(ProgramOrder::Any)).unwrap();
    program(&mut device, 1).unwrap();
    device.program_spare(Ppa(1), oob(1, 2)).unwrap();
    device.program_spare(Ppa(1), oob(1, 3)).unwrap();
    device.sync().unwrap();
    drop(device);
    for (sentence, act) in [
        ("page 1: it is programmed", (|device| program(device, 1)) as fn(&mut Backed<_>) -> _),
        ("this chip allows 3 programs", |device| device.program_spare(Ppa(1), oob(1, 4)).map(drop)),
    ] {
        let mut device = Backed::open(&path).unwrap();
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| act(&mut device))).unwrap_err();
        assert!(panic.downcast_ref::<String>().unwrap().contains(sentence));
    }
}

#[test]
fn a_shape_with_dies_and_planes_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    let shape = Shape {
        channels: 3,
        dies_per_channel: 2,
        planes_per_die: 2,
        blocks_per_plane: 5,
        pages_per_block: 7,
        page_bytes: 2048,
        spare_bytes: 64,
    };
    let g = Geometry::new(shape).unwrap();
    drop(Backed::create(&path, g, Rules::default()).unwrap());
    assert_eq!(Backed::open(&path).unwrap().geometry(), &g);
}

fn sentence(result: Result<Backed<nandlab_nand::backed::Image>, BackedError>) -> String {
    let text = result.expect_err("the image is not usable").to_string();
    assert!(!text.contains('\n'), "one sentence: {text}");
    text
}

/// Where the parts of an image of 8 blocks of 4 pages of 512 bytes lie: records in two copies, and the second header.
struct Parts {
    settled: [Range<usize>; 2],
    blocks: [Range<usize>; 2],
    pages: [Range<usize>; 2],
    data: Range<usize>,
    header: usize,
}

impl Parts {
    fn of(image: &[u8]) -> Self {
        const PART: usize = 4096;
        let header = image.len() - 2 * PART;
        let data = header - 32 * 512;
        let part = |from_data: usize| {
            let second = data - from_data * PART;
            [second - 3 * PART..second - 2 * PART, second..second + PART]
        };
        Self { settled: part(3), blocks: part(2), pages: part(1), data: data..header, header }
    }
}

/// A sound image with one programmed page, and its path.
fn sound(directory: &Path) -> PathBuf {
    let path = directory.join("image");
    let mut device = Backed::create(&path, geometry(8, 4), Rules::default()).unwrap();
    program(&mut device, 0).unwrap();
    path
}

#[test]
fn unusable_images_are_refused_in_one_sentence() {
    let directory = tempfile::tempdir().unwrap();
    let nowhere = directory.path().join("missing").join("image");
    let text = sentence(Backed::create(&nowhere, geometry(8, 4), Rules::default()));
    assert!(text.starts_with("cannot create the image ") && text.contains("missing"), "{text}");
    let text = sentence(Backed::open(&nowhere));
    assert!(text.starts_with("cannot open the image "), "{text}");

    let path = sound(directory.path());
    let text = sentence(Backed::create(&path, geometry(8, 4), Rules::default()));
    assert!(text.ends_with("exists already: open it, or remove it first"), "{text}");
    assert!(Backed::open(&path).is_ok(), "the image that was there is untouched");

    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let text = sentence(Backed::open(&path));
    let (is, needs) = (format!("has {} bytes", whole.len() - 1), format!("needs {}", whole.len()));
    assert!(text.contains(&is) && text.contains(&needs), "{text}");
    fs::write(&path, &whole[..20]).unwrap();
    assert!(sentence(Backed::open(&path)).contains("has 20 bytes"));
    for wrong in [&b""[..], b"PK", b"#!/bin/sh\n", &[0; 100_000]] {
        fs::write(&path, wrong).unwrap();
        assert!(sentence(Backed::open(&path)).ends_with("is not a nandlab image: its first bytes are not those of one"));
    }
}

#[test]
fn a_device_is_in_use_by_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = sound(directory.path());
    let first = Backed::open(&path).unwrap();
    assert!(sentence(Backed::open(&path)).ends_with("is in use by another process: end that one first"));
    drop(first);
    assert!(Backed::open(&path).is_ok());
}

#[test]
fn a_damaged_header_is_repaired_from_the_other_one_and_two_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = sound(directory.path());
    let whole = fs::read(&path).unwrap();
    let second = Parts::of(&whole).header;
    for (start, which) in [(0, "the first of two headers"), (second, "the second of two headers")] {
        for place in [0, 8, 20, 73] {
            let mut spoilt = whole.clone();
            spoilt[start + place] ^= 4;
            fs::write(&path, &spoilt).unwrap();
            let mut device = Backed::open(&path).unwrap();
            assert!(device.notices()[0].starts_with(which), "{:?}", device.notices());
            assert_eq!(read(&mut device, 0), Ok((oob(0, 0), 0)));
            drop(device);
            assert!(fs::read(&path).unwrap() == whole, "{place}: it is whole again");
        }
    }
    for (place, what) in [
        (8, "format version"),
        (20, "the checksum of its header is wrong"),
        (73, "the checksum of its header is wrong"),
    ] {
        let mut spoilt = whole.clone();
        spoilt[place] ^= 4;
        spoilt[second + place] ^= 4;
        fs::write(&path, &spoilt).unwrap();
        let text = sentence(Backed::open(&path));
        assert!(text.contains(what), "{place}: {text}");
    }
}

#[test]
fn a_damaged_record_costs_its_block_or_page() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    let mut device = Backed::create(&path, geometry(8, 4), Rules::default()).unwrap();
    (0..8).for_each(|at| program(&mut device, at).unwrap());
    drop(device);
    let whole = fs::read(&path).unwrap();
    let parts = Parts::of(&whole);
    let open_with_all = |places: &[usize]| {
        let mut spoilt = whole.clone();
        places.iter().for_each(|&place| spoilt[place] ^= 4);
        fs::write(&path, &spoilt).unwrap();
        Backed::open(&path).unwrap()
    };
    let open_with = |place: usize| open_with_all(&[place]);
    let in_both = |part: &[Range<usize>; 2], place: usize| part.clone().map(|copy| copy.start + place);

    let mut device = open_with_all(&in_both(&parts.blocks, 16));
    assert!(device.notices()[0].starts_with("block 0 is damaged"), "{:?}", device.notices());
    assert_eq!(device.read_spare(Ppa(0)), Err(NandError::BadBlock(BlockId(0))));
    assert_eq!(read(&mut device, 4), Ok((oob(4, 4), 4)), "the other blocks are there");
    drop(device);

    for place in [0, 17, 60] {
        let mut device = open_with_all(&in_both(&parts.pages, 64 + place));
        assert!(device.notices()[0].starts_with("page 1 is damaged"), "{:?}", device.notices());
        assert_eq!(device.read_spare(Ppa(1)), Err(NandError::Uncorrectable(Ppa(1))));
        assert_eq!(read(&mut device, 1), Err(NandError::Uncorrectable(Ppa(1))));
        assert_eq!(device.copy(Ppa(1), Ppa(8), oob(1, 9)), Err(NandError::Uncorrectable(Ppa(1))));
        assert_eq!(device.verify().unwrap(), Verified { pages: 8, spoilt: vec![Ppa(1)] });
        assert_eq!(read(&mut device, 0), Ok((oob(0, 0), 0)));
        device.erase(BlockId(0)).unwrap();
        program(&mut device, 0).unwrap();
        program(&mut device, 1).unwrap();
        assert_eq!(read(&mut device, 1), Ok((oob(1, 1), 1)), "an erase makes the page good again");
        assert_eq!(device.verify().unwrap().spoilt, []);
    }

    let mut device = open_with(parts.data.start + 3 * 512 + 7);
    assert_eq!(device.notices().len(), 0, "bytes are looked at when they are read");
    assert_eq!(device.read_spare(Ppa(3)), Ok(Some(oob(3, 3))));
    assert_eq!(read(&mut device, 3), Err(NandError::Uncorrectable(Ppa(3))));
    assert_eq!(device.copy(Ppa(3), Ppa(8), oob(3, 9)), Err(NandError::Uncorrectable(Ppa(3))));
    assert_eq!(device.verify().unwrap().spoilt, [Ppa(3)]);
}

/// Any sector of the records, zeroed, changed or in another one's place, costs nothing.
#[test]
fn one_copy_of_each_record_is_enough() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    let mut device = Backed::create(&path, geometry(8, 4), Rules::default()).unwrap();
    (0..32).for_each(|at| program(&mut device, at).unwrap());
    device.erase(BlockId(7)).unwrap();
    drop(device);
    let whole = fs::read(&path).unwrap();
    let Parts { settled, blocks, pages, .. } = Parts::of(&whole);
    for part in [settled, blocks, pages].concat() {
        for sector in part.clone().step_by(512).filter(|&at| whole[at..at + 512].iter().any(|&byte| byte != 0)) {
            for harm in 0..4 {
                let mut spoilt = whole.clone();
                match harm {
                    0 => spoilt[sector..sector + 512].fill(0),
                    1 => spoilt[sector..sector + 512].fill(0xFF),
                    2 => spoilt[sector + 5] ^= 1,
                    _ => {
                        let other = if sector + 512 < part.end { sector + 512 } else { part.start };
                        let (from, to) = (whole[sector..sector + 512].to_vec(), whole[other..other + 512].to_vec());
                        spoilt[sector..sector + 512].copy_from_slice(&to);
                        spoilt[other..other + 512].copy_from_slice(&from);
                    }
                }
                fs::write(&path, &spoilt).unwrap();
                let mut device = Backed::open(&path).unwrap();
                for at in 0..28 {
                    assert_eq!(read(&mut device, at), Ok((oob(at, at.into()), at as u8)), "{sector} {harm}");
                }
                assert_eq!(device.read_spare(Ppa(28)), Ok(None));
                drop(device);
                assert!(Backed::open(&path).unwrap().notices().is_empty(), "{sector} {harm}: it is whole again");
            }
        }
    }
}

/// A page behind the last flush may be torn; one before it is damaged.
#[test]
fn a_flushed_page_is_settled() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    let mut device = Backed::create(&path, geometry(8, 4), Rules::default()).unwrap();
    (0..2).for_each(|at| program(&mut device, at).unwrap());
    device.sync().unwrap();
    (2..4).for_each(|at| program(&mut device, at).unwrap());
    // Erases hand over what was gathered, and the process ends without a flush.
    device.erase(BlockId(3)).unwrap();
    let killed = fs::read(&path).unwrap();
    drop(device);
    let settled = |path: &Path| {
        let mut device = Backed::open(path).unwrap();
        [0, 1, 2, 3].map(|at| device.is_settled(Ppa(at)))
    };
    assert_eq!(settled(&path), [true; 4], "it ended cleanly");
    fs::write(&path, killed).unwrap();
    assert_eq!(settled(&path), [true, true, false, false]);
}

#[test]
fn text_states_and_nvram_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    let device = Backed::create_with(&path, geometry(8, 4), Rules::default(), 4096, "page, seed 7".into()).unwrap();
    let file = device.file();
    assert_eq!(file.state(), None);
    let mut nvram = file.nvram(NvmCost::default());
    assert!(file.save_state(&"x".repeat(1 << 20)).is_err());
    for number in 0..5 {
        file.save_state(&format!("state {number}")).unwrap();
        nvram.write(5, &[number; 11]).unwrap();
        nvram.store(4088, [9; 8]).unwrap();
    }
    let usage = nvram.usage();
    assert_eq!((usage.writes, usage.stored_words), (10, 15));
    drop((device, file, nvram));
    let device = Backed::open(&path).unwrap();
    assert_eq!(device.file().text(), "page, seed 7");
    assert_eq!(device.file().state().as_deref(), Some("state 4"));
    let mut nvram = device.file().nvram(NvmCost::default());
    let mut bytes = [0; 18];
    nvram.read(0, &mut bytes).unwrap();
    assert_eq!(bytes, [0, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 0, 0]);
    drop((device, nvram));
    // A state that was being written when the machine ended leaves the one before.
    let mut spoilt = fs::read(&path).unwrap();
    let at = spoilt.windows(7).position(|bytes| bytes == b"state 4").unwrap();
    spoilt[at] = b'S';
    fs::write(&path, &spoilt).unwrap();
    let device = Backed::open(&path).unwrap();
    assert_eq!(device.file().state().as_deref(), Some("state 3"));
    device.file().save_state("state 5").unwrap();
    drop(device);
    assert_eq!(Backed::open(&path).unwrap().file().state().as_deref(), Some("state 5"));
}

#[test]
fn an_erase_gives_the_room_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    let mut device = Backed::create(&path, Geometry::single_die(4, 64, 4096).unwrap(), Rules::default()).unwrap();
    let page = Content(Some(vec![7; 4096].into()));
    let room = || fs::metadata(&path).unwrap().blocks() * 512;
    for at in 0..64 {
        device.program(Ppa(at), &page, &[], oob(at, 1 + u64::from(at))).unwrap();
    }
    device.sync().unwrap();
    let full = room();
    device.erase(BlockId(0)).unwrap();
    drop(device);
    // Some file systems have no holes, and some give room back later.
    assert!(room() + 64 * 4096 <= full || room() == full, "{full} bytes, then {}", room());
}

#[test]
fn an_image_that_is_cut_fails_the_reads_of_what_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let path = sound(directory.path());
    let mut device = Backed::open(&path).unwrap();
    let failure = device.failure();
    assert!(failure.get().is_none());
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(100).unwrap();
    let mut into = Content::zeroed(512);
    assert_eq!(device.read(Ppa(0), &mut into), Err(NandError::Uncorrectable(Ppa(0))), "a read costs its request");
    assert!(failure.get().is_none());
}

/// What mount would see of the image in `file`.
fn view(path: &Path, file: &[u8]) -> Vec<Result<Option<Oob>, NandError>> {
    fs::write(path, file).unwrap();
    let mut device = Backed::open(path).unwrap();
    (0..device.geometry().pages()).map(|at| device.read_spare(Ppa(at))).collect()
}

#[test]
fn an_image_is_valid_wherever_the_process_ends() {
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (directory.path().join("image"), directory.path().join("copy"));
    let (g, r) = (geometry(8, 4), rules(ProgramOrder::Ascending));
    let mut script = Script::new(3, g, r);
    let mut image = Backed::create(&path, g, r).unwrap();
    let mut before = fs::read(&path).unwrap();
    let parts = Parts::of(&before);
    for _ in 0..150 {
        let step = script.step();
        apply(&mut image, &step);
        image.sync().unwrap();
        // The file as the operating system has it; then, what the writes of
        // the step have done by and by: the bytes of pages, the block records, the page records.
        let after = fs::read(&path).unwrap();
        if after == before {
            continue;
        }
        let ends = [view(&copy, &before), view(&copy, &after)];
        let mut between = before.clone();
        let [blocks, pages, settled] = [&parts.blocks, &parts.pages, &parts.settled].map(Clone::clone);
        for written in std::iter::once(parts.data.clone()).chain([blocks, pages, settled].concat()) {
            between[written.clone()].copy_from_slice(&after[written]);
            assert!(ends.contains(&view(&copy, &between)), "{step:?}");
        }
        assert_eq!(between, after);
        before = after;
    }
}

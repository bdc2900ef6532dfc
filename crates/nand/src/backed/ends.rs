//! Ends of the process between any two writes, and inside of them.

use super::layout::BLOCK_BYTES;
use super::os;
use super::{Backed, Image, ImageFile, Work};
use crate::address::{BlockId, Geometry, Lpn, Ppa, Seq};
use crate::content::{Content, PageBuf};
use crate::context::Origin;
use crate::nand::Nand;
use crate::nvm::{Nvm, NvmCost};
use crate::oob::Oob;
use crate::random::Random;
use crate::rules::{ProgramOrder, Rules};
use std::path::Path;

const BLOCKS: u32 = 6;
const PAGES: u32 = 8;
const NVRAM: u64 = 64;

/// By page: its spare area and its first byte; the word in the NVRAM; what was done so far.
type View = (Vec<Option<(Oob, u8)>>, u64, Work);

fn view(device: &mut Backed<Image>) -> View {
    let pages = (0..BLOCKS * PAGES).map(Ppa).map(|at| {
        let oob = device.read_spare(at).expect("no page is damaged")?;
        let mut page = Content::zeroed(512);
        device.read(at, &mut page).expect("a programmed page can be read");
        Some((oob, page.bytes().expect("it is real")[0]))
    });
    let pages = pages.collect();
    let mut word = [0; 8];
    device.file().nvram(NvmCost::default()).peek(0, &mut word);
    (pages, u64::from_le_bytes(word), device.file().work())
}

/// Some operation on two blocks that are filled in turn, and on the others.
fn operate(device: &mut Backed<Image>, random: &mut Random, number: u64) {
    let block = |index: u64| BlockId((index % u64::from(BLOCKS)) as u32);
    let oob = Oob::data(Lpn(number as u32), Seq(number), Origin::HOST);
    let open = block(number / 20 + number % 2);
    let end = device.high_water(open);
    let next = Ppa(open.0 * PAGES + end.min(PAGES - 1));
    let any = Ppa(random.below(u64::from(BLOCKS * PAGES)) as u32);
    let is_programmed = matches!(device.read_spare(any), Ok(Some(_)));
    let done = match random.below(12) {
        0 => {
            device.file().nvram(NvmCost::default()).store(0, number.to_le_bytes()).map_err(|_| unreachable!("it works"))
        }
        1 if is_programmed => device.program_spare(any, oob).map(drop),
        2 | 3 if is_programmed && end < PAGES && any.0 < next.0 => device.copy(any, next, oob).map(drop),
        4 if number % 2 == 0 => device.file().close().map_err(|error| unreachable!("{error}")),
        4 => device.sync().map_err(|error| unreachable!("{error}")),
        _ if end == PAGES => device.erase(open).map(drop),
        5 => device.program(next, &Content(Some(vec![number as u8; 512].into())), &[number as u8; 9], oob).map(drop),
        _ => device.program(next, &Content(Some(vec![number as u8; 512].into())), &[], oob).map(drop),
    };
    done.expect("the operation is legal");
}

/// What an opening of the image at `path` finds; the file stays as it is.
fn found_in(path: &Path) -> View {
    let recorded = ImageFile::look(path).and_then(|file| file.recorded_work()).expect("the file can be read");
    let mut device = Backed::open_read_only(path).expect("an image is valid wherever the process ends");
    let view = view(&mut device);
    assert_eq!(recorded, view.2, "it is told without a mount, too");
    assert_eq!(device.notices(), [""; 0], "no end is damage");
    view
}

/// Goes on with a copy of the image at `path` after its process ended.
fn goes_on(path: &Path, view_at_end: &View) {
    let copy = path.with_extension("goes-on");
    std::fs::copy(path, &copy).expect("a third file");
    let open = || Backed::open(&copy).expect("it was opened before");
    let mut random = Random::new(view_at_end.1);
    let mut device = open();
    assert_eq!(view(&mut device), *view_at_end, "as it was found by who only looked");
    for number in 1000..1020 {
        operate(&mut device, &mut random, number);
    }
    let at_end = view(&mut device);
    drop(device);
    assert_eq!(view(&mut open()), at_end);
    std::fs::remove_file(&copy).expect("the third file");
}

#[test]
fn an_end_leaves_the_operations_up_to_some_moment() {
    let folder = tempfile::tempdir().expect("a folder for files");
    let (path, copy) = (folder.path().join("image"), folder.path().join("copy"));
    let geometry = Geometry::single_die(BLOCKS, PAGES, 512).expect("a shape that is allowed");
    let rules = Rules { program_order: ProgramOrder::AscendingDense, partial_programs: 255, ..Rules::default() };
    let mut device = Backed::create_with(&path, geometry, rules, NVRAM, String::new()).expect("a new image");
    std::fs::copy(&path, &copy).expect("a second file");
    let log = device.file().0;
    log.log.lock().expect("nobody panicked").clear();
    let mut random = Random::new(11);
    let mut views = vec![view(&mut device)];
    // By write: how many operations were done before it.
    let mut writes = Vec::new();
    for number in 1..=400 {
        operate(&mut device, &mut random, number);
        views.push(view(&mut device));
        let counted = device.ctx().matrix().total();
        let work = Work { programs: counted.programs(), erases: counted.erases() as u64 };
        assert_eq!(device.file().work(), work, "the image counts what the device counts");
        let new = std::mem::take(&mut *log.log.lock().expect("nobody panicked"));
        writes.extend(new.into_iter().map(|write| (number as usize, write)));
    }
    assert!(writes.iter().any(|(_, (_, bytes))| bytes.len() > 1024), "neighbours are written with one call");
    let file = std::fs::OpenOptions::new().write(true).open(&copy).expect("the second file").into();
    let (mut at, mut written) = (0, 0);
    for (number, (place, bytes)) in writes {
        // A record is in a sector, which is never torn.
        let whole = if bytes.len() == BLOCK_BYTES { BLOCK_BYTES } else { 64 };
        for (place, bytes) in (place..).step_by(whole).zip(bytes.chunks(whole)) {
            os::write_at(&file, place, bytes).expect("room for a file");
            let found = found_in(&copy);
            let ahead = views[at..=number].iter().position(|view| *view == found);
            at += ahead.unwrap_or_else(|| panic!("operation {number}: no moment from {at} on was like that"));
            written += 1;
            if written % 16 == 0 {
                goes_on(&copy, &found);
            }
        }
    }
    assert!(at > 390, "the last writes are there");
}

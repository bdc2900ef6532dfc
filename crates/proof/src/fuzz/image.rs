//! The target `image`: an image's header and records with changed bytes.
//!
//! ```text
//! four bytes a change:
//!   0      the part: header, a block's record, a page's record, the bytes of pages; from 128 on its checksum is made to fit
//!   1, 2   which byte of the part
//!   3      what it is combined with by exclusive or
//! ```

use super::sentence;
use nandlab_nand::backed::Backed;
use nandlab_nand::{
    BlockId, Bytes, Content, Geometry, Lpn, Nand, NandError, Oob, Origin, Ppa, ProgramOrder, Rules, Seq,
};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const BLOCKS: u32 = 8;
const PAGES: u32 = 4;
const PAGE_BYTES: u32 = 512;
const HEADER: Range<usize> = 0..72 + TEXT.len() + 4;
const TEXT: &str = "a disk";
/// Record bytes for a block, and for a page.
const RECORDS: [usize; 2] = [128, 64];

/// This thread's file, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        let name = format!("nandlab-image-{}-{:?}", std::process::id(), std::thread::current().id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may never have been made.
        let _ = std::fs::remove_file(&self.0);
    }
}

pub(super) fn run(data: &[u8]) {
    static SOUND: OnceLock<Vec<u8>> = OnceLock::new();
    let mut image = SOUND.get_or_init(sound).clone();
    for change in data.chunks_exact(4).take(64) {
        change_byte(&mut image, change);
    }
    let scratch = Scratch::new();
    std::fs::write(&scratch.0, &image).expect("a file for the image");
    match Backed::open(&scratch.0) {
        Ok(mut device) => {
            device.notices().iter().for_each(|notice| sentence(notice, 0));
            use_all(&mut device);
        }
        Err(error) => sentence(&error.to_string(), scratch.0.as_os_str().len()),
    }
}

/// An image with programmed, copied, erased and bad parts.
fn sound() -> Vec<u8> {
    let scratch = Scratch::new();
    // An earlier process may have had the same number.
    let _ = std::fs::remove_file(&scratch.0);
    fill(&scratch.0).expect("a device without faults");
    std::fs::read(&scratch.0).expect("the file was just written")
}

fn fill(path: &Path) -> Result<(), NandError> {
    let geometry = Geometry::single_die(BLOCKS, PAGES, PAGE_BYTES).expect("a shape that is allowed");
    let rules = Rules { program_order: ProgramOrder::Ascending, partial_programs: 2, ..Rules::default() };
    let mut device = Backed::create_with(path, geometry, rules, 64, TEXT.to_owned()).expect("a folder for files");
    for at in 0..10 {
        let tail: &[u8] = if at % 3 == 0 { &[7; 5] } else { &[] };
        device.program(Ppa(at), &page(at as u8), tail, oob(at))?;
    }
    device.copy(Ppa(2), Ppa(12), oob(12))?;
    device.program_spare(Ppa(1), oob(1))?;
    device.erase(BlockId(1))?;
    device.program(Ppa(4), &page(4), &[9; 512], oob(4))?;
    device.mark_factory_bad(BlockId(5))
}

fn page(fill: u8) -> Content {
    Content(Some(Bytes::from(vec![fill; PAGE_BYTES as usize])))
}

fn oob(at: u32) -> Oob {
    Oob::data(Lpn(at), Seq(u64::from(at) + 1), Origin::HOST)
}

fn change_byte(image: &mut [u8], change: &[u8]) {
    let data = image.len() - (BLOCKS * PAGES * PAGE_BYTES) as usize;
    let (blocks, pages) = (data - 8192, data - 4096);
    let parts = [
        HEADER,
        blocks..blocks + BLOCKS as usize * RECORDS[0],
        pages..pages + (BLOCKS * PAGES) as usize * RECORDS[1],
        data..image.len(),
    ];
    let number = usize::from(change[0] & 3);
    let part = parts[number].clone();
    let at = part.start + usize::from(u16::from_le_bytes([change[1], change[2]])) % part.len();
    image[at] ^= change[3];
    if change[0] < 128 || number == 3 {
        return;
    }
    let record = match number {
        0 => part,
        _ => {
            let bytes = RECORDS[number - 1];
            let start = part.start + (at - part.start) / bytes * bytes;
            start..start + bytes
        }
    };
    let sum_at = record.end - 4;
    let (body, sum) = image[record.start..record.end].split_at_mut(sum_at - record.start);
    sum.copy_from_slice(&crc32fast::hash(body).to_le_bytes());
}

/// Does to the device anything an FTL may do after finding it.
fn use_all(device: &mut Backed<nandlab_nand::backed::Image>) {
    let geometry = *device.geometry();
    let mut into = Content(None);
    for at in (0..geometry.pages()).map(Ppa) {
        match device.read_spare(at) {
            Ok(Some(oob)) => {
                if let Ok(read) = device.read(at, &mut into) {
                    assert_eq!(read, oob, "page {at}");
                }
            }
            Ok(None) | Err(NandError::Uncorrectable(_) | NandError::BadBlock(_)) => {}
            Err(error) => panic!("page {at}: {error}"),
        }
    }
    let spoilt = device.verify().expect("the file can be read").spoilt;
    assert!(spoilt.iter().all(|&at| device.read_spare(at) != Ok(None)), "only programmed pages are spoilt");
    for block in (0..geometry.blocks()).map(BlockId) {
        let first = geometry.page(block, 0);
        if device.read_spare(first) == Err(NandError::BadBlock(block)) {
            continue;
        }
        device.erase(block).expect("the file can be written");
        device.program(first, &page(3), &[1, 2], oob(first.0)).expect("the file can be written");
        let mut tail = [0; 2];
        device.read_tail(first, &mut tail).expect("the page is good again");
        assert_eq!(tail, [1, 2]);
    }
}

//! Holes in MiNV: a write at the far end of the longest file, which adds the most map nodes at once.

use super::rig::Lent;
use nandlab_fs::minv::{Config, Minv};
use nandlab_fs::{FileSystem, FsError};
use nandlab_nand::backed::Backed;
use nandlab_nand::nvm::{NvmCost, Nvram};
use nandlab_nand::{Geometry, ProgramOrder, Rules};

/// The longest file's chunks: 20 bits in the tags.
const MOST: u64 = (1 << 20) - 1;

fn config(objects: u32) -> Config {
    Config { objects, ..Config::default() }
}

fn rules() -> Rules {
    Rules { program_order: ProgramOrder::Any, partial_programs: 1, ..Rules::default() }
}

fn nvram() -> Nvram {
    Nvram::new(1 << 18, NvmCost::default())
}

fn mount<'a>(flash: Lent<'a>, nvram: &'a mut Nvram, config: &Config) -> Result<Minv<Lent<'a>, &'a mut Nvram>, FsError> {
    Minv::mount(flash, nvram, config)
}

/// A file with its first byte in that chunk, or empty.
fn begun(fs: &mut Minv<Lent<'_>, &mut Nvram>, name: &str, chunk: Option<u64>, page: u64) -> nandlab_fs::Handle {
    let handle = fs.create(name).expect("there is room");
    if let Some(chunk) = chunk {
        fs.write(handle, chunk * page, &[7; 10]).expect("there is room");
    }
    handle
}

/// Starts from an empty file and from maps with every height; a map with one leaf needs the most nodes.
#[test]
fn a_file_reaches_to_its_longest_in_one_write_on_every_geometry() {
    // All allowed page sizes: 512 bytes to 32 KiB.
    for page_bytes in (9..=15).map(|bits| 1u32 << bits) {
        for pages in [2, 4, 32, 64, 128, 256, 512] {
            let geometry = Geometry::single_die(24, pages, page_bytes).expect("the shape is sound");
            let config = config(16);
            let mut nvm = nvram();
            let mut flash = Backed::ram(geometry, rules());
            let mut fs = mount(&mut flash, &mut nvm, &config).expect("the device is good");
            let page = u64::from(page_bytes);
            let begins = [None, Some(0), Some(15), Some(16), Some(256), Some(4096), Some(65536), Some(MOST - 1)];
            for (begin, name) in begins.into_iter().zip(["a", "b", "c", "d", "e", "f", "g", "h"]) {
                let handle = begun(&mut fs, name, begin, page);
                fs.write(handle, MOST * page - 1, &[9]).unwrap_or_else(|error| panic!("{geometry:?}: {error}"));
                fs.check();
                let mut ends = [0; 2];
                assert_eq!(fs.read(handle, MOST * page - 1, &mut ends), Ok(1));
                let near = begin.map_or(0, |chunk| fs.read(handle, chunk * page, &mut ends[1..]).expect("it is there"));
                assert_eq!((fs.len(handle), ends), (Ok(MOST * page), [9, if near > 0 { 7 } else { 0 }]));
                let beyond = fs.write(handle, MOST * page, &[1]);
                assert_eq!(beyond, Err(FsError::TooLong { most: MOST * page }));
                fs.close(handle).expect("it is open");
                fs.unlink(name).expect("it is there");
                fs.check();
            }
        }
    }
}

/// Cuts between any two NVRAM stores: the file is unchanged or has its full length.
#[test]
fn the_longest_hole_is_there_wholly_or_not_at_all() {
    let geometry = Geometry::single_die(24, 8, 512).expect("the shape is sound");
    let config = config(8);
    for begin in [None, Some(0)] {
        let (mut flash, mut ready) = (Backed::ram(geometry, rules()), nvram());
        let mut fs = mount(&mut flash, &mut ready, &config).expect("the device is good");
        let before = begin.map_or(0, |_| 10);
        let handle = begun(&mut fs, "a", begin, 512);
        fs.close(handle).expect("it is open");
        drop(fs);
        let (mut olds, mut news) = (0, 0);
        for words in 0.. {
            let (mut flash, mut nvm) = (flash.clone(), ready.clone());
            nvm.cut_after(words);
            let done = mount(&mut flash, &mut nvm, &config).and_then(|mut fs| {
                let handle = fs.open("a")?;
                fs.write(handle, MOST * 512 - 1, &[9])
            });
            if done.is_ok() {
                break;
            }
            nvm.restore();
            let mut fs = mount(&mut flash, &mut nvm, &config).expect("the power is back");
            fs.check();
            let handle = fs.open("a").expect("it was there before");
            let len = fs.len(handle).expect("it is open");
            assert!(len == before || len == MOST * 512, "{words} words: {len} bytes");
            *(if len == before { &mut olds } else { &mut news }) += 1;
            let mut first = [0; 10];
            let count = fs.read(handle, 0, &mut first).expect("it can be read");
            assert!(count == 0 || first == [if before > 0 { 7 } else { 0 }; 10], "{words} words: {first:?}");
        }
        assert!(olds > 70 && news > 30, "{olds} cuts before, {news} after");
    }
}

/// If the NVRAM runs out of nodes, the write is refused before any change.
#[test]
fn a_map_without_room_in_the_nvram_is_refused() {
    let geometry = Geometry::single_die(8, 4, 512).expect("the shape is sound");
    let gc = nandlab_fs::parts::collector::Config { reserved_blocks: 3, ..Default::default() };
    let config = Config { gc, ..config(3) };
    let mut nvm = nvram();
    let mut flash = Backed::ram(geometry, rules());
    let mut fs = mount(&mut flash, &mut nvm, &config).expect("the device is good");
    let handle = begun(&mut fs, "a", Some(0), 512);
    let refused = fs.write(handle, MOST * 512 - 1, &[9]);
    assert!(matches!(refused, Err(FsError::NvramFull { .. })), "{refused:?}");
    fs.check();
    assert_eq!(fs.len(handle), Ok(10));
    // An empty map needs only one node per height.
    let empty = begun(&mut fs, "b", None, 512);
    let refused = fs.write(empty, MOST * 512 - 1, &[9]);
    assert_eq!(refused, Ok(()));
    fs.check();
}

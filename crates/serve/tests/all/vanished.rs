//! An image file that other programs delete, cut or lengthen while it is served.

use crate::support::{create, open, sentence};
use nandlab_serve::{Disk, Export, Options};
use std::fs::{self, OpenOptions};
use std::path::PathBuf;

const PAGE: usize = 4096;

/// A disk whose first 256 pages hold their numbers.
fn written() -> (tempfile::TempDir, PathBuf, Disk) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    create(&path, "page", &[]);
    let disk = open(&path);
    for page in 0..256 {
        disk.write((page * PAGE) as u64, &[page as u8; PAGE], false).unwrap();
    }
    disk.flush().unwrap();
    assert_eq!(disk.faults(), Vec::<String>::new());
    (folder, path, disk)
}

fn set_length(path: &PathBuf, bytes: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

/// Pages read, and pages lost. A read page has its number.
fn read_all(disk: &Disk) -> (usize, usize) {
    let mut found = vec![0; PAGE];
    let is_read = |page: &usize| match disk.read((page * PAGE) as u64, &mut found) {
        Ok(_) => {
            assert!(found.iter().all(|&byte| byte == *page as u8), "page {page}");
            true
        }
        Err(error) => {
            assert_eq!(error.kind(), std::io::ErrorKind::Other, "EIO for programs");
            false
        }
    };
    let read = (0..256).filter(is_read).count();
    (read, 256 - read)
}

/// Places of the pages written, in the image.
fn places(path: &PathBuf) -> Vec<u64> {
    let image = fs::read(path).unwrap();
    let is_ours = |bytes: &[u8]| bytes[0] != 0 && bytes.iter().all(|&byte| byte == bytes[0]);
    (0u64..).zip(image.chunks(PAGE)).filter(|(_, bytes)| is_ours(bytes)).map(|(at, _)| at * PAGE as u64).collect()
}

#[test]
fn a_cut_image_loses_the_pages_behind_and_the_rest_goes_on() {
    let (_folder, path, disk) = written();
    let places = places(&path);
    assert_eq!(places.len(), 255, "page 0 holds zeros");
    set_length(&path, places[155]);
    // Even the first request behind the cut finds the file with its length.
    let (read, lost) = read_all(&disk);
    assert_eq!(lost, 100, "{read} were read");
    let faults = disk.faults();
    assert!(faults.len() == 1 && faults[0].contains("the pages behind them are lost"), "{faults:?}");
    disk.write(0, &[0; PAGE], true).unwrap();
    disk.write(200 * PAGE as u64, &[200; PAGE], true).unwrap();
    assert_eq!(read_all(&disk).1, 99, "a lost page can be written anew");
    disk.close().unwrap();
    drop(disk);
    let disk = open(&path);
    let mut found = [0; PAGE];
    disk.read(PAGE as u64, &mut found).unwrap();
    assert!(found == [1; PAGE] && disk.faults().is_empty(), "it opens again");
}

#[test]
fn an_image_cut_into_its_records_fails_every_request() {
    let (_folder, path, disk) = written();
    set_length(&path, 5000);
    assert_eq!(disk.read(0, &mut [0; PAGE]).unwrap_err().kind(), std::io::ErrorKind::Other);
    assert!(disk.write(0, &[1; PAGE], false).is_err());
    let faults = disk.faults();
    assert!(faults.len() == 1 && faults[0].contains("cut to 5000 bytes"), "{faults:?}");
    assert!(disk.close().is_err());
}

#[test]
fn a_deleted_image_can_be_read_and_promises_nothing() {
    let (_folder, path, disk) = written();
    fs::remove_file(&path).unwrap();
    let faults = disk.faults();
    assert!(faults.len() == 1 && faults[0].contains("was deleted"), "{faults:?}");
    assert_eq!(read_all(&disk), (256, 0));
    disk.write(0, &[1; PAGE], false).unwrap();
    for promise in [disk.flush(), disk.write(0, &[1; PAGE], true)] {
        assert_eq!(promise.unwrap_err().kind(), std::io::ErrorKind::Other);
    }
    assert!(disk.close().is_err());
    assert_eq!(disk.faults().len(), 1, "told once");
}

#[test]
fn a_longer_image_is_told_and_goes_on() {
    let (_folder, path, disk) = written();
    let bytes = fs::metadata(&path).unwrap().len();
    set_length(&path, bytes + 1);
    assert_eq!(read_all(&disk), (256, 0));
    disk.close().unwrap();
    let faults = disk.faults();
    assert!(faults.len() == 1 && faults[0].contains(&format!("`truncate -s {bytes} ")), "{faults:?}");
    drop(disk);
    assert!(sentence(Disk::open(&path, Options::default())).contains("the device in its header needs"));
    set_length(&path, bytes);
    assert_eq!(read_all(&open(&path)), (256, 0));
}

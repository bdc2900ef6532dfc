//! A disk's contents as a plain file.

use crate::Export;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes read together.
const TOGETHER: usize = 1 << 20;
/// Bytes read alone where that fails.
const SECTOR: usize = 512;

/// Writes the contents of `disk` into a new file; returns the byte ranges that cannot be read, which stay holes. Zeros
/// become holes, too.
///
/// # Errors
/// The file exists or cannot be written. No file is left then.
pub fn copy(disk: &dyn Export, path: &Path) -> io::Result<Vec<Range<u64>>> {
    let file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let copied = copy_into(disk, &file);
    if copied.is_err() {
        // The first error counts.
        let _ = std::fs::remove_file(path);
    }
    copied
}

fn copy_into(disk: &dyn Export, file: &File) -> io::Result<Vec<Range<u64>>> {
    file.set_len(disk.size())?;
    let mut bad: Vec<Range<u64>> = Vec::new();
    let mut bytes = vec![0; TOGETHER];
    for start in (0..disk.size()).step_by(TOGETHER) {
        let length = (disk.size() - start).min(TOGETHER as u64) as usize;
        let piece = &mut bytes[..length];
        if disk.read(start, piece).is_ok() {
            keep(file, start, piece)?;
            continue;
        }
        for (at, sector) in (start..).step_by(SECTOR).zip(piece.chunks_mut(SECTOR)) {
            if disk.read(at, sector).is_ok() {
                keep(file, at, sector)?;
                continue;
            }
            let end = at + sector.len() as u64;
            match bad.last_mut().filter(|last| last.end == at) {
                Some(last) => last.end = end,
                None => bad.push(at..end),
            }
        }
    }
    file.sync_all()?;
    Ok(bad)
}

fn keep(file: &File, at: u64, bytes: &[u8]) -> io::Result<()> {
    match bytes.iter().all(|&byte| byte == 0) {
        true => Ok(()),
        false => file.write_all_at(bytes, at),
    }
}

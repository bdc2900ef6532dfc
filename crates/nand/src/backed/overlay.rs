//! Writes that stay in memory: an image that is only read looks like one that is written.
//!
//! A mount writes: it erases blocks again and continues notes. With an overlay nothing of that reaches the file.

use super::os::{self, HostFile};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, PoisonError};

const PIECE: usize = 4096;

/// The pieces of a file that were written, by their number.
#[derive(Debug, Default)]
pub(super) struct Overlay(Mutex<BTreeMap<u64, Box<[u8; PIECE]>>>);

/// The pieces that `length` bytes from `place` on touch: number, range in the piece, and range in the bytes.
fn pieces(place: u64, length: usize) -> impl Iterator<Item = (u64, std::ops::Range<usize>, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = place + done as u64;
        let start = (at % PIECE as u64) as usize;
        let count = (PIECE - start).min(length - done);
        let piece = (count > 0).then_some((at / PIECE as u64, start..start + count, done..done + count));
        done += count;
        piece
    })
}

impl Overlay {
    /// Fills `bytes` from `place` on: what was written, and the rest from `file`.
    pub fn read(&self, file: &HostFile, place: u64, bytes: &mut [u8]) -> io::Result<()> {
        let written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, inside, outside) in pieces(place, bytes.len()) {
            match written.get(&number) {
                Some(piece) => bytes[outside].copy_from_slice(&piece[inside]),
                None => os::read_at(file, place + outside.start as u64, &mut bytes[outside])?,
            }
        }
        Ok(())
    }

    /// Keeps `bytes` from `place` on. What is missing from `file` reads as zeros around them.
    pub fn write(&self, file: &HostFile, place: u64, bytes: &[u8]) {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, inside, outside) in pieces(place, bytes.len()) {
            let piece = written.entry(number).or_insert_with(|| {
                let mut piece = Box::new([0; PIECE]);
                // A file that ends here has nothing to keep.
                let _ = os::read_at(file, number * PIECE as u64, &mut piece[..]);
                piece
            });
            piece[inside].copy_from_slice(&bytes[outside]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_is_written_hides_the_file_and_leaves_it() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 10_000]).unwrap();
        let file = file.into();
        let overlay = Overlay::default();
        overlay.write(&file, 4090, &[1; 20]);
        let mut bytes = [0; 30];
        overlay.read(&file, 4085, &mut bytes).unwrap();
        assert_eq!(bytes, [[7; 5].as_slice(), &[1; 20], &[7; 5]].concat()[..]);
        os::read_at(&file, 4085, &mut bytes).unwrap();
        assert_eq!(bytes, [7; 30]);
        assert!(overlay.read(&file, 9_990, &mut bytes).is_err(), "the file ends");
        overlay.write(&file, 12_000, &[3; 2]);
        overlay.read(&file, 11_999, &mut bytes[..4]).unwrap();
        assert_eq!(bytes[..4], [0, 3, 3, 0]);
    }
}

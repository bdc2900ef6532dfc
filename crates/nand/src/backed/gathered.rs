//! Programs not yet in the file: neighbouring pages are written with one call.
//!
//! All page bytes are written first, in any order, since a page counts from its record on. Then the records are written,
//! in any order, too: if the process ends among them, the next opening takes the programs up to the first missing one
//! ([`Cut`](super::cut::Cut)). So the programs up to some moment are in the file.

use std::io;

/// Page bytes gathered before they are written.
const MOST_BYTES: usize = 256 << 10;
/// Blocks filled in turn, each with its own run: one for the host and one for collection on each die, for a few dies.
const MOST_RUNS: usize = 16;

/// Bytes side by side in the file.
#[derive(Debug, Default)]
struct Run {
    place: u64,
    bytes: Vec<u8>,
}

impl Run {
    fn end(&self) -> u64 {
        self.place + self.bytes.len() as u64
    }

    fn get(&self, place: u64, length: usize) -> Option<&[u8]> {
        let start = usize::try_from(place.checked_sub(self.place)?).ok()?;
        self.bytes.get(start..start.checked_add(length)?)
    }
}

/// Bytes in runs.
#[derive(Debug, Default)]
struct Runs {
    /// Runs beyond `used` are empty and keep their memory.
    runs: Vec<Run>,
    used: usize,
    bytes: usize,
}

impl Runs {
    fn used(&self) -> &[Run] {
        &self.runs[..self.used]
    }

    /// Takes `bytes`, behind the run that ends at `place`, or in a new one; false if that were one more than `most`.
    fn add(&mut self, place: u64, bytes: &[u8], most: usize) -> bool {
        let at = match self.used().iter().position(|run| run.end() == place) {
            Some(at) => at,
            None if self.used == most => return false,
            None => {
                if self.used == self.runs.len() {
                    self.runs.push(Run::default());
                }
                self.runs[self.used].place = place;
                self.used += 1;
                self.used - 1
            }
        };
        self.runs[at].bytes.extend_from_slice(bytes);
        self.bytes += bytes.len();
        true
    }

    fn clear(&mut self) {
        self.runs[..self.used].iter_mut().for_each(|run| run.bytes.clear());
        (self.used, self.bytes) = (0, 0);
    }
}

/// Pages and records waiting to be written.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pages: Runs,
    records: Runs,
}

impl Gathered {
    pub fn is_empty(&self) -> bool {
        self.pages.used == 0 && self.records.used == 0
    }

    /// Takes a page's bytes; false if everything must be written first.
    pub fn add_page(&mut self, place: u64, bytes: &[u8]) -> bool {
        if self.pages.bytes + bytes.len() > MOST_BYTES && self.pages.used > 0 {
            return false;
        }
        self.pages.add(place, bytes, MOST_RUNS)
    }

    /// Takes a page's record; the page's bytes were taken before, or are in the file.
    pub fn add_record(&mut self, place: u64, record: &[u8]) {
        let is_taken = self.records.add(place, record, usize::MAX);
        debug_assert!(is_taken);
    }

    /// The `length` bytes from `place` on, if they are in waiting pages.
    pub fn page(&self, place: u64, length: usize) -> Option<&[u8]> {
        self.pages.used().iter().find_map(|run| run.get(place, length))
    }

    /// Hands everything to `write`. Unwritable data is lost, with everything behind it.
    pub fn write(&mut self, mut write: impl FnMut(u64, &[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut runs = self.pages.used().iter().chain(self.records.used());
        let written = runs.try_for_each(|run| write(run.place, &run.bytes));
        self.pages.clear();
        self.records.clear();
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(gathered: &mut Gathered) -> Vec<(u64, Vec<u8>)> {
        let mut all = Vec::new();
        let write = |place: u64, bytes: &[u8]| {
            all.push((place, bytes.to_vec()));
            Ok(())
        };
        gathered.write(write).unwrap();
        all
    }

    #[test]
    fn pages_side_by_side_are_one_run_and_so_are_their_records() {
        let mut gathered = Gathered::default();
        for (page, record) in [(100, 10), (500, 50), (104, 11), (108, 12), (504, 51)] {
            assert!(gathered.add_page(page, &[record as u8; 4]));
            gathered.add_record(record, &[record as u8]);
        }
        assert_eq!(gathered.page(104, 4), Some(&[11; 4][..]));
        assert_eq!(gathered.page(112, 4), None);
        let pages = [(100, [[10; 4], [11; 4], [12; 4]].concat()), (500, [[50; 4], [51; 4]].concat())];
        let records = [(10, vec![10, 11, 12]), (50, vec![50, 51])];
        assert_eq!(written(&mut gathered), [&pages[..], &records[..]].concat());
        assert!(gathered.is_empty() && gathered.page(104, 4).is_none() && written(&mut gathered).is_empty());
    }

    #[test]
    fn it_is_full_at_so_many_bytes_or_runs() {
        let mut gathered = Gathered::default();
        let page = vec![1; MOST_BYTES / 4];
        for at in 0..4 {
            assert!(gathered.add_page(at * page.len() as u64, &page));
        }
        assert!(!gathered.add_page(0, &[1]));
        assert_eq!(written(&mut gathered).len(), 1);
        for run in 0..MOST_RUNS as u64 {
            assert!(gathered.add_page(10 * run, &[1]));
        }
        assert!(!gathered.add_page(7, &[1]) && gathered.add_page(1, &[1]));
    }

    #[test]
    fn nothing_is_written_behind_an_error() {
        let mut gathered = Gathered::default();
        assert!(gathered.add_page(0, &[1]));
        gathered.add_record(9, &[1]);
        let mut calls = 0;
        let refuse = |_: u64, _: &[u8]| {
            calls += 1;
            Err(io::ErrorKind::StorageFull.into())
        };
        assert_eq!(gathered.write(refuse).unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(calls == 1 && gathered.is_empty());
    }
}

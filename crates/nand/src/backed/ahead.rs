//! Pages in one request, read with one call.

use super::os::{self, HostFile};
use crate::content::{Bytes, PageBuf};
use std::io;

/// Most bytes read together.
const MOST_BYTES: usize = 128 << 10;

/// Pages side by side in the file, read together with the one before them.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    pages: Vec<Bytes>,
    /// The `pages` here and not asked for yet.
    here: std::ops::Range<usize>,
    /// The first one's place.
    place: u64,
    /// The end after the last page asked for.
    end: u64,
}

impl Ahead {
    /// Fills `page` with the one at `place`, if it is here; it is gone then.
    pub fn take(&mut self, place: u64, page: &mut Bytes) -> bool {
        if self.here.is_empty() || self.place != place {
            return false;
        }
        std::mem::swap(&mut self.pages[self.here.start], page);
        self.here.start += 1;
        self.place += page.len() as u64;
        self.end = self.place;
        true
    }

    /// How many `wanted` pages from `place` on are read together. More than one only if the previous page was asked for
    /// last: scattered pages are read one by one.
    pub fn together(&mut self, place: u64, page_bytes: usize, wanted: u32) -> usize {
        let follows = std::mem::replace(&mut self.end, place + page_bytes as u64) == place;
        let most = (MOST_BYTES / page_bytes).max(1);
        if follows {
            most.min(wanted as usize)
        } else {
            1
        }
    }

    /// Reads `count` pages from `place` on, the first one into `page`.
    pub fn read(&mut self, file: &HostFile, place: u64, page: &mut Bytes, count: usize) -> io::Result<()> {
        let page_bytes = page.len();
        self.pages.resize_with(self.pages.len().max(count - 1), || Bytes::zeroed(page_bytes as u32));
        self.clear();
        os::read_pages_at(file, place, std::iter::once(page).chain(&mut self.pages[..count - 1]))?;
        (self.here, self.place) = (0..count - 1, place + page_bytes as u64);
        Ok(())
    }

    /// Something in the file changes.
    pub fn clear(&mut self) {
        self.here = 0..0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_follows_is_read_together() {
        let mut file = tempfile::tempfile().unwrap();
        (0..16).for_each(|page| file.write_all(&[page; 512]).unwrap());
        let file = file.into();
        let (mut ahead, mut page) = (Ahead::default(), Bytes::zeroed(512));
        assert_eq!(ahead.together(1024, 512, 8), 1, "the first of them");
        assert_eq!(ahead.together(2048, 512, 8), 1, "another place");
        assert_eq!(ahead.together(2560, 512, 3), 3);
        ahead.read(&file, 2560, &mut page, 3).unwrap();
        assert_eq!(page[..], [5; 512]);
        assert!(ahead.take(3072, &mut page) && page[..] == [6; 512]);
        assert!(!ahead.take(3072, &mut page), "it is gone");
        assert!(ahead.take(3584, &mut page) && page[..] == [7; 512]);
        assert!(!ahead.take(4096, &mut page));
        assert_eq!(ahead.together(4096, 512, 1_000_000), MOST_BYTES / 512, "it follows what was read ahead");
        ahead.read(&file, 4096, &mut page, 2).unwrap();
        ahead.clear();
        assert!(!ahead.take(4608, &mut page));
        assert!(ahead.read(&file, 7680, &mut page, 2).is_err(), "the file ends");
        assert!(!ahead.take(8192, &mut page));
    }
}

//! Sectors or pages: the size unit in which requests continue one another.
//!
//! DiskSim and FlashSim write the same five columns, with sizes in sectors or in 4 KiB pages. Programs read and write
//! in runs, so many requests start at a recent request's end. With the wrong unit this is chance.

use super::fields::{five_columns, FiveColumns, TimeUnit, PAGE_SECTORS};
use super::format::FormatName;
use super::line::Line;
use std::collections::VecDeque;

/// Earlier requests on the same device a request may continue.
const NEAR: usize = 8;

/// Continuations required in the chosen unit.
const FEWEST: u64 = 3;

/// The chosen unit needs this many times the other one's continuations.
const CLEAR: u64 = 4;

/// Devices told apart; later ones are ignored.
const DEVICES: usize = 64;

/// A device, and its last requests' first sectors and sizes, the latest first.
type Device<'a> = (&'a [u8], VecDeque<(u64, u64)>);

/// How many requests continue another one, with sizes in each unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Continued {
    pub(super) in_sectors: u64,
    pub(super) in_pages: u64,
}

impl Continued {
    /// Counts over lines with five columns; other lines do not count.
    pub(super) fn of<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Self {
        let columns = FiveColumns { time: TimeUnit::Ms, has_fraction: true, size_sectors: 1, size_words: "size" };
        let mut found = Self::default();
        let mut devices: Vec<Device<'_>> = Vec::new();
        for line in lines {
            let Ok(Line::Request(one)) = five_columns(line, columns) else { continue };
            let (sector, size) = (one.request.sector, u64::from(one.request.sectors));
            let at = devices.iter().position(|(name, _)| *name == one.device).unwrap_or_else(|| {
                devices.push((one.device, VecDeque::new()));
                devices.len() - 1
            });
            let before = &mut devices[at].1;
            // The nearest one decides: a later part in a run lies whole pages away, too.
            let ends = before.iter().map(|&(sector, size)| (sector + size, sector + PAGE_SECTORS * size));
            if let Some((in_sectors, _)) = ends.clone().find(|&(sectors, pages)| sectors == sector || pages == sector) {
                let unit = if in_sectors == sector { &mut found.in_sectors } else { &mut found.in_pages };
                *unit += 1;
            }
            before.push_front((sector, size));
            before.truncate(NEAR);
            devices.truncate(DEVICES);
        }
        found
    }

    /// The format shown by the requests; `None` if unclear.
    pub(super) fn format(self) -> Option<FormatName> {
        let Self { in_sectors, in_pages } = self;
        match () {
            () if in_sectors >= FEWEST && in_sectors >= CLEAR * in_pages => Some(FormatName::Disksim),
            () if in_pages >= FEWEST && in_pages >= CLEAR * in_sectors => Some(FormatName::Flashsim),
            () => None,
        }
    }

    /// The counts in a sentence.
    pub(super) fn sentence(self) -> String {
        let Self { in_sectors, in_pages } = self;
        format!(
            "sizes in sectors of 512 bytes (\"disksim\") let {in_sectors} requests start where one shortly before ended, \
             sizes in pages of 4 KiB (\"flashsim\") {in_pages}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[(u64, u64, u64)]) -> Continued {
        let text: Vec<String> =
            lines.iter().map(|(device, at, size)| format!("1.500000\t{device}\t{at}\t{size}\t1")).collect();
        Continued::of(text.iter().map(String::as_bytes))
    }

    #[test]
    fn runs_tell_the_unit() {
        let sectors = of(&[(0, 100, 5), (0, 105, 24), (1, 129, 3), (0, 129, 1), (0, 130, 8)]);
        assert_eq!((sectors, sectors.format()), (Continued { in_sectors: 3, in_pages: 0 }, Some(FormatName::Disksim)));
        let pages = of(&[(0, 100, 2), (0, 116, 1), (0, 900, 4), (0, 124, 1), (0, 132, 1)]);
        assert_eq!((pages, pages.format()), (Continued { in_sectors: 0, in_pages: 3 }, Some(FormatName::Flashsim)));
        // A run with single sectors: the ninth lies eight behind the first, too.
        let single: Vec<_> = (0..100).map(|n| (0, 1000 + n, 1)).collect();
        assert_eq!(of(&single), Continued { in_sectors: 99, in_pages: 0 });
    }

    #[test]
    fn few_or_mixed_runs_tell_nothing() {
        assert_eq!(of(&[(0, 0, 8), (0, 8, 8), (0, 16, 8)]).format(), None);
        for (in_sectors, in_pages) in [(0, 0), (2, 0), (3, 1), (10, 3), (3, 10)] {
            assert_eq!(Continued { in_sectors, in_pages }.format(), None);
        }
    }
}

//! Segments: lines through a group's pages.

use super::super::line::{lines, Line};
use super::super::stripes::Stripes;
use super::BYTES;
use nandlab_nand::Ppa;

/// Logical pages of a group.
pub(super) const GROUP: u32 = 256;

/// Places of a group.
type Places = [u64; (GROUP / 64) as usize];

/// Whether a place is among these.
#[inline]
pub(super) fn has(places: &[u64], place: u32) -> bool {
    places[place as usize / 64] >> (place % 64) & 1 == 1
}

/// A segment's contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Says {
    /// The numbers lie on a line with regular gaps.
    Accurate(Line),
    /// They lie near a line.
    Near(Line),
    /// One page: it has no number, or is left over.
    Page(Ppa),
    /// Trimmed pages.
    Nothing,
}

/// A segment of a group.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) says: Says,
    /// Its places. Firmware has the first and the last, and the gap or the list.
    pub(super) places: Places,
}

impl Segment {
    pub(super) fn count(&self) -> u32 {
        self.places.iter().map(|word| word.count_ones()).sum()
    }

    pub(super) fn bytes(&self) -> u64 {
        match self.says {
            // The list, and its end.
            Says::Near(_) => BYTES + 1 + u64::from(self.count()),
            _ => BYTES,
        }
    }

    /// A list for one place costs more than its page.
    pub(super) fn shorten(&mut self, entries: &[Ppa]) {
        if matches!(self.says, Says::Near(_)) && self.count() == 1 {
            let word = self.places.iter().position(|&word| word != 0).expect("a place is left");
            self.says = Says::Page(entries[64 * word + self.places[word].trailing_zeros() as usize]);
        }
    }

    /// The page it gives for a place.
    pub(super) fn page(&self, place: u32, stripes: &Stripes) -> Option<Ppa> {
        match self.says {
            Says::Accurate(line) | Says::Near(line) => stripes.page(line.at(place)),
            Says::Page(page) => Some(page),
            Says::Nothing => Some(Ppa::NONE),
        }
    }
}

/// Draws lines through a group's places with their pages, in ascending order; `tell` gets the segments.
pub(super) fn learn(points: &[(u32, Ppa)], bound: u32, stripes: &Stripes, mut tell: impl FnMut(Segment)) {
    let segment = |says, of: &[(u32, u32)]| {
        let mut places = Places::default();
        of.iter().for_each(|&(place, _)| places[place as usize / 64] |= 1 << (place % 64));
        Segment { says, places }
    };
    let mut numbered = Vec::with_capacity(points.len());
    let mut trimmed = Vec::new();
    for &(place, page) in points {
        match stripes.number(page) {
            Some(number) => numbered.push((place, number)),
            None if page.is_some() => tell(segment(Says::Page(page), &[(place, 0)])),
            None => trimmed.push((place, 0)),
        }
    }
    if !trimmed.is_empty() {
        tell(segment(Says::Nothing, &trimmed));
    }
    let mut rest = &numbered[..];
    lines(numbered.iter().copied(), bound, |fitted| {
        let (of_line, behind) = rest.split_at(fitted.count as usize);
        rest = behind;
        let is_exact = of_line.iter().all(|&(place, number)| fitted.line.at(place) == number);
        let mut gaps = of_line.windows(2).map(|pair| pair[1].0 - pair[0].0);
        let is_regular = gaps.next().is_none_or(|gap| gaps.all(|other| other == gap));
        let says = if is_exact && is_regular { Says::Accurate(fitted.line) } else { Says::Near(fitted.line) };
        tell(segment(says, of_line));
    });
}

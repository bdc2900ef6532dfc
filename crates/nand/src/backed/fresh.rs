//! Whether an image's records are current, and none is missing.
//!
//! Each program has a number, and stands in one record from then on: its page's record or, after an erase, its block's.
//! So the records have as many programs as the last number says. Erases, bad blocks and NVRAM stores are only counted. Whatever a flush covers must be there. After the end of the machine, later programs may be missing.

use super::marks::{Mark, Noted, Totals};

/// Counts in an image's records.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    /// Programs.
    pub recorded: u64,
    /// The last program that is there with all before it; zero if no mark tells where to begin.
    pub last: u64,
    /// Pages with a spoilt record. Those may be later programs.
    pub torn: u64,
    /// Blocks with a spoilt record: nobody knows how much they tell of.
    pub lost_blocks: u64,
    /// Totals for erases and stores.
    pub now: Mark,
}

impl Counted {
    fn totals(&self) -> Totals {
        self.now.totals.unwrap_or_default()
    }

    /// The difference if these records have less than `mark`, in a sentence.
    fn lacks(&self, mark: Mark, of_mark: &str) -> Option<String> {
        let totals = mark.totals?;
        let (recorded, now) = (self.recorded + totals.missing, self.totals());
        let lacks = |what: &str, found: u64, expected: u64| {
            (found < expected)
                .then(|| format!("its records tell of {found} {what}, and its mark {of_mark} of {expected}"))
        };
        let in_flash = || {
            lacks("programs", recorded, mark.program)
                .or_else(|| lacks("erases and bad blocks", now.removals, totals.removals))
        };
        // A lost block's record was told.
        let in_flash = if self.lost_blocks == 0 { in_flash() } else { None };
        in_flash.or_else(|| lacks("stores to the NVRAM", now.stores, totals.stores))
    }
}

impl Noted {
    /// Why the records cannot be current, in a sentence.
    pub fn old(&self, counted: &Counted) -> Option<String> {
        let of_flush = self.settled.and_then(|settled| counted.lacks(settled, "of the last flush"));
        let of_end = || self.end.and_then(|end| counted.lacks(end, "at the end of the file"));
        of_flush.or_else(of_end).or_else(|| self.cuts_too_much(counted)).or_else(|| self.has_an_old_end())
    }

    /// The end of the file is synchronised before its beginning says that the disk was closed.
    fn has_an_old_end(&self) -> Option<String> {
        let (written, end) = (self.written?, self.end?);
        let is_old = written.is_closed && Mark { is_closed: true, ..end } != written;
        is_old.then(|| "its end is older than its beginning, and pages near the end may be damaged".to_owned())
    }

    /// Programs behind a gap were dropped, and an erase behind it shows that they were there.
    fn cuts_too_much(&self, counted: &Counted) -> Option<String> {
        let missing = self.written?.totals?.missing;
        let surely = (counted.recorded + missing).saturating_sub(counted.torn);
        (counted.lost_blocks == 0 && surely > counted.last).then(|| {
            format!(
                "its records tell of {surely} programs, and only the first {} are there without a gap",
                counted.last
            )
        })
    }

    /// Warnings if the records may be current, in sentences.
    pub fn doubts(&self, counted: &Counted) -> Vec<String> {
        let mut doubts = Vec::new();
        let has_totals = |mark: Option<Mark>| mark.is_some_and(|mark| mark.totals.is_some());
        let mut tell = |is_so: bool, what: String| doubts.extend(is_so.then_some(what));
        let Some(written) = self.written else {
            let what = "the mark of written programs is lost in both copies: the last programs may be out of order";
            tell(has_totals(self.settled), what.to_owned());
            return doubts;
        };
        let settled = self.settled();
        tell(
            self.settled.is_none() && has_totals(self.written),
            "the mark of the last flush is lost in both copies: damage behind an earlier flush may be taken for a power cut"
                .to_owned(),
        );
        let end = self.end.unwrap_or_default();
        tell(
            settled.program > written.program,
            format!(
                "the mark of written programs ends at {}, the mark of the last flush at {}: the first one is old",
                written.program, settled.program
            ),
        );
        tell(
            end.program > settled.program,
            format!(
                "the mark of the last flush ends at {}, the mark at the end of the file at {}: the first one is old",
                settled.program, end.program
            ),
        );
        tell(
            written.is_closed && self.end.is_none(),
            "the mark at the end of the file is lost: pages near the end may be damaged".to_owned(),
        );
        let recorded = counted.recorded + written.totals.map_or(u64::MAX / 2, |totals| totals.missing);
        tell(
            counted.lost_blocks == 0 && recorded < counted.last,
            format!(
                "{} programs since the last flush are missing: the machine ended, or part of the image is old",
                counted.last.saturating_sub(recorded)
            ),
        );
        let behind =
            if settled.program < written.program { counted.lacks(written, "of written programs") } else { None };
        if doubts.is_empty() {
            doubts.extend(behind);
        }
        doubts
    }
}

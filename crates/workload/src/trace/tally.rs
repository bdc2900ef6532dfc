//! Things ignored or changed while reading a trace, counted and in sentences.

use super::clock::Kept;
use nandlab_nand::Time;

/// Things ignored or changed while reading a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Tally {
    /// Malformed records, skipped with `on_error = "skip"`.
    pub skipped: u64,
    /// The first one's place and error.
    pub first_skipped: Option<String>,
    /// Records with a time going back, raised to the previous record's time.
    pub raised: u64,
    /// Largest step back, in nanoseconds.
    pub raised_ns: Time,
    /// Mended clock jumps.
    pub clock_jumps: u64,
    /// The first one's place and size.
    pub first_jump: Option<String>,
    /// Records without a request.
    pub others: u64,
    /// Requests beginning or ending inside a sector.
    pub rounded: u64,
    /// Requests to devices not chosen.
    pub left_out: u64,
    /// Shortened pauses.
    pub cut_gaps: u64,
}

impl Tally {
    /// Counts the result for a time out of order, at `place`, as in "line 7". Returns the time to use, or the two times
    /// if it goes back.
    pub(super) fn clocked(&mut self, kept: Kept, place: (&str, u64)) -> Result<Time, (Time, Time)> {
        match kept {
            Kept::Time(time) => Ok(time),
            Kept::Late { time, by } => {
                self.raised += 1;
                self.raised_ns = self.raised_ns.max(by);
                Ok(time)
            }
            Kept::Jump { time, by, gap } => {
                self.clock_jumps += 1;
                let (by, gap) = (by as f64 / 1e9, gap as f64 / 1e3);
                let (what, number) = place;
                self.first_jump.get_or_insert(format!("at {what} {number} by {by} s, for which {gap} us were taken"));
                Ok(time)
            }
            Kept::NoJump { time, late, by } => {
                self.clock_jumps -= 1;
                self.raised += late;
                self.raised_ns = self.raised_ns.max(by);
                if self.clock_jumps == 0 {
                    self.first_jump = None;
                }
                Ok(time)
            }
            Kept::Back { from, to } => Err((from, to)),
        }
    }

    /// In sentences; `others` describes records without a request, `device` the chosen one.
    pub(super) fn sentences(&self, others: &str, device: &str) -> Vec<String> {
        let mut said = Vec::new();
        if let Some(first) = &self.first_skipped {
            let what = plural(self.skipped, "malformed record was", "malformed records were");
            said.push(format!("{what} skipped; the first: {first}"));
        }
        if self.raised > 0 {
            let what = plural(self.raised, "record has a time", "records have times");
            let most = self.raised_ns as f64 / 1e9;
            said.push(format!("{what} before that of the record before, by {most} s at most: taken at that time"));
        }
        if let Some(first) = &self.first_jump {
            let times = plural(self.clock_jumps, "time", "times");
            said.push(format!(
                "the clock of the trace jumps {times}, first {first}: the median gap before a jump takes its place \
                 (workload.trace.clock_jumps = \"keep\" keeps the times)"
            ));
        }
        if self.others > 0 {
            let what = plural(self.others, "record was", "records were");
            said.push(format!("{what} passed over, of those that {others}"));
        }
        if self.rounded > 0 {
            let what = plural(self.rounded, "request begins or ends", "requests begin or end");
            said.push(format!("{what} inside a sector: the sectors that are touched count whole"));
        }
        if self.left_out > 0 {
            let what = plural(self.left_out, "request", "requests");
            said.push(format!("{what} of other devices than \"{device}\" were left out"));
        }
        if self.cut_gaps > 0 {
            let what = plural(self.cut_gaps, "pause was", "pauses were");
            said.push(format!("{what} cut to workload.trace.longest_gap_s"));
        }
        said
    }
}

pub(crate) fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

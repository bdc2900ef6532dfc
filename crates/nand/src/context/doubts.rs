//! Pages that a mount keeps and does not trust.

use super::{Ctx, Origin};
use crate::address::{Lpn, Seq};

/// A page that was read well and that a power cut may have left unstable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Doubted {
    /// The logical page; [`Lpn::NONE`] if the page gathers sectors of several.
    pub lpn: Lpn,
    /// Its sequence number.
    pub seq: Seq,
    /// Its author.
    pub origin: Origin,
}

impl Ctx {
    /// From now on a read of a page with a cut program is repeated up to `times` times while it fails; each read is charged.
    /// A mount asks for it, since such a page may read well at the next try; 0 ends it.
    pub fn read_again(&mut self, times: u32) {
        self.reads_again = times;
    }

    /// Most further reads of a page with a cut program; 0 outside mounts.
    pub fn reads_again(&self) -> u32 {
        self.reads_again
    }

    /// Notes a page that was read well and that a power cut may have left unstable.
    pub fn doubt(&mut self, page: Doubted) {
        self.doubted.push(page);
    }

    /// Notes the logical pages `at` in place of a noted page that gathers their sectors, if it has the sequence number `seq`.
    pub fn doubt_gathered(&mut self, seq: Seq, at: impl Iterator<Item = Lpn>) {
        let gathered = self.doubted.iter().find(|page| page.lpn == Lpn::NONE && page.seq == seq).copied();
        if let Some(page) = gathered {
            self.doubted.extend(at.map(|lpn| Doubted { lpn, ..page }));
        }
    }

    /// The pages noted since the last call.
    pub fn take_doubted(&mut self) -> Vec<Doubted> {
        std::mem::take(&mut self.doubted)
    }
}

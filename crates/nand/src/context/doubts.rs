//! Pages that a mount keeps and does not trust.

use super::Ctx;
use crate::address::Lpn;
use crate::oob::{Kind, Oob};

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
    pub fn doubt(&mut self, page: Oob) {
        self.doubted.push(page);
    }

    /// Notes the logical pages `at` in place of a noted page that gathers their sectors.
    pub fn doubt_gathered(&mut self, page: Oob, at: impl Iterator<Item = Lpn>) {
        if self.doubted.iter().any(|doubted| doubted.kind == Kind::Sectors && doubted.seq == page.seq) {
            self.doubted.extend(at.map(|lpn| Oob { lpn, kind: Kind::Data, ..page }));
        }
    }

    /// The pages noted since the last call.
    pub fn take_doubted(&mut self) -> Vec<Oob> {
        std::mem::take(&mut self.doubted)
    }
}

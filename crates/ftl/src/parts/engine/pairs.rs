//! Padding on a chip with pairs of pages.
//!
//! A power cut during the program of an upper page destroys the lower page of its pair ([`Rules::pair_distance`]). So data in
//! a lower page is certain only once the upper page is programmed. Two moments rely on data: the answer to a flush, and the
//! erase of a block with older copies. Before each of them the engine
//! programs blank pages at every frontier, up to the upper page of the last valid lower page. The upper pages of invalid
//! lower pages can wait. Until the erase, the older copy of a moved page stands in for the page. A mount has shown what it found,
//! so the blocks that it closes are never filled further.
//!
//! With distance d a frontier takes at most d blank pages at a time. Collection must gain more than that, so d pages
//! of a block count as lost for each frontier that takes moved pages: fewer logical pages are exported, and a victim has more
//! than that number of invalid pages. Blank pages at a host frontier follow a page of the host.
//!
//! An upper page that is under way endangers its lower page, too. So on such a chip a flush and an erase wait for every
//! program, and erases on different dies do not overlap.

use super::{Config, Pages, Scheme, SlcCache};
use crate::parts::placement::Placement;
use crate::parts::wear::Wear;
use crate::FtlError;
use nandlab_nand::{scoped, Cause, Geometry, Kind, Lpn, Nand, NandError, Oob, Origin, PageBuf, Ppa, Rules};

impl Config {
    /// Pages of a block that may be blank because of pairs.
    pub(crate) fn padding(&self, rules: &Rules) -> u32 {
        u32::from(rules.pair_distance) * (self.frontiers() - 1).max(1)
    }

    /// Refuses options that were not proved on a chip with pairs, and blocks too small for the blank pages.
    pub(super) fn check_padding(&self, geometry: &Geometry, rules: &Rules) -> Result<(), FtlError> {
        let padding = self.padding(rules);
        let unproved = [
            (self.reserve_blocks < 2, "reserve_blocks of at least 2"),
            (matches!(self.placement, Placement::Pools(_) | Placement::Fdp(_)), "a placement without pools or handles"),
            (!matches!(self.wear, Wear::None | Wear::Dynamic), "wear = \"none\" or \"dynamic\""),
            (self.slc_cache != SlcCache::None, "slc_cache = \"none\""),
        ];
        match unproved.into_iter().find(|&(is_unproved, _)| is_unproved && padding > 0) {
            Some((_, needed)) => Err(FtlError::Config(format!(
                "device.rules.pair_distance = {}: on a device with pairs of pages ftl.page takes {needed}",
                rules.pair_distance
            ))),
            None if padding >= geometry.pages_per_block() => Err(self.no_room_for_pairs(rules)),
            None => Ok(()),
        }
    }

    /// The error for a device whose blank pages leave no room for data.
    pub(super) fn no_room_for_pairs(&self, rules: &Rules) -> FtlError {
        FtlError::Config(format!(
            "device.rules.pair_distance = {}: a block may take {} blank pages, and the others have no room for data; take a \
             device with more or larger blocks",
            rules.pair_distance,
            self.padding(rules)
        ))
    }
}

impl Pages {
    /// Programs the upper page of each valid lower page, if the chip has pairs.
    pub(crate) fn pad<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        if self.padding == 0 {
            return Ok(());
        }
        scoped(nand, Cause::Padding, |nand| self.pad_all(nand))?;
        // A program under way may be that of an upper page.
        self.keeper.noted(nand.ctx().horizon());
        Ok(())
    }

    /// The same before the answer to a flush; the dies collect for the blank pages.
    pub(super) fn pad_for_flush<N: Nand, S: Scheme>(&mut self, scheme: &mut S, nand: &mut N) -> Result<(), FtlError> {
        if self.padding == 0 {
            return Ok(());
        }
        self.pad(nand)?;
        self.settle(scheme, nand)
    }

    #[cold]
    fn pad_all<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        for die in 0..self.dies.len() {
            for frontier in 0..self.dies[die].frontiers.count() {
                if let Some(upper) = self.open_pair(nand.rules(), die, frontier) {
                    self.pad_to(nand, (die, frontier), upper)?;
                    self.dies.lend(die);
                }
            }
        }
        Ok(())
    }

    /// The upper page of a frontier's last valid lower page, if it is not programmed.
    fn open_pair(&self, rules: &Rules, die: usize, frontier: usize) -> Option<Ppa> {
        let frontier = &self.dies[die].frontiers[frontier];
        if !frontier.block.is_some() || frontier.is_full() {
            return None;
        }
        let (first, next) = (self.geometry.page(frontier.block, 0).0, frontier.next_page().0);
        let open = first.max(next.saturating_sub(rules.pair_distance.into()))..next;
        let mut valid = open.rev().map(Ppa).filter(|&page| self.table.is_valid(page));
        valid.find_map(|page| rules.upper_of(&self.geometry, page))
    }

    /// Programs blank pages at a frontier up to `last`. It leaves a block with a failed program, which takes no upper page.
    fn pad_to<N: Nand>(&mut self, nand: &mut N, (die, at): (usize, usize), last: Ppa) -> Result<(), FtlError> {
        let blank = N::Buf::zeroed(self.geometry.page_bytes());
        while !self.dies[die].frontiers[at].is_full() && self.dies[die].frontiers[at].next_page() <= last {
            let (to, aux) = self.dies[die].frontiers[at].take();
            let seq = self.keeper.next_seq();
            let oob = Oob { kind: Kind::Deleted, aux, ..Oob::data(Lpn::NONE, seq, Origin::FTL) };
            match nand.program(to, &blank, &[], oob) {
                Ok(_) => {}
                Err(NandError::ProgramFailed(_)) => {
                    self.abandon(die, at);
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

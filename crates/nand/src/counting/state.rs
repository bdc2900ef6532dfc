//! Serialized device: its persistent state after a power cut, as a start for another device.
//!
//! By block: P/E cycles, bad mark, sequence base, page counts per author, programmed-page count; then for each
//! programmed page: its position, the 16 spare-area bytes, programs since the erase, tail length, tail. Numbers
//! are little endian. Operation and time counters are not included.

use super::{Counting, Full, Kept, Lean, SpareStore};
use crate::address::{BlockId, Geometry, Ppa};
use crate::context::Origin;
use crate::oob::Oob;
use crate::rules::{ProgramOrder, Rules};
use std::io::{self, Read, Write};

/// Bytes of a block without its pages, and of a page without its tail.
const BLOCK_BYTES: u64 = 4 + 1 + 8 + 2 * Origin::COUNT as u64 + 2;
const PAGE_BYTES: u64 = 2 + 16 + 1 + 2;

fn damaged(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn array<const N: usize>(input: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

impl Counting<Full> {
    /// Bytes written by [`Self::save`].
    pub fn saved_bytes(&self) -> u64 {
        let pages = |block| self.saved_pages(block).map(|(_, _, tail)| PAGE_BYTES + tail.len() as u64).sum::<u64>();
        (0..self.geometry.blocks()).map(|block| BLOCK_BYTES + pages(BlockId(block))).sum()
    }

    /// The programmed pages of `block`: position, spare area, tail.
    fn saved_pages(&self, block: BlockId) -> impl Iterator<Item = (u32, Oob, &[u8])> {
        (0..self.states.high_water(block)).filter_map(move |place| {
            let at = self.geometry.page(block, place);
            let oob = self.spare.get(at, block)?;
            Some((place, oob, self.tails.get(at, block).unwrap_or_default()))
        })
    }

    /// Writes the persistent state.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn save(&self, out: &mut impl Write) -> io::Result<()> {
        for block in (0..self.geometry.blocks()).map(BlockId) {
            out.write_all(&self.pe_cycles[block.index()].to_le_bytes())?;
            out.write_all(&[u8::from(self.states.is_bad(block))])?;
            out.write_all(&self.spare.base(block).to_le_bytes())?;
            for pages in self.programmed.block(block) {
                out.write_all(&pages.to_le_bytes())?;
            }
            out.write_all(&(self.pages_in(block) as u16).to_le_bytes())?;
            for (place, oob, tail) in self.saved_pages(block) {
                let at = self.geometry.page(block, place);
                out.write_all(&(place as u16).to_le_bytes())?;
                out.write_all(&oob.to_bytes())?;
                out.write_all(&[self.respared.get(at).copied().unwrap_or(1)])?;
                out.write_all(&(tail.len() as u16).to_le_bytes())?;
                out.write_all(tail)?;
            }
        }
        Ok(())
    }

    /// Loads a device written by [`Self::save`]; its counters are 0.
    ///
    /// # Errors
    /// Errors of `input`; [`io::ErrorKind::InvalidData`] if the data is impossible for this shape and these
    /// rules.
    pub fn load(geometry: Geometry, rules: Rules, input: &mut impl Read) -> io::Result<Self> {
        let mut device = Self::new(geometry, rules);
        for block in (0..geometry.blocks()).map(BlockId) {
            device.load_block(block, input)?;
        }
        Ok(device)
    }

    fn load_block(&mut self, block: BlockId, input: &mut impl Read) -> io::Result<()> {
        let pe_cycles = u32::from_le_bytes(array(input)?);
        let [is_bad] = array(input)?;
        let base = u64::from_le_bytes(array(input)?);
        let mut programmed = [0; Origin::COUNT];
        for pages in &mut programmed {
            *pages = u16::from_le_bytes(array(input)?);
        }
        let count = u16::from_le_bytes(array(input)?);
        let mut pages = Vec::with_capacity(usize::from(count));
        for _ in 0..count {
            let place = u32::from(u16::from_le_bytes(array(input)?));
            let oob = Oob::from_bytes(&array(input)?);
            let [programs] = array(input)?;
            let mut tail = vec![0; usize::from(u16::from_le_bytes(array(input)?))];
            input.read_exact(&mut tail)?;
            let is_next = match self.rules.program_order {
                ProgramOrder::AscendingDense => place as usize == pages.len(),
                ProgramOrder::Ascending | ProgramOrder::Any => pages.last().is_none_or(|&(last, _)| place > last),
            };
            let fits = place < self.geometry.pages_per_block() && tail.len() <= self.geometry.page_bytes() as usize;
            let Some(oob) = oob.filter(|oob| is_next && fits && usize::from(oob.origin.0) < Origin::COUNT) else {
                return Err(damaged(format!("page {place} of block {block} is no page of this device")));
            };
            let at = self.geometry.page(block, place);
            if programs != 1 {
                self.respared.insert(at, programs);
            }
            if !tail.is_empty() {
                self.tails.insert(at, block, tail.into());
            }
            pages.push((place, oob));
        }
        self.restore(block, &Kept { pe_cycles, base, programmed }, pages.into_iter());
        if is_bad != 0 {
            self.states.retire(block);
        }
        Ok(())
    }

    /// The same device in the four-byte form: an FTL mounted on this one can continue there.
    pub fn into_lean(self) -> Counting<Lean> {
        let mut spare = Lean::new(&self.geometry);
        for block in (0..self.geometry.blocks()).map(BlockId) {
            let first = self.geometry.page(block, 0).0;
            for at in (first..first + self.states.high_water(block)).map(Ppa) {
                if let Some(oob) = self.spare.get(at, block) {
                    spare.set(at, block, false, oob);
                }
            }
        }
        Counting {
            spare,
            geometry: self.geometry,
            rules: self.rules,
            ctx: self.ctx,
            states: self.states,
            tails: self.tails,
            has_no_tails: self.has_no_tails,
            respared: self.respared,
            pe_cycles: self.pe_cycles,
            unused_at_erase: self.unused_at_erase,
            programmed_at_retirement: self.programmed_at_retirement,
            has_gaps: self.has_gaps,
            programmed: self.programmed,
            slc: self.slc,
        }
    }
}

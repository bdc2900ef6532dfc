//! Flash commands: their rules, their time, and their effect with and without a cut.

use super::block::{CutErase, Torn, View};
use super::{Chip, ChipError};
use crate::address::{BlockId, Ppa};
use crate::context::Time;
use crate::faulty::{draws, failure_chance, Draw};
use crate::nand::NandError;
use crate::operation::Operation;
use crate::power_cut::Form;
use crate::rules::ProgramOrder;

/// A part of a page: the first byte, and the bytes.
type Part<'a> = (u32, &'a [u8]);

impl Chip {
    fn page_and_spare(&self) -> usize {
        (self.geometry.page_bytes() + self.geometry.shape().spare_bytes) as usize
    }

    fn moved(&self, bytes: usize) -> Time {
        self.times.part_transfer(bytes as u32)
    }

    /// Refuses a part beyond the `size` bytes of `area`.
    fn fits(at: Ppa, what: &str, area: &str, size: u32, (offset, length): (u32, usize)) -> Result<(), ChipError> {
        if u64::from(offset) + length as u64 <= u64::from(size) {
            return Ok(());
        }
        Err(ChipError::rule(format!(
            "{what} of page {at}: bytes {offset} to {} reach beyond the {size} bytes of its {area}",
            u64::from(offset) + length as u64 - 1
        )))
    }

    /// Reads bytes of a page's data from `offset`; an erased page reads as FFh.
    ///
    /// # Errors
    /// [`NandError::Uncorrectable`], [`NandError::BadBlock`], [`NandError::PowerLost`], or a broken rule.
    pub fn read(&mut self, at: Ppa, offset: u32, to: &mut [u8]) -> Result<(), ChipError> {
        self.powered()?;
        let (block, page) = self.place(at, "read")?;
        Self::fits(at, "read", "data", self.geometry.page_bytes(), (offset, to.len()))?;
        self.counts.reads += 1;
        self.counts.read_bytes += to.len() as u64;
        self.time += self.times.read + self.moved(to.len());
        self.readable(at, (block, page), true)?;
        self.blocks[block].copy_to(page, self.page_and_spare(), offset as usize, to);
        Ok(())
    }

    /// Reads a page's data and spare area with one command. Both have the chip's sizes.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_page(&mut self, at: Ppa, data: &mut [u8], spare: &mut [u8]) -> Result<(), ChipError> {
        self.powered()?;
        let (block, page) = self.place(at, "read")?;
        Self::fits(at, "read", "data", self.geometry.page_bytes(), (0, data.len()))?;
        Self::fits(at, "read", "spare area", self.geometry.shape().spare_bytes, (0, spare.len()))?;
        let bytes = data.len() + spare.len();
        self.counts.reads += 1;
        self.counts.read_bytes += bytes as u64;
        self.time += self.times.read + self.moved(bytes);
        self.readable(at, (block, page), true)?;
        self.blocks[block].copy_to(page, self.page_and_spare(), 0, data);
        self.blocks[block].copy_to(page, self.page_and_spare(), self.geometry.page_bytes() as usize, spare);
        Ok(())
    }

    /// Reads bytes of a page's spare area from `offset`.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_spare(&mut self, at: Ppa, offset: u32, to: &mut [u8]) -> Result<(), ChipError> {
        self.powered()?;
        let (block, page) = self.place(at, "spare read")?;
        Self::fits(at, "spare read", "spare area", self.geometry.shape().spare_bytes, (offset, to.len()))?;
        self.counts.spare_reads += 1;
        self.counts.read_bytes += to.len() as u64;
        self.time += self.times.spare_read + self.moved(to.len());
        self.readable(at, (block, page), false)?;
        let from = (self.geometry.page_bytes() + offset) as usize;
        self.blocks[block].copy_to(page, self.page_and_spare(), from, to);
        Ok(())
    }

    /// Refuses a page whose data, or whose spare area alone, cannot be read.
    fn readable(&mut self, at: Ppa, (block, page): (usize, usize), data: bool) -> Result<(), ChipError> {
        let state = &self.blocks[block];
        if state.bad {
            return Err(NandError::BadBlock(BlockId(block as u32)).into());
        }
        let view = state.view(page);
        let torn = match state.pages[page].torn {
            Some(Torn::Data) => data,
            Some(Torn::DataAndSpare) => true,
            Some(Torn::Weak) | None => false,
        };
        if state.dead || view == View::Unreadable || view == View::AsWritten && torn {
            return Err(NandError::Uncorrectable(at).into());
        }
        if data && view == View::AsWritten && state.pages[page].programs > 0 {
            self.correct(at, (block, page))?;
        }
        Ok(())
    }

    /// Applies the chip's ECC to a page's data.
    fn correct(&mut self, at: Ppa, (block, page): (usize, usize)) -> Result<(), ChipError> {
        let wrong = self.blocks[block].pages[page].wrong_bits;
        let pe_cycles = self.blocks[block].pe_cycles;
        let drawn = self.faults.corrected_bits(at, pe_cycles, self.rules.endurance, self.geometry.page_bytes());
        match drawn {
            Some(bits) if wrong <= self.options.ecc_bits => {
                self.counts.corrected_bits += bits + u64::from(wrong);
                Ok(())
            }
            _ => Err(NandError::Uncorrectable(at).into()),
        }
    }

    /// Programs a part of a page's data, and with it a part of its spare area.
    ///
    /// # Errors
    /// [`NandError::ProgramFailed`], [`NandError::PowerLost`], or a broken rule.
    pub fn program(&mut self, at: Ppa, data: Part<'_>, spare: Part<'_>) -> Result<(), ChipError> {
        self.powered()?;
        let place = self.programmable(at, "program")?;
        let (block, page) = place;
        Self::fits(at, "program", "data", self.geometry.page_bytes(), (data.0, data.1.len()))?;
        Self::fits(at, "program", "spare area", self.geometry.shape().spare_bytes, (spare.0, spare.1.len()))?;
        let whole = self.page_and_spare();
        if let Some(byte) = self.blocks[block].programmed_twice(page, whole, data.0 as usize, data.1) {
            let byte = data.0 as usize + byte;
            return Err(ChipError::rule(format!("program of page {at}: byte {byte} is programmed already")));
        }
        let moved = data.1.len() + spare.1.len();
        self.counts.programs += 1;
        self.counts.programmed_bytes += moved as u64;
        self.time += self.times.program + self.moved(moved);
        self.program_or_cut(Operation::Program, at, place, data, spare)
    }

    /// Programs a part of a page's spare area alone.
    ///
    /// # Errors
    /// As [`Self::program`].
    pub fn program_spare(&mut self, at: Ppa, spare: Part<'_>) -> Result<(), ChipError> {
        self.powered()?;
        let place = self.programmable(at, "spare program")?;
        Self::fits(at, "spare program", "spare area", self.geometry.shape().spare_bytes, (spare.0, spare.1.len()))?;
        self.counts.spare_programs += 1;
        self.counts.programmed_bytes += spare.1.len() as u64;
        self.time += self.times.spare_program + self.moved(spare.1.len());
        self.program_or_cut(Operation::SpareProgram, at, place, (0, &[]), spare)
    }

    /// Copies a page with its spare area inside the chip. The chip corrects the data on the way.
    ///
    /// # Errors
    /// As [`Self::program`], and [`NandError::Uncorrectable`] for the source; the target is then still erased.
    pub fn copy(&mut self, from: Ppa, to: Ppa) -> Result<(), ChipError> {
        self.powered()?;
        let source = self.place(from, "copy")?;
        let target = self.programmable(to, "copy to")?;
        if self.blocks[target.0].pages[target.1].programs > 0 {
            return Err(ChipError::rule(format!("copy to page {to}: the page is programmed already")));
        }
        self.counts.copies += 1;
        let through_bus = self.times.read + self.times.program + 2 * self.times.page_transfer;
        self.time += self.times.copy_inside.unwrap_or(through_bus);
        self.readable(from, source, true)?;
        let page_bytes = self.geometry.page_bytes() as usize;
        let mut bytes = vec![0; self.page_and_spare()];
        self.blocks[source.0].copy_to(source.1, bytes.len(), 0, &mut bytes);
        let (data, spare) = bytes.split_at(page_bytes);
        self.program_or_cut(Operation::Copy, to, target, (0, data), (0, spare))
    }

    /// Refuses a program that breaks a rule.
    fn programmable(&self, at: Ppa, what: &str) -> Result<(usize, usize), ChipError> {
        let (block, page) = self.place(at, what)?;
        let state = &self.blocks[block];
        let refuse = |why: String| Err(ChipError::rule(format!("{what} of page {at}: {why}")));
        if state.bad {
            return refuse(format!("block {block} is bad"));
        }
        if state.cut.is_some() {
            return refuse(format!("the erase of block {block} was cut by a power loss, erase it again first"));
        }
        if state.pages[page].torn == Some(Torn::Weak) {
            return refuse(format!("its last program was cut by a power loss, erase block {block} first"));
        }
        let most = self.rules.partial_programs;
        if state.pages[page].programs >= most {
            return refuse(format!("this chip allows {most} programs of a page between erases"));
        }
        let next = state.next;
        let first = (block as u32) * self.geometry.pages_per_block();
        if state.pages[page].programs == 0 {
            match self.rules.program_order {
                ProgramOrder::Ascending if (page as u32) < next => {
                    return refuse(format!("descending, pages of block {block} below page {} are spent", first + next));
                }
                ProgramOrder::AscendingDense if page as u32 != next => {
                    return refuse(format!("this chip programs without gaps, page {} is next", first + next));
                }
                _ => {}
            }
        }
        Ok((block, page))
    }

    fn program_or_cut(
        &mut self,
        operation: Operation,
        at: Ppa,
        place: (usize, usize),
        data: Part<'_>,
        spare: Part<'_>,
    ) -> Result<(), ChipError> {
        let (block, page) = place;
        let torn = match self.next_form(operation) {
            None => {
                self.store(place, data, spare);
                self.unfenced = self.options.cached_programs.then_some(at);
                return self.verify_program(at, place, operation);
            }
            Some(Form::Done) => None,
            Some(Form::TornPage) => Some(Torn::Data),
            Some(Form::TornSpare) => Some(Torn::DataAndSpare),
            Some(Form::WeakPage) => {
                self.blocks[block].pages[page].torn = Some(Torn::Weak);
                return Err(NandError::PowerLost.into());
            }
            Some(form) => {
                self.lose_tail(form);
                return Err(NandError::PowerLost.into());
            }
        };
        self.store(place, data, spare);
        // The program may fail as well; its answer is lost with the power.
        let _ = self.verify_program(at, place, operation);
        let state = &mut self.blocks[block].pages[page].torn;
        if torn.is_some() && *state != Some(Torn::DataAndSpare) {
            *state = torn;
        }
        Err(NandError::PowerLost.into())
    }

    fn store(&mut self, (block, page): (usize, usize), data: Part<'_>, spare: Part<'_>) {
        let whole = self.page_and_spare();
        let page_bytes = self.geometry.page_bytes();
        let block = &mut self.blocks[block];
        block.clear(page, whole, data.0 as usize, data.1);
        block.clear(page, whole, (page_bytes + spare.0) as usize, spare.1);
        block.pages[page].programs += 1;
        block.next = block.next.max(page as u32 + 1);
    }

    fn verify_program(
        &mut self,
        at: Ppa,
        (block, page): (usize, usize),
        operation: Operation,
    ) -> Result<(), ChipError> {
        // As in `faulty`, the rate is for page programs alone.
        let rate = if operation == Operation::SpareProgram { 0.0 } else { self.faults.program_failure_rate };
        let fails = self.programs.next_fails()
            || self.blocks[block].dead
            || self.chance(rate, Draw::Program, at.0, self.blocks[block].pe_cycles);
        if fails {
            self.blocks[block].pages[page].torn = Some(Torn::DataAndSpare);
            return Err(NandError::ProgramFailed(at).into());
        }
        Ok(())
    }

    fn chance(&self, rate: f64, draw: Draw, address: u32, pe_cycles: u32) -> bool {
        let growth = self.faults.failure_growth;
        rate > 0.0
            && draws(self.faults.seed, draw, address, pe_cycles).chance(failure_chance(
                rate,
                pe_cycles,
                self.rules.endurance,
                growth,
            ))
    }

    /// Erases a block.
    ///
    /// # Errors
    /// [`NandError::EraseFailed`], [`NandError::PowerLost`], or a broken rule.
    pub fn erase(&mut self, block: BlockId) -> Result<(), ChipError> {
        self.powered()?;
        let place = self.block_place(block, "erase")?;
        if self.blocks[place].bad {
            return Err(ChipError::rule(format!("erase of block {block}: the block is bad")));
        }
        self.counts.erases += 1;
        self.time += self.times.erase;
        let pages = self.geometry.pages_per_block() as usize;
        let form = self.next_form(Operation::Erase);
        let erased_below = match form {
            None | Some(Form::Done) => {
                let done = self.erase_now(block);
                return form.map_or(done, |_| Err(NandError::PowerLost.into()));
            }
            Some(Form::TornEraseUnreadable) => 0,
            Some(Form::TornErasePrefix) => pages.div_ceil(2),
            Some(Form::TornEraseWeak) => pages,
            Some(form) => {
                self.lose_tail(form);
                return Err(NandError::PowerLost.into());
            }
        };
        let state = &mut self.blocks[place];
        let before = state.cut.unwrap_or(CutErase { erased_below: 0, rest_as_before: true });
        state.cut = Some(match erased_below {
            0 => CutErase { erased_below: 0, rest_as_before: false },
            _ => CutErase { erased_below: before.erased_below.max(erased_below), ..before },
        });
        Err(NandError::PowerLost.into())
    }

    fn erase_now(&mut self, block: BlockId) -> Result<(), ChipError> {
        let place = block.index();
        if self.unfenced.is_some_and(|at| self.geometry.block_of(at) == block) {
            self.unfenced = None;
        }
        self.blocks[place].erase();
        self.blocks[place].pe_cycles += 1;
        let pe_cycles = self.blocks[place].pe_cycles;
        let fails =
            self.erases.next_fails() || self.chance(self.faults.erase_failure_rate, Draw::Erase, block.0, pe_cycles);
        self.blocks[place].dead |= fails;
        if self.blocks[place].dead {
            return Err(NandError::EraseFailed(block).into());
        }
        Ok(())
    }

    /// Whether a block has a bad-block mark, from the factory or from [`Self::mark_bad`]. Costs one spare read.
    ///
    /// # Errors
    /// [`NandError::PowerLost`], or a broken rule.
    pub fn is_bad(&mut self, block: BlockId) -> Result<bool, ChipError> {
        self.powered()?;
        let place = self.block_place(block, "bad-block check")?;
        self.counts.spare_reads += 1;
        self.counts.read_bytes += 1;
        self.time += self.times.spare_read + self.moved(1);
        Ok(self.blocks[place].bad)
    }

    /// Whether a page reads as erased, data and spare area. Costs one read of the page.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn is_erased(&mut self, at: Ppa) -> Result<bool, ChipError> {
        self.powered()?;
        let (block, page) = self.place(at, "check")?;
        let mut bytes = vec![0; self.page_and_spare()];
        self.counts.reads += 1;
        self.counts.read_bytes += bytes.len() as u64;
        self.time += self.times.read + self.moved(bytes.len());
        match self.readable(at, (block, page), true) {
            // Wrong bits are no sign of an erased page.
            Err(ChipError::Nand(NandError::Uncorrectable(_))) => return Ok(false),
            other => other?,
        }
        self.blocks[block].copy_to(page, bytes.len(), 0, &mut bytes);
        Ok(bytes.iter().all(|&byte| byte == 0xFF))
    }

    /// Writes the bad-block mark of a block: it takes no program and no erase any more.
    ///
    /// # Errors
    /// [`NandError::PowerLost`], or a broken rule.
    pub fn mark_bad(&mut self, block: BlockId) -> Result<(), ChipError> {
        self.powered()?;
        let place = self.block_place(block, "bad-block mark")?;
        self.counts.spare_programs += 1;
        self.counts.programmed_bytes += 1;
        self.time += self.times.spare_program + self.moved(1);
        let form = self.next_form(Operation::Retire);
        if let Some(form @ (Form::Clean | Form::LostTail | Form::LostTailTwo | Form::LostErase)) = form {
            self.lose_tail(form);
            return Err(NandError::PowerLost.into());
        }
        self.blocks[place].bad = true;
        form.map_or(Ok(()), |_| Err(NandError::PowerLost.into()))
    }
}

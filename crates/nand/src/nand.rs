//! The contract between flash-management software and the flash itself.
//!
//! A device refuses operations that flash refuses. An operation that a correct program never issues
//! (programming a programmed page, an address out of range, a retired block) is a programming error of the
//! caller and panics with the address and the rule. Events that can hit a correct program (a failed program, a
//! page beyond ECC, power loss) are a [`NandError`].

use crate::address::{BlockId, Geometry, Lpn, Ppa, Seq};
use crate::as_inside;
use crate::content::PageBuf;
use crate::context::{Cause, Ctx, Time};
use crate::oob::{Kind, Oob};
use crate::rules::Rules;

/// Flash failures in a correct program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NandError {
    /// The program did not verify; the page is spent, the rest of the block is still readable.
    #[error("program of page {0} failed")]
    ProgramFailed(Ppa),
    /// The erase did not verify; the block must be retired.
    #[error("erase of block {0} failed")]
    EraseFailed(BlockId),
    /// More bit errors than the ECC corrects, in the page or in its spare area.
    #[error("page {0} has more bit errors than its ECC corrects")]
    Uncorrectable(Ppa),
    /// The block carries a bad-block mark, from the factory or from [`Nand::retire`].
    #[error("block {0} is marked bad")]
    BadBlock(BlockId),
    /// Power is gone; every later operation returns the same.
    #[error("power lost")]
    PowerLost,
}

/// End of an operation; zero on a device without time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Done(pub Time);

/// A command of a firmware that keeps raw pages of its own, with the bytes on the bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Raw {
    /// A read of a page, erased or not, or of a part.
    Read(u32),
    /// A read of a spare area, or of a part.
    SpareRead(u32),
    /// One more program of a page's data. It fills no page, so it counts as a spare program, with the time of a program.
    Reprogram(u32),
    /// One more program of a spare area.
    SpareProgram(u32),
}

/// A NAND flash device.
///
/// One operation is one flash command; each counts under the origin and cause of [`Ctx`].
pub trait Nand {
    /// Contents of a page: `()` on a device without data, otherwise bytes.
    type Buf: PageBuf;

    /// Counts and divisions of the address space.
    fn geometry(&self) -> &Geometry;

    /// Program order, partial programs and endurance of the chip.
    fn rules(&self) -> &Rules;

    /// Reads a programmed page with its metadata into `page`.
    ///
    /// # Errors
    /// [`NandError::Uncorrectable`], [`NandError::PowerLost`].
    fn read(&mut self, at: Ppa, page: &mut Self::Buf) -> Result<Oob, NandError>;

    /// Reads the spare area alone; `None`: the page reads as erased.
    ///
    /// # Errors
    /// [`NandError::Uncorrectable`] (a torn spare area), [`NandError::BadBlock`], [`NandError::PowerLost`].
    fn read_spare(&mut self, at: Ppa) -> Result<Option<Oob>, NandError>;

    /// Programs an erased page with user data, metadata inside the page (`tail`, its last bytes) and its spare area.
    ///
    /// # Errors
    /// [`NandError::ProgramFailed`], [`NandError::PowerLost`].
    fn program(&mut self, at: Ppa, page: &Self::Buf, tail: &[u8], oob: Oob) -> Result<Done, NandError>;

    /// Reads the last `tail.len()` bytes of a page that was programmed with a tail: real bytes on every device.
    ///
    /// # Errors
    /// [`NandError::Uncorrectable`], [`NandError::PowerLost`].
    fn read_tail(&mut self, at: Ppa, tail: &mut [u8]) -> Result<Oob, NandError>;

    /// Reads a page that was programmed with a tail, user data and the tail's last `tail.len()` bytes, at once.
    ///
    /// # Errors
    /// [`NandError::Uncorrectable`], [`NandError::PowerLost`].
    fn read_with_tail(&mut self, at: Ppa, page: &mut Self::Buf, tail: &mut [u8]) -> Result<Oob, NandError>;

    /// Moves a page, its tail included, under new metadata: by copyback, or by a read and a program, depending
    /// on the profile.
    ///
    /// Either way the old metadata passes through the controller: if `oob.lpn` is [`crate::Lpn::NONE`] (see
    /// [`Oob::renewed`]), the page keeps its logical page and kind. It always keeps its author. Returns the
    /// stored metadata.
    ///
    /// # Errors
    /// [`NandError::Uncorrectable`] names the source and leaves the target erased; [`NandError::ProgramFailed`]
    /// names the target; [`NandError::PowerLost`].
    fn copy(&mut self, from: Ppa, to: Ppa, oob: Oob) -> Result<Oob, NandError>;

    /// Moves the pages `from` to `to` and the following pages in one block, in this order. Each moves like
    /// [`Self::copy`] under [`Oob::renewed`] with `aux`, with sequence numbers from `seq` on.
    ///
    /// # Errors
    /// As [`Self::copy`], with the number of pages moved before.
    #[inline]
    fn copy_run(&mut self, from: &[Ppa], to: Ppa, aux: u16, seq: Seq) -> Result<(), (usize, NandError)> {
        for (n, &from) in (0..).zip(from) {
            let oob = Oob::renewed(aux, Seq(seq.0 + u64::from(n)));
            self.copy(from, Ppa(to.0 + n), oob).map_err(|error| (n as usize, error))?;
        }
        Ok(())
    }

    /// Whether operations may take time; `false` on a device that only counts.
    #[inline]
    fn keeps_time(&self) -> bool {
        true
    }

    /// Whether copies may be [issued](Self::issue_copies) first and carried out together later. The results are those of
    /// one copy after another, on a device that neither fails nor loses power, and forgets sequence numbers.
    fn defers_copies(&self) -> bool {
        false
    }

    /// Issues copies of the pages `from` of one block to `to` and the following pages: they take their time now.
    ///
    /// [`Self::carry_out_copies`] moves them, before the next program of their target block and before the erase of
    /// their source. Until then, the pages are read in their old place.
    fn issue_copies(&mut self, _from: &[Ppa], _to: Ppa) {
        unreachable!("this device defers no copies")
    }

    /// Carries out copies that were issued, from one block to another, and counts them. `held` is as long as `from`, and
    /// gets each page's logical page and kind.
    fn carry_out_copies(&mut self, _from: &[Ppa], _to: Ppa, _held: &mut [(Lpn, Kind)]) {
        unreachable!("this device defers no copies")
    }

    /// Programs data pages without user data and tails, `pages` by their logical pages, at `to` and the following pages of
    /// its block, and counts them. `oob` has their origin. On a device that neither defers copies nor counts alone this
    /// is a caller's bug.
    fn program_run(&mut self, _pages: &[Lpn], _to: Ppa, _oob: Oob) {
        unreachable!("this device programs page by page")
    }

    /// Programs the spare area of a programmed page once more, within [`Rules::partial_programs`]. The page
    /// keeps its author, as with a copy: the origin in `oob` marks the page and is charged for the operation,
    /// but did not write the page.
    ///
    /// # Errors
    /// [`NandError::ProgramFailed`], [`NandError::PowerLost`].
    fn program_spare(&mut self, at: Ppa, oob: Oob) -> Result<Done, NandError>;

    /// Erases a block.
    ///
    /// # Errors
    /// [`NandError::EraseFailed`], [`NandError::PowerLost`].
    fn erase(&mut self, block: BlockId) -> Result<Done, NandError>;

    /// Writes the bad-block mark of `block` with one spare program; the block then accepts no programs.
    ///
    /// # Errors
    /// [`NandError::PowerLost`].
    fn retire(&mut self, block: BlockId) -> Result<Done, NandError>;

    /// Reads every spare area once, in the order of the pages, if the device knows that nothing was ever programmed or marked
    /// bad. It then counts and takes the time of the reads without making them, and tells so. A chip cannot know, so the
    /// default is no.
    fn read_untouched(&mut self) -> bool {
        false
    }

    /// Whether the device knows that every page outside the bad blocks is erased and takes a program: no program was ever
    /// begun since the erase of its block. A chip cannot know, because a cut program may leave a page that reads as erased,
    /// so the default is no.
    fn is_known_erased(&self) -> bool {
        false
    }

    /// Whether the programmed page `at` was flushed for certain. If it cannot be read, it is damaged, and no power cut tore
    /// it. A chip cannot tell, so the default is no; an image file can.
    fn is_settled(&mut self, _at: Ppa) -> bool {
        false
    }

    /// Sets the bits per cell of `block`: one, or the chip's maximum. This is a command to the chip, at no
    /// cost; an erase resets it.
    ///
    /// Pages programmed in one-bit mode must be read in this mode, so after a mount the caller must set it
    /// again. A block of one bit a cell accepts programs of its first [`Rules::slc_pages`] pages; the device
    /// asserts this at the erase at the latest.
    fn set_slc(&mut self, block: BlockId, slc: bool);

    /// Whether `block` holds one bit a cell on a chip with more.
    fn is_slc(&self, block: BlockId) -> bool;

    /// Counts a command that changes nothing here, and takes its time: the firmware's own chip holds its effect.
    fn raw(&mut self, _at: Ppa, _command: Raw) {
        unreachable!("this device takes no raw commands")
    }

    /// Origin, cause, arrival time and counts.
    fn ctx(&mut self) -> &mut Ctx;
}

/// Runs `work` with `cause` set, and restores the previous cause even if `work` returns early.
#[inline]
pub fn scoped<N: Nand + ?Sized, R>(nand: &mut N, cause: Cause, work: impl FnOnce(&mut N) -> R) -> R {
    let before = nand.ctx().set_cause(cause);
    let result = work(nand);
    nand.ctx().set_cause(before);
    result
}

// A borrowed or boxed device is a device; the boxed stack of faults, cuts and bytes uses this.

impl<N: Nand + ?Sized> Nand for &mut N {
    type Buf = N::Buf;
    as_inside!(*);
}

impl<N: Nand + ?Sized> Nand for Box<N> {
    type Buf = N::Buf;
    as_inside!(*);
}

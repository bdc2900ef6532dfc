//! The contract between everything that manages flash and the flash itself.
//!
//! A device refuses what flash refuses. An operation that a correct program never issues (programming a
//! programmed page, an address out of range, a block that was retired) is a programming error of the
//! caller and panics with the address and the rule; what flash does to a correct program (a program that
//! fails, a page beyond ECC, power that goes) is a [`NandError`].

use crate::address::{BlockId, Geometry, Ppa, Seq};
use crate::as_inside;
use crate::content::PageBuf;
use crate::context::{Cause, Ctx, Time};
use crate::oob::Oob;
use crate::rules::Rules;

/// What flash does to a correct program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NandError {
    /// The program did not verify; the page is spent, the rest of the block can still be read.
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
    /// Power is gone; every later operation answers the same.
    #[error("power lost")]
    PowerLost,
}

/// When an operation ends; zero on a device that keeps no time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Done(pub Time);

/// A NAND flash device.
///
/// One operation is one flash command; each is counted under the origin and the cause that [`Ctx`] holds.
pub trait Nand {
    /// Contents of a page: `()` where nothing is stored, bytes where they are.
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

    /// Moves a page, its tail included, under new metadata: by copyback, or by a read and a program; the profile says.
    ///
    /// Either way the old metadata passes through the controller: where `oob.lpn` is [`crate::Lpn::NONE`]
    /// (see [`Oob::renewed`]), logical page and kind stay those of the page. The author always stays. Returns
    /// what was stored.
    ///
    /// # Errors
    /// [`NandError::Uncorrectable`] names the source and leaves the target erased; [`NandError::ProgramFailed`]
    /// names the target; [`NandError::PowerLost`].
    fn copy(&mut self, from: Ppa, to: Ppa, oob: Oob) -> Result<Oob, NandError>;

    /// Moves the pages `from` to `to` and the pages behind it in one block, in this order, each as [`Self::copy`] does
    /// under [`Oob::renewed`] with `aux`, the sequence numbers from `seq` on.
    ///
    /// # Errors
    /// Those of [`Self::copy`], after the number of pages that were moved before.
    #[inline]
    fn copy_run(&mut self, from: &[Ppa], to: Ppa, aux: u16, seq: Seq) -> Result<(), (usize, NandError)> {
        for (n, &from) in (0..).zip(from) {
            let oob = Oob::renewed(aux, Seq(seq.0 + u64::from(n)));
            self.copy(from, Ppa(to.0 + n), oob).map_err(|error| (n as usize, error))?;
        }
        Ok(())
    }

    /// Programs the spare area of a programmed page once more, within [`Rules::partial_programs`]. The author stays, as
    /// with a copy: who marks a page, and has the operation counted by the origin in `oob`, has not written it.
    ///
    /// # Errors
    /// [`NandError::ProgramFailed`], [`NandError::PowerLost`].
    fn program_spare(&mut self, at: Ppa, oob: Oob) -> Result<Done, NandError>;

    /// Erases a block.
    ///
    /// # Errors
    /// [`NandError::EraseFailed`], [`NandError::PowerLost`].
    fn erase(&mut self, block: BlockId) -> Result<Done, NandError>;

    /// Writes the bad-block mark of `block`, one spare program; nothing can be programmed there afterwards.
    ///
    /// # Errors
    /// [`NandError::PowerLost`].
    fn retire(&mut self, block: BlockId) -> Result<Done, NandError>;

    /// Says how many bits a cell of `block` holds from now on: one, or all that the chip can. A command to the chip, which
    /// costs nothing; an erase takes it back.
    ///
    /// What is programmed in the first way is read in that way, so whoever mounts a device must say it again. In a block of
    /// one bit a cell the first [`Rules::slc_pages`] pages can be programmed; the device asserts that no later than at the
    /// erase.
    fn set_slc(&mut self, block: BlockId, slc: bool);

    /// Whether a cell of `block` holds one bit, where the chip could hold more.
    fn is_slc(&self, block: BlockId) -> bool;

    /// Who asks, why, since when, and what was counted.
    fn ctx(&mut self) -> &mut Ctx;
}

/// Runs `work` with `cause` set and restores the cause before, whichever way `work` returns.
#[inline]
pub fn scoped<N: Nand + ?Sized, R>(nand: &mut N, cause: Cause, work: impl FnOnce(&mut N) -> R) -> R {
    let before = nand.ctx().set_cause(cause);
    let result = work(nand);
    nand.ctx().set_cause(before);
    result
}

// A borrowed or boxed device is a device; the boxed stack of faults, cuts and bytes goes through here.

impl<N: Nand + ?Sized> Nand for &mut N {
    type Buf = N::Buf;
    as_inside!(*);
}

impl<N: Nand + ?Sized> Nand for Box<N> {
    type Buf = N::Buf;
    as_inside!(*);
}

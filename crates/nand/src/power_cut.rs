//! A device that loses power in the middle of an operation.
//!
//! [`PowerCut::arm`] names the operation and the [`Form`]; from that operation on everything answers
//! [`NandError::PowerLost`]. The test then drops the FTL, [`PowerCut::restore`] brings the power back, and a
//! new FTL mounts the remaining flash contents. Torn pages, weak pages and weak blocks stay so until the erase
//! of their block, over any number of cuts.
//!
//! An FTL must cope with these effects:
//!
//! * After a cut, the last programmed page of any block may be torn, even if its spare area is readable: only a
//!   read of the page tells.
//! * A page with a cut program may be *weak*: it reads as erased, and to program it before the erase of its block
//!   is a caller's error. Flash does not tell, so after a cut an FTL programs no page of a block that was open,
//!   and erases a block that looks erased before its first use. A weak page may be skipped where the program
//!   order of the chip allows gaps.
//! * A block with a cut erase is *weak*, even if it reads as erased: to program it before a new erase is a
//!   caller's error. So on a device that is not blank, an FTL erases each block before its first use after a
//!   cut.
//! * Programs are durable after a fence ([`Ctx::fence`]; on a device with time, [`Ctx::fence_at`] for programs
//!   that ended by then), and not guaranteed before. A fence comes before the answer to a flush and before the
//!   erase of the block with the older copy. An erase is no fence, not even for its own die. An erase without a
//!   fence after it may be under way until its die does something else.
//! * On a device with pairs a cut program of an upper page destroys the lower page of its pair ([`Rules::pair_distance`]). So
//!   the answer to a flush, and the erase of an older copy, wait for the programs of the upper pages too.
//! * On a chip with unstable pages ([`Rules::unstable_pages`]) a page with a cut program may read well at one time and fail
//!   later, or the other way round. What a recovery keeps of such a page is written again before anybody relies on it.
//!   [`Ctx::read_again`] repeats failing reads.
//! * A block with a cut erase may read as erased after one power-up, and show old pages after the next.
//!
//! [`Rules::pair_distance`]: crate::Rules::pair_distance
//! [`Rules::unstable_pages`]: crate::Rules::unstable_pages
//!
//! To test every cut of a step, clone FTL and device before it and cut operation 1, 2, 3 ... of the step, until
//! it ends without a cut:
//!
//! ```
//! # use nandlab_nand::power_cut::{CutPlan, Form, PowerCut};
//! # use nandlab_nand::backed::Backed;
//! # use nandlab_nand::{BlockId, Geometry, Nand, NandError, Rules};
//! # fn step(device: &mut PowerCut<Backed>) -> Result<(), NandError> {
//! #     device.erase(BlockId(0))?;
//! #     device.erase(BlockId(1)).map(drop)
//! # }
//! let geometry = Geometry::single_die(8, 4, 512)?;
//! let device = PowerCut::new(Backed::ram(geometry, Rules::default()));
//! for form in Form::ALL {
//!     for operation in 1.. {
//!         let mut cut = device.clone();
//!         cut.arm(CutPlan { operation, form });
//!         if step(&mut cut).is_ok() {
//!             break;
//!         }
//!         if cut.cut_operation().is_some_and(|hit| form.applies_to(hit)) {
//!             cut.restore();
//!             // Mount, and compare with what was acknowledged.
//!         }
//!     }
//! }
//! # Ok::<(), nandlab_nand::GeometryError>(())
//! ```

mod plan;
mod tail;
mod torn_erase;
mod uncut;

pub use plan::{CutPlan, CutPlanError, Form};
pub use uncut::Uncut;

use crate::address::{BlockId, Ppa};
use crate::as_inside;
use crate::content::PageBuf;
use crate::nand::{Done, Nand, NandError};
use crate::oob::Oob;
use crate::operation::Operation;
use crate::random::Random;
use crate::side_table::SideTable;
use crate::wrapper::ways_inside;
use std::collections::BTreeMap;
use tail::Tail;
use torn_erase::TornErase;
use uncut::{Command, Keep};

/// A wrapper around `N` with power cuts.
#[derive(Clone, Debug)]
pub struct PowerCut<N: Nand> {
    inner: N,
    plan: Option<CutPlan>,
    /// Flash-changing operations since the device was made, armed or restored.
    operations: u64,
    /// The cut operation; there is no power while it is set.
    cut: Option<Operation>,
    torn: SideTable<Torn>,
    /// Blocks with a cut erase.
    weak: BTreeMap<BlockId, TornErase>,
    /// Power-ups so far; an unstable block reads differently after each.
    power_ups: u64,
    /// Reads of unstable pages so far; each draws anew.
    unstable_reads: u64,
    tail: Tail,
    keep: Keep<N>,
}

/// A torn page's readable parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Torn {
    Data,
    DataAndSpare,
    /// The spare area, and the data at some reads.
    Unstable,
    /// None: the page reads as erased, and takes no program.
    Nothing,
}

/// How a page reads, according to its block's state.
enum View {
    Inner,
    Erased,
    Unreadable,
}

impl<N: Nand> PowerCut<N> {
    /// A powered device without a planned cut.
    pub fn new(inner: N) -> Self {
        let tail = Tail::new(inner.geometry().dies());
        Self {
            inner,
            plan: None,
            operations: 0,
            cut: None,
            torn: SideTable::default(),
            weak: BTreeMap::new(),
            power_ups: 0,
            unstable_reads: 0,
            tail,
            keep: Keep::default(),
        }
    }

    /// Plans a power cut at an operation counted from now; replaces an earlier plan.
    pub fn arm(&mut self, plan: CutPlan) {
        assert!(plan.operation > 0, "operations are counted from 1, the next one");
        self.operations = 0;
        self.keep = Keep::default();
        self.plan = Some(plan);
    }

    /// Restores power: the device answers again, with the flash as the cut left it, and without a plan.
    pub fn restore(&mut self) -> &mut Self {
        self.plan = None;
        self.cut = None;
        self.keep = Keep::default();
        self.operations = 0;
        self.power_ups += 1;
        self.tail.clear();
        self
    }

    /// Operations so far that changed the flash, or tried to; counted since the device was made, armed or
    /// restored.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Earlier operations that a cut in this form loses now.
    fn at_risk(&mut self, form: Form) -> usize {
        let (fences, settled) = (self.inner.ctx().fences(), self.inner.ctx().settled());
        self.tail.programs(form, fences, settled).len() + self.tail.erases(form, fences, settled).len()
    }

    /// The operation cut by the power loss, until power is restored.
    pub fn cut_operation(&self) -> Option<Operation> {
        self.cut
    }

    fn powered(&self) -> Result<(), NandError> {
        match self.cut {
            Some(_) => Err(NandError::PowerLost),
            None => Ok(()),
        }
    }

    /// Counts an operation; returns the form of its cut, if it is cut.
    fn next_form(&mut self, operation: Operation, command: impl FnOnce() -> Command<N::Buf>) -> Option<Form> {
        let plan = self.plan.filter(|plan| plan.operation == self.operations + 1);
        if plan.is_some() {
            self.keep_uncut(command);
        }
        self.operations += 1;
        let plan = plan?;
        self.plan = None;
        self.cut = Some(operation);
        Some(if plan.form.applies_to(operation) { plan.form } else { Form::Clean })
    }

    fn view(&self, at: Ppa) -> View {
        if self.weak.is_empty() {
            return View::Inner;
        }
        let geometry = self.inner.geometry();
        match self.weak.get(&geometry.block_of(at)) {
            Some(torn) if torn.is_erased(geometry, at, self.power_ups) => View::Erased,
            Some(torn) if torn.is_unreadable() => View::Unreadable,
            _ => View::Inner,
        }
    }

    /// Refuses a page changed by a cut, and charges a read.
    fn readable(&mut self, at: Ppa, what: &str) -> Result<(), NandError> {
        match self.view(at) {
            // The device inside knows a weak page as erased, and refuses to read it.
            View::Inner if matches!(self.torn.get(at), None | Some(Torn::Nothing)) => Ok(()),
            View::Inner => {
                let mut page = N::Buf::zeroed(self.inner.geometry().page_bytes());
                for _ in 0..=self.inner.ctx().reads_again() {
                    if self.reads_well(at) {
                        return Ok(());
                    }
                    self.inner.read(at, &mut page)?;
                }
                Err(NandError::Uncorrectable(at))
            }
            View::Erased => panic!("{what} of page {at}: the page is erased"),
            View::Unreadable => {
                self.inner.read_spare(at)?;
                Err(NandError::Uncorrectable(at))
            }
        }
    }

    /// Draws whether the next read of a page with a cut program is correctable.
    fn reads_well(&mut self, at: Ppa) -> bool {
        if self.torn.get(at) != Some(&Torn::Unstable) {
            return false;
        }
        self.unstable_reads += 1;
        Random::stream(u64::from(at.0), self.unstable_reads).chance(0.5)
    }

    fn assert_programmable(&self, at: Ppa) {
        let block = self.inner.geometry().block_of(at);
        assert!(
            !self.weak.contains_key(&block),
            "program of page {at}: the erase of block {block} was cut by a power loss, erase it again first"
        );
        assert!(
            self.torn.get(at) != Some(&Torn::Nothing),
            "program of page {at}: its last program was cut by a power loss, erase block {block} first"
        );
    }

    /// Programs page `at`, or cuts the program.
    fn program_or_cut<T>(
        &mut self,
        (operation, command): (Operation, impl FnOnce() -> Command<N::Buf>),
        at: Ppa,
        run: impl FnOnce(&mut N) -> Result<T, NandError>,
    ) -> Result<T, NandError> {
        let Some(form) = self.next_form(operation, command) else {
            let done = run(&mut self.inner)?;
            if operation != Operation::SpareProgram {
                let geometry = *self.inner.geometry();
                self.tail.programmed(self.inner.ctx(), geometry.die_of(geometry.block_of(at)), at);
            }
            return Ok(done);
        };
        let torn = match form {
            Form::TornPage => Some(Torn::Data),
            Form::TornSpare => Some(Torn::DataAndSpare),
            Form::UnstablePage if self.inner.rules().unstable_pages => Some(Torn::Unstable),
            Form::Done => None,
            Form::WeakPage => {
                self.torn.insert(at, Torn::Nothing);
                return Err(NandError::PowerLost);
            }
            Form::PairedPage if self.lower_of(at).is_some() => Some(Torn::DataAndSpare),
            _ => {
                self.lose_tail(form);
                return Err(NandError::PowerLost);
            }
        };
        if form == Form::PairedPage {
            self.lose_lower(at);
        }
        let programmed = matches!(run(&mut self.inner), Ok(_) | Err(NandError::ProgramFailed(_)));
        if let (true, Some(torn)) = (programmed, torn) {
            self.torn.insert(at, torn);
        }
        Err(NandError::PowerLost)
    }

    /// Loses the programs and erases that are not yet durable, if the form does so.
    fn lose_tail(&mut self, form: Form) {
        let (fences, settled) = (self.inner.ctx().fences(), self.inner.ctx().settled());
        for at in self.tail.programs(form, fences, settled) {
            self.torn.insert(at, Torn::DataAndSpare);
            self.lose_lower(at);
        }
        for block in self.tail.erases(form, fences, settled) {
            self.weak.insert(block, TornErase::UNREADABLE);
        }
    }

    /// The lower page of the pair with the upper page `at`.
    fn lower_of(&self, at: Ppa) -> Option<Ppa> {
        let geometry = self.inner.geometry();
        let lower = self.inner.rules().lower_of(geometry, at)?;
        (!self.inner.is_slc(geometry.block_of(at))).then_some(lower)
    }

    /// Loses the lower page of the pair with the upper page `at`, whose program was under way. A skipped page stays erased.
    fn lose_lower(&mut self, at: Ppa) {
        if let Some(lower) = self.lower_of(at) {
            if !matches!(self.inner.read_spare(lower), Ok(None)) {
                self.torn.insert(lower, Torn::DataAndSpare);
            }
        }
    }

    /// Drops the page states in `block` after its erase or retirement.
    fn forget(&mut self, block: BlockId) {
        let geometry = self.inner.geometry();
        let first = geometry.page(block, 0).0;
        let pages = first..first + geometry.pages_per_block();
        self.weak.remove(&block);
        self.tail.forget(block, &pages);
        self.torn.remove_range(pages);
    }
}

ways_inside!([N: Nand] PowerCut<N>, inner);

impl<N: Nand> Nand for PowerCut<N> {
    type Buf = N::Buf;

    as_inside!(inner: geometry, rules, is_slc, ctx);

    fn read(&mut self, at: Ppa, page: &mut N::Buf) -> Result<Oob, NandError> {
        self.powered()?;
        self.readable(at, "read")?;
        self.inner.read(at, page)
    }

    fn read_spare(&mut self, at: Ppa) -> Result<Option<Oob>, NandError> {
        self.powered()?;
        if self.weak.is_empty() && self.torn.is_empty() {
            return self.inner.read_spare(at);
        }
        let oob = self.inner.read_spare(at)?;
        match (self.view(at), self.torn.get(at)) {
            (View::Erased, _) => Ok(None),
            (View::Unreadable, _) | (View::Inner, Some(Torn::DataAndSpare)) => Err(NandError::Uncorrectable(at)),
            (View::Inner, _) => Ok(oob),
        }
    }

    fn program(&mut self, at: Ppa, page: &N::Buf, tail: &[u8], oob: Oob) -> Result<Done, NandError> {
        self.powered()?;
        self.assert_programmable(at);
        let command = || Command::Program { at, page: page.clone(), tail: tail.to_owned(), oob };
        self.program_or_cut((Operation::Program, command), at, |inner| inner.program(at, page, tail, oob))
    }

    fn read_tail(&mut self, at: Ppa, tail: &mut [u8]) -> Result<Oob, NandError> {
        self.powered()?;
        self.readable(at, "read of the tail")?;
        self.inner.read_tail(at, tail)
    }

    fn read_with_tail(&mut self, at: Ppa, page: &mut N::Buf, tail: &mut [u8]) -> Result<Oob, NandError> {
        self.powered()?;
        self.readable(at, "read with the tail")?;
        self.inner.read_with_tail(at, page, tail)
    }

    fn copy(&mut self, from: Ppa, to: Ppa, oob: Oob) -> Result<Oob, NandError> {
        self.powered()?;
        self.readable(from, "copy")?;
        self.assert_programmable(to);
        let command = || Command::Copy { from, to, oob };
        self.program_or_cut((Operation::Copy, command), to, |inner| inner.copy(from, to, oob))
    }

    fn program_spare(&mut self, at: Ppa, oob: Oob) -> Result<Done, NandError> {
        self.powered()?;
        self.assert_programmable(at);
        let command = || Command::SpareProgram { at, oob };
        self.program_or_cut((Operation::SpareProgram, command), at, |inner| inner.program_spare(at, oob))
    }

    fn erase(&mut self, block: BlockId) -> Result<Done, NandError> {
        self.powered()?;
        let Some(form) = self.next_form(Operation::Erase, || Command::Erase(block)) else {
            // The page contents are gone even if the erase fails.
            let erased = self.inner.erase(block);
            self.forget(block);
            if erased.is_ok() {
                let die = self.inner.geometry().die_of(block);
                self.tail.erased(self.inner.ctx(), die, block);
            }
            return erased;
        };
        if let Some(torn) = TornErase::new(form, self.power_ups, self.weak.get(&block)) {
            self.weak.insert(block, torn);
        } else if form == Form::Done {
            // The result is lost with the power.
            let _ = self.inner.erase(block);
            self.forget(block);
        } else {
            self.lose_tail(form);
        }
        Err(NandError::PowerLost)
    }

    fn retire(&mut self, block: BlockId) -> Result<Done, NandError> {
        self.powered()?;
        let form = self.next_form(Operation::Retire, || Command::Retire(block));
        if let Some(form @ (Form::Clean | Form::LostTail | Form::LostTailTwo | Form::LostErase)) = form {
            self.lose_tail(form);
            return Err(NandError::PowerLost);
        }
        let retired = self.inner.retire(block)?;
        self.forget(block);
        form.map_or(Ok(retired), |_| Err(NandError::PowerLost))
    }

    fn is_known_erased(&self) -> bool {
        self.torn.is_empty() && self.weak.is_empty() && self.inner.is_known_erased()
    }

    fn is_settled(&mut self, at: Ppa) -> bool {
        self.torn.get(at).is_none() && self.weak.is_empty() && self.inner.is_settled(at)
    }

    fn set_slc(&mut self, block: BlockId, slc: bool) {
        // A chip without power accepts no commands.
        if self.cut.is_none() {
            self.inner.set_slc(block, slc);
        }
    }
}

//! The other forms of a cut that has fallen, without a replay of what led to it.

use super::{CutPlan, Form, PowerCut};
use crate::address::{BlockId, Ppa};
use crate::nand::{Nand, NandError};
use crate::oob::Oob;

/// An operation that changes the flash.
#[derive(Clone, Debug)]
pub(super) enum Command<B> {
    Program { at: Ppa, page: B, tail: Vec<u8>, oob: Oob },
    Copy { from: Ppa, to: Ppa, oob: Oob },
    SpareProgram { at: Ppa, oob: Oob },
    Erase(BlockId),
    Retire(BlockId),
}

/// A device just before its power was cut, and the operation that was cut.
#[derive(Clone, Debug)]
pub struct Uncut<N: Nand> {
    device: PowerCut<N>,
    command: Command<N::Buf>,
}

type Cloned<N> = fn(&PowerCut<N>) -> PowerCut<N>;

/// What is kept of the next cut, and how; it is asked only of devices that can be cloned.
#[derive(Clone, Debug)]
pub(super) struct Keep<N: Nand> {
    clone: Option<Cloned<N>>,
    kept: Option<Box<Uncut<N>>>,
}

impl<N: Nand> Default for Keep<N> {
    fn default() -> Self {
        Self { clone: None, kept: None }
    }
}

impl<N: Nand> PowerCut<N> {
    /// As [`Self::arm`]; the device as the cut finds it is kept for [`Self::take_uncut`].
    pub fn arm_and_keep(&mut self, plan: CutPlan)
    where
        N: Clone,
    {
        self.arm(plan);
        self.keep.clone = Some(Self::clone);
    }

    /// The device before its cut, once; `None` if no cut fell that was planned with [`Self::arm_and_keep`].
    pub fn take_uncut(&mut self) -> Option<Uncut<N>> {
        self.keep.kept.take().map(|kept| *kept)
    }

    pub(super) fn keep_uncut(&mut self, command: impl FnOnce() -> Command<N::Buf>) {
        if let Some(clone) = self.keep.clone.take() {
            self.keep.kept = Some(Box::new(Uncut { device: clone(self), command: command() }));
        }
    }
}

impl<N: Nand + Clone> Uncut<N> {
    /// Whether the cut in this form may leave something else than in the other forms: no [`Form::LostTailTwo`] does with one
    /// program to lose, no [`Form::LostErase`] without an erase under way, no [`Form::PairedPage`] outside an upper page, and no
    /// [`Form::UnstablePage`] on a chip without unstable pages.
    pub fn is_different_in(&mut self, form: Form) -> bool {
        let device = &mut self.device;
        match form {
            Form::LostTailTwo => device.at_risk(form) > device.at_risk(Form::LostTail),
            Form::LostErase => device.at_risk(form) > 0,
            Form::PairedPage => match self.command {
                Command::Program { at, .. } | Command::Copy { to: at, .. } => device.lower_of(at).is_some(),
                _ => false,
            },
            Form::UnstablePage => device.inner.rules().unstable_pages,
            _ => true,
        }
    }

    /// The device after the same cut in another form. `lost` is the device after the cut that fell, when its user has given
    /// up: what the user did to the context on the way is done here as well.
    pub fn cut(&self, form: Form, lost: &mut PowerCut<N>) -> PowerCut<N> {
        let Self { mut device, command } = self.clone();
        device.plan = device.plan.map(|plan| CutPlan { form, ..plan });
        let answer = match command {
            Command::Program { at, page, tail, oob } => device.program(at, &page, &tail, oob).map(drop),
            Command::Copy { from, to, oob } => device.copy(from, to, oob).map(drop),
            Command::SpareProgram { at, oob } => device.program_spare(at, oob).map(drop),
            Command::Erase(block) => device.erase(block).map(drop),
            Command::Retire(block) => device.retire(block).map(drop),
        };
        assert!(answer == Err(NandError::PowerLost), "the operation that was cut is cut again");
        device.ctx().take_up(lost.ctx());
        device
    }
}

//! A device's flash: NAND or NOR.

use nandlab_nand::chip::{Chip, ChipError, Counts};
use nandlab_nand::context::Time;
use nandlab_nand::nor::Nor;
use nandlab_nand::operation::Operation;
use nandlab_nand::power_cut::{CutPlan, Form};

/// The flash of a device.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one of them, in a device for the whole run")]
pub enum Flash {
    /// Pages and spare areas.
    Nand(Chip),
    /// Bytes at addresses.
    Nor(Nor),
}

/// The same call for both kinds.
macro_rules! both {
    ($self:expr, $flash:ident => $call:expr) => {
        match $self {
            Self::Nand($flash) => $call,
            Self::Nor($flash) => $call,
        }
    };
}

impl Flash {
    /// The NAND chip.
    ///
    /// # Errors
    /// A broken rule, if the flash is NOR.
    pub fn nand(&mut self) -> Result<&mut Chip, ChipError> {
        match self {
            Self::Nand(chip) => Ok(chip),
            Self::Nor(_) => Err(ChipError::Rule("the chip is NOR: it has no such command".into())),
        }
    }

    /// The NOR chip.
    ///
    /// # Errors
    /// A broken rule, if the flash is NAND.
    pub fn nor(&mut self) -> Result<&mut Nor, ChipError> {
        match self {
            Self::Nor(nor) => Ok(nor),
            Self::Nand(_) => Err(ChipError::Rule("the chip is NAND: it has no such command".into())),
        }
    }

    /// Operations so far.
    pub fn counts(&self) -> &Counts {
        both!(self, flash => flash.counts())
    }

    /// Time used by all commands so far, in ns.
    pub fn time_ns(&self) -> Time {
        both!(self, flash => flash.time_ns())
    }

    /// Plans a power cut; replaces an earlier plan.
    pub fn arm(&mut self, plan: CutPlan) {
        both!(self, flash => flash.arm(plan));
    }

    /// Restores power.
    pub fn restore(&mut self) {
        both!(self, flash => flash.restore());
    }

    /// Operations that changed the flash, or tried to, since the start, a plan or a restore.
    pub fn operations(&self) -> u64 {
        both!(self, flash => flash.operations())
    }

    /// The operation cut by the power loss, until power is restored.
    pub fn cut_operation(&self) -> Option<Operation> {
        both!(self, flash => flash.cut_operation())
    }

    /// Whether a cut of this form leaves a state of its own here.
    pub fn has(&self, form: Form) -> bool {
        match self {
            Self::Nand(chip) => !form.is_of_stack_alone() && (form != Form::LostTail || chip.options().cached_programs),
            Self::Nor(_) => Nor::has(form),
        }
    }
}

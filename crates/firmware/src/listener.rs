//! Who hears of a chip's commands while a firmware runs in an experiment.

use nandlab_block::firmware::{Command, Told};
use nandlab_nand::context::Time;
use nandlab_nand::operation::Operation;
use nandlab_nand::{Cause, Ppa};
use std::ffi::{c_int, CString};

/// The causes of `enum nl_cause`, in its order.
const CAUSES: [Option<Cause>; 10] = [
    None,
    Some(Cause::Host),
    Some(Cause::ReadModifyWrite),
    Some(Cause::Gc),
    Some(Cause::Map),
    Some(Cause::WearLeveling),
    Some(Cause::BadBlock),
    Some(Cause::Trim),
    Some(Cause::Refresh),
    Some(Cause::Checkpoint),
];

/// Hears of commands during the host's calls; outside a run there is nobody.
#[derive(Debug, Default)]
pub(crate) struct Listener {
    /// Valid during a call of [`crate::hosted`] alone.
    told: Option<Ear>,
    cause: c_int,
    /// The first broken rule since the last call.
    broken: Option<String>,
    /// For `nl_options()`.
    pub(crate) options: CString,
}

#[derive(Clone, Copy, Debug)]
struct Ear(*mut (dyn Told + 'static));

impl Listener {
    /// Runs a call of the host: `told` hears of its commands.
    ///
    /// # Safety
    /// `listener` is valid, and nobody else uses it but the commands of this call.
    pub(crate) unsafe fn during<R>(listener: *mut Self, told: &mut dyn Told, call: impl FnOnce() -> R) -> R {
        let told: *mut (dyn Told + '_) = told;
        // SAFETY: the pointer is gone when this function returns, so it outlives nothing.
        let ear = Ear(std::mem::transmute::<*mut (dyn Told + '_), *mut (dyn Told + 'static)>(told));
        (*listener).told = Some(ear);
        (*listener).cause = 0;
        let answer = call();
        (*listener).told = None;
        answer
    }

    /// Tells a command, unless it failed; returns its answer.
    pub(crate) fn heard(&mut self, answer: c_int, (operation, at): (Operation, Ppa), from: Ppa, bytes: u32) -> c_int {
        if let (0.., Some(Ear(told))) = (answer, self.told) {
            let cause = CAUSES[self.cause as usize];
            // SAFETY: `during` is on the stack, and holds the only other reference without using it.
            unsafe { (*told).command(&Command { operation, at, from, bytes, cause }) };
        }
        answer
    }

    /// The time of the experiment's device, in a run.
    pub(crate) fn now(&mut self) -> Option<Time> {
        // SAFETY: as above.
        self.told.map(|Ear(told)| unsafe { (*told).now() })
    }

    /// Sets the cause; returns the one before.
    pub(crate) fn name_cause(&mut self, cause: c_int) -> Result<c_int, String> {
        if usize::try_from(cause).is_ok_and(|cause| cause < CAUSES.len()) {
            return Ok(std::mem::replace(&mut self.cause, cause));
        }
        Err(format!("cause {cause}: causes are 0 to {}", CAUSES.len() - 1))
    }

    /// Keeps the first broken rule.
    pub(crate) fn broken(&mut self, sentence: &str) {
        self.broken.get_or_insert_with(|| sentence.to_owned());
    }

    /// The first broken rule since the last question.
    pub(crate) fn take_broken(&mut self) -> Option<String> {
        self.broken.take()
    }
}

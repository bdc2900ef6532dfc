//! A firmware in a proof, with its model.

use super::finding::{Finding, Kind};
use super::script::Step;
use crate::table::Device;
use std::ffi::{c_char, c_int, c_void, CStr};

/// A firmware beside a plain model.
///
/// Methods take `&self`: a cut never returns to the call it interrupted, and the recovery uses the subject while that call
/// still stands on the stack. No borrow of the model is alive during a call.
pub(super) trait Subject {
    /// Mounts the flash, with the firmware's global variables as after a reset.
    fn mount(&self) -> Result<(), Finding>;

    /// Takes one step.
    fn play(&self, step: Step) -> Result<(), Finding>;

    /// Compares everything with the model. The states found are from now on the latest.
    fn compare(&self) -> Result<(), Finding>;

    /// Writes as much as this many pages hold, syncs, and compares.
    fn write_on(&self, pages: u32) -> Result<(), Finding>;

    /// Powers off between two operations, and mounts again.
    fn restart(&self) -> Result<(), Finding> {
        self.mount()?;
        self.compare()
    }
}

/// The firmware's mount function.
type Mount = unsafe extern "C" fn(*mut Device, *mut c_char, usize) -> *mut c_void;

/// The mounted firmware.
pub(super) fn mounted(mount: Mount, device: *mut Device) -> Result<*mut c_void, Finding> {
    let mut why: [c_char; 200] = [0; 200];
    // SAFETY: the firmware's own function, as its table says.
    let mounted = unsafe { mount(device, why.as_mut_ptr(), why.len()) };
    if mounted.is_null() {
        why[why.len() - 1] = 0;
        // SAFETY: the text ends at the latest with the array.
        let why = unsafe { CStr::from_ptr(why.as_ptr()) }.to_string_lossy();
        return Err(Finding::new(Kind::Mount, format!("the mount failed: {why}")));
    }
    Ok(mounted)
}

/// The firmware's words for its last failure.
pub(super) fn words(
    why: Option<unsafe extern "C" fn(*mut c_void) -> *const c_char>,
    mounted: *mut c_void,
) -> Option<String> {
    // SAFETY: the firmware is mounted, and answers with a C string or null.
    let why = why.map(|why| unsafe { why(mounted) }).filter(|why| !why.is_null())?;
    // SAFETY: as above.
    Some(unsafe { CStr::from_ptr(why) }.to_string_lossy().into_owned())
}

/// A finding for an answer other than 0.
pub(super) fn refused(kind: Kind, what: &str, answer: c_int, words: Option<String>) -> Finding {
    let why = words.unwrap_or_else(|| format!("the answer is {answer}"));
    Finding::new(kind, format!("the {what} failed: {why}"))
}

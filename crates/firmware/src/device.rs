//! The device over a [`Chip`], and the hooks by which the prover follows its operations.

use crate::flash::Flash;
use crate::listener::Listener;
use crate::table::{status, Counts, Device, Geometry, Operations, Part};
use nandlab_nand::chip::{Chip, ChipError};
use nandlab_nand::operation::Operation;
use nandlab_nand::power_cut::CutPlan;
use nandlab_nand::{BlockId, NandError, Ppa, ProgramOrder};
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use Operation::{Copy, Erase, Program, Read, Retire, SpareProgram, SpareRead};

/// A flash, and the last broken rule's sentence.
#[derive(Debug)]
pub struct State {
    /// What the commands work on.
    pub flash: Flash,
    message: CString,
    hooks: Option<Hooks>,
    on_power_lost: Option<(PowerLost, *mut c_void)>,
    /// Hears of the commands in a run.
    pub(crate) listener: Listener,
}

/// A caller's own function for `nl_on_power_lost`; it may leave by `longjmp`.
pub type PowerLost = unsafe extern "C" fn(*mut c_void);

/// Called around operations. A hook may fork, or never return: no borrow of the state is alive while it runs.
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    /// Before an operation that changes the flash, while there is power.
    pub before: unsafe fn(*mut State, Operation),
    /// After an operation found no power.
    pub lost: unsafe fn(*mut State),
    /// After a broken rule, with its sentence.
    pub broken: unsafe fn(&str),
}

impl State {
    /// A device without hooks.
    pub fn new(flash: Flash) -> Self {
        Self { flash, message: CString::default(), hooks: None, on_power_lost: None, listener: Listener::default() }
    }

    /// A device whose operations are followed.
    pub fn followed(flash: Flash, hooks: Hooks) -> Self {
        Self { hooks: Some(hooks), ..Self::new(flash) }
    }
}

/// A device for C; `nl_close` frees it.
pub fn open(state: State) -> *mut Device {
    let state = Box::into_raw(Box::new(state)).cast();
    Box::into_raw(Box::new(Device { operations: &OPERATIONS, state }))
}

static OPERATIONS: Operations = Operations {
    geometry,
    nor_read,
    nor_program,
    read,
    read_spare,
    read_page,
    program_spare,
    copy,
    erase,
    is_bad,
    mark_bad,
    is_erased,
    fence,
    time_ns,
    counts,
    pe_cycles,
    message,
    cause,
    options,
    fail_program,
    fail_erase,
    flip_bits,
    cut,
    operations_done,
    has_power,
    restore,
    on_power_lost,
    program,
    close,
};

unsafe fn slice<'a>(bytes: *const c_void, length: u32) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    std::slice::from_raw_parts(bytes.cast(), length as usize)
}

unsafe fn slice_mut<'a>(bytes: *mut c_void, length: u32) -> &'a mut [u8] {
    if length == 0 {
        return &mut [];
    }
    std::slice::from_raw_parts_mut(bytes.cast(), length as usize)
}

fn code(error: NandError) -> c_int {
    match error {
        NandError::Uncorrectable(_) => status::ECC,
        NandError::ProgramFailed(_) => status::PROGRAM_FAILED,
        NandError::EraseFailed(_) => status::ERASE_FAILED,
        NandError::BadBlock(_) => status::BAD_BLOCK,
        NandError::PowerLost => status::POWER_LOST,
    }
}

/// Runs a command between the hooks.
unsafe fn run(
    state: *mut c_void,
    operation: Option<Operation>,
    command: impl FnOnce(&mut Flash) -> Result<c_int, ChipError>,
) -> c_int {
    let state: *mut State = state.cast();
    let hooks = (*state).hooks;
    if let (Some(hooks), Some(operation)) = (hooks, operation) {
        if (*state).flash.cut_operation().is_none() {
            (hooks.before)(state, operation);
        }
    }
    let error = match command(&mut (*state).flash) {
        Ok(answer) => return answer,
        Err(ChipError::Nand(error)) => error,
        Err(ChipError::Rule(sentence)) => {
            if let Some(hooks) = hooks {
                (hooks.broken)(&sentence);
            }
            (*state).listener.broken(&sentence);
            (*state).message = CString::new(sentence).unwrap_or_default();
            return status::RULE;
        }
    };
    // Nothing here needs a drop from now on, so a caller's function may jump over this call.
    if let NandError::PowerLost = error {
        if let Some(hooks) = hooks {
            (hooks.lost)(state);
        }
        if let Some((call, context)) = (*state).on_power_lost {
            call(context);
        }
    }
    code(error)
}

/// Runs a command of NAND.
unsafe fn nand(
    state: *mut c_void,
    operation: Option<Operation>,
    command: impl FnOnce(&mut Chip) -> Result<c_int, ChipError>,
) -> c_int {
    run(state, operation, |flash| command(flash.nand()?))
}

fn done<T>(answer: Result<T, ChipError>) -> Result<c_int, ChipError> {
    answer.map(|_| status::OK)
}

unsafe extern "C" fn geometry(state: *mut c_void, geometry: *mut Geometry) -> c_int {
    geometry.write(match &(*state.cast::<State>()).flash {
        Flash::Nand(chip) => geometry_of(chip),
        Flash::Nor(nor) => {
            let options = nor.options();
            Geometry {
                blocks: options.blocks,
                pages_per_block: options.block_bytes / options.page_bytes,
                page_bytes: options.page_bytes,
                spare_bytes: 0,
                program_order: 0,
                partial_programs: if options.programs_once { 1 } else { 255 },
            }
        }
    });
    status::OK
}

fn geometry_of(chip: &Chip) -> Geometry {
    let shape = chip.geometry().shape();
    let program_order = match chip.rules().program_order {
        ProgramOrder::Any => 0,
        ProgramOrder::Ascending => 1,
        ProgramOrder::AscendingDense => 2,
    };
    Geometry {
        blocks: chip.geometry().blocks(),
        pages_per_block: shape.pages_per_block,
        page_bytes: shape.page_bytes,
        spare_bytes: shape.spare_bytes,
        program_order,
        partial_programs: chip.rules().partial_programs.into(),
    }
}

unsafe extern "C" fn nor_read(state: *mut c_void, address: u32, length: u32, to: *mut c_void) -> c_int {
    run(state, None, |flash| done(flash.nor()?.read(address, slice_mut(to, length))))
}

unsafe extern "C" fn nor_program(state: *mut c_void, address: u32, length: u32, from: *const c_void) -> c_int {
    run(state, Some(Operation::Program), |flash| done(flash.nor()?.program(address, slice(from, length))))
}

unsafe extern "C" fn read(state: *mut c_void, page: u32, offset: u32, length: u32, to: *mut c_void) -> c_int {
    let answer = nand(state, None, |chip| done(chip.read(Ppa(page), offset, slice_mut(to, length))));
    heard(state, answer, (Read, Ppa(page)), length)
}

unsafe extern "C" fn read_spare(state: *mut c_void, page: u32, offset: u32, length: u32, to: *mut c_void) -> c_int {
    let answer = nand(state, None, |chip| done(chip.read_spare(Ppa(page), offset, slice_mut(to, length))));
    heard(state, answer, (SpareRead, Ppa(page)), length)
}

unsafe extern "C" fn read_page(state: *mut c_void, page: u32, data: *mut c_void, spare: *mut c_void) -> c_int {
    let shape = (*state.cast::<State>()).flash.nand().map(|chip| *chip.geometry().shape());
    let (data_bytes, spare_bytes) = shape.map_or((0, 0), |shape| (shape.page_bytes, shape.spare_bytes));
    let answer = nand(state, None, |chip| {
        done(chip.read_page(Ppa(page), slice_mut(data, data_bytes), slice_mut(spare, spare_bytes)))
    });
    heard(state, answer, (Read, Ppa(page)), data_bytes + spare_bytes)
}

unsafe extern "C" fn program(state: *mut c_void, page: u32, data: Part, spare: Part) -> c_int {
    let bytes = |part: Part| (part.offset, slice(part.bytes, part.length));
    let answer = nand(state, Some(Program), |chip| done(chip.program(Ppa(page), bytes(data), bytes(spare))));
    heard(state, answer, (Program, Ppa(page)), data.length + spare.length)
}

unsafe extern "C" fn program_spare(
    state: *mut c_void,
    page: u32,
    offset: u32,
    length: u32,
    spare: *const c_void,
) -> c_int {
    let part = (offset, slice(spare, length));
    let answer = nand(state, Some(SpareProgram), |chip| done(chip.program_spare(Ppa(page), part)));
    heard(state, answer, (SpareProgram, Ppa(page)), length)
}

unsafe extern "C" fn copy(state: *mut c_void, from: u32, to: u32) -> c_int {
    let answer = nand(state, Some(Copy), |chip| done(chip.copy(Ppa(from), Ppa(to))));
    let page_bytes = (*state.cast::<State>()).flash.nand().map_or(0, |chip| chip.geometry().page_bytes());
    (*state.cast::<State>()).listener.heard(answer, (Copy, Ppa(to)), Ppa(from), page_bytes)
}

unsafe extern "C" fn erase(state: *mut c_void, block: u32) -> c_int {
    let answer = run(state, Some(Erase), |flash| {
        done(match flash {
            Flash::Nand(chip) => chip.erase(BlockId(block)),
            Flash::Nor(nor) => nor.erase(block),
        })
    });
    heard_block(state, answer, Erase, block, 0)
}

unsafe extern "C" fn is_bad(state: *mut c_void, block: u32) -> c_int {
    let answer = nand(state, None, |chip| chip.is_bad(BlockId(block)).map(c_int::from));
    heard_block(state, answer, SpareRead, block, 1)
}

unsafe extern "C" fn mark_bad(state: *mut c_void, block: u32) -> c_int {
    let answer = nand(state, Some(Retire), |chip| done(chip.mark_bad(BlockId(block))));
    heard_block(state, answer, Retire, block, 1)
}

unsafe extern "C" fn is_erased(state: *mut c_void, page: u32) -> c_int {
    let answer = nand(state, None, |chip| chip.is_erased(Ppa(page)).map(c_int::from));
    let page_bytes = (*state.cast::<State>()).flash.nand().map_or(0, |chip| chip.geometry().page_bytes());
    heard(state, answer, (Read, Ppa(page)), page_bytes)
}

unsafe extern "C" fn fence(state: *mut c_void) -> c_int {
    run(state, None, |flash| match flash {
        Flash::Nand(chip) => done(chip.fence()),
        Flash::Nor(nor) => done(nor.fence()),
    })
}

unsafe extern "C" fn time_ns(state: *mut c_void) -> u64 {
    let state = &mut *state.cast::<State>();
    state.listener.now().unwrap_or_else(|| state.flash.time_ns())
}

unsafe extern "C" fn counts(state: *mut c_void, counts: *mut Counts) -> c_int {
    counts.write(*(*state.cast::<State>()).flash.counts());
    status::OK
}

unsafe extern "C" fn pe_cycles(state: *mut c_void, block: u32) -> u32 {
    match &(*state.cast::<State>()).flash {
        Flash::Nand(chip) if block < chip.geometry().blocks() => chip.pe_cycles(BlockId(block)),
        Flash::Nor(nor) => nor.pe_cycles(block).unwrap_or(0),
        Flash::Nand(_) => 0,
    }
}

unsafe extern "C" fn message(state: *mut c_void) -> *const c_char {
    let state: *const State = state.cast();
    (*state).message.as_ptr()
}

unsafe extern "C" fn cause(state: *mut c_void, cause: c_int) -> c_int {
    let state = &mut *state.cast::<State>();
    state.listener.name_cause(cause).unwrap_or_else(|sentence| {
        state.message = CString::new(sentence).unwrap_or_default();
        status::RULE
    })
}

unsafe extern "C" fn options(state: *mut c_void) -> *const c_char {
    let state: *const State = state.cast();
    (*state).listener.options.as_ptr()
}

/// Tells a command that was carried out; returns its answer.
unsafe fn heard(state: *mut c_void, answer: c_int, (operation, at): (Operation, Ppa), bytes: u32) -> c_int {
    (*state.cast::<State>()).listener.heard(answer, (operation, at), at, bytes)
}

/// The same for a command on a block.
unsafe fn heard_block(state: *mut c_void, answer: c_int, operation: Operation, block: u32, bytes: u32) -> c_int {
    let flash = &mut (*state.cast::<State>()).flash;
    let pages = flash.nand().map_or(0, |chip| chip.geometry().pages_per_block());
    heard(state, answer, (operation, Ppa(block.wrapping_mul(pages))), bytes)
}

/// A setting of a test, refused with a sentence.
unsafe fn set(state: *mut c_void, setting: impl FnOnce(&mut Flash) -> Result<(), String>) -> c_int {
    let state = &mut *state.cast::<State>();
    match setting(&mut state.flash) {
        Ok(()) => status::OK,
        Err(sentence) => {
            state.message = CString::new(sentence).unwrap_or_default();
            status::RULE
        }
    }
}

fn counted_from_one(nth: u64) -> Result<(), String> {
    if nth == 0 {
        return Err("operations are counted from 1, the next one".into());
    }
    Ok(())
}

fn chip(flash: &mut Flash) -> Result<&mut Chip, String> {
    flash.nand().map_err(|error| error.to_string())
}

unsafe extern "C" fn fail_program(state: *mut c_void, nth: u64) -> c_int {
    set(state, |flash| counted_from_one(nth).and_then(|()| chip(flash).map(|chip| chip.fail_program(nth))))
}

unsafe extern "C" fn fail_erase(state: *mut c_void, nth: u64) -> c_int {
    set(state, |flash| counted_from_one(nth).and_then(|()| chip(flash).map(|chip| chip.fail_erase(nth))))
}

unsafe extern "C" fn flip_bits(state: *mut c_void, page: u32, bits: u32) -> c_int {
    set(state, |flash| chip(flash)?.flip_bits(Ppa(page), bits).map_err(|error| error.to_string()))
}

unsafe extern "C" fn cut(state: *mut c_void, nth: u64, form: *const c_char) -> c_int {
    let form = CStr::from_ptr(form).to_string_lossy();
    set(state, |flash| {
        let plan: CutPlan = format!("cut:{nth}:{form}").parse().map_err(|error| format!("{error}"))?;
        flash.arm(plan);
        Ok(())
    })
}

unsafe extern "C" fn operations_done(state: *mut c_void) -> u64 {
    (*state.cast::<State>()).flash.operations()
}

unsafe extern "C" fn has_power(state: *mut c_void) -> c_int {
    (*state.cast::<State>()).flash.cut_operation().is_none().into()
}

unsafe extern "C" fn restore(state: *mut c_void) {
    (*state.cast::<State>()).flash.restore();
}

unsafe extern "C" fn on_power_lost(state: *mut c_void, call: Option<PowerLost>, context: *mut c_void) {
    (*state.cast::<State>()).on_power_lost = call.map(|call| (call, context));
}

unsafe extern "C" fn close(state: *mut c_void) {
    drop(Box::from_raw(state.cast::<State>()));
}

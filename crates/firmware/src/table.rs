//! The functions in `nandlab.h`, each a call through the device's table.

use std::ffi::{c_char, c_int, c_void};

/// A firmware's device: its table, and the state given to its functions.
#[repr(C)]
pub struct Device {
    /// Valid as long as the device.
    pub operations: *const Operations,
    /// Known to the operations alone.
    pub state: *mut c_void,
}

/// Command answers, as in `enum nl_status`.
pub mod status {
    use std::ffi::c_int;

    /// Success.
    pub const OK: c_int = 0;
    /// Unreadable.
    pub const ECC: c_int = -1;
    /// A failed program.
    pub const PROGRAM_FAILED: c_int = -2;
    /// A failed erase.
    pub const ERASE_FAILED: c_int = -3;
    /// A bad block was read.
    pub const BAD_BLOCK: c_int = -4;
    /// No power.
    pub const POWER_LOST: c_int = -5;
    /// A broken rule.
    pub const RULE: c_int = -6;
}

/// `nl_geometry`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "nandlab.h documents them")]
pub struct Geometry {
    pub blocks: u32,
    pub pages_per_block: u32,
    pub page_bytes: u32,
    pub spare_bytes: u32,
    pub program_order: u32,
    pub partial_programs: u32,
}

/// `nl_counts`: the chip's counts as they are.
pub use nandlab_nand::chip::Counts;

/// A part of a page or of its spare area.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The first byte.
    pub offset: u32,
    /// Its bytes.
    pub length: u32,
    /// Where they stand; may be null if there are none.
    pub bytes: *const c_void,
}

macro_rules! operations {
    ($($(#[$doc:meta])* $field:ident($($arg:ident: $type:ty),*) -> $answer:ty, $name:ident;)*) => {
        /// A device's abilities; the functions in `nandlab.h` with the same names call these.
        #[repr(C)]
        pub struct Operations {
            $($(#[$doc])* pub $field: unsafe extern "C" fn(state: *mut c_void, $($arg: $type),*) -> $answer,)*
            /// `nl_program_part` and the programs made from it.
            pub program: unsafe extern "C" fn(state: *mut c_void, page: u32, data: Part, spare: Part) -> c_int,
            /// `nl_close`.
            pub close: unsafe extern "C" fn(state: *mut c_void),
        }

        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// As in `nandlab.h`: the device is open, and each buffer has the length given with it.
            #[no_mangle]
            pub unsafe extern "C" fn $name(device: *mut Device, $($arg: $type),*) -> $answer {
                ((*(*device).operations).$field)((*device).state, $($arg),*)
            }
        )*
    };
}

operations! {
    /// `nl_get_geometry`.
    geometry(geometry: *mut Geometry) -> c_int, nl_get_geometry;
    /// `nl_nor_read`.
    nor_read(address: u32, length: u32, to: *mut c_void) -> c_int, nl_nor_read;
    /// `nl_nor_program`.
    nor_program(address: u32, length: u32, from: *const c_void) -> c_int, nl_nor_program;
    /// `nl_read`.
    read(page: u32, offset: u32, length: u32, to: *mut c_void) -> c_int, nl_read;
    /// `nl_read_spare`.
    read_spare(page: u32, offset: u32, length: u32, to: *mut c_void) -> c_int, nl_read_spare;
    /// `nl_read_page`.
    read_page(page: u32, data: *mut c_void, spare: *mut c_void) -> c_int, nl_read_page;
    /// `nl_program_spare`.
    program_spare(page: u32, offset: u32, length: u32, spare: *const c_void) -> c_int, nl_program_spare;
    /// `nl_copy`.
    copy(from: u32, to: u32) -> c_int, nl_copy;
    /// `nl_erase`.
    erase(block: u32) -> c_int, nl_erase;
    /// `nl_is_bad`.
    is_bad(block: u32) -> c_int, nl_is_bad;
    /// `nl_mark_bad`.
    mark_bad(block: u32) -> c_int, nl_mark_bad;
    /// `nl_is_erased`.
    is_erased(page: u32) -> c_int, nl_is_erased;
    /// `nl_fence`.
    fence() -> c_int, nl_fence;
    /// `nl_time_ns`.
    time_ns() -> u64, nl_time_ns;
    /// `nl_get_counts`.
    counts(counts: *mut Counts) -> c_int, nl_get_counts;
    /// `nl_pe_cycles`.
    pe_cycles(block: u32) -> u32, nl_pe_cycles;
    /// `nl_message`.
    message() -> *const c_char, nl_message;
    /// `nl_cause`.
    cause(cause: c_int) -> c_int, nl_cause;
    /// `nl_options`.
    options() -> *const c_char, nl_options;
    /// `nl_fail_program`.
    fail_program(nth: u64) -> c_int, nl_fail_program;
    /// `nl_fail_erase`.
    fail_erase(nth: u64) -> c_int, nl_fail_erase;
    /// `nl_flip_bits`.
    flip_bits(page: u32, bits: u32) -> c_int, nl_flip_bits;
    /// `nl_cut`.
    cut(nth: u64, form: *const c_char) -> c_int, nl_cut;
    /// `nl_operations`.
    operations_done() -> u64, nl_operations;
    /// `nl_has_power`.
    has_power() -> c_int, nl_has_power;
    /// `nl_restore`.
    restore() -> (), nl_restore;
    /// `nl_on_power_lost`.
    on_power_lost(call: Option<unsafe extern "C" fn(*mut c_void)>, context: *mut c_void) -> (), nl_on_power_lost;
}

const NO_PART: Part = Part { offset: 0, length: 0, bytes: std::ptr::null() };

/// `nl_program`.
///
/// # Safety
/// As in `nandlab.h`.
#[no_mangle]
pub unsafe extern "C" fn nl_program(
    device: *mut Device,
    page: u32,
    data: *const c_void,
    spare: *const c_void,
) -> c_int {
    let mut geometry = Geometry::default();
    let operations = &*(*device).operations;
    (operations.geometry)((*device).state, &mut geometry);
    let data = Part { offset: 0, length: geometry.page_bytes, bytes: data };
    let spare = if spare.is_null() { NO_PART } else { Part { offset: 0, length: geometry.spare_bytes, bytes: spare } };
    (operations.program)((*device).state, page, data, spare)
}

/// `nl_program_part`.
///
/// # Safety
/// As in `nandlab.h`.
#[no_mangle]
#[allow(clippy::too_many_arguments, reason = "two parts, as C has no slices")]
pub unsafe extern "C" fn nl_program_part(
    device: *mut Device,
    page: u32,
    offset: u32,
    length: u32,
    data: *const c_void,
    spare_offset: u32,
    spare_length: u32,
    spare: *const c_void,
) -> c_int {
    let data = Part { offset, length, bytes: data };
    let spare = Part { offset: spare_offset, length: spare_length, bytes: spare };
    ((*(*device).operations).program)((*device).state, page, data, spare)
}

/// `nl_close`.
///
/// # Safety
/// The device comes from `nl_open`, and is not used again.
#[no_mangle]
pub unsafe extern "C" fn nl_close(device: *mut Device) {
    if !device.is_null() {
        let device = Box::from_raw(device);
        ((*device.operations).close)(device.state);
    }
}

/// `nl_status_text`.
#[no_mangle]
pub extern "C" fn nl_status_text(status: c_int) -> *const c_char {
    let text = match status {
        status::ECC => c"more wrong bits than the chip corrects",
        status::PROGRAM_FAILED => c"the program failed",
        status::ERASE_FAILED => c"the erase failed",
        status::BAD_BLOCK => c"the block is marked bad",
        status::POWER_LOST => c"power lost",
        status::RULE => c"a rule of the chip was broken",
        0.. => c"done",
        _ => c"unknown status",
    };
    text.as_ptr()
}

//! A firmware under an experiment's workload.
//!
//! Each mount loads the shared object from a copy of its own in memory, so two runs in one process share no variables, and a
//! second mount begins with those of a reset.

mod block;
mod files;

pub use block::open;
pub use files::open_files;

use crate::device::{self, State};
use crate::flash::Flash;
use crate::listener::Listener;
use crate::prove::library::{open as open_object, table_of, Mount, Required, Why};
use crate::table::Device;
use nandlab_block::firmware::{About, Told};
use nandlab_nand::chip::{Chip, Options};
use nandlab_nand::faulty::Config as Faults;
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::Path;

/// Bytes for a sentence from a mount.
const WHY_BYTES: usize = 200;

/// The largest chip in pages: its tables are in memory as a whole.
const MOST_PAGES: u32 = 1 << 24;

/// A loaded shared object; no other one shares its variables.
struct Object {
    handle: *mut c_void,
    /// The copy. The loader takes two objects with one name for the same, and the name is the descriptor's number.
    _copy: File,
}

impl Object {
    fn load(path: &Path) -> Result<Self, String> {
        let told = |error: std::io::Error| format!("cannot be read: {error}");
        let bytes = std::fs::read(path).map_err(told)?;
        // SAFETY: a name, and flags; the descriptor has no other owner.
        let mut copy = unsafe {
            // By its number: the C library of manylinux2014 has no function for it.
            let descriptor = libc::syscall(libc::SYS_memfd_create, c"firmware".as_ptr(), libc::MFD_CLOEXEC);
            if descriptor < 0 {
                return Err(told(std::io::Error::last_os_error()));
            }
            File::from_raw_fd(descriptor as c_int)
        };
        copy.write_all(&bytes).map_err(told)?;
        let name = format!("/proc/self/fd/{}", copy.as_raw_fd());
        let loaded = open_object(Path::new(&name), libc::RTLD_LOCAL);
        let handle = loaded.map_err(|why| format!("cannot be loaded: {}", why.trim_start_matches(&name)))?;
        Ok(Self { handle, _copy: copy })
    }

    /// The table under a name, complete.
    fn table<T: Copy>(&self, name: &CStr, kind: &str, required: impl Fn(&T) -> Required) -> Result<T, String> {
        // SAFETY: the handle is open; a table names its size first.
        let table = unsafe { table_of::<T>(self.handle, name) };
        let table = table.map_err(|why| format!("is of another version: {why}"))?;
        let missing = || format!("has no {}, the table of a {kind} firmware", name.to_string_lossy());
        let table = table.ok_or_else(missing)?;
        match required(&table).iter().find(|(_, given)| !given) {
            Some((field, _)) => Err(format!("lacks {field} in its table")),
            None => Ok(table),
        }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: the firmware on it is gone.
        unsafe { libc::dlclose(self.handle) };
    }
}

/// A firmware's table.
trait Table: Copy {
    fn read_from(object: &Object) -> Result<Self, String>;
    fn shared(&self) -> Shared;
}

/// The calls that a block and a file firmware have alike.
struct Shared {
    mount: Option<Mount>,
    unmount: Option<unsafe extern "C" fn(*mut c_void)>,
    why: Option<Why>,
}

/// A firmware, its chip and its object.
struct Mounted<T: Table> {
    table: T,
    /// Null before the mount.
    firmware: *mut c_void,
    device: *mut Device,
    /// The last to go.
    _object: Object,
}

// SAFETY: the pointers are used by one call at a time, which has `&mut Mounted`, or reads what does not change.
unsafe impl<T: Table> Send for Mounted<T> {}

impl<T: Table> Mounted<T> {
    /// Loads a firmware and mounts it on an erased chip. `library` is `libnandlab`, which the object's open calls find.
    fn open(library: &Path, about: &About<'_>, told: &mut dyn Told) -> Result<Self, String> {
        open_object(library, libc::RTLD_GLOBAL).map_err(|why| format!("needs libnandlab, and {why}"))?;
        let pages = about.geometry.pages();
        if pages > MOST_PAGES {
            return Err(format!(
                "would have a chip of {pages} pages, and a run of a firmware has at most {MOST_PAGES}"
            ));
        }
        let object = Object::load(about.path)?;
        let table = T::read_from(&object)?;
        let chip = Chip::new(about.geometry, about.rules, &timeless(), Options::default(), Faults::default());
        let mut state = State::new(Flash::Nand(chip.map_err(|error| format!("gets no chip: {error}"))?));
        state.listener.options = CString::new(about.options).map_err(|_| "has options with a zero byte")?;
        let device = device::open(state);
        let mut mounted = Self { table, firmware: std::ptr::null_mut(), device, _object: object };
        mounted.mount(told).map_err(|why| why.replace("the firmware broke", "broke"))?;
        Ok(mounted)
    }

    fn listener(&self) -> *mut Listener {
        // SAFETY: the device is open, and `device::open` gave it this state.
        unsafe { &raw mut (*(*self.device).state.cast::<State>()).listener }
    }

    /// Runs a call of the host; a broken rule in it is an error before all others.
    fn call<R>(&mut self, told: &mut dyn Told, call: impl FnOnce(&Self) -> Result<R, String>) -> Result<R, String> {
        let listener = self.listener();
        // SAFETY: commands of this call alone use the listener.
        let answer = unsafe { Listener::during(listener, told, || call(self)) };
        // SAFETY: the call is over.
        match unsafe { (*listener).take_broken() } {
            Some(sentence) => Err(format!("the firmware broke a rule of the chip: {sentence}")),
            None => answer,
        }
    }

    fn mount(&mut self, told: &mut dyn Told) -> Result<(), String> {
        let mut why: [c_char; WHY_BYTES] = [0; WHY_BYTES];
        let mount = self.table.shared().mount.expect("checked at the load");
        self.firmware = self.call(told, |mounted| {
            // SAFETY: the device is open, and the text has its size.
            let firmware = unsafe { mount(mounted.device, why.as_mut_ptr(), WHY_BYTES) };
            if !firmware.is_null() {
                return Ok(firmware);
            }
            why[WHY_BYTES - 1] = 0;
            // SAFETY: the text ends inside its array.
            let why = unsafe { CStr::from_ptr(why.as_ptr()) }.to_string_lossy();
            Err(format!("mounts no chip of this shape: {}", if why.is_empty() { "no reason given" } else { &why }))
        })?;
        Ok(())
    }

    /// The sentence for a failed call.
    fn answered(&self, what: impl FnOnce() -> String, answer: c_int) -> Result<(), String> {
        if answer == 0 {
            return Ok(());
        }
        Err(format!("the firmware refused the {}: {answer}{}", what(), self.words()))
    }

    /// What the firmware says about its last failure.
    fn words(&self) -> String {
        // SAFETY: the firmware is mounted; its answer is a C string, or null.
        let why = self.table.shared().why.map(|why| unsafe { why(self.firmware) }).filter(|why| !why.is_null());
        // SAFETY: as above.
        why.map_or(String::new(), |why| format!(", {}", unsafe { CStr::from_ptr(why) }.to_string_lossy()))
    }
}

/// The experiment's device has the times.
fn timeless() -> nandlab_nand::profile::Timing {
    let zero = crate::config::Config { read_us: 0.0, program_us: 0.0, erase_us: 0.0, ..Default::default() };
    zero.timing().expect("zero is a time")
}

impl<T: Table> Drop for Mounted<T> {
    fn drop(&mut self) {
        // SAFETY: nothing runs on the firmware or on the device any more.
        unsafe {
            if let (Some(unmount), false) = (self.table.shared().unmount, self.firmware.is_null()) {
                unmount(self.firmware);
            }
            crate::table::nl_close(self.device);
        }
    }
}

//! A firmware in a shared object: its table, and its global variables as they were when it was loaded.

use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::path::Path;

/// A firmware's mount.
pub(crate) type Mount = unsafe extern "C" fn(*mut crate::table::Device, *mut c_char, usize) -> *mut c_void;

/// A firmware's words for its last failure.
pub(crate) type Why = unsafe extern "C" fn(*mut c_void) -> *const c_char;

/// `nl_block_firmware`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockTable {
    pub(crate) size: u32,
    pub(crate) reserved: u32,
    pub(crate) name: *const c_char,
    pub(crate) mount: Option<Mount>,
    pub(crate) unmount: Option<unsafe extern "C" fn(*mut c_void)>,
    pub(crate) sectors: Option<unsafe extern "C" fn(*mut c_void) -> u32>,
    pub(crate) sector_bytes: Option<unsafe extern "C" fn(*mut c_void) -> u32>,
    pub(crate) read: Option<unsafe extern "C" fn(*mut c_void, u32, *mut c_void) -> c_int>,
    pub(crate) write: Option<unsafe extern "C" fn(*mut c_void, u32, *const c_void) -> c_int>,
    pub(crate) trim: Option<unsafe extern "C" fn(*mut c_void, u32) -> c_int>,
    pub(crate) sync: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
    pub(crate) ram: Option<unsafe extern "C" fn(*mut c_void) -> u64>,
    pub(crate) why: Option<Why>,
}

/// Called by a firmware for each name in a folder.
pub(crate) type Each = unsafe extern "C" fn(*mut c_void, *const c_char, c_int);

/// `nl_file_firmware`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileTable {
    pub(crate) size: u32,
    pub(crate) atomic: u32,
    pub(crate) name: *const c_char,
    pub(crate) mount: Option<Mount>,
    pub(crate) unmount: Option<unsafe extern "C" fn(*mut c_void)>,
    pub(crate) open: Option<unsafe extern "C" fn(*mut c_void, *const c_char, c_int) -> *mut c_void>,
    pub(crate) read: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, u64, *mut c_void, u32) -> i64>,
    pub(crate) write: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, u64, *const c_void, u32) -> c_int>,
    pub(crate) truncate: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, u64) -> c_int>,
    pub(crate) sync: Option<unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int>,
    pub(crate) close: Option<unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int>,
    pub(crate) rename: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> c_int>,
    pub(crate) remove: Option<unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int>,
    pub(crate) mkdir: Option<unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int>,
    pub(crate) list: Option<unsafe extern "C" fn(*mut c_void, *const c_char, Each, *mut c_void) -> c_int>,
    pub(crate) ram: Option<unsafe extern "C" fn(*mut c_void) -> u64>,
    pub(crate) why: Option<Why>,
}

/// A shared object's table.
#[derive(Clone, Copy, Debug)]
pub(super) enum Table {
    Block(BlockTable),
    File(FileTable),
}

/// Bytes compared and set back together.
const PAGE: usize = 4096;

/// A loaded firmware; it stays loaded until the process ends.
#[derive(Debug)]
pub(super) struct Library {
    pub(super) table: Table,
    pub(super) name: String,
    globals: Vec<(usize, Vec<u8>)>,
}

impl Library {
    /// Loads `libnandlab`, if it is given, and the firmware.
    ///
    /// # Errors
    /// The loader's sentence, or the object's missing part.
    pub(super) fn load(calls: Option<&Path>, firmware: &Path) -> Result<Self, String> {
        if let Some(calls) = calls {
            open(calls, libc::RTLD_GLOBAL)?;
        }
        let file = firmware.canonicalize().map_err(|error| format!("{}: {error}", firmware.display()))?;
        let handle = open(&file, libc::RTLD_GLOBAL)?;
        // SAFETY: the handle is open; a table names its size first.
        let (block, file_table) =
            unsafe { (table_of::<BlockTable>(handle, c"nl_block")?, table_of::<FileTable>(handle, c"nl_file")?) };
        let (table, name, required) = match (block, file_table) {
            (Some(table), None) => (Table::Block(table), table.name, required_of_block(&table)),
            (None, Some(table)) => (Table::File(table), table.name, required_of_file(&table)),
            _ => {
                let path = firmware.display();
                return Err(format!("{path}: there is no nl_block and no nl_file, or both: a firmware has one table"));
            }
        };
        if let Some((field, _)) = required.iter().find(|(_, given)| !given) {
            return Err(format!("{}: {field} is missing in the table", firmware.display()));
        }
        // SAFETY: the name is a C string in the object, and the object stays loaded.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
        Ok(Self { table, name, globals: globals_of(&file) })
    }

    /// Sets the firmware's global variables back, as its processor's reset does.
    pub(super) fn reset_globals(&self) {
        for (address, bytes) in &self.globals {
            // SAFETY: writable memory in the object; the firmware is not running.
            let now = unsafe { std::slice::from_raw_parts_mut(*address as *mut u8, bytes.len()) };
            // An unchanged page stays shared with the parent process.
            for (now, before) in now.chunks_mut(PAGE).zip(bytes.chunks(PAGE)).filter(|(now, before)| now != before) {
                now.copy_from_slice(before);
            }
        }
    }
}

/// A table's fields, and whether they are given.
pub(crate) type Required = Vec<(&'static str, bool)>;

pub(crate) fn required_of_block(table: &BlockTable) -> Required {
    vec![
        ("name", !table.name.is_null()),
        ("mount", table.mount.is_some()),
        ("sectors", table.sectors.is_some()),
        ("read", table.read.is_some()),
        ("write", table.write.is_some()),
        ("sync", table.sync.is_some()),
    ]
}

pub(crate) fn required_of_file(table: &FileTable) -> Required {
    vec![
        ("name", !table.name.is_null()),
        ("mount", table.mount.is_some()),
        ("open", table.open.is_some()),
        ("read", table.read.is_some()),
        ("write", table.write.is_some()),
        ("truncate", table.truncate.is_some()),
        ("sync", table.sync.is_some()),
        ("close", table.close.is_some()),
        ("rename", table.rename.is_some()),
        ("remove", table.remove.is_some()),
        ("list", table.list.is_some()),
    ]
}

/// The table under a name, if the object has it; its first field is its size.
pub(crate) unsafe fn table_of<T: Copy>(handle: *mut c_void, name: &CStr) -> Result<Option<T>, String> {
    let symbol = libc::dlsym(handle, name.as_ptr());
    if symbol.is_null() {
        return Ok(None);
    }
    let size = *symbol.cast::<u32>() as usize;
    if size != size_of::<T>() {
        let name = name.to_string_lossy();
        return Err(format!("{name}.size is {size}, and this version's table has {} bytes", size_of::<T>()));
    }
    Ok(Some(*symbol.cast()))
}

pub(crate) fn open(path: &Path, scope: c_int) -> Result<*mut c_void, String> {
    let name = CString::new(path.as_os_str().as_encoded_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: a path for the loader; the object's constructors run, as its user asked.
    unsafe {
        let handle = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | scope);
        if handle.is_null() {
            return Err(CStr::from_ptr(libc::dlerror()).to_string_lossy().into_owned());
        }
        Ok(handle)
    }
}

/// Addresses and bytes in the object's writable segments.
fn globals_of(file: &Path) -> Vec<(usize, Vec<u8>)> {
    struct Asked<'a> {
        file: &'a Path,
        found: Vec<(usize, Vec<u8>)>,
    }
    unsafe extern "C" fn one(info: *mut libc::dl_phdr_info, _: usize, asked: *mut c_void) -> c_int {
        let asked = &mut *asked.cast::<Asked<'_>>();
        let name = CStr::from_ptr((*info).dlpi_name).to_string_lossy();
        if Path::new(name.as_ref()) != asked.file {
            return 0;
        }
        let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
        let start = |header: &libc::Elf64_Phdr| (*info).dlpi_addr as usize + header.p_vaddr as usize;
        // The loader has made this part read-only.
        let sealed = headers.iter().find(|header| header.p_type == libc::PT_GNU_RELRO);
        let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
        let sealed_end = sealed.map_or(0, |header| (start(header) + header.p_memsz as usize) / page * page);
        for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0)
        {
            let end = start(header) + header.p_memsz as usize;
            let from = start(header).max(if sealed_end <= end { sealed_end } else { 0 });
            let bytes = std::slice::from_raw_parts(from as *const u8, end - from).to_vec();
            asked.found.push((from, bytes));
        }
        1
    }
    let mut asked = Asked { file, found: Vec::new() };
    // SAFETY: the callback gets its own type, while this function waits.
    unsafe { libc::dl_iterate_phdr(Some(one), std::ptr::from_mut(&mut asked).cast()) };
    asked.found
}

//! A file firmware.

use super::{Mounted, Object, Shared, Table};
use crate::prove::library::{required_of_file, FileTable};
use nandlab_block::firmware::{About, Files, Told};
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::path::{Path, PathBuf};

/// Loads a file firmware and mounts it on an erased chip. `library` is `libnandlab`, which the object's open calls find.
///
/// # Errors
/// A sentence without its subject.
pub fn open_files(library: &Path, about: &About<'_>, told: &mut dyn Told) -> Result<Box<dyn Files>, String> {
    let mounted = Mounted::<FileTable>::open(library, about, told)?;
    Ok(Box::new(Tree { mounted, path: about.path.to_owned() }))
}

impl Table for FileTable {
    fn read_from(object: &Object) -> Result<Self, String> {
        object.table(c"nl_file", "file", required_of_file)
    }

    fn shared(&self) -> Shared {
        Shared { mount: self.mount, unmount: self.unmount, why: self.why }
    }
}

struct Tree {
    mounted: Mounted<FileTable>,
    path: PathBuf,
}

fn c_path(path: &str) -> Result<CString, String> {
    CString::new(path).map_err(|_| format!("the path '{path}' has a zero byte"))
}

/// Keeps a name of a folder.
unsafe extern "C" fn keep(names: *mut c_void, name: *const c_char, _: c_int) {
    let names = &mut *names.cast::<Vec<String>>();
    let name = CStr::from_ptr(name).to_string_lossy();
    if name != "." && name != ".." {
        names.push(name.into_owned());
    }
}

impl Files for Tree {
    fn open(&mut self, path: &str, create: bool, told: &mut dyn Told) -> Result<usize, String> {
        let name = c_path(path)?;
        self.mounted.call(told, |mounted| {
            let open = mounted.table.open.expect("checked at the load");
            // SAFETY: the firmware is mounted, and the path a C string.
            let file = unsafe { open(mounted.firmware, name.as_ptr(), create.into()) };
            match file.is_null() {
                true => Err(format!("the firmware refused to open '{path}'{}", mounted.words())),
                false => Ok(file as usize),
            }
        })
    }

    fn read(&mut self, file: usize, offset: u64, to: &mut [u8], told: &mut dyn Told) -> Result<usize, String> {
        self.mounted.call(told, |mounted| {
            let read = mounted.table.read.expect("checked at the load");
            let length = u32::try_from(to.len()).map_err(|_| "a read of 4 GiB or more".to_owned())?;
            // SAFETY: the file is open, and the buffer has its length.
            let answer = unsafe { read(mounted.firmware, file as *mut c_void, offset, to.as_mut_ptr().cast(), length) };
            match usize::try_from(answer) {
                Ok(bytes) if bytes <= to.len() => Ok(bytes),
                _ => Err(format!("the firmware refused a read: {answer}{}", mounted.words())),
            }
        })
    }

    fn write(&mut self, file: usize, offset: u64, from: &[u8], told: &mut dyn Told) -> Result<(), String> {
        self.mounted.call(told, |mounted| {
            let write = mounted.table.write.expect("checked at the load");
            let length = u32::try_from(from.len()).map_err(|_| "a write of 4 GiB or more".to_owned())?;
            // SAFETY: the file is open, and the buffer has its length.
            let answer = unsafe { write(mounted.firmware, file as *mut c_void, offset, from.as_ptr().cast(), length) };
            mounted.answered(|| "write".to_owned(), answer)
        })
    }

    fn truncate(&mut self, file: usize, bytes: u64, told: &mut dyn Told) -> Result<(), String> {
        self.mounted.call(told, |mounted| {
            let truncate = mounted.table.truncate.expect("checked at the load");
            // SAFETY: the file is open.
            let answer = unsafe { truncate(mounted.firmware, file as *mut c_void, bytes) };
            mounted.answered(|| "truncate".to_owned(), answer)
        })
    }

    fn sync(&mut self, file: usize, told: &mut dyn Told) -> Result<(), String> {
        self.mounted.call(told, |mounted| {
            let sync = mounted.table.sync.expect("checked at the load");
            // SAFETY: the file is open.
            mounted.answered(|| "sync".to_owned(), unsafe { sync(mounted.firmware, file as *mut c_void) })
        })
    }

    fn sync_all(&mut self, told: &mut dyn Told) -> Result<(), String> {
        self.sync(0, told)
    }

    fn close(&mut self, file: usize, told: &mut dyn Told) -> Result<(), String> {
        self.mounted.call(told, |mounted| {
            let close = mounted.table.close.expect("checked at the load");
            // SAFETY: the file is open, and not used again.
            mounted.answered(|| "close".to_owned(), unsafe { close(mounted.firmware, file as *mut c_void) })
        })
    }

    fn rename(&mut self, from: &str, to: &str, told: &mut dyn Told) -> Result<(), String> {
        let (old, new) = (c_path(from)?, c_path(to)?);
        self.mounted.call(told, |mounted| {
            let rename = mounted.table.rename.expect("checked at the load");
            // SAFETY: the firmware is mounted, and both paths are C strings.
            let answer = unsafe { rename(mounted.firmware, old.as_ptr(), new.as_ptr()) };
            mounted.answered(|| format!("rename of '{from}'"), answer)
        })
    }

    fn remove(&mut self, path: &str, told: &mut dyn Told) -> Result<(), String> {
        let name = c_path(path)?;
        self.mounted.call(told, |mounted| {
            let remove = mounted.table.remove.expect("checked at the load");
            // SAFETY: the firmware is mounted, and the path a C string.
            let answer = unsafe { remove(mounted.firmware, name.as_ptr()) };
            mounted.answered(|| format!("removal of '{path}'"), answer)
        })
    }

    fn mkdir(&mut self, path: &str, told: &mut dyn Told) -> Result<bool, String> {
        let Some(mkdir) = self.mounted.table.mkdir else { return Ok(false) };
        let name = c_path(path)?;
        self.mounted.call(told, |mounted| {
            // SAFETY: the firmware is mounted, and the path a C string.
            let answer = unsafe { mkdir(mounted.firmware, name.as_ptr()) };
            mounted.answered(|| format!("folder '{path}'"), answer).map(|()| true)
        })
    }

    fn list(&mut self, folder: &str, told: &mut dyn Told) -> Result<Vec<String>, String> {
        let name = c_path(folder)?;
        let mut names: Vec<String> = Vec::new();
        self.mounted.call(told, |mounted| {
            let list = mounted.table.list.expect("checked at the load");
            // SAFETY: `keep` gets its own type back, while this call lasts.
            let answer = unsafe { list(mounted.firmware, name.as_ptr(), keep, (&raw mut names).cast()) };
            mounted.answered(|| format!("list of '{folder}'"), answer)
        })?;
        Ok(names)
    }

    /// The old object goes without an unmount, as in a power cut.
    fn mount_again(&mut self, told: &mut dyn Told) -> Result<(), String> {
        let object = Object::load(&self.path)?;
        self.mounted.table = FileTable::read_from(&object)?;
        self.mounted.firmware = std::ptr::null_mut();
        self.mounted._object = object;
        self.mounted.mount(told).map_err(|why| format!("the firmware {}", why.trim_start_matches("the firmware ")))
    }

    fn ram(&self) -> Option<u64> {
        // SAFETY: the firmware is mounted.
        self.mounted.table.ram.map(|ram| unsafe { ram(self.mounted.firmware) })
    }
}

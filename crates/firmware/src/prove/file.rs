//! A file firmware beside a plain model.
//!
//! The model has, for each path, the state at its last sync and the states since. After a cut each path has one of them.
//! Contents written without a sync may be there in part, unless the firmware promises more: each byte is then that of one
//! of the versions, or zero. A renamed file is under one of its names.

use super::file_step::{FileStep, Path};
use super::finding::{Finding, Kind};
use super::library::{FileTable, Library};
use super::script::Step;
use super::subject::{mounted, refused, words, Subject};
use crate::table::{Counts, Device};
use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_int, c_void, CStr, CString};

/// A path's state.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Entry {
    Absent,
    Folder,
    File(Vec<u8>),
}

#[derive(Clone, Debug)]
struct Place {
    /// May be there after a cut.
    allowed: Vec<Entry>,
    latest: Entry,
    /// Contents are being written: a cut may leave a part.
    loose: bool,
}

/// A rename without a sync, and the file's contents.
type Moved = (Path, Path, Entry);

/// The firmware, mounted or not, and the model.
#[derive(Debug)]
pub(super) struct Files {
    library: &'static Library,
    table: FileTable,
    device: *mut Device,
    mounted: Cell<*mut c_void>,
    next: Cell<u32>,
    places: RefCell<Vec<Place>>,
    moved: RefCell<Vec<Moved>>,
}

/// Bytes in one call: files are written and read in several.
const PIECE: usize = 128;
/// Bytes in a file written after a cut.
const LATER_BYTES: u32 = 400;

fn contents(version: u32, bytes: u32) -> Vec<u8> {
    let mut state = u64::from(version) << 20;
    let mut next = || {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (state >> 56) as u8
    };
    (0..bytes).map(|_| next()).collect()
}

fn text(path: Path) -> CString {
    CString::new(path.name()).expect("paths have no zero")
}

impl Place {
    fn permits(&self, found: &Entry, atomic: bool) -> bool {
        if self.allowed.contains(found) {
            return true;
        }
        let Entry::File(bytes) = found else { return false };
        let versions: Vec<&Vec<u8>> = self
            .allowed
            .iter()
            .filter_map(|entry| if let Entry::File(bytes) = entry { Some(bytes) } else { None })
            .collect();
        let longest = versions.iter().map(|version| version.len()).max().unwrap_or(0);
        let written = |(at, byte): (usize, &u8)| *byte == 0 || versions.iter().any(|one| one.get(at) == Some(byte));
        self.loose && !atomic && bytes.len() <= longest && bytes.iter().enumerate().all(written)
    }
}

impl Files {
    pub(super) fn new(library: &'static Library, table: FileTable, device: *mut Device) -> Self {
        let absent = Place { allowed: vec![Entry::Absent], latest: Entry::Absent, loose: false };
        Self {
            library,
            table,
            device,
            mounted: Cell::new(std::ptr::null_mut()),
            next: Cell::new(1),
            places: RefCell::new(vec![absent; Path::NAMES.len()]),
            moved: RefCell::default(),
        }
    }

    fn latest(&self, path: Path) -> Entry {
        self.places.borrow()[usize::from(path.0)].latest.clone()
    }

    /// Notes a state: it may be there from now on.
    fn set(&self, path: Path, entry: Entry, loose: bool) {
        let place = &mut self.places.borrow_mut()[usize::from(path.0)];
        place.allowed.push(entry.clone());
        place.latest = entry;
        place.loose |= loose;
        self.moved.borrow_mut().retain(|(from, to, _)| *from != path && *to != path);
    }

    /// The latest state is durable.
    fn settle(&self, path: Path) {
        let place = &mut self.places.borrow_mut()[usize::from(path.0)];
        place.allowed = vec![place.latest.clone()];
        place.loose = false;
    }

    fn answered(&self, what: &str, path: Path, answer: c_int, kind: Kind) -> Result<(), Finding> {
        if answer == 0 {
            return Ok(());
        }
        let words = words(self.table.why, self.mounted.get());
        Err(refused(kind, &format!("{what} of {}", path.name()), answer, words))
    }

    /// Whether the step makes sense now.
    fn is_possible(&self, step: FileStep) -> bool {
        let is_file = |path| matches!(self.latest(path), Entry::File(_));
        let has_folder = |path: Path| path.folder().is_none_or(|folder| self.latest(folder) == Entry::Folder);
        match step {
            FileStep::Put(path, _) => has_folder(path),
            FileStep::Append(path, _) => is_file(path),
            FileStep::Truncate(path, bytes) => {
                matches!(self.latest(path), Entry::File(now) if now.len() >= bytes as usize)
            }
            FileStep::Move(from, to) => is_file(from) && has_folder(to) && from != to,
            FileStep::Remove(path) if path.is_folder() => {
                let is_inside = |one: &Path| one.folder() == Some(path) && self.latest(*one) != Entry::Absent;
                self.latest(path) == Entry::Folder && !Path::all().any(|one| is_inside(&one))
            }
            FileStep::Remove(path) => is_file(path),
            FileStep::Mkdir(path) => self.table.mkdir.is_some() && self.latest(path) == Entry::Absent,
        }
    }

    fn take(&self, step: FileStep) -> Result<(), Finding> {
        match step {
            FileStep::Put(path, bytes) => self.write_file(path, bytes, true),
            FileStep::Append(path, bytes) => self.write_file(path, bytes, false),
            FileStep::Truncate(path, bytes) => self.truncate(path, bytes),
            FileStep::Move(from, to) => self.rename(from, to),
            FileStep::Remove(path) => {
                self.set(path, Entry::Absent, false);
                let remove = self.table.remove.expect("checked at the load");
                // SAFETY: the firmware is mounted.
                let answer = unsafe { remove(self.mounted.get(), text(path).as_ptr()) };
                self.answered("remove", path, answer, Kind::Refused)
            }
            FileStep::Mkdir(path) => {
                self.set(path, Entry::Folder, false);
                let Some(mkdir) = self.table.mkdir else { return Ok(()) };
                // SAFETY: the firmware is mounted.
                let answer = unsafe { mkdir(self.mounted.get(), text(path).as_ptr()) };
                self.answered("mkdir", path, answer, Kind::Refused)
            }
        }
    }

    fn open(&self, path: Path, create: bool) -> *mut c_void {
        let open = self.table.open.expect("checked at the load");
        // SAFETY: the firmware is mounted.
        unsafe { open(self.mounted.get(), text(path).as_ptr(), create.into()) }
    }

    fn open_to_write(&self, path: Path) -> Result<*mut c_void, Finding> {
        let file = self.open(path, true);
        if file.is_null() {
            return Err(refused(
                Kind::Refused,
                &format!("open of {}", path.name()),
                -1,
                words(self.table.why, self.mounted.get()),
            ));
        }
        Ok(file)
    }

    fn close(&self, path: Path, file: *mut c_void) -> Result<(), Finding> {
        let close = self.table.close.expect("checked at the load");
        // SAFETY: the firmware's own file, used no more.
        self.answered("close", path, unsafe { close(self.mounted.get(), file) }, Kind::Refused)
    }

    fn sync(&self, path: Path, file: *mut c_void) -> Result<(), Finding> {
        let sync = self.table.sync.expect("checked at the load");
        // SAFETY: the firmware's own file.
        self.answered("sync", path, unsafe { sync(self.mounted.get(), file) }, Kind::Refused)
    }

    /// Writes a file anew and syncs it, or appends without a sync.
    fn write_file(&self, path: Path, bytes: u32, anew: bool) -> Result<(), Finding> {
        let mut new = contents(self.next.replace(self.next.get() + 1), bytes);
        let start = match self.latest(path) {
            Entry::File(old) if !anew => {
                new = [old.clone(), new].concat();
                old.len()
            }
            Entry::Absent => {
                self.set(path, Entry::File(Vec::new()), false);
                0
            }
            _ => 0,
        };
        self.set(path, Entry::File(new.clone()), true);
        let mounted = self.mounted.get();
        let file = self.open_to_write(path)?;
        if anew {
            let truncate = self.table.truncate.expect("checked at the load");
            // SAFETY: the firmware's own file.
            self.answered("truncate", path, unsafe { truncate(mounted, file, 0) }, Kind::Refused)?;
        }
        let write = self.table.write.expect("checked at the load");
        let mut at = start;
        for piece in new[start..].chunks(PIECE) {
            // SAFETY: the firmware's own file, and as many bytes as told.
            let answer = unsafe { write(mounted, file, at as u64, piece.as_ptr().cast(), piece.len() as u32) };
            self.answered("write", path, answer, Kind::Refused)?;
            at += piece.len();
        }
        if anew {
            self.sync(path, file)?;
            self.settle(path);
        }
        self.close(path, file)
    }

    fn truncate(&self, path: Path, bytes: u32) -> Result<(), Finding> {
        let Entry::File(mut now) = self.latest(path) else { return Ok(()) };
        now.truncate(bytes as usize);
        self.set(path, Entry::File(now), true);
        let file = self.open_to_write(path)?;
        let truncate = self.table.truncate.expect("checked at the load");
        // SAFETY: the firmware's own file.
        let answer = unsafe { truncate(self.mounted.get(), file, bytes.into()) };
        self.answered("truncate", path, answer, Kind::Refused)?;
        self.sync(path, file)?;
        self.settle(path);
        self.close(path, file)
    }

    fn rename(&self, from: Path, to: Path) -> Result<(), Finding> {
        let file = self.latest(from);
        let is_settled = self.places.borrow()[usize::from(from.0)].allowed == [file.clone()];
        let loose = self.places.borrow()[usize::from(from.0)].loose;
        if loose {
            // The other name may get all contents.
            let versions = self.places.borrow()[usize::from(from.0)].allowed.clone();
            versions.into_iter().for_each(|version| self.set(to, version, true));
        }
        self.set(from, Entry::Absent, false);
        self.set(to, file.clone(), loose);
        if is_settled {
            self.moved.borrow_mut().push((from, to, file));
        }
        let rename = self.table.rename.expect("checked at the load");
        // SAFETY: the firmware is mounted.
        let answer = unsafe { rename(self.mounted.get(), text(from).as_ptr(), text(to).as_ptr()) };
        self.answered("rename", from, answer, Kind::Refused)
    }

    /// Pages programmed so far.
    fn programmed(&self) -> u64 {
        let mut counts = Counts::default();
        // SAFETY: the device is open.
        unsafe { crate::table::nl_get_counts(self.device, &mut counts) };
        counts.programs + counts.copies
    }

    /// Names in a folder, and whether each is a folder.
    fn listed(&self, folder: Option<Path>) -> Result<Vec<(String, bool)>, Finding> {
        unsafe extern "C" fn each(names: *mut c_void, name: *const c_char, is_folder: c_int) {
            let names = &mut *names.cast::<Vec<(String, bool)>>();
            names.push((CStr::from_ptr(name).to_string_lossy().into_owned(), is_folder != 0));
        }
        let mut names: Vec<(String, bool)> = Vec::new();
        let list = self.table.list.expect("checked at the load");
        let path = folder.map_or(CString::default(), text);
        // SAFETY: the firmware is mounted, and calls `each` before it returns.
        let answer = unsafe { list(self.mounted.get(), path.as_ptr(), each, std::ptr::from_mut(&mut names).cast()) };
        if answer != 0 {
            let of = folder.map_or("the root", Path::name);
            let words = words(self.table.why, self.mounted.get());
            return Err(refused(Kind::Unreadable, &format!("list of {of}"), answer, words));
        }
        Ok(names)
    }

    /// Each path's state, by the lists and by opening each file.
    fn found(&self) -> Result<Vec<Entry>, Finding> {
        let mut found = vec![Entry::Absent; Path::NAMES.len()];
        let mut folders = vec![None];
        while let Some(folder) = folders.pop() {
            for (name, is_folder) in self.listed(folder)? {
                let path = Path::all()
                    .find(|path| path.folder() == folder && path.name().rsplit('/').next() == Some(name.as_str()));
                let known =
                    path.filter(|path| path.is_folder() == is_folder && found[usize::from(path.0)] == Entry::Absent);
                let Some(path) = known else {
                    let sentence = format!("a list has the name {name}, twice or where nobody made it");
                    return Err(Finding::new(Kind::Garbage, sentence));
                };
                found[usize::from(path.0)] = if is_folder {
                    folders.push(Some(path));
                    Entry::Folder
                } else {
                    Entry::File(self.read_file(path)?)
                };
            }
        }
        for path in Path::all().filter(|path| !path.is_folder() && found[usize::from(path.0)] == Entry::Absent) {
            let file = self.open(path, false);
            if !file.is_null() {
                let sentence = format!("{} can be opened, and no list has it", path.name());
                return Err(Finding::new(Kind::Garbage, sentence));
            }
        }
        Ok(found)
    }

    fn read_file(&self, path: Path) -> Result<Vec<u8>, Finding> {
        let file = self.open(path, false);
        if file.is_null() {
            let sentence = format!("a list has {}, and it cannot be opened", path.name());
            return Err(Finding::new(Kind::Unreadable, sentence));
        }
        let read = self.table.read.expect("checked at the load");
        let mut bytes = Vec::new();
        loop {
            let mut piece = [0; PIECE];
            let at = bytes.len() as u64;
            // SAFETY: the firmware's own file, and room for as many bytes as told.
            let got = unsafe { read(self.mounted.get(), file, at, piece.as_mut_ptr().cast(), PIECE as u32) };
            if got < 0 || got > PIECE as i64 {
                self.answered("read", path, got as c_int, Kind::Unreadable)?;
            }
            bytes.extend_from_slice(&piece[..got as usize]);
            if got < PIECE as i64 {
                self.close(path, file)?;
                return Ok(bytes);
            }
        }
    }

    fn lost(path: Path, found: &Entry, place: &Place) -> Finding {
        let told = |entry: &Entry| match entry {
            Entry::Absent => "nothing".to_owned(),
            Entry::Folder => "a folder".to_owned(),
            Entry::File(bytes) => format!("a file of {} bytes", bytes.len()),
        };
        let other = if matches!((found, &place.latest), (Entry::File(a), Entry::File(b)) if a.len() == b.len()) {
            " with other contents"
        } else {
            ""
        };
        let sentence = format!("{} is {}, and {}{other} was synced", path.name(), told(found), told(&place.allowed[0]));
        Finding::new(Kind::Lost, sentence)
    }
}

impl Subject for Files {
    fn mount(&self) -> Result<(), Finding> {
        self.library.reset_globals();
        let mount = self.table.mount.expect("checked at the load");
        self.mounted.set(mounted(mount, self.device)?);
        Ok(())
    }

    fn play(&self, step: Step) -> Result<(), Finding> {
        match step {
            Step::File(step) if self.is_possible(step) => self.take(step),
            Step::File(_) => Ok(()),
            Step::Sync => {
                let sync = self.table.sync.expect("checked at the load");
                // SAFETY: the firmware is mounted; null is the whole file system.
                let answer = unsafe { sync(self.mounted.get(), std::ptr::null_mut()) };
                if answer != 0 {
                    return Err(refused(Kind::Refused, "sync", answer, words(self.table.why, self.mounted.get())));
                }
                Path::all().for_each(|path| self.settle(path));
                self.moved.borrow_mut().clear();
                Ok(())
            }
            Step::Mount => self.restart(),
            Step::Write(_) | Step::Trim(_) => unreachable!("a script for sectors is refused before"),
        }
    }

    fn compare(&self) -> Result<(), Finding> {
        let found = self.found()?;
        for (from, to, file) in self.moved.borrow().iter() {
            if found[usize::from(from.0)] != *file && found[usize::from(to.0)] != *file {
                let sentence = format!("{} was renamed to {}, and is under neither name", from.name(), to.name());
                return Err(Finding::new(Kind::Lost, sentence));
            }
        }
        let atomic = self.table.atomic != 0;
        for (path, found) in Path::all().zip(found) {
            let place = &mut self.places.borrow_mut()[usize::from(path.0)];
            if !place.permits(&found, atomic) {
                return Err(Self::lost(path, &found, place));
            }
            if !place.allowed.contains(&found) {
                place.allowed.push(found.clone());
            }
            place.latest = found;
        }
        Ok(())
    }

    /// Until the firmware has programmed this many pages: a file takes more than its contents. Never more files than pages,
    /// as a firmware may program nothing.
    fn write_on(&self, pages: u32) -> Result<(), Finding> {
        let start = self.programmed();
        for number in 0..pages {
            self.play(Step::File(FileStep::Put(Path((number % 3) as u8), LATER_BYTES)))?;
            if number % 8 == 7 {
                self.play(Step::Sync)?;
            }
            if self.programmed() - start >= u64::from(pages) {
                break;
            }
        }
        self.play(Step::Sync)?;
        self.compare()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_permits_its_states_and_parts_of_loose_contents() {
        let (old, new) = (contents(1, 300), contents(2, 400));
        let file = |bytes: &[u8]| Entry::File(bytes.to_vec());
        let mixed = [&new[..100], &old[100..300]].concat();
        let mut wrong = mixed.clone();
        wrong[150] = (0..=255).find(|byte| ![0, old[150], new[150]].contains(byte)).unwrap();
        for loose in [false, true] {
            let place = Place { allowed: vec![file(&old), file(&new)], latest: file(&new), loose };
            assert!(place.permits(&file(&old), true) && place.permits(&file(&new), false));
            assert_eq!(place.permits(&file(&mixed), false), loose);
            assert!(!place.permits(&file(&mixed), true), "an atomic firmware leaves no mixture");
            assert!(!place.permits(&file(&wrong), false) && !place.permits(&Entry::Absent, false));
            assert!(!place.permits(&file(&[new.clone(), vec![0]].concat()), false), "longer than all");
        }
    }
}

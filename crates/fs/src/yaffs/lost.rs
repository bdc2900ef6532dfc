//! `lost+found`: the directory for objects without a readable header, directory or name.

use super::header::Type;
use super::mount::{Copy, Traces};
use super::objects::{Object, Objects, LOST, ROOT, UNLINKED};
use super::Yaffs;
use crate::parts::chunks::Chunked;
use crate::FsError;
use nandlab_nand::Nand;
use std::collections::BTreeSet;

const DIRECTORY: &str = "lost+found";

/// Objects that a mount did not find as they were.
#[derive(Debug, Default)]
pub(super) struct Unfound {
    /// Without a readable header.
    headless: BTreeSet<u32>,
    /// Without their directory, or with another object under their name.
    homeless: BTreeSet<u32>,
    /// With pages that an unreadable header may have cut off.
    pub(super) uncut: BTreeSet<u32>,
}

impl Unfound {
    pub(super) fn told(&self) -> Vec<String> {
        let told = |numbers: &BTreeSet<u32>, one: &str, many: &str| {
            let names: Vec<String> = numbers.iter().map(|&number| name_of(number)).collect();
            let (count, names) = (names.len(), names.join(", "));
            (count > 0)
                .then(|| if count == 1 { format!("1 {one}: {names}") } else { format!("{count} {many}: {names}") })
        };
        let all = [
            told(
                &self.headless,
                "file or directory has no readable header and is in lost+found",
                "files or directories have no readable header and are in lost+found",
            ),
            told(
                &self.homeless,
                "file or directory has lost its place and is in lost+found",
                "files or directories have lost their place and are in lost+found",
            ),
            told(
                &self.uncut,
                "file may hold data that was cut off, for the header that cut it is unreadable",
                "files may hold data that was cut off, for the headers that cut it are unreadable",
            ),
        ];
        all.into_iter().flatten().collect()
    }
}

/// The name of an object without one, as in YAFFS2.
fn name_of(number: u32) -> String {
    format!("obj{number}")
}

impl<N: Nand> Yaffs<N> {
    /// Adopts an object without a readable header as a file; returns its void pages.
    pub(super) fn rescue(&mut self, number: u32, traces: Traces) -> Vec<Copy> {
        let has_data = traces.chunks.values().any(|copy| copy.tags.bytes > 0);
        if !(has_data || traces.is_headless) || !Objects::is_on_flash(number) {
            return traces.chunks.into_values().collect();
        }
        let mut object = Object::new(Type::File, LOST, &name_of(number));
        for (chunk, copy) in traces.chunks {
            if copy.tags.bytes > 0 {
                object.size = object.size.max(self.base_of(chunk) + u64::from(copy.tags.bytes));
            }
            object.map(chunk, copy.at);
            self.use_page(copy, number);
        }
        self.make_lost();
        self.objects.insert(number, object);
        self.unfound.headless.insert(number);
        Vec::new()
    }

    fn make_lost(&mut self) {
        if self.objects.known(LOST).is_none() {
            self.objects.insert(LOST, Object::new(Type::Directory, ROOT, DIRECTORY));
        }
    }

    /// Refuses a change of the directory itself, which is not on flash.
    pub(super) fn refuse_lost(&self, number: u32) -> Result<(), FsError> {
        match number {
            LOST => Err(FsError::BadName { path: DIRECTORY.into(), why: "a mount makes it, and it stays".into() }),
            _ => Ok(()),
        }
    }

    fn is_directory(&self, number: u32) -> bool {
        self.objects.known(number).is_some_and(|object| object.kind == Type::Directory && !object.deleted)
    }

    /// Gives every object a directory that the root leads to, in memory.
    pub(super) fn find_homes(&mut self) {
        for number in self.objects.numbers() {
            let parent = self.objects.get(number).parent;
            if matches!(number, ROOT | LOST) || parent == UNLINKED || self.is_directory(parent) {
                continue;
            }
            self.make_lost();
            let is_file = self.objects.known(parent).is_some();
            let is_empty_rescue = self.unfound.headless.contains(&parent) && self.objects.get(parent).size == 0;
            if parent == LOST {
                continue;
            } else if is_empty_rescue {
                self.objects.get_mut(parent).kind = Type::Directory;
            } else if is_file || !Objects::is_on_flash(parent) {
                self.lose(number);
            } else {
                self.objects.insert(parent, Object::new(Type::Directory, LOST, &name_of(parent)));
                self.unfound.headless.insert(parent);
            }
        }
        // Directories with the places of different times may be in each other.
        for number in self.objects.numbers() {
            if self.is_directory(number) && !self.is_below_root(number) {
                self.lose(number);
            }
        }
    }

    fn is_below_root(&self, mut number: u32) -> bool {
        for _ in 0..self.objects.len() {
            if number == ROOT {
                return true;
            }
            number = self.objects.get(number).parent;
        }
        false
    }

    /// Moves an object to `lost+found`, in memory.
    fn lose(&mut self, number: u32) {
        self.make_lost();
        self.objects.rename(number, LOST, &name_of(number));
        self.unfound.homeless.insert(number);
    }

    /// Writes headers for the objects without one.
    pub(super) fn write_rescued(&mut self) -> Result<(), FsError> {
        self.unfound.headless.clone().into_iter().try_for_each(|number| self.put_header_anew(number, false))
    }

    /// Moves objects whose name belongs to another one.
    pub(super) fn part_namesakes(&mut self) {
        for number in self.objects.numbers() {
            let object = self.objects.get(number);
            let is_named = object.parent != UNLINKED && number != ROOT;
            if is_named && self.objects.find(object.parent, &object.name) != Some(number) {
                self.lose(number);
            }
        }
    }
}

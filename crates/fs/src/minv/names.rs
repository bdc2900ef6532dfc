//! Names: creates, renames and removes files, directories and links, each in one change.

use super::layout::{
    CHILDREN, EQUIVALENT, HEAD, LINKS, NAME, NAME_BYTES, NEXT, NODES, PENDING, ROOT_NODE, SIZE, TEXT_BYTES,
};
use super::memory::{Change, Head, Type};
use super::Minv;
use crate::parts::chunks::Chunked;
use crate::parts::dark;
use crate::parts::driver::Driver;
use crate::parts::tree::{Place, Renaming, Tree};
use crate::parts::volume::Volume;
use crate::{FsError, Kind};
use nandlab_block::RamUse;
use nandlab_nand::nvm::Nvm;
use nandlab_nand::Nand;

/// Object number of the root directory.
pub(super) const ROOT: u32 = 0;

/// FNV-1a hash of directory and name.
fn hash(directory: u32, name: &str) -> u32 {
    let bytes = directory.to_le_bytes().into_iter().chain(name.bytes());
    bytes.fold(0x811C_9DC5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

impl<N: Nand, V: Nvm> Tree for Minv<N, V> {
    const ROOT: u32 = ROOT;

    fn name_bytes(&self) -> usize {
        NAME_BYTES
    }

    fn find(&mut self, directory: u32, name: &str) -> Result<Option<u32>, FsError> {
        let none = Change::default();
        let mut at = self.layout().bucket(hash(directory, name));
        loop {
            let object = self.half(&none, at)?;
            if object == 0 {
                return Ok(None);
            }
            let object = object - 1;
            let head = self.known(object)?;
            if head.parent == directory && usize::from(head.name_bytes) == name.len() && self.name(object)? == name {
                return Ok(Some(object));
            }
            at = self.field(object, NEXT);
        }
    }

    fn kind(&mut self, entry: u32) -> Result<Kind, FsError> {
        Ok(match self.known(entry)?.kind {
            Type::Directory => Kind::Directory,
            Type::Symlink => Kind::Symlink,
            _ => Kind::File,
        })
    }

    fn parent(&mut self, entry: u32) -> Result<u32, FsError> {
        self.parent_of(entry)
    }

    fn target(&mut self, entry: u32) -> Result<String, FsError> {
        let none = Change::default();
        let mut left = self.size(entry)? as usize;
        let mut node = self.half(&none, self.field(entry, ROOT_NODE))?;
        let mut text = Vec::new();
        while left > 0 && node > 0 {
            let mut piece = vec![0; left.min(TEXT_BYTES)];
            self.nvm.read(self.layout.node(node - 1) + 4, &mut piece).map_err(dark)?;
            left -= piece.len();
            text.extend(piece);
            node = self.half(&none, self.layout.node(node - 1))?;
        }
        String::from_utf8(text).map_err(|_| FsError::Damaged("a symbolic link leads to no text".into()))
    }

    fn contents(&mut self, entry: u32) -> Result<u32, FsError> {
        match self.known(entry)?.kind {
            Type::HardLink => self.equivalent(entry),
            _ => Ok(entry),
        }
    }

    fn open_entries(&mut self) -> Result<Vec<u32>, FsError> {
        let files = self.handles.files();
        let mut entries = files.clone();
        for file in files {
            let mut link = self.half(&Change::default(), self.field(file, LINKS))?;
            while link > 0 {
                entries.push(link - 1);
                link = self.half(&Change::default(), self.field(link - 1, LINKS))?;
            }
        }
        Ok(entries)
    }
}

impl<N: Nand, V: Nvm> Minv<N, V> {
    pub(super) fn name(&mut self, object: u32) -> Result<String, FsError> {
        let mut bytes = vec![0; self.known(object)?.name_bytes.into()];
        self.nvm.read(self.field(object, NAME), &mut bytes).map_err(dark)?;
        String::from_utf8(bytes).map_err(|_| FsError::Damaged(format!("the name of object {object} is no text")))
    }

    /// A free object number.
    fn vacant(&mut self) -> Result<u32, FsError> {
        let objects = self.layout().objects;
        for step in 0..objects - 1 {
            let object = 1 + (self.next_object + step) % (objects - 1);
            if self.head(object)?.is_none() {
                self.next_object = object % (objects - 1);
                return Ok(object);
            }
        }
        Err(FsError::NvramFull { what: format!("the NVRAM has room for {} names", objects - 1) })
    }

    /// Whether at least `needed` nodes are free.
    pub(super) fn has_nodes(&mut self, needed: u32) -> Result<bool, FsError> {
        let none = Change::default();
        let word = self.now(NODES)?;
        let (mut node, mut free) = (word as u32, self.layout.nodes - (word >> 32) as u32);
        while node > 0 && free < needed {
            node = self.half(&none, self.layout.node(node - 1))?;
            free += 1;
        }
        Ok(free >= needed)
    }

    /// Links an object into its directory under its name.
    fn put_linked(
        &mut self,
        change: &mut Change,
        object: u32,
        head: Head,
        directory: u32,
        name: &str,
    ) -> Result<(), FsError> {
        self.put_head(change, object, Head { parent: directory, name_bytes: name.len() as u8, ..head });
        for (at, piece) in name.as_bytes().chunks(8).enumerate() {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            change.put(self.field(object, NAME) + at as u64 * 8, u64::from_le_bytes(word));
        }
        let bucket = self.layout().bucket(hash(directory, name));
        let first = self.half(change, bucket)?;
        self.put_half(change, self.field(object, NEXT), first)?;
        self.put_half(change, bucket, object + 1)?;
        self.count_children(change, directory, 1)
    }

    fn count_children(&mut self, change: &mut Change, directory: u32, more: i64) -> Result<(), FsError> {
        let at = self.field(directory, CHILDREN);
        let children = self.word(change, at)?;
        change.put(at, children.wrapping_add_signed(more));
        Ok(())
    }

    /// Unlinks an object from its directory.
    fn put_unlinked(&mut self, change: &mut Change, object: u32) -> Result<(), FsError> {
        let (name, directory) = (self.name(object)?, self.parent_of(object)?);
        let mut at = self.layout().bucket(hash(directory, &name));
        loop {
            match self.half(change, at)? {
                0 => return Err(FsError::Damaged(format!("object {object} is not found by its name"))),
                found if found == object + 1 => break,
                found => at = self.field(found - 1, NEXT),
            }
        }
        let next = self.half(change, self.field(object, NEXT))?;
        self.put_half(change, at, next)?;
        self.count_children(change, directory, -1)
    }

    /// Creates an object, in one change with the additions of `fill`.
    fn make(
        &mut self,
        place: &Place,
        kind: Type,
        fill: impl FnOnce(&mut Self, &mut Change, u32) -> Result<(), FsError>,
    ) -> Result<u32, FsError> {
        let object = self.vacant()?;
        let mut change = Change::default();
        (HEAD..NAME).step_by(8).for_each(|field| change.put(self.field(object, field), 0));
        let head = Head { kind, name_bytes: 0, stale_tail: false, height: 0, parent: 0 };
        self.put_linked(&mut change, object, head, place.directory, &place.name)?;
        fill(self, &mut change, object)?;
        self.commit(&change)?;
        Ok(object)
    }

    /// Stores text in a chain of nodes.
    fn put_text(&mut self, change: &mut Change, object: u32, text: &[u8]) -> Result<(), FsError> {
        let mut at = self.field(object, ROOT_NODE);
        for piece in text.chunks(TEXT_BYTES) {
            let node = self.take_node(change)?;
            self.put_half(change, at, node + 1)?;
            at = self.layout().node(node);
            for (n, half) in (1..).zip(piece.chunks(4)) {
                let mut bytes = [0; 4];
                bytes[..half.len()].copy_from_slice(half);
                self.put_half(change, at + n * 4, u32::from_le_bytes(bytes))?;
            }
        }
        Ok(())
    }

    fn put_removed(&mut self, change: &mut Change, entry: u32) -> Result<(), FsError> {
        self.put_unlinked(change, entry)?;
        let head = self.known(entry)?;
        if head.kind == Type::HardLink {
            self.put_out_of_links(change, entry)?;
            change.put(self.field(entry, HEAD), 0);
            return Ok(());
        }
        let link = self.half(change, self.field(entry, LINKS))?;
        if head.kind == Type::File && link > 0 {
            // The contents survive under the name of a hard link.
            let (name, directory) = (self.name(link - 1)?, self.parent_of(link - 1)?);
            self.put_unlinked(change, link - 1)?;
            let others = self.half(change, self.field(link - 1, LINKS))?;
            change.put(self.field(link - 1, HEAD), 0);
            self.put_half(change, self.field(entry, LINKS), others)?;
            return self.put_linked(change, entry, head, directory, &name);
        }
        if self.half(change, self.field(entry, ROOT_NODE))? > 0 {
            self.put_head(change, entry, Head { kind: Type::Removed, ..head });
            change.put(PENDING, u64::from(entry) | 1 << 32);
        } else {
            change.put(self.field(entry, HEAD), 0);
        }
        Ok(())
    }

    /// Removes a hard link from its file's list.
    fn put_out_of_links(&mut self, change: &mut Change, link: u32) -> Result<(), FsError> {
        let file = self.equivalent(link)?;
        let mut at = self.field(file, LINKS);
        loop {
            match self.half(change, at)? {
                0 => return Err(FsError::Damaged(format!("hard link {link} is not in the list of its file"))),
                found if found == link + 1 => break,
                found => at = self.field(found - 1, LINKS),
            }
        }
        let next = self.half(change, self.field(link, LINKS))?;
        self.put_half(change, at, next)
    }
}

impl<N: Nand, V: Nvm> Volume for Minv<N, V> {
    fn make_file(&mut self, place: &Place) -> Result<u32, FsError> {
        self.make(place, Type::File, |_, _, _| Ok(()))
    }

    fn make_directory(&mut self, place: &Place) -> Result<(), FsError> {
        self.make(place, Type::Directory, |_, _, _| Ok(())).map(drop)
    }

    fn make_symlink(&mut self, place: &Place, target: &str) -> Result<(), FsError> {
        let fill = |fs: &mut Self, change: &mut Change, object: u32| {
            change.put(fs.field(object, SIZE), target.len() as u64);
            fs.put_text(change, object, target.as_bytes())
        };
        self.make(place, Type::Symlink, fill).map(drop)
    }

    fn make_link(&mut self, place: &Place, file: u32) -> Result<(), FsError> {
        let fill = |fs: &mut Self, change: &mut Change, link: u32| {
            let others = fs.half(change, fs.field(file, LINKS))?;
            fs.put_half(change, fs.field(link, EQUIVALENT), file)?;
            fs.put_half(change, fs.field(link, LINKS), others)?;
            fs.put_half(change, fs.field(file, LINKS), link + 1)
        };
        self.make(place, Type::HardLink, fill).map(drop)
    }

    fn move_entry(&mut self, renaming: &Renaming) -> Result<(), FsError> {
        let mut change = Change::default();
        self.put_unlinked(&mut change, renaming.entry)?;
        if let Some(replaced) = renaming.to.entry {
            self.put_removed(&mut change, replaced)?;
        }
        let head = self.known(renaming.entry)?;
        self.put_linked(&mut change, renaming.entry, head, renaming.to.directory, &renaming.to.name)?;
        self.commit(&change)?;
        self.finish_pending()
    }

    fn remove(&mut self, entry: u32) -> Result<(), FsError> {
        let mut change = Change::default();
        self.put_removed(&mut change, entry)?;
        self.commit(&change)?;
        self.finish_pending()
    }

    fn names_in(&mut self, directory: u32) -> Result<Vec<String>, FsError> {
        let mut names = Vec::new();
        for object in 1..self.layout().objects {
            match self.head(object)? {
                Some(head) if head.kind != Type::Removed && head.parent == directory => names.push(self.name(object)?),
                _ => {}
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn is_empty(&mut self, directory: u32) -> Result<bool, FsError> {
        Ok(self.now(self.field(directory, CHILDREN))? == 0)
    }

    fn save(&mut self) -> Result<(), FsError> {
        self.retire_failing()
    }

    fn usable_pages(&self) -> u64 {
        u64::from(self.registers.usable) * u64::from(self.geometry.pages_per_block())
    }

    fn memory(&self) -> RamUse {
        let mut used = RamUse::default();
        used.sram.insert("registers", 32);
        used
    }
}

//! Names: creates, renames and removes files, directories and links.

use super::header::{Type, NAME_BYTES};
use super::objects::{Object, Objects, ROOT, UNLINKED};
use super::Yaffs;
use crate::parts::driver::Driver;
use crate::parts::tree::{Place, Renaming, Tree};
use crate::parts::volume::Volume;
use crate::{Attributes, FsError, Kind};
use nandlab_block::RamUse;
use nandlab_nand::{Nand, Ppa};

impl<N: Nand> Tree for Yaffs<N> {
    const ROOT: u32 = ROOT;

    fn name_bytes(&self) -> usize {
        NAME_BYTES
    }

    fn find(&mut self, directory: u32, name: &str) -> Result<Option<u32>, FsError> {
        Ok(self.objects.find(directory, name))
    }

    fn kind(&mut self, entry: u32) -> Result<Kind, FsError> {
        Ok(match self.objects.get(entry).kind {
            Type::File | Type::HardLink => Kind::File,
            Type::Directory => Kind::Directory,
            Type::Symlink => Kind::Symlink,
        })
    }

    fn parent(&mut self, entry: u32) -> Result<u32, FsError> {
        Ok(self.objects.get(entry).parent)
    }

    fn target(&mut self, entry: u32) -> Result<String, FsError> {
        Ok(self.objects.get(entry).target.clone())
    }

    fn contents(&mut self, entry: u32) -> Result<u32, FsError> {
        let object = self.objects.get(entry);
        Ok(if object.kind == Type::HardLink { object.equivalent } else { entry })
    }

    fn open_entries(&mut self) -> Result<Vec<u32>, FsError> {
        let names = |&file: &u32| std::iter::once(file).chain(self.objects.get(file).links.iter().copied());
        Ok(self.handles.files().iter().flat_map(names).collect())
    }
}

impl<N: Nand> Yaffs<N> {
    /// Creates an object and writes its header to flash.
    fn make(&mut self, place: &Place, kind: Type, fill: impl FnOnce(&mut Object)) -> Result<u32, FsError> {
        let number = self.objects.vacant();
        let number = number.ok_or_else(|| FsError::Full { what: "all object numbers are taken".into() })?;
        let mut object = Object::new(kind, place.directory, &place.name);
        fill(&mut object);
        self.objects.insert(number, object);
        if let Err(error) = self.write_header(number) {
            self.objects.remove(number);
            return Err(error);
        }
        Ok(number)
    }

    /// Moves an object to another place. `shadows` is the object there; a mount removes it after a cut at
    /// this point.
    fn move_to(&mut self, number: u32, directory: u32, name: &str, shadows: u32) -> Result<(), FsError> {
        self.ask_collector()?;
        self.objects.rename(number, directory, name);
        self.put_header(number, shadows, false)
    }

    /// Moves an object without other names to the `unlinked` directory and gives up its pages, or marks them.
    pub(super) fn delete(&mut self, number: u32) -> Result<(), FsError> {
        self.cache.drop_object(number);
        let object = self.objects.get(number);
        if object.mapped == 0 && self.small {
            return self.forget(number);
        }
        let is_cut = object.kind == Type::File && object.size > 0;
        self.ask_collector()?;
        self.objects.rename(number, UNLINKED, "");
        self.objects.get_mut(number).size = 0;
        self.put_header(number, 0, true)?;
        if !self.small && !self.is_old() {
            self.give_up_from(number, 1)?;
            if is_cut {
                // YAFFS cuts the file under its name and then removes it: two headers. Here the first one removes it, so a
                // power cut in between leaves no empty file.
                self.put_header(number, 0, true)?;
            }
            return self.forget(number);
        }
        self.soften(number);
        if self.objects.get(number).mapped == 0 {
            // The header is void at once; its block stays until no older page can come back.
            return self.forget(number);
        }
        Ok(())
    }

    /// Marks a removed file's pages; they are given up when their blocks are collected.
    pub(super) fn soften(&mut self, number: u32) {
        let object = self.objects.get_mut(number);
        object.deleted = true;
        let pages: Vec<Ppa> = object.mapped_chunks().map(|(_, at)| at).collect();
        for at in pages {
            self.blocks.change(self.geometry.block_of(at), |block| block.soft += 1);
        }
    }
}

impl<N: Nand> Volume for Yaffs<N> {
    fn make_file(&mut self, place: &Place) -> Result<u32, FsError> {
        self.make(place, Type::File, |_| {})
    }

    fn make_directory(&mut self, place: &Place) -> Result<(), FsError> {
        self.make(place, Type::Directory, |_| {}).map(drop)
    }

    fn make_symlink(&mut self, place: &Place, target: &str) -> Result<(), FsError> {
        let fill = |object: &mut Object| {
            target.clone_into(&mut object.target);
            object.size = target.len() as u64;
        };
        self.make(place, Type::Symlink, fill).map(drop)
    }

    fn make_link(&mut self, place: &Place, file: u32) -> Result<(), FsError> {
        let link = self.make(place, Type::HardLink, |object| object.equivalent = file)?;
        self.objects.get_mut(file).links.insert(link);
        Ok(())
    }

    fn move_entry(&mut self, renaming: &Renaming) -> Result<(), FsError> {
        self.refuse_lost(renaming.entry)?;
        let Place { directory, name, entry: replaced } = &renaming.to;
        self.move_to(renaming.entry, *directory, name, replaced.unwrap_or(0))?;
        replaced.map_or(Ok(()), |replaced| self.remove(replaced))
    }

    fn remove(&mut self, number: u32) -> Result<(), FsError> {
        self.refuse_lost(number)?;
        let object = self.objects.get(number);
        if let Some(&link) = object.links.first() {
            let place = self.objects.get(link);
            let (directory, name) = (place.parent, place.name.clone());
            self.objects.get_mut(number).links.remove(&link);
            self.move_to(number, directory, &name, link)?;
            return self.delete(link);
        }
        if object.kind == Type::HardLink {
            let file = object.equivalent;
            self.objects.get_mut(file).links.remove(&number);
        }
        self.delete(number)
    }

    fn names_in(&mut self, directory: u32) -> Result<Vec<String>, FsError> {
        Ok(self.objects.names_in(directory).map(|(name, _)| name.to_owned()).collect())
    }

    fn is_empty(&mut self, directory: u32) -> Result<bool, FsError> {
        Ok(self.objects.names_in(directory).next().is_none())
    }

    fn save(&mut self) -> Result<(), FsError> {
        self.retire_failing()?;
        self.save_checkpoint()
    }

    fn usable_pages(&self) -> u64 {
        u64::from(self.blocks.usable()) * u64::from(self.geometry.pages_per_block())
    }

    fn memory(&self) -> RamUse {
        self.table_bytes()
    }

    fn stored_attributes(&self, entry: u32) -> Option<Attributes> {
        Some(self.objects.get(entry).attributes)
    }

    fn store_attributes(&mut self, entry: u32, attributes: Attributes) -> Result<(), FsError> {
        if !Objects::is_on_flash(entry) {
            // The root directory has no header.
            return Ok(());
        }
        if self.objects.get(entry).attributes == attributes {
            return Ok(());
        }
        if self.objects.get(entry).kind == Type::File {
            // The header tells the length, so the bytes go to flash before it. It is the one that a sync behind this writes.
            self.write_back(entry)?;
        }
        self.ask_collector()?;
        self.objects.get_mut(entry).attributes = attributes;
        self.put_header(entry, 0, false)
    }
}

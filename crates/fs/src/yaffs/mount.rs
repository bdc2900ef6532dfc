//! Mount: parts shared by both scans, and the repairs after them.

use super::blocks::{Blocks, State};
use super::cache::Cache;
use super::flash::Page;
use super::gradual::Gradual;
use super::header::{self, Header, Type};
use super::objects::{Object, Objects, Owner, UNLINKED};
use super::{Collector, Config, Unfound, Yaffs};
use crate::parts::chunks::Chunked;
use crate::parts::driver::{Driver, Handles};
use crate::parts::tags::Tags;
use crate::parts::volume::Volume;
use crate::FsError;
use nandlab_nand::{BlockId, Cause, Kind, Nand, NandError, Oob, Ppa};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Spare area read result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    Erased,
    /// The spare area is unreadable.
    Unreadable,
    Page(Oob),
}

/// A header that replaced another object under its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shadow {
    /// Time in the header.
    time: u64,
    number: u32,
    shadowed: u32,
}

impl Shadow {
    pub(super) fn of(number: u32, header: &Header) -> Self {
        Self { time: header.time, number, shadowed: header.shadows }
    }
}

/// A chunk copy on flash.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    pub(super) at: Ppa,
    pub(super) tags: Tags,
    pub(super) lost: bool,
}

/// Scan results for one object.
#[derive(Debug, Default)]
pub(super) struct Traces {
    pub(super) header: Option<(Copy, Header)>,
    /// True if the newest header is unreadable. An older one may have a name that another object has by now, so none counts.
    pub(super) is_headless: bool,
    /// `yaffs2`: true if a header that shortened the file is unreadable, so void pages may count again.
    pub(super) is_uncut: bool,
    pub(super) chunks: BTreeMap<u32, Copy>,
    /// `yaffs2`: end of the pages newer than the header.
    pub(super) extent: u64,
    /// `yaffs2`: pages older than those already seen are void behind this position.
    pub(super) limit: Option<u64>,
}

pub(super) type Scan = BTreeMap<u32, Traces>;

impl<N: Nand> Yaffs<N> {
    /// Mounts the contents of `nand`; an erased device is an empty file system.
    ///
    /// # Errors
    /// [`FsError::Option`] if the options or the device cannot work; [`FsError::Damaged`]; device errors.
    pub fn mount(nand: N, config: &Config) -> Result<Self, FsError> {
        config.check()?;
        let geometry = *nand.geometry();
        let small = config.is_small(&geometry, nand.rules())?;
        config.check_device(&geometry, nand.rules())?;
        let mut mounted = Self {
            blocks: Blocks::new(&geometry),
            collector: Collector::new(&config.gc.of(config.code)),
            gradual: Gradual::new(geometry.blocks()),
            oldest_dirty: None,
            failing: Vec::new(),
            objects: Objects::new(),
            owners: vec![Owner::NONE; geometry.pages() as usize],
            handles: Handles::default(),
            sequence: 1,
            time: 0,
            cache: Cache::new(config.short_op_cache),
            checkpoint: Vec::new(),
            retired: 0,
            unfound: Unfound::default(),
            config: config.clone(),
            nand,
            geometry,
            small,
        };
        mounted.within(Cause::Mount, Self::recover)?;
        Ok(mounted)
    }

    fn recover(&mut self) -> Result<(), FsError> {
        crate::parts::wait(&mut self.nand);
        if self.small {
            self.scan_small()
        } else {
            self.scan_large()
        }
    }

    /// Reads a page's spare area; `None` if its block is bad.
    pub(super) fn look(&mut self, at: Ppa) -> Result<Option<Found>, FsError> {
        match self.nand.read_spare(at) {
            Ok(None) => Ok(Some(Found::Erased)),
            Ok(Some(oob)) => Ok(Some(Found::Page(oob))),
            Err(NandError::Uncorrectable(_)) => Ok(Some(Found::Unreadable)),
            Err(NandError::BadBlock(_)) => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Whether a programmed page counts: it is readable, or was flushed.
    pub(super) fn is_readable(&mut self, at: Ppa) -> Result<bool, FsError> {
        let mut page = self.blank();
        match self.nand.read(at, &mut page) {
            Ok(_) => Ok(true),
            // A flushed page counts though it is damaged: its reads fail.
            Err(NandError::Uncorrectable(_)) => Ok(self.nand.is_settled(at)),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Reads the header in a page; `None` if it is unreadable.
    pub(super) fn load_header(&mut self, at: Ppa) -> Result<Option<Header>, FsError> {
        let mut bytes = [0; header::BYTES];
        match self.nand.read_tail(at, &mut bytes) {
            Ok(_) => Header::from_bytes(&bytes).map(Some),
            Err(NandError::Uncorrectable(_)) => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Starts the search for the first open block at one that looks erased. Otherwise the only used block could
    /// be erased first, and a device in use would look blank.
    pub(super) fn choose_first_block(&mut self, newest: Option<BlockId>, looks_erased: &[bool]) {
        let blocks = self.blocks.len();
        let start = newest.map_or(blocks - 1, |block| block.0);
        let first = (1..=blocks).map(|step| (start + step) % blocks).find(|&block| looks_erased[block as usize]);
        match first {
            Some(first) if self.blocks.open.is_none() => {
                self.blocks.resume_after(BlockId((first + blocks - 1) % blocks));
            }
            _ => self.blocks.resume_after(BlockId(start)),
        }
    }

    /// Adopts the scan result; returns void pages whose tags do not show it.
    pub(super) fn adopt_scan(&mut self, scan: Scan) -> Result<Vec<Copy>, FsError> {
        let mut void = Vec::new();
        for (number, traces) in scan {
            let Some((copy, header)) = traces.header else {
                void.extend(self.rescue(number, traces));
                continue;
            };
            if traces.is_uncut {
                self.unfound.uncut.insert(number);
            }
            self.time = self.time.max(header.time);
            let mut object = Object::from_header(header, copy.at);
            object.size = object.size.max(traces.extent);
            object.dirty = object.size != object.stored_size;
            let deleted = object.parent == UNLINKED;
            self.use_page(copy, number);
            for (chunk, copy) in traces.chunks {
                let base = self.base_of(chunk);
                // A page with zero bytes stands for a torn page.
                if object.kind != Type::File || base >= object.size && copy.tags.bytes > 0 && !deleted {
                    void.push(copy);
                    continue;
                }
                object.map(chunk, copy.at);
                object.stale_tail |= base < object.size && base + u64::from(copy.tags.bytes) > object.size;
                let bytes = copy.tags.bytes.min(self.bytes_of(object.size, chunk));
                self.use_page(Copy { tags: Tags { bytes, ..copy.tags }, ..copy }, number);
            }
            self.objects.insert(number, object);
            if deleted {
                self.soften(number);
            }
        }
        self.find_homes();
        self.write_rescued()?;
        Ok(void)
    }

    pub(super) fn use_page(&mut self, copy: Copy, object: u32) {
        self.blocks.take(copy.at);
        let Tags { chunk, serial, bytes, .. } = copy.tags;
        self.owners[copy.at.index()] = Owner { object, chunk, serial, bytes, lost: copy.lost };
    }

    /// Completes operations on several objects after a cut: links, shadows, directories, removed files.
    pub(super) fn settle(&mut self, mut shadows: Vec<Shadow>) -> Result<(), FsError> {
        let links: Vec<(u32, u32)> = self
            .objects
            .iter()
            .filter(|(_, object)| object.kind == Type::HardLink && object.parent != UNLINKED)
            .map(|(number, object)| (number, object.equivalent))
            .collect();
        for (link, file) in links {
            if self.objects.known(file).is_some_and(|object| object.kind == Type::File && !object.deleted) {
                self.objects.get_mut(file).links.insert(link);
            } else {
                self.delete(link)?;
            }
        }
        // A header keeps the number of the replaced object, but that number may have been reused since. Only
        // the last rename can have been cut, so it comes first.
        shadows.sort_by_key(|shadow| Reverse(shadow.time));
        for Shadow { number, shadowed, .. } in shadows {
            self.end_rename(number, shadowed)?;
        }
        self.part_namesakes();
        let gone: Vec<u32> = self
            .objects
            .iter()
            .filter(|(_, object)| object.deleted && object.mapped == 0)
            .map(|(number, _)| number)
            .collect();
        gone.into_iter().try_for_each(|number| self.forget(number))
    }

    /// Removes the file replaced by a rename, if a cut prevented it.
    fn end_rename(&mut self, number: u32, shadowed: u32) -> Result<(), FsError> {
        let (Some(object), Some(other)) = (self.objects.known(number), self.objects.known(shadowed)) else {
            return Ok(());
        };
        let is_left = !object.deleted && !other.deleted && object.parent == other.parent && object.name == other.name;
        if !is_left || number == shadowed {
            return Ok(());
        }
        let (parent, name) = (object.parent, object.name.clone());
        self.remove(shadowed)?;
        if self.objects.find(parent, &name).is_none() {
            self.objects.rename(number, parent, &name);
        }
        Ok(())
    }

    /// Writes a torn chunk again, so the torn page can never be the newest copy again.
    pub(super) fn supersede(&mut self, torn: Tags) -> Result<(), FsError> {
        let Tags { object: number, chunk, .. } = torn;
        if self.objects.known(number).is_none() {
            let ghost = Object::new(Type::File, UNLINKED, "");
            self.objects.insert(number, ghost);
            self.put_header_anew(number, true)?;
            self.objects.get_mut(number).deleted = true;
            return Ok(());
        }
        if chunk == 0 {
            let shrinks = self.objects.get(number).parent == UNLINKED;
            return self.put_header(number, 0, shrinks);
        }
        let at = self.objects.get(number).page(chunk);
        if at.is_some() {
            return self.move_page(at);
        }
        let contents = self.blank();
        let to = self.program(&Page {
            tags: Tags::new(number, chunk, 0),
            kind: Kind::Data,
            contents: &contents,
            tail: &[],
        })?;
        self.objects.get_mut(number).map(chunk, to);
        Ok(())
    }

    /// Writes a header for an object without one.
    pub(super) fn put_header_anew(&mut self, number: u32, shrinks: bool) -> Result<(), FsError> {
        let at = self.program_header(number, 0, shrinks)?;
        let object = self.objects.get_mut(number);
        object.header = at;
        object.stored_size = object.size;
        Ok(())
    }

    /// Sets a used block's state: open if it is the newest and has room, else full.
    pub(super) fn set_used(&mut self, block: BlockId, programmed: u32, resume: bool) {
        if resume && programmed < self.geometry.pages_per_block() {
            self.blocks.set_state(block, State::Open);
            self.blocks.open = Some((block, programmed));
        } else {
            self.blocks.set_state(block, State::Full);
        }
    }
}

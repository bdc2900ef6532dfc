//! A file system and its device, next to the model.

use super::model::{bytes, Model, Op, Seen, SeenEntry};
use nandlab_block::Error;
use nandlab_fs::minv::{self, Minv};
use nandlab_fs::parts::collector;
use nandlab_fs::yaffs::{self, Yaffs};
use nandlab_fs::{FsError, Handle, Kind, Links};
use nandlab_nand::backed::Backed;
use nandlab_nand::faulty::{Config as Faults, Faulty};
use nandlab_nand::nvm::{NvmCost, Nvram};
use nandlab_nand::plain::WithContent;
use nandlab_nand::power_cut::PowerCut;
use nandlab_nand::{Content, Counting, Geometry, Nand, ProgramOrder, Rules};
use std::collections::BTreeMap;
use std::fmt;

pub(crate) type Flash = PowerCut<Faulty<Backed>>;

/// What a file system is mounted on: one type for every device, so that each compiles once.
pub(crate) type Lent<'a> = &'a mut dyn Tested;

/// A device that a test looks into.
pub(crate) trait Tested: Nand<Buf = Content> {
    /// What holds the pages.
    fn counting(&self) -> &Counting;
}

impl Tested for Flash {
    fn counting(&self) -> &Counting {
        self.inner().inner().counting()
    }
}

impl Tested for Backed {
    fn counting(&self) -> &Counting {
        Backed::counting(self)
    }
}

impl Tested for WithContent<Counting> {
    fn counting(&self) -> &Counting {
        self.inner()
    }
}

/// State that survives a power cut.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) flash: Flash,
    pub(crate) nvram: Nvram,
}

impl Device {
    /// Restores power.
    pub(crate) fn restore(&mut self) {
        self.flash.restore();
        self.nvram.restore();
    }
}

/// A file system on bare flash, including its own checks.
pub(crate) trait Checked: Links {
    fn check(&mut self);
    /// What the mount told.
    fn notices(&self) -> Vec<String>;
}

impl Checked for Yaffs<Lent<'_>> {
    fn check(&mut self) {
        Yaffs::check(self);
    }

    fn notices(&self) -> Vec<String> {
        Yaffs::notices(self)
    }
}

impl Checked for Minv<Lent<'_>, &mut Nvram> {
    fn check(&mut self) {
        Minv::check(self);
    }

    fn notices(&self) -> Vec<String> {
        Vec::new()
    }
}

#[derive(Clone, Debug)]
pub(crate) enum System {
    Yaffs(yaffs::Config),
    Minv(minv::Config),
}

/// A file system with options on a device.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) system: System,
    pub(crate) geometry: Geometry,
    pub(crate) rules: Rules,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A small reserve, for small devices.
fn small_reserve() -> yaffs::Collection {
    yaffs::Collection { reserved_blocks: 3, ..yaffs::Collection::default() }
}

/// Passive collection takes blocks with more live pages than it moves at once.
fn gradual(refresh_period: Option<u32>) -> yaffs::Collection {
    yaffs::Collection { reserved_blocks: 2, passive_limit: Some(11), refresh_period, ..yaffs::Collection::default() }
}

/// The same for MiNV.
fn minv_reserve() -> collector::Config {
    collector::Config { reserved_blocks: 3, ..collector::Config::default() }
}

/// Every file system, with many option values and device shapes.
pub(crate) fn systems() -> Vec<Subject> {
    let rules = |program_order, partial_programs| Rules { program_order, partial_programs, ..Rules::default() };
    let geometry = |blocks, pages, bytes| Geometry::single_die(blocks, pages, bytes).expect("the shape is sound");
    let usual = || yaffs::Config { gc: small_reserve(), short_op_cache: 0, ..yaffs::Config::default() };
    let short_op = || yaffs::Config { gc: small_reserve(), ..yaffs::Config::default() };
    let yaffs = System::Yaffs;
    let minv = |objects| System::Minv(minv::Config { gc: minv_reserve(), objects, ..minv::Config::default() });
    let subject = |name, system, geometry, rules| Subject { name, system, geometry, rules };
    vec![
        subject("yaffs1", yaffs(usual()), geometry(24, 8, 512), rules(ProgramOrder::Any, 2)),
        subject(
            "yaffs1:tight:cached:unmarked",
            yaffs(yaffs::Config { short_op_cache: 3, mark_copied: false, ..usual() }),
            geometry(14, 4, 512),
            rules(ProgramOrder::Ascending, 3),
        ),
        subject("yaffs2", yaffs(usual()), geometry(24, 6, 1024), rules(ProgramOrder::AscendingDense, 1)),
        subject(
            "yaffs2:scan:tight",
            yaffs(yaffs::Config { checkpoint: false, ..usual() }),
            geometry(13, 4, 1024),
            rules(ProgramOrder::AscendingDense, 1),
        ),
        subject(
            "yaffs2:cached:large",
            yaffs(yaffs::Config { short_op_cache: 2, ..usual() }),
            geometry(20, 5, 2048),
            rules(ProgramOrder::Ascending, 1),
        ),
        subject(
            "yaffs2:2007",
            yaffs(yaffs::Config { code: yaffs::Code::Of2007, ..usual() }),
            geometry(24, 6, 1024),
            rules(ProgramOrder::AscendingDense, 1),
        ),
        subject(
            "yaffs2:2007:short_op",
            yaffs(yaffs::Config { code: yaffs::Code::Of2007, short_op_cache: 3, ..short_op() }),
            geometry(20, 5, 2048),
            rules(ProgramOrder::Ascending, 1),
        ),
        subject("yaffs1:short_op", yaffs(short_op()), geometry(24, 8, 512), rules(ProgramOrder::Any, 2)),
        subject("yaffs2:short_op", yaffs(short_op()), geometry(24, 6, 1024), rules(ProgramOrder::AscendingDense, 1)),
        // Blocks are emptied over several calls.
        subject(
            "yaffs1:gradual",
            yaffs(yaffs::Config { gc: gradual(None), ..usual() }),
            geometry(28, 8, 512),
            rules(ProgramOrder::Any, 2),
        ),
        subject(
            "yaffs2:scan:gradual",
            yaffs(yaffs::Config { gc: gradual(Some(1)), checkpoint: false, ..usual() }),
            geometry(28, 7, 1024),
            rules(ProgramOrder::AscendingDense, 1),
        ),
        subject("minv", minv(12), geometry(24, 8, 512), rules(ProgramOrder::Any, 2)),
        subject("minv:tight", minv(7), geometry(13, 4, 1024), rules(ProgramOrder::AscendingDense, 1)),
    ]
}

pub(crate) fn device(subject: &Subject) -> Device {
    let backed = Backed::ram(subject.geometry, subject.rules);
    let flash = PowerCut::new(Faulty::new(backed, Faults::default()).expect("no faults are sound"));
    Device { flash, nvram: Nvram::new(1 << 14, NvmCost::default()) }
}

/// Runs `work` on the mounted file system; dropping it at the end is a power cut.
pub(crate) fn mounted<R>(
    subject: &Subject,
    device: &mut Device,
    work: impl FnOnce(&mut dyn Checked) -> R,
) -> Result<R, FsError> {
    mounted_on(subject, (&mut device.flash, &mut device.nvram), work)
}

/// The same on any flash.
pub(crate) fn mounted_on<R>(
    subject: &Subject,
    (flash, nvram): (Lent<'_>, &mut Nvram),
    work: impl FnOnce(&mut dyn Checked) -> R,
) -> Result<R, FsError> {
    match &subject.system {
        System::Yaffs(config) => Ok(work(&mut Yaffs::mount(flash, config)?)),
        System::Minv(config) => Ok(work(&mut Minv::mount(flash, nvram, config)?)),
    }
}

/// Carries out an operation; `open` holds the open files.
fn carry_out(fs: &mut dyn Checked, open: &mut BTreeMap<String, Handle>, op: &Op) -> Result<(), FsError> {
    let with =
        |fs: &mut dyn Checked, path: &str, work: &mut dyn FnMut(&mut dyn Checked, Handle) -> Result<(), FsError>| {
            if let Some(&handle) = open.get(path) {
                return work(fs, handle);
            }
            let handle = fs.open(path)?;
            let done = work(fs, handle);
            fs.close(handle)?;
            done
        };
    match op {
        Op::Create(path) => {
            let handle = fs.create(path)?;
            fs.close(handle)
        }
        Op::Write(path, at, len, seed) => with(fs, path, &mut |fs, handle| fs.write(handle, *at, &bytes(*len, *seed))),
        Op::Truncate(path, len) => with(fs, path, &mut |fs, handle| fs.truncate(handle, *len)),
        Op::Open(path) => {
            let handle = fs.open(path)?;
            match open.get(path) {
                Some(_) => fs.close(handle),
                None => {
                    open.insert(path.clone(), handle);
                    Ok(())
                }
            }
        }
        Op::Close(path) => {
            let handle = open.remove(path).ok_or(FsError::Closed)?;
            fs.close(handle)
        }
        Op::Sync(path) => fs.sync(*open.get(path).ok_or(FsError::Closed)?),
        Op::SyncAll => fs.sync_all(),
        Op::Unlink(path) => fs.unlink(path),
        Op::Rename(from, to) => fs.rename(from, to),
        Op::Mkdir(path) => fs.mkdir(path),
        Op::Rmdir(path) => fs.rmdir(path),
        Op::Link(from, to) => fs.link(from, to),
        Op::Symlink(target, path) => fs.symlink(target, path),
    }
}

/// Reads everything visible in a file system.
fn walk(fs: &mut dyn Checked, directory: &str, seen: &mut Seen) -> Result<(), FsError> {
    for name in fs.list(directory)? {
        let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
        let stat = fs.stat(&path)?;
        let entry = match stat.kind {
            Kind::Directory => {
                walk(fs, &path, seen)?;
                SeenEntry::Directory
            }
            Kind::Symlink => SeenEntry::Symlink(fs.read_link(&path)?),
            Kind::File => {
                let handle = fs.open(&path)?;
                let mut held = vec![0xEE; stat.bytes as usize + 3];
                let count = fs.read(handle, 0, &mut held)?;
                assert_eq!((count as u64, fs.len(handle)?), (stat.bytes, stat.bytes), "'{path}' is as long as it says");
                held.truncate(count);
                fs.close(handle)?;
                SeenEntry::File(held)
            }
        };
        seen.insert(path, entry);
    }
    Ok(())
}

/// As [`walk`], past files that cannot be read: their names are in `failing`.
pub(crate) fn walk_around(
    fs: &mut dyn Checked,
    directory: &str,
    seen: &mut Seen,
    failing: &mut Vec<String>,
) -> Result<(), FsError> {
    for name in fs.list(directory)? {
        let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
        let entry = (|| match fs.stat(&path)?.kind {
            Kind::Directory => Ok(SeenEntry::Directory),
            Kind::Symlink => fs.read_link(&path).map(SeenEntry::Symlink),
            Kind::File => {
                let mut held = vec![0xEE; fs.stat(&path)?.bytes as usize];
                let handle = fs.open(&path)?;
                let read = fs.read(handle, 0, &mut held);
                fs.close(handle)?;
                read.map(|_| SeenEntry::File(held))
            }
        })();
        match entry {
            Ok(entry) => drop(seen.insert(path.clone(), entry)),
            Err(FsError::Device(Error::Unreadable { .. })) => failing.push(path.clone()),
            Err(error) => return Err(error),
        }
        if seen.get(&path) == Some(&SeenEntry::Directory) {
            walk_around(fs, &path, seen, failing)?;
        }
    }
    Ok(())
}

fn same(a: &Result<(), FsError>, b: &Result<(), FsError>) -> bool {
    match (a, b) {
        (Ok(()), Ok(())) => true,
        (Err(a), Err(b)) => std::mem::discriminant(a) == std::mem::discriminant(b),
        _ => false,
    }
}

/// A device and its expected contents.
#[derive(Clone)]
pub(crate) struct Rig {
    subject: Subject,
    pub(crate) device: Device,
    pub(crate) model: Model,
}

/// A file system in use.
pub(crate) struct Session<'a> {
    pub(crate) fs: &'a mut dyn Checked,
    open: BTreeMap<String, Handle>,
    model: &'a mut Model,
}

impl Session<'_> {
    /// Runs one operation on both; a full device is no difference.
    pub(crate) fn step(&mut self, op: &Op) -> Result<(), FsError> {
        let before = self.model.clone();
        let expected = self.model.apply(op);
        let done = carry_out(self.fs, &mut self.open, op);
        match &done {
            Err(error @ FsError::Device(Error::PowerLost)) => return Err(error.clone()),
            Err(FsError::Full { .. } | FsError::NvramFull { .. }) if expected.is_ok() => {
                *self.model = before;
                self.compare()?;
            }
            _ => assert!(same(&done, &expected), "{op:?}: {done:?}, expected {expected:?}"),
        }
        Ok(())
    }

    pub(crate) fn compare(&mut self) -> Result<(), FsError> {
        let mut seen = Seen::new();
        walk(self.fs, "", &mut seen)?;
        let mut exact = self.model.clone();
        exact.settle();
        exact.allows(&seen).unwrap_or_else(|why| panic!("{why}"));
        Ok(())
    }
}

impl Rig {
    pub(crate) fn new(subject: &Subject, device: Device) -> Self {
        Self { subject: subject.clone(), device, model: Model::default() }
    }

    /// Mounts, runs `work`, and ends cleanly.
    pub(crate) fn mounted(
        &mut self,
        work: impl FnOnce(&mut Session<'_>) -> Result<(), FsError>,
    ) -> Result<(), FsError> {
        let model = &mut self.model;
        mounted(&self.subject, &mut self.device, |fs| {
            let mut session = Session { fs, open: BTreeMap::new(), model };
            session.fs.check();
            work(&mut session)?;
            session.fs.check();
            session.compare()?;
            for handle in std::mem::take(&mut session.open).into_values() {
                session.fs.close(handle)?;
            }
            session.model.settle();
            session.fs.check();
            Ok(())
        })?
    }

    /// Runs operations between two mounts; the last may be a `sync_all`.
    pub(crate) fn session(&mut self, ops: &[Op]) -> Result<(), FsError> {
        self.mounted(|session| {
            session.compare()?;
            for op in ops {
                session.step(op)?;
                session.fs.check();
            }
            session.compare()
        })
    }

    /// Plays a script with one failing flash operation, with mounts in between.
    pub(crate) fn fault(&mut self, script: &[Op]) -> Result<(), FsError> {
        for ops in script.chunks(40) {
            self.mounted(|session| {
                ops.iter().try_for_each(|op| session.step(op))?;
                session.fs.sync_all()
            })?;
        }
        Ok(())
    }

    /// Plays until the power cut; returns the model before and after the cut operation, or `None` without a
    /// cut.
    pub(crate) fn until_cut(&mut self, script: &[Op]) -> Option<(Model, Model)> {
        let model = &mut self.model;
        let done = mounted(&self.subject, &mut self.device, |fs| {
            let mut session = Session { fs, open: BTreeMap::new(), model };
            for op in script {
                let before = session.model.clone();
                if session.step(op).is_err() {
                    return Some((before.clone(), before.interrupted(op)));
                }
            }
            None
        });
        match done {
            Ok(cut) => cut,
            Err(FsError::Device(Error::PowerLost)) => Some((self.model.clone(), self.model.clone())),
            Err(error) => panic!("{}: mount: {error}", self.subject),
        }
    }

    /// Restores power: everything durable is there, and the cut operation happened wholly or not at all.
    pub(crate) fn recover(&mut self, before: &Model, after: &Model) -> Result<(), FsError> {
        let mut seen = Seen::new();
        mounted(&self.subject, &mut self.device, |fs| {
            fs.check();
            walk(fs, "", &mut seen)
        })??;
        let allowed = [before, after].map(|model| model.allows(&seen));
        let choice = match allowed {
            [_, Ok(())] => after,
            [Ok(()), _] => before,
            [Err(before), Err(after)] => panic!("neither before ({before}) nor after ({after}): {:?}", seen.keys()),
        };
        self.model = choice.clone();
        self.model.adopt(&seen);
        Ok(())
    }
}

//! File systems.
//!
//! Read this file first: [`FileSystem`] is the contract, and [`file_systems!`] is the list. A new file system is one new
//! file and one line of that list; the configuration, `nandlab list`, the Python function, the docs page and the
//! conformance runs follow from it.
//!
//! A file system is written for a device with sectors, which it borrows while it is mounted, or for bare flash, which is
//! its own until it is dropped ([`flash`]). [`posix`] is the same contract over a real directory, to
//! compare with; it has no device.

mod error;
pub mod fat;
pub mod flash;
pub mod minv;
pub mod parts;
pub mod posix;
pub mod yaffs;

pub use error::FsError;
pub use flash::{BlockUse, FlashFs};

use flash::FlashOptions;
use nandlab_block::{BlockDevice, RamUse};
use nandlab_nand::nvm::{NvmCost, Nvram};
use nandlab_nand::{Geometry, Nand, Rules};
use std::path::{Path, PathBuf};

/// An open file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Handle(pub u32);

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Bytes.
    File,
    /// Names.
    Directory,
    /// Another path.
    Symlink,
}

/// What is known of a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Stat {
    /// What it stands for.
    pub kind: Kind,
    /// Bytes of a file; 0 of a directory.
    pub bytes: u64,
}

/// Space of a file system.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Space {
    /// Bytes that files can have together, about.
    pub total_bytes: u64,
    /// Bytes of it that no file uses.
    pub free_bytes: u64,
}

/// A mounted file system.
///
/// Paths are names joined by `/`, from the root; an empty path is the root. What a call has done is visible to the next;
/// it survives a power cut after [`Self::sync`] or [`Self::sync_all`], on a file system that promises more, earlier.
///
/// An open file is not taken away, replaced or given another name, nor is a directory above it.
///
/// # Errors
/// Every call fails with the reasons of [`FsError`]; a call that failed for the name or for space has changed nothing.
/// After a device failed to write, the file system is of no more use until it is mounted again.
pub trait FileSystem {
    /// Makes an empty file and opens it; a file of that name is cut to nothing.
    fn create(&mut self, path: &str) -> Result<Handle, FsError>;

    /// Opens a file.
    fn open(&mut self, path: &str) -> Result<Handle, FsError>;

    /// Closes a file.
    fn close(&mut self, file: Handle) -> Result<(), FsError>;

    /// Fills `bytes` from position `at` of the file on and returns how many there were before the end.
    fn read(&mut self, file: Handle, at: u64, bytes: &mut [u8]) -> Result<usize, FsError>;

    /// Writes `bytes` from position `at` on; a gap behind the end reads as zeros.
    fn write(&mut self, file: Handle, at: u64, bytes: &[u8]) -> Result<(), FsError>;

    /// Cuts or extends a file to so many bytes; what is new reads as zeros.
    fn truncate(&mut self, file: Handle, bytes: u64) -> Result<(), FsError>;

    /// Makes the contents and the size of a file survive a power cut, with its name.
    fn sync(&mut self, file: Handle) -> Result<(), FsError>;

    /// Makes everything survive a power cut.
    fn sync_all(&mut self) -> Result<(), FsError>;

    /// Bytes of an open file.
    fn len(&mut self, file: Handle) -> Result<u64, FsError>;

    /// Gives a file or directory another name; where a file gets it, a file of that name goes.
    fn rename(&mut self, from: &str, to: &str) -> Result<(), FsError>;

    /// Takes a file away.
    fn unlink(&mut self, path: &str) -> Result<(), FsError>;

    /// Makes a directory.
    fn mkdir(&mut self, path: &str) -> Result<(), FsError>;

    /// Takes an empty directory away.
    fn rmdir(&mut self, path: &str) -> Result<(), FsError>;

    /// What a name stands for.
    fn stat(&mut self, path: &str) -> Result<Stat, FsError>;

    /// The names in a directory, in ascending order.
    fn list(&mut self, path: &str) -> Result<Vec<String>, FsError>;

    /// Space of the file system.
    fn space(&mut self) -> Result<Space, FsError>;

    /// Memory that the file system needs, by structure.
    fn ram(&self) -> RamUse;
}

/// A file system with links, hard and symbolic ones.
///
/// # Errors
/// As those of [`FileSystem`].
pub trait Links: FileSystem {
    /// Makes a symbolic link at `path` that leads to `target`, a path from the root of at most 159 bytes.
    fn symlink(&mut self, target: &str, path: &str) -> Result<(), FsError>;

    /// Where a symbolic link leads.
    fn read_link(&mut self, path: &str) -> Result<String, FsError>;

    /// Gives the file at `from` a second name.
    fn link(&mut self, from: &str, to: &str) -> Result<(), FsError>;
}

/// What became of a volume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Volume {
    /// Bytes of the unit in which files take space.
    pub unit_bytes: u64,
    /// Those units.
    pub units: u64,
}

/// What a file system is written for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    /// A device with sectors, such as an FTL: [`FsConfig::format`] and [`FsConfig::mounted`].
    Device,
    /// Bare flash, and NVRAM where it needs that: [`FsConfig::mount`].
    Flash,
    /// A directory of this machine, and no device: [`FsConfig::take`].
    Directory,
}

/// An entry of the list of file systems.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in `[fs.<name>]`.
    pub name: &'static str,
    /// The path of its source file in this folder.
    pub file: &'static str,
    /// The source file, whose head comment is the docs page.
    pub source: &'static str,
    /// The paper or book it comes from, short; empty where there is none.
    pub paper: &'static str,
    /// What it is written for.
    pub over: Over,
    /// The schema of its options.
    pub options: fn() -> schemars::Schema,
}

/// What is asked of a file system that only one on a device can do.
const ON_A_DEVICE: FsError = FsError::Unsupported("a volume in sectors");
/// What only one on bare flash can do.
const ON_FLASH: FsError = FsError::Unsupported("bare flash without an FTL");
/// What only a real directory can do.
const IN_A_DIRECTORY: FsError = FsError::Unsupported("a directory of this machine");

/// Makes the configuration and the list of every file system from one line each.
macro_rules! file_systems {
    (
        device { $($(#[$doc:meta])* $variant:ident($module:ident), $file:literal, $paper:literal;)* }
        flash { $($(#[$flash_doc:meta])* $flash:ident($flash_module:ident), $flash_file:literal, $flash_paper:literal;)* }
        directory { $(#[$posix_doc:meta])* $posix:ident($posix_module:ident), $posix_file:literal, $posix_paper:literal; }
    ) => {
        /// The `[fs.<name>]` table of an experiment: which file system, with its options.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum FsConfig {
            $($(#[$doc])* $variant($module::Config),)*
            $($(#[$flash_doc])* $flash($flash_module::Config),)*
            $(#[$posix_doc])* $posix($posix_module::Config),
        }

        impl FsConfig {
            /// The name of the chosen file system.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => stringify!($module),)*
                    $(Self::$flash(_) => stringify!($flash_module),)*
                    Self::$posix(_) => stringify!($posix_module),
                }
            }

            /// What the chosen file system is written for.
            pub fn over(&self) -> Over {
                match self {
                    $(Self::$variant(_) => Over::Device,)*
                    $(Self::$flash(_) => Over::Flash,)*
                    Self::$posix(_) => Over::Directory,
                }
            }

            /// Checks what can be checked without a device.
            ///
            /// # Errors
            /// [`FsError::Option`].
            pub fn check(&self) -> Result<(), FsError> {
                match self {
                    $(Self::$variant(config) => config.check(),)*
                    $(Self::$flash(config) => config.check(),)*
                    Self::$posix(config) => config.check(),
                }
            }

            /// What [`Self::format`] makes of a device of so many sectors.
            ///
            /// # Errors
            /// [`FsError::Option`]; [`FsError::Unsupported`] of one on bare flash.
            pub fn plan(&self, sectors: u64) -> Result<Volume, FsError> {
                match self {
                    $(Self::$variant(config) => config.plan(sectors).map(Into::into),)*
                    $(Self::$flash(_) => Err(ON_A_DEVICE),)*
                    Self::$posix(_) => Err(ON_A_DEVICE),
                }
            }

            /// Options that have no effect on a device of so many sectors, in sentences that begin with the key.
            pub fn notices(&self, sectors: u64) -> Vec<String> {
                match self {
                    $(Self::$variant(config) => config.notices(sectors),)*
                    $(Self::$flash(_) => Vec::new(),)*
                    Self::$posix(_) => Vec::new(),
                }
            }

            /// Makes an empty volume on `device`.
            ///
            /// # Errors
            /// As [`Self::plan`], and what the device failed with.
            pub fn format(&self, device: &mut dyn BlockDevice) -> Result<Volume, FsError> {
                match self {
                    $(Self::$variant(config) => config.format(device).map(Into::into),)*
                    $(Self::$flash(_) => Err(ON_A_DEVICE),)*
                    Self::$posix(_) => Err(ON_A_DEVICE),
                }
            }

            /// Mounts the volume on `device`, lets `work` use it, and unmounts it unless the device failed meanwhile.
            ///
            /// # Errors
            /// [`FsError::Damaged`] where there is no volume, and what the device failed with in mount or unmount;
            /// [`FsError::Unsupported`] of one on bare flash.
            pub fn mounted<R>(
                &self,
                device: &mut dyn BlockDevice,
                work: impl FnOnce(&mut dyn FileSystem) -> R,
            ) -> Result<R, FsError> {
                match self {
                    $(Self::$variant(config) => config.mounted(device, |volume| work(volume)),)*
                    $(Self::$flash(_) => Err(ON_A_DEVICE),)*
                    Self::$posix(_) => Err(ON_A_DEVICE),
                }
            }

            /// Checks whether the file system can live on such flash.
            ///
            /// # Errors
            /// [`FsError::Option`]; [`FsError::Unsupported`] of one that needs a device.
            pub fn check_flash(&self, geometry: &Geometry, rules: &Rules) -> Result<(), FsError> {
                match self {
                    $(Self::$variant(_) => Err(ON_FLASH),)*
                    Self::$posix(_) => Err(ON_FLASH),
                    $(Self::$flash(config) => FlashOptions::check_device(config, geometry, rules),)*
                }
            }

            /// Bytes of NVRAM that the file system needs on such flash.
            pub fn nvram_bytes(&self, geometry: &Geometry) -> u64 {
                match self {
                    $(Self::$variant(_) => 0,)*
                    Self::$posix(_) => 0,
                    $(Self::$flash(config) => FlashOptions::nvram_bytes(config, geometry),)*
                }
            }

            /// That NVRAM, empty.
            pub fn nvram(&self, geometry: &Geometry) -> Nvram {
                match self {
                    $(Self::$variant(_) => Nvram::new(0, NvmCost::default()),)*
                    Self::$posix(_) => Nvram::new(0, NvmCost::default()),
                    $(Self::$flash(config) => FlashOptions::nvram(config, geometry),)*
                }
            }

            /// Mounts what is on flash and in NVRAM; an erased device gets an empty file system.
            ///
            /// # Errors
            /// As [`Self::check_flash`]; [`FsError::Damaged`]; what the devices fail with.
            pub fn mount<N: Nand + Send + 'static>(&self, nand: N, nvram: Nvram) -> Result<Box<dyn FlashFs<N>>, FsError> {
                match self {
                    $(Self::$variant(_) => Err(ON_FLASH),)*
                    Self::$posix(_) => Err(ON_FLASH),
                    $(Self::$flash(config) => FlashOptions::mount(config, nand, nvram),)*
                }
            }

            /// Looks whether the directory can be taken; relative paths start at `base`.
            ///
            /// # Errors
            /// [`FsError::Option`]; [`FsError::Unsupported`] of one that needs a device.
            pub fn find(&self, base: &Path) -> Result<PathBuf, FsError> {
                match self {
                    Self::$posix(config) => config.find(base),
                    _ => Err(IN_A_DIRECTORY),
                }
            }

            /// Takes the directory for a run.
            ///
            /// # Errors
            /// As [`Self::find`].
            pub fn take(&self, base: &Path) -> Result<$posix_module::Posix, FsError> {
                match self {
                    Self::$posix(config) => config.take(base),
                    _ => Err(IN_A_DIRECTORY),
                }
            }
        }

        /// Every file system.
        pub const LIST: &[Entry] = &[
            $(Entry {
                name: stringify!($module),
                file: $file,
                source: include_str!($file),
                paper: $paper,
                over: Over::Device,
                options: || schemars::schema_for!($module::Config),
            },)*
            $(Entry {
                name: stringify!($flash_module),
                file: $flash_file,
                source: include_str!($flash_file),
                paper: $flash_paper,
                over: Over::Flash,
                options: || schemars::schema_for!($flash_module::Config),
            },)*
            Entry {
                name: stringify!($posix_module),
                file: $posix_file,
                source: include_str!($posix_file),
                paper: $posix_paper,
                over: Over::Directory,
                options: || schemars::schema_for!($posix_module::Config),
            },
        ];
    };
}

file_systems! {
    device {
        /// The file system of memory cards.
        Fat(fat), "fat.rs", "Microsoft, FAT: General Overview of On-Disk Format, 2000";
    }
    flash {
        /// Every page with its tags, on bare flash.
        Yaffs(yaffs), "yaffs/mod.rs", "Manning, How YAFFS Works, 2010";
        /// All metadata in NVRAM, file data on bare flash.
        Minv(minv), "minv/mod.rs", "Doh, Choi, Lee, Noh, EMSOFT 2007";
    }
    directory {
        /// A real directory of this machine, without a device.
        Posix(posix), "posix.rs", "";
    }
}

//! File systems.
//!
//! Read this file first: [`FileSystem`] is the contract, and [`file_systems!`] is the list. To add
//! a file system, write one file and add one line to the list. The configuration, `nandlab list`,
//! the Python function, the docs page and the conformance runs follow from it.
//!
//! A file system runs either on a device with sectors or on bare flash ([`flash`]). It borrows a
//! device while mounted, and owns bare flash until it is dropped. [`posix`] implements the same
//! contract on a real directory, for comparison; it has no device.

mod error;
pub mod fat;
pub mod firmware;
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

/// Directory entry type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
}

/// Path metadata.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Stat {
    /// Its type.
    pub kind: Kind,
    /// File size in bytes; 0 for a directory.
    pub bytes: u64,
}

/// What a program stores beside a name: mode, owner, time. All zeros where nothing was stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Attributes {
    /// Type and permission bits, as `st_mode`.
    pub mode: u32,
    /// The owner's number.
    pub owner: u32,
    /// The group's number.
    pub group: u32,
    /// Time of the last change of the contents, in nanoseconds since 1970.
    pub changed_ns: u64,
}

/// File system capacity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Space {
    /// Bytes available to files in total, approximately.
    pub total_bytes: u64,
    /// Bytes still free.
    pub free_bytes: u64,
}

/// A mounted file system.
///
/// A path is a list of names joined by `/`, starting at the root; an empty path is the root. Each
/// call sees the effects of all earlier calls. These effects survive a power cut after
/// [`Self::sync`] or [`Self::sync_all`]; some file systems promise this earlier.
///
/// An open file cannot be removed, replaced or renamed, and neither can its parent directories.
///
/// # Errors
/// Every call fails with an [`FsError`]. A call refused for its name or for lack of space has
/// changed nothing. After a device write error, the file system must be mounted again before
/// further use.
pub trait FileSystem {
    /// Creates an empty file and opens it; an existing file is truncated to zero bytes.
    fn create(&mut self, path: &str) -> Result<Handle, FsError>;

    /// Opens a file.
    fn open(&mut self, path: &str) -> Result<Handle, FsError>;

    /// Closes a file.
    fn close(&mut self, file: Handle) -> Result<(), FsError>;

    /// Fills `bytes` from file position `at` and returns the number of bytes read before the end of
    /// the file.
    fn read(&mut self, file: Handle, at: u64, bytes: &mut [u8]) -> Result<usize, FsError>;

    /// Writes `bytes` at position `at`; a gap after the old end reads as zeros.
    fn write(&mut self, file: Handle, at: u64, bytes: &[u8]) -> Result<(), FsError>;

    /// Cuts or extends a file to `bytes` bytes; new bytes read as zeros.
    fn truncate(&mut self, file: Handle, bytes: u64) -> Result<(), FsError>;

    /// Makes a file's contents, size and name survive a power cut.
    fn sync(&mut self, file: Handle) -> Result<(), FsError>;

    /// As [`Self::sync`], but what describes the file and is not needed to read its contents may wait: fdatasync.
    ///
    /// # Errors
    /// As [`Self::sync`].
    fn sync_data(&mut self, file: Handle) -> Result<(), FsError> {
        self.sync(file)
    }

    /// Makes everything survive a power cut.
    fn sync_all(&mut self) -> Result<(), FsError>;

    /// Open file size in bytes.
    fn len(&mut self, file: Handle) -> Result<u64, FsError>;

    /// Renames a file or directory; a renamed file replaces an existing file at `to`.
    fn rename(&mut self, from: &str, to: &str) -> Result<(), FsError>;

    /// Removes a file.
    fn unlink(&mut self, path: &str) -> Result<(), FsError>;

    /// Creates a directory.
    fn mkdir(&mut self, path: &str) -> Result<(), FsError>;

    /// Removes an empty directory.
    fn rmdir(&mut self, path: &str) -> Result<(), FsError>;

    /// A path's type and size.
    fn stat(&mut self, path: &str) -> Result<Stat, FsError>;

    /// Names in a directory, in ascending order.
    fn list(&mut self, path: &str) -> Result<Vec<String>, FsError>;

    /// Capacity and free space.
    fn space(&mut self) -> Result<Space, FsError>;

    /// Memory needed by the file system, by structure.
    fn ram(&self) -> RamUse;

    /// A path's last name as its directory has it: some file systems find a file under other spellings, too.
    fn spelling(&mut self, path: &str) -> Result<String, FsError> {
        self.stat(path)?;
        Ok(path.rsplit('/').next().unwrap_or_default().to_owned())
    }

    /// Most bytes in a name.
    fn longest_name(&self) -> usize {
        255
    }

    /// The number that a path's file keeps for its whole life, also over mounts; `None` where the format has none.
    fn number(&mut self, _path: &str) -> Result<Option<u32>, FsError> {
        Ok(None)
    }

    /// The stored mode, owner and time of a path; `None` where the format has no room for them.
    fn attributes(&mut self, _path: &str) -> Result<Option<Attributes>, FsError> {
        Ok(None)
    }

    /// Stores mode, owner and time of a path. They survive a power cut once this returns.
    fn set_attributes(&mut self, _path: &str, _attributes: Attributes) -> Result<(), FsError> {
        Err(FsError::Unsupported("a stored mode, owner or time"))
    }

    /// Hard and symbolic links, where there are any.
    fn links(&mut self) -> Option<&mut dyn Links> {
        None
    }
}

/// A file system with hard and symbolic links.
///
/// # Errors
/// As for [`FileSystem`].
pub trait Links: FileSystem {
    /// Makes a symbolic link at `path` to `target`, a path from the root of at most 159 bytes.
    fn symlink(&mut self, target: &str, path: &str) -> Result<(), FsError>;

    /// A symbolic link's target.
    fn read_link(&mut self, path: &str) -> Result<String, FsError>;

    /// Gives the file at `from` a second name.
    fn link(&mut self, from: &str, to: &str) -> Result<(), FsError>;
}

/// Formatted volume size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Volume {
    /// Allocation unit in bytes; files take space in these units.
    pub unit_bytes: u64,
    /// Unit count.
    pub units: u64,
}

/// Storage needed by a file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    /// A device with sectors, such as an FTL: [`FsConfig::format`] and [`FsConfig::mounted`].
    Device,
    /// Bare flash, plus NVRAM if needed: [`FsConfig::mount`].
    Flash,
    /// A directory on this machine, without a device: [`FsConfig::take`].
    Directory,
}

/// An entry in the list of file systems.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in `[fs.<name>]`.
    pub name: &'static str,
    /// The path of its source file in this folder.
    pub file: &'static str,
    /// The source file, whose head comment is the docs page.
    pub source: &'static str,
    /// Short reference to the paper or book; empty if there is none.
    pub paper: &'static str,
    /// Storage it needs.
    pub over: Over,
    /// Its option schema.
    pub options: fn() -> schemars::Schema,
}

/// The error for calls on a file system without a device.
const ON_A_DEVICE: FsError = FsError::Unsupported("a volume in sectors");
/// The error for calls meant for bare flash.
const ON_FLASH: FsError = FsError::Unsupported("bare flash without an FTL");
/// The error for calls meant for a real directory.
const IN_A_DIRECTORY: FsError = FsError::Unsupported("a directory of this machine");

/// Makes every file system's configuration and list entry from one line each.
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
            /// The chosen file system's name.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => stringify!($module),)*
                    $(Self::$flash(_) => stringify!($flash_module),)*
                    Self::$posix(_) => stringify!($posix_module),
                }
            }

            /// Storage needed by the chosen file system.
            pub fn over(&self) -> Over {
                match self {
                    $(Self::$variant(_) => Over::Device,)*
                    $(Self::$flash(_) => Over::Flash,)*
                    Self::$posix(_) => Over::Directory,
                }
            }

            /// Checks the options, as far as possible without a device.
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

            /// The volume [`Self::format`] would make on a device with `sectors` sectors.
            ///
            /// # Errors
            /// [`FsError::Option`]; [`FsError::Unsupported`] for a file system on bare flash.
            pub fn plan(&self, sectors: u64) -> Result<Volume, FsError> {
                match self {
                    $(Self::$variant(config) => config.plan(sectors).map(Into::into),)*
                    $(Self::$flash(_) => Err(ON_A_DEVICE),)*
                    Self::$posix(_) => Err(ON_A_DEVICE),
                }
            }

            /// Options without effect on a device with `sectors` sectors, as sentences that begin
            /// with the key.
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
            /// As [`Self::plan`], and any device error.
            pub fn format(&self, device: &mut dyn BlockDevice) -> Result<Volume, FsError> {
                match self {
                    $(Self::$variant(config) => config.format(device).map(Into::into),)*
                    $(Self::$flash(_) => Err(ON_A_DEVICE),)*
                    Self::$posix(_) => Err(ON_A_DEVICE),
                }
            }

            /// Mounts the volume on `device`, runs `work` on it, and unmounts it unless the device
            /// failed.
            ///
            /// # Errors
            /// [`FsError::Damaged`] if there is no volume, and device errors during mount or
            /// unmount; [`FsError::Unsupported`] for a file system on bare flash.
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

            /// Checks whether the file system can use flash with this geometry and these rules.
            ///
            /// # Errors
            /// [`FsError::Option`]; [`FsError::Unsupported`] for a file system on a device.
            pub fn check_flash(&self, geometry: &Geometry, rules: &Rules) -> Result<(), FsError> {
                match self {
                    $(Self::$variant(_) => Err(ON_FLASH),)*
                    Self::$posix(_) => Err(ON_FLASH),
                    $(Self::$flash(config) => FlashOptions::check_device(config, geometry, rules),)*
                }
            }

            /// Bytes of NVRAM the file system needs with this flash.
            pub fn nvram_bytes(&self, geometry: &Geometry) -> u64 {
                match self {
                    $(Self::$variant(_) => 0,)*
                    Self::$posix(_) => 0,
                    $(Self::$flash(config) => FlashOptions::nvram_bytes(config, geometry),)*
                }
            }

            /// An empty NVRAM with [`Self::nvram_bytes`].
            pub fn nvram(&self, geometry: &Geometry) -> Nvram {
                match self {
                    $(Self::$variant(_) => Nvram::new(0, NvmCost::default()),)*
                    Self::$posix(_) => Nvram::new(0, NvmCost::default()),
                    $(Self::$flash(config) => FlashOptions::nvram(config, geometry),)*
                }
            }

            /// Mounts the contents of flash and NVRAM; an erased device gets an empty file system.
            ///
            /// # Errors
            /// As [`Self::check_flash`]; [`FsError::Damaged`]; device errors.
            pub fn mount<N: Nand + Send + 'static>(&self, nand: N, nvram: Nvram) -> Result<Box<dyn FlashFs<N>>, FsError> {
                match self {
                    $(Self::$variant(_) => Err(ON_FLASH),)*
                    Self::$posix(_) => Err(ON_FLASH),
                    $(Self::$flash(config) => FlashOptions::mount(config, nand, nvram),)*
                }
            }

            /// Checks that the directory exists and is empty; relative paths start at `base`.
            ///
            /// # Errors
            /// [`FsError::Option`]; [`FsError::Unsupported`] for a file system on a device.
            pub fn find(&self, base: &Path) -> Result<PathBuf, FsError> {
                match self {
                    Self::$posix(config) => config.find(base),
                    _ => Err(IN_A_DIRECTORY),
                }
            }

            /// Claims the directory for a run.
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
        /// The memory card file system.
        Fat(fat), "fat.rs", "Microsoft, FAT: General Overview of On-Disk Format, 2000";
    }
    flash {
        /// Every page with its tags, on bare flash.
        Yaffs(yaffs), "yaffs/mod.rs", "Manning, How YAFFS Works, 2010";
        /// All metadata in NVRAM, file data on bare flash.
        Minv(minv), "minv/mod.rs", "Doh, Choi, Lee, Noh, EMSOFT 2007";
        /// A file firmware of your own in C.
        Firmware(firmware), "firmware.rs", "";
    }
    directory {
        /// A real directory on this machine, without a device.
        Posix(posix), "posix.rs", "";
    }
}

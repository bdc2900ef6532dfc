//! An FTL on a device with a known type, through code `nandlab_drive` compiled once for all devices.

use nandlab_drive::{inside, Device, DriveOn, NotMounted};
use nandlab_ftl::{FtlConfig, FtlError};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A disk whose device comes back with its own type.
pub struct Disk<N> {
    drive: Box<dyn DriveOn>,
    device: PhantomData<N>,
}

impl<N: Device> Disk<N> {
    /// Mounts an FTL on `nand`.
    ///
    /// # Errors
    /// As [`nandlab_ftl::Ftl::mount`].
    pub fn mount(nand: N, logical_pages: u32, config: &FtlConfig) -> Result<Self, FtlError> {
        Self::mount_or_back(nand, logical_pages, config).map_err(|(error, _)| error)
    }

    /// Mounts an FTL on `nand`, or gives the device back.
    ///
    /// # Errors
    /// As [`nandlab_ftl::Ftl::mount`], with the device as the mount left it.
    pub fn mount_or_back(nand: N, logical_pages: u32, config: &FtlConfig) -> Result<Self, (FtlError, N)> {
        match nandlab_drive::on(config, Box::new(nand), logical_pages) {
            Ok(drive) => Ok(Self { drive, device: PhantomData }),
            Err(NotMounted { error, nand }) => Err((error, inside(nand))),
        }
    }

    /// The device.
    ///
    /// # Panics
    /// Never: the mount fixed its type.
    pub fn nand(&self) -> &N {
        self.drive.nand().as_any().downcast_ref().expect("the device that was mounted")
    }

    /// The device, mutable.
    ///
    /// # Panics
    /// Never: the mount fixed its type.
    pub fn nand_mut(&mut self) -> &mut N {
        self.drive.nand_mut().as_any_mut().downcast_mut().expect("the device that was mounted")
    }

    /// Drops the RAM state, as a power cut does, and keeps the flash.
    pub fn into_nand(self) -> N {
        inside(self.drive.into_nand())
    }
}

impl<N> Deref for Disk<N> {
    type Target = dyn DriveOn;

    fn deref(&self) -> &Self::Target {
        &*self.drive
    }
}

impl<N> DerefMut for Disk<N> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.drive
    }
}

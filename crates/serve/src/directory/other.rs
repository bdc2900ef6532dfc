//! Disks with other contents than a FAT volume.

use crate::{volume, Disk};
use std::io;

/// Names the contents on a disk without a FAT volume, and the command that serves it.
pub(super) fn refuse_other_volumes(disk: &Disk) -> io::Result<()> {
    let (size, is_fat) = (crate::Export::size(disk), has_fat(disk)?);
    if is_fat {
        return Ok(());
    }
    let read = &mut |offset, out: &mut [u8]| crate::Export::read(disk, offset, out).map(crate::Due::sleep);
    let serves = "`nandlab disk serve IMAGE --fuse DIRECTORY` serves it as the file DIRECTORY/disk";
    let why = match volume::find(size, read) {
        Ok(Some(found)) => {
            let kind = found.kind;
            format!(
                "it is a disk with {kind}, which this command does not read; {serves}, and `mount -o loop` mounts that"
            )
        }
        Err(error) if error.kind() != io::ErrorKind::InvalidData => return Err(error),
        _ => format!(
            "it is a disk without a FAT volume; {serves}, and `mkfs.vfat DIRECTORY/disk` makes one. An image with \
             files of its own is made by `nandlab disk create --set fs=yaffs`, `fs=minv` or `fs=fat`"
        ),
    };
    Err(io::Error::new(io::ErrorKind::InvalidData, why))
}

/// Whether the first sector may belong to a FAT volume: its mark, and a sector size.
fn has_fat(disk: &Disk) -> io::Result<bool> {
    let mut boot = [0; 512];
    crate::Export::read(disk, 0, &mut boot)?.sleep();
    let sector = u16::from_le_bytes([boot[11], boot[12]]);
    Ok(boot[510..] == [0x55, 0xAA] && matches!(boot[0], 0xEB | 0xE9) && sector.is_power_of_two() && sector >= 512)
}

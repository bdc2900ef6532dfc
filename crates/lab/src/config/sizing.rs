//! Device size: flash blocks, and exported pages.

use super::device::{Device, DEFAULT_OVER_PROVISIONING};
use super::tree::KeyError;
use nandlab_ftl::{FtlConfig, FtlError};
use nandlab_nand::{Geometry, Rules, Shape};
use nandlab_workload::ByteCount;

/// A device's counts: physical and exported.
#[derive(Clone, Debug)]
pub struct Sizing {
    /// The physical device.
    pub geometry: Geometry,
    /// Pages exported by the FTL; all pages without an FTL.
    pub logical_pages: u32,
    /// Sentences about rounded values and options without effect.
    pub notices: Vec<String>,
}

impl Sizing {
    /// Physical over logical size, minus 1.
    pub fn over_provisioning(&self) -> f64 {
        f64::from(self.geometry.pages()) / f64::from(self.logical_pages) - 1.0
    }

    /// Bytes exported.
    pub fn logical_bytes(&self) -> u64 {
        u64::from(self.logical_pages) * u64::from(self.geometry.page_bytes())
    }

    /// Sectors exported.
    pub fn sectors(&self) -> u64 {
        u64::from(self.logical_pages) * u64::from(self.geometry.sectors_per_page())
    }
}

/// Geometry and exported pages, even if no FTL can export them.
pub(super) fn sizes(device: &Device, notices: &mut Vec<String>) -> Result<(Geometry, u32), KeyError> {
    match device.capacity {
        Some(capacity) => from_capacity(device, capacity, notices),
        None => from_blocks(device),
    }
}

/// Geometry and exported pages from given exported bytes.
fn from_capacity(device: &Device, capacity: ByteCount, notices: &mut Vec<String>) -> Result<(Geometry, u32), KeyError> {
    let key = "device.capacity";
    let shape = device.profile.shape;
    // Checks the shape with one block per plane before any division by it.
    geometry(Shape { blocks_per_plane: 1, ..shape })?;
    let page = u64::from(shape.page_bytes);
    let pages = capacity.0 / page;
    let refuse = |why: String| Err(KeyError::of_value(key, format!("{key} = {capacity} cannot work: {why}")));
    if pages == 0 {
        return refuse(format!("a page of this device has {page} B, and at least one is exported"));
    }
    let Ok(logical_pages) = u32::try_from(pages) else {
        return refuse(format!("{pages} pages are more than a 32-bit page address can name"));
    };
    if capacity.0 % page != 0 {
        notices.push(format!(
            "{key} = {capacity} is no whole number of pages of {page} B and was rounded down to {}",
            ByteCount(pages * page)
        ));
    }
    if let Some(blocks_per_plane) = device.blocks_per_plane {
        let geometry = geometry(Shape { blocks_per_plane, ..shape })?;
        if geometry.pages() < logical_pages {
            let physical = ByteCount(u64::from(geometry.pages()) * page);
            return refuse(format!("device.blocks_per_plane = {blocks_per_plane} gives the device {physical} in all"));
        }
        return Ok((geometry, logical_pages));
    }
    let over_provisioning = device.over_provisioning.unwrap_or(DEFAULT_OVER_PROVISIONING);
    let blocks = f64::from(logical_pages) * (1.0 + over_provisioning) / f64::from(shape.pages_per_block);
    let planes = shape.channels * shape.dies_per_channel * shape.planes_per_die;
    // 1.07 x 100 blocks must give 107 blocks, not 108, although 1.07 has no exact binary form.
    let blocks_per_plane = (blocks / f64::from(planes) - 1e-6).ceil();
    if blocks_per_plane > f64::from(u32::MAX) {
        return refuse("the device would have more blocks than a 32-bit address can name".into());
    }
    Ok((geometry(Shape { blocks_per_plane: (blocks_per_plane as u32).max(1), ..shape })?, logical_pages))
}

/// Geometry and exported pages from the profile's physical size.
fn from_blocks(device: &Device) -> Result<(Geometry, u32), KeyError> {
    let geometry = geometry(device.profile.shape)?;
    let over_provisioning = device.over_provisioning.unwrap_or(DEFAULT_OVER_PROVISIONING);
    let logical_pages = (f64::from(geometry.pages()) / (1.0 + over_provisioning) + 1e-6) as u32;
    Ok((geometry, logical_pages.max(1)))
}

/// A file system's flash without an FTL: the profile's, or whole blocks for the capacity.
pub(super) fn bare(device: &Device, notices: &mut Vec<String>) -> Result<Geometry, KeyError> {
    let Some(capacity) = device.capacity else { return geometry(device.profile.shape) };
    let shape = device.profile.shape;
    let planes = geometry(Shape { blocks_per_plane: 1, ..shape })?;
    let each = u64::from(planes.pages()) * u64::from(planes.page_bytes());
    let blocks_per_plane = u32::try_from(capacity.0.div_ceil(each).max(1)).map_err(|_| {
        let why = "the device would have more blocks than a 32-bit address can name";
        KeyError::of_value("device.capacity", format!("device.capacity = {capacity} cannot work: {why}"))
    })?;
    if capacity.0 % each != 0 {
        notices.push(format!(
            "device.capacity = {capacity} is no whole number of blocks in each plane and was rounded up to {}",
            ByteCount(u64::from(blocks_per_plane) * each)
        ));
    }
    geometry(Shape { blocks_per_plane, ..shape })
}

fn geometry(shape: Shape) -> Result<Geometry, KeyError> {
    Geometry::new(shape)
        .map_err(|error| KeyError::of_value(format!("device.shape.{}", error.key), format!("device.shape.{error}")))
}

/// Most pages that `ftl` can export.
pub(super) fn most_pages(ftl: &FtlConfig, geometry: &Geometry, rules: &Rules) -> Result<u32, KeyError> {
    ftl.max_logical_pages(geometry, rules).map_err(|error| key_error(&error))
}

/// An FTL's sentence starts with the key at fault, if there is one.
pub(super) fn key_error(error: &FtlError) -> KeyError {
    let message = error.to_string();
    let key = message.split(" = ").next().filter(|key| key.starts_with("ftl.") && !key.contains(' '));
    KeyError::of_value(key.unwrap_or("ftl").to_owned(), message)
}

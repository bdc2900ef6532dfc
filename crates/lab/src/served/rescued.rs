//! A disk in an image whose FTL cannot be mounted.

use super::{described, not_ours, of_image};
use crate::error::LabError;
use nandlab_ftl::rescue::{Rescue, Unused};
use nandlab_nand::backed::{Backed, Image};
use std::path::Path;

/// What the rules of an FTL would have changed.
const WITHOUT_RULES: &str =
    "this is a rescue without the FTL's rules: each sector has its newest copy on flash. It may be a \
    write that was never flushed, and a trimmed sector may hold older data";

/// The newest copy of each sector of a disk, found without its FTL. The image stays as it is.
pub struct Rescued {
    rescue: Rescue<Backed<Image>>,
    page_bytes: u32,
    notices: Vec<String>,
}

impl Rescued {
    /// Searches the flash in the image `path`.
    ///
    /// # Errors
    /// [`LabError::Io`] where the file is no image, is in use, is damaged in its description, or holds files on bare flash.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        let device = Backed::open_to_rescue(path).map_err(|error| of_image(&error))?;
        let image = device.file();
        let experiment = described(&image)?;
        if experiment.is_bare() {
            return Err(not_ours(&image, "it holds files on bare flash, and no sectors"));
        }
        let sizing = experiment.sizing()?;
        if sizing.geometry != *image.geometry() {
            return Err(not_ours(&image, "the device of its description has another shape"));
        }
        let mut notices = device.notices().to_vec();
        notices.push(WITHOUT_RULES.to_owned());
        if experiment.buffer.as_ref().is_some_and(|buffer| buffer.nvram_bytes(&sizing.geometry) > 0) {
            notices.push(
                "pages in the NVRAM of the buffer are left out: sectors may hold what they held before".to_owned(),
            );
        }
        let rescue = Rescue::search(device, sizing.logical_pages)
            .map_err(|error| not_ours(&image, &format!("its flash cannot be read: {error}")))?;
        notices.extend(unused(rescue.unused()));
        Ok(Self { rescue, page_bytes: sizing.geometry.page_bytes(), notices })
    }

    /// What a reader of the contents must know, in sentences.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Sectors on the disk.
    pub fn sectors(&self) -> u64 {
        self.rescue.sectors()
    }

    /// Bytes in a page of the flash.
    pub fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    /// Reads one sector; zeros where the flash has no copy. False if the newest copy is damaged.
    pub fn read(&mut self, sector: u64, bytes: &mut [u8]) -> bool {
        self.rescue.read(sector, bytes).is_ok()
    }
}

/// Parts of the flash that the search could not use, in a sentence.
fn unused(Unused { blocks, pages }: Unused) -> Option<String> {
    (blocks + pages > 0).then(|| {
        format!(
            "{blocks} bad blocks and {pages} pages with a damaged record were left out: sectors in them read as an older \
             copy or as zeros"
        )
    })
}

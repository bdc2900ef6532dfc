//! Firmware in C: who may run it, and where its library is.
//!
//! As with a policy in Python, a path in an experiment runs nothing by itself: the caller's `permit` is asked about
//! `firmware:path` first.

use crate::policies::{allow_policy, check_name};
use nandlab_block::firmware::{self, About, Block, Files, Told};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::OnceLock;

/// `libnandlab`.
static LIBRARY: OnceLock<PathBuf> = OnceLock::new();

/// Permits the firmware `firmware:path`; `library` is `libnandlab`, which its open calls find.
#[pyfunction]
pub(crate) fn allow_firmware(py: Python<'_>, name: String, library: PathBuf) {
    // It is a part of this installation, and the same in each call.
    let _ = LIBRARY.set(library);
    allow_policy(name, py.None());
}

struct Host;

/// Makes this module the one that loads firmware.
pub(crate) fn host() {
    firmware::set_host(&Host);
}

impl firmware::Host for Host {
    fn open(&self, about: &About<'_>, told: &mut dyn Told) -> Result<Box<dyn Block>, String> {
        linux::open(permitted(about)?, about, told)
    }

    fn open_files(&self, about: &About<'_>, told: &mut dyn Told) -> Result<Box<dyn Files>, String> {
        linux::open_files(permitted(about)?, about, told)
    }
}

#[cfg(target_os = "linux")]
use nandlab::hosted as linux;

#[cfg(not(target_os = "linux"))]
mod linux {
    use super::{About, Block, Files, Told};
    use std::path::Path;

    const ELSEWHERE: &str = "is firmware in C, which runs on Linux alone";

    pub(super) fn open(_: &Path, _: &About<'_>, _: &mut dyn Told) -> Result<Box<dyn Block>, String> {
        Err(ELSEWHERE.to_owned())
    }

    pub(super) fn open_files(_: &Path, _: &About<'_>, _: &mut dyn Told) -> Result<Box<dyn Files>, String> {
        Err(ELSEWHERE.to_owned())
    }
}

/// `libnandlab`, if the firmware may run.
fn permitted(about: &About<'_>) -> Result<&'static PathBuf, String> {
    let name = format!("firmware:{}", about.path.display());
    check_name(&name, "is firmware in C, which runs in experiments only")?;
    LIBRARY.get().ok_or_else(|| "was not permitted".to_owned())
}

//! Replacements that somebody else wrote, made by the program that hosts them.

use nandlab_block::own::{Own, Replaces};
use std::sync::OnceLock;

/// Makes replacements.
pub trait Host: Send + Sync {
    /// Whether the replacement may be made.
    ///
    /// # Errors
    /// The reason in a sentence without its subject.
    fn check(&self, own: Own) -> Result<(), String>;

    /// A replacement for a buffer of `pages` pages.
    fn replacement(&self, own: Own, pages: u32) -> Box<dyn Replaces>;
}

static HOST: OnceLock<&'static dyn Host> = OnceLock::new();

/// Makes `host` the one that makes replacements in this program; the first one stays.
pub fn set_host(host: &'static dyn Host) {
    // Two are not wanted, and a second call is no error.
    let _ = HOST.set(host);
}

/// The host of `own`.
///
/// # Errors
/// A sentence: there is none, or it refuses.
pub(crate) fn host(own: Own) -> Result<&'static dyn Host, String> {
    let refused = |why: &str| format!("buffer.python.policy = \"{}\": it {why}", own.name());
    let host = *HOST.get().ok_or_else(|| refused("is a policy in Python, and nobody runs Python here"))?;
    host.check(own).map_err(|why| refused(&why))?;
    Ok(host)
}

//! Policies that somebody else wrote, made by the program that hosts them.

use crate::parts::policy::{PlacementPolicy, VictimPolicy, WearPolicy};
use crate::FtlError;
use nandlab_block::own::{Own, Replaces};
use nandlab_nand::Geometry;
use std::sync::OnceLock;

/// What a new policy may know.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The device as the FTL sees it.
    pub geometry: Geometry,
    /// Pages for the host; 0 if the policy is not asked about pages.
    pub logical_pages: u32,
    /// The experiment's seed.
    pub seed: u64,
}

/// How a placement divides the open blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Divided {
    /// Blocks filled at the same time, at least 1.
    pub frontiers: u32,
    /// Whether moved pages may fill the host's blocks.
    pub shares: bool,
}

/// Makes policies.
pub trait Host: Send + Sync {
    /// Whether the policy may be made.
    ///
    /// # Errors
    /// The reason in a sentence without its subject, such as `is a name of nothing`.
    fn check(&self, own: Own) -> Result<(), String>;

    /// A victim policy.
    fn victim(&self, own: Own, about: &About) -> Box<dyn VictimPolicy>;

    /// A rule that moves data for the sake of wear.
    fn wear(&self, own: Own, about: &About) -> Box<dyn WearPolicy>;

    /// How a placement divides the open blocks.
    fn divided(&self, own: Own) -> Divided;

    /// A rule for what leaves a map in memory with room for `entries`.
    fn map_cache(&self, own: Own, about: &About, entries: u32) -> Box<dyn Replaces>;

    /// A placement.
    fn placement(&self, own: Own, about: &About) -> Box<dyn PlacementPolicy>;
}

static HOST: OnceLock<&'static dyn Host> = OnceLock::new();

/// Makes `host` the one that makes policies in this program; the first one stays.
pub fn set_host(host: &'static dyn Host) {
    // Two are not wanted, and a second call is no error.
    let _ = HOST.set(host);
}

/// The host of a policy; `key` is the option's place in an experiment, such as `ftl.page.victim`.
pub(crate) fn check(own: Own, key: &str) -> Result<(), FtlError> {
    let refused = |why: &str| Err(FtlError::Config(format!("{key}.python = \"{}\": it {why}", own.name())));
    match HOST.get() {
        None => refused("is a policy in Python, and nobody runs Python here"),
        Some(host) => host.check(own).or_else(|why| refused(&why)),
    }
}

/// The host, after [`check`] found one.
pub(crate) fn host() -> &'static dyn Host {
    *HOST.get().expect("the options were checked, and a policy has a host")
}

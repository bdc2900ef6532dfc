//! The options.

use super::idle::Idle;
use super::slc::{SlcCache, SlcFull};
use crate::parts::placement::{self, Placement};
use crate::parts::victim::{self, Victim, VictimPolicy};
use crate::parts::wear::{self, Wear, WearPolicy};
use crate::{Choice, Facts, FtlError, Trims, Variant};
use nandlab_nand::{Geometry, Time};

/// Options of the page map.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What consecutive pages of the host go to in turn, and what has frontiers, a reserve and victims of its own.
    pub stripe: Stripe,
    /// Consecutive pages of the host that one die takes before the next one, at least 1: with `device.timing.program_pages`,
    /// the pages that it programs at once. Default 1.
    pub stripe_pages: u32,
    /// Which block garbage collection empties next.
    pub victim: Victim,
    /// With `victim = "d_choices"`: blocks that are drawn, 1 to 4096. Default 5.
    pub choices: u32,
    /// With `victim = "windowed_greedy"`: the oldest blocks of a die, so many, are compared; at least 1. Default 64.
    pub window: u32,
    /// Which pages are kept in blocks apart. Each kind needs a block of every die that is being filled.
    pub placement: Placement,
    /// With `placement = "origin"`: kinds of pages of the host, 1 to 14. Default 8.
    pub streams: u32,
    /// With `placement = "dac"`: regions of temperature, 2 to 15. Default 6.
    pub regions: u32,
    /// With `placement = "pools"`: logical pages of the first pool, at least 1; all others are in the second one.
    pub pool_pages: u32,
    /// With `placement = "pools"`: blocks of each die for the first pool, at least 2. One of them is being filled, so that its
    /// over-provisioning is `(pool_blocks - 1) * pages_per_block * dies / pool_pages - 1`. Blocks of data of the second pool
    /// are all others but `reserve_blocks`.
    pub pool_blocks: u32,
    /// How the wear of blocks is evened out.
    pub wear: Wear,
    /// With static wear levelling: the difference in erases that is too much; with `wear = "bet"` the erases by set of
    /// blocks that was erased. At least 1. Default 20.
    pub wear_threshold: u32,
    /// With `wear = "bet"`: blocks of a set, at least 1. Default 1.
    pub wear_set: u32,
    /// A block is rewritten when the host reads a page of it in which so many bit errors are expected, in per cent of
    /// those that the ECC corrects, at most 100, where reads begin to be repeated. 0: never. Without `device.reliability`
    /// there are no such errors.
    pub refresh_percent: u32,
    /// Free blocks of each die at which garbage collection begins, so much room that relocation is always left with, in
    /// blocks or in what is left of those being filled; at least 1. With 1 a program failure or a torn page during
    /// relocation may leave no room; 2 is safe.
    pub reserve_blocks: u32,
    /// Blocks of each die beyond `reserve_blocks` that collection makes free while the host asks nothing: it takes the gaps
    /// between requests in which the whole device would rest, a copy or an erase at a time. What is begun when a request
    /// comes ends first; a victim that is not empty by then waits for the next gap. It takes a device that keeps time. 0: the
    /// host pays for all of it with its writes.
    pub idle_blocks: u32,
    /// With `idle_blocks` or `slc_cache`: how long the device rests before it takes that for a gap, in microseconds.
    pub idle_after_us: u32,
    /// How garbage collection tells the valid pages of a victim.
    pub valid_pages: ValidPages,
    /// Whether a flush makes trims survive a power cut, at the price of a note page for each segment of the
    /// address space that was trimmed. Without it there are no notes, and a mount brings back the newest copy of a
    /// trimmed page that is not erased yet: what it held last, or before that.
    pub durable_trim: bool,
    /// Whether pages of the host go to blocks of one bit a cell first, where the device has cells of several bits.
    pub slc_cache: SlcCache,
    /// With `slc_cache = "fixed"`: blocks of each die that hold one bit a cell, always the same; at least 2. Default 8.
    pub slc_blocks: u32,
    /// What becomes of a page of the host for which the blocks of one bit a cell have no room.
    pub slc_full: SlcFull,
    /// Seed of random choices: no option, the experiment's seed comes here.
    #[serde(skip)]
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            stripe: Stripe::Dies,
            stripe_pages: 1,
            victim: Victim::Greedy,
            choices: 5,
            window: 64,
            placement: Placement::Two,
            streams: 8,
            regions: 6,
            pool_pages: 0,
            pool_blocks: 0,
            wear: Wear::None,
            wear_threshold: 20,
            wear_set: 1,
            refresh_percent: 0,
            reserve_blocks: 2,
            idle_blocks: 0,
            idle_after_us: 1000,
            valid_pages: ValidPages::Bitmap,
            durable_trim: true,
            slc_cache: SlcCache::None,
            slc_blocks: 8,
            slc_full: SlcFull::Direct,
            seed: 0,
        }
    }
}

impl Config {
    /// Blocks of a die that are being filled at the same time.
    pub fn frontiers(&self) -> u32 {
        self.placement.frontiers(&self.placement_options()) + u32::from(self.wear.has_frontier())
    }

    /// What the options settle before the page map runs.
    pub(super) fn facts(&self) -> Facts {
        let number = |key, value: u32| (value > 0).then(|| Choice::number(key, value));
        let name = |key, value: Option<&str>| value.map(|value| Choice::name(key, value));
        let gaps = number("ftl.page.idle_blocks", self.idle_blocks);
        let levels_wear = name("ftl.page.wear", self.wear.mover());
        let pools = (self.placement == Placement::Pools).then_some("pools");
        Facts {
            trims: Trims::noted(self.durable_trim),
            slc: name("ftl.page.slc_cache", self.slc_cache.name()),
            refreshes: number("ftl.page.refresh_percent", self.refresh_percent),
            gaps: gaps.map(|choice| choice.beginning_with("ftl.page.idle_after_us")),
            levels_wear: levels_wear.map(|choice| choice.beginning_with("ftl.page.wear_threshold")),
            pools: name("ftl.page.placement", pools),
            over_planes: Some("ftl.page.stripe = \"planes\""),
            ..Facts::default()
        }
    }

    /// What is done in gaps between requests; `None` where nothing is.
    pub(super) fn idle(&self) -> Option<Idle> {
        let enough = if self.idle_blocks > 0 { self.reserve_blocks + self.idle_blocks } else { 0 };
        let works = self.idle_blocks > 0 || self.slc_cache != SlcCache::None;
        works.then_some(Idle { enough, after: 1000 * Time::from(self.idle_after_us) })
    }

    pub(super) fn placement_options(&self) -> placement::Options {
        let Self { streams, regions, pool_pages, pool_blocks, .. } = *self;
        placement::Options { streams, regions, pool_pages, pool_blocks }
    }

    pub(super) fn policy(&self) -> Box<dyn VictimPolicy> {
        self.victim.policy(&self.victim_options())
    }

    pub(super) fn victim_options(&self) -> victim::Options {
        victim::Options { choices: self.choices, window: self.window, seed: self.seed }
    }

    pub(super) fn wear_policy(&self, geometry: &Geometry) -> Option<Box<dyn WearPolicy>> {
        let options = wear::Options { threshold: self.wear_threshold, set_blocks: self.wear_set, seed: self.seed };
        self.wear.policy(geometry, &options)
    }

    /// Checks the numbers that policies ask for.
    pub(super) fn check(&self) -> Result<(), FtlError> {
        let most_streams = placement::MOST_FRONTIERS - 1;
        for (key, given, least, most) in [
            ("choices", self.choices, 1, victim::MOST_CHOICES),
            ("window", self.window, 1, u32::MAX),
            ("streams", self.streams, 1, most_streams),
            ("regions", self.regions, 2, placement::MOST_FRONTIERS),
            ("stripe_pages", self.stripe_pages, 1, 65_536),
            ("wear_threshold", self.wear_threshold, 1, u32::MAX),
            ("wear_set", self.wear_set, 1, u32::MAX),
            ("refresh_percent", self.refresh_percent, 0, 100),
        ] {
            if !(least..=most).contains(&given) {
                let upto = if most == u32::MAX { String::new() } else { format!(" and at most {most}") };
                return Err(FtlError::Config(format!("ftl.page.{key} = {given}: it is at least {least}{upto}")));
            }
        }
        Ok(())
    }
}

/// What the page map fills side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stripe {
    /// Dies: as many blocks of the host are being filled as there are dies.
    #[default]
    Dies,
    /// Planes, those of a die one after the other: the way to planes that overlap or program together. Wherever the options
    /// say die, this is a plane.
    Planes,
}

impl Stripe {
    /// The device as the page map sees it: what it fills side by side is a die.
    pub(super) fn view(self, geometry: &Geometry) -> Geometry {
        match self {
            Self::Dies => *geometry,
            Self::Planes => geometry.planes_as_dies(),
        }
    }

    /// What sentences call a part of the device that is filled by itself.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Dies => "die",
            Self::Planes => "plane",
        }
    }
}

/// How garbage collection tells the valid pages of a victim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValidPages {
    /// By a bitmap in memory, one bit a physical page.
    #[default]
    Bitmap,
    /// By reading all spare areas of the victim and comparing them with the map; each read is charged.
    Spare,
}

/// The sets of options that the proofs run.
pub(super) fn variants() -> Vec<Variant<Config>> {
    let usual = Config::default;
    let victim = |victim| Config { victim, window: 4, choices: 2, ..usual() };
    let placement = |placement| Config { placement, streams: 2, regions: 3, ..usual() };
    let pools = |pool_pages| Config { pool_pages, pool_blocks: 2, ..placement(Placement::Pools) };
    let wear = |wear| Config { wear, wear_threshold: 2, wear_set: 2, ..usual() };
    let slc = |slc_cache, slc_full| Config { slc_cache, slc_full, slc_blocks: 2, ..usual() };
    vec![
        Variant::tight("reserve_1", Config { reserve_blocks: 1, ..usual() }),
        Variant::safe("refresh", Config { refresh_percent: 100, ..usual() }),
        Variant::safe("reserve_3", Config { reserve_blocks: 3, ..usual() }),
        Variant::safe("spare", Config { valid_pages: ValidPages::Spare, ..usual() }),
        Variant::safe("forget_trims", Config { durable_trim: false, ..usual() }),
        Variant::safe("idle", Config { idle_blocks: 3, ..usual() }),
        Variant::safe("planes", Config { stripe: Stripe::Planes, ..usual() }),
        Variant::safe("fifo", victim(Victim::Fifo)),
        Variant::safe("d_choices", Config { wear: Wear::Dynamic, ..victim(Victim::DChoices) }),
        Variant::safe("windowed_greedy", Config { placement: Placement::One, ..victim(Victim::WindowedGreedy) }),
        Variant::safe("cat", victim(Victim::Cat)),
        Variant::safe("origin", placement(Placement::Origin)),
        Variant::safe("dac", Config { victim: Victim::CostBenefit, ..placement(Placement::Dac) }),
        Variant::safe("sepbit", Config { victim: Victim::CostBenefitFlash, ..placement(Placement::Sepbit) }),
        Variant::safe("pools", pools(2)),
        Variant::safe("pools_fifo", Config { victim: Victim::Fifo, wear: Wear::Dynamic, ..pools(2) }),
        Variant::safe("threshold", wear(Wear::Threshold)),
        Variant::safe("bet", Config { victim: Victim::Random, ..wear(Wear::Bet) }),
        Variant::safe("dual_pool", Config { valid_pages: ValidPages::Spare, ..wear(Wear::DualPool) }),
        Variant::safe("slc_fixed", slc(SlcCache::Fixed, SlcFull::Direct)),
        Variant::safe(
            "slc_fixed_fold",
            Config { placement: Placement::One, slc_blocks: 3, ..slc(SlcCache::Fixed, SlcFull::Fold) },
        ),
        Variant::safe("slc_dynamic", Config { wear: Wear::Dynamic, ..slc(SlcCache::Dynamic, SlcFull::Direct) }),
        Variant::safe(
            "slc_dynamic_fold",
            Config { valid_pages: ValidPages::Spare, ..slc(SlcCache::Dynamic, SlcFull::Fold) },
        ),
    ]
}

//! The options.

use super::background::Background;
use super::idle::{Collect, Idle};
use super::room::{balance_pages, usable_pages};
use super::slc::{Dynamic, Fixed, SlcCache, SlcFull};
use super::stripe::{ByAddress, Stripe};
use crate::future::Future;
use crate::parts::placement::{Dac, FdpOptions, Handles, Midas, Oracle, Placement, Streams, TwoPools, Warcip};
use crate::parts::trim_notes::TrimNotes;
use crate::parts::victim::{DChoices, Victim, WindowedGreedy};
use crate::parts::wear::{Bet, DualPool, Threshold, Wear};
use crate::{error, Choice, Facts, FtlError, Trims, Variant};
use nandlab_nand::{Geometry, Rules};

/// The page map's options.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The parts filled side by side, each with its own frontiers, reserve and victims, and which one takes a host page.
    pub stripe: Stripe,
    /// Which block garbage collection empties next.
    pub victim: Victim,
    /// Which pages are kept in blocks apart. Each kind needs an open block on every die.
    pub placement: Placement,
    /// How the wear is evened out between blocks.
    pub wear: Wear,
    /// Expected bit errors in a page at which a read by the host has its block rewritten, in per cent of the errors
    /// that the ECC corrects; at most 100, where reads begin to be repeated. 0: never. Without `device.reliability`
    /// there are no such errors.
    pub refresh_percent: u32,
    /// Free blocks on each die at which garbage collection begins. Relocation always has so much room left, in free
    /// blocks or in the rest of open ones; at least 1. With 1, a program failure or a torn page during relocation may
    /// leave no room; 2 is safe.
    pub reserve_blocks: u32,
    /// When a victim's pages move: a few with each host page, or all at once.
    pub collection: Collection,
    /// Work done while the host asks nothing. It takes a device that keeps time.
    pub idle: Idle,
    /// How garbage collection tells a victim's valid pages.
    pub valid_pages: ValidPages,
    /// Whether a flush makes trims survive a power cut. This costs a note page per trimmed segment of the address
    /// space. Without it there are no notes, and a mount brings back a trimmed page's newest copy not erased yet: its
    /// last contents, or older ones.
    pub durable_trim: bool,
    /// Whether host pages go to blocks with one bit per cell first, if the device has several bits per cell.
    pub slc_cache: SlcCache,
    /// Seed for random choices: no option, the experiment's seed comes here.
    #[serde(skip)]
    pub seed: u64,
    /// What `placement.oracle` knows: no option, a run before this one gives it.
    #[serde(skip)]
    pub future: Future,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            stripe: Stripe::default(),
            victim: Victim::Greedy,
            placement: Placement::Two,
            wear: Wear::None,
            refresh_percent: 0,
            reserve_blocks: 2,
            collection: Collection::Tokens,
            idle: Idle::None,
            valid_pages: ValidPages::Bitmap,
            durable_trim: true,
            slc_cache: SlcCache::None,
            seed: 0,
            future: Future::default(),
        }
    }
}

impl Config {
    /// The options of a scheme that has no others: no placement by kinds of pages, no wear leveling, no work in gaps.
    pub(crate) fn plain(victim: Victim, reserve_blocks: u32, seed: u64) -> Self {
        Self { victim, reserve_blocks, seed, ..Self::default() }
    }

    /// The same with another time for collection.
    pub(crate) fn collecting(self, collection: Collection) -> Self {
        Self { collection, ..self }
    }

    /// Blocks on a die being filled at the same time.
    pub fn frontiers(&self) -> u32 {
        self.placement.frontiers() + u32::from(self.wear.has_frontier())
    }

    /// The facts settled by the options before the page map runs.
    pub(crate) fn facts(&self) -> Facts {
        let name = |key, value: Option<&str>| value.map(|value| Choice::name(key, value));
        let refreshes = (self.refresh_percent > 0).then_some(self.refresh_percent);
        let gaps = self.idle.collected().map(|blocks| Choice::number("ftl.page.idle.collect.blocks", blocks));
        let pools = matches!(self.placement, Placement::Pools(_)).then_some("pools");
        Facts {
            trims: Trims::noted(self.durable_trim),
            slc: name("ftl.page.slc_cache", self.slc_cache.name()),
            refreshes: refreshes.map(|percent| Choice::number("ftl.page.refresh_percent", percent)),
            gaps: gaps.map(|choice| choice.beginning_with("ftl.page.idle.collect.after_us")),
            levels_wear: self.wear.choice("ftl.page.wear"),
            pools: name("ftl.page.placement", pools),
            over_planes: Some(match self.stripe {
                Stripe::Address(_) => "ftl.page.stripe.address.order = \"PCWD\"",
                Stripe::Dies(_) | Stripe::Planes => "ftl.page.stripe = \"planes\"",
            }),
            placements: self.placement.fdp().map(FdpOptions::placements),
            placed_origins: self.placement.fdp().map_or_else(Vec::new, FdpOptions::placed_origins),
            ..Facts::default()
        }
    }

    /// Sentences about options without effect on a device with `geometry`.
    pub(crate) fn notices(&self, geometry: &Geometry, logical_pages: u32) -> Vec<String> {
        let mut notices = Vec::new();
        if self.stripe == Stripe::Planes && geometry.shape().planes_per_die == 1 {
            notices.push("ftl.page.stripe = \"planes\" has no effect: a die of the device has one plane".to_owned());
        }
        if matches!(self.stripe, Stripe::Address(_)) && geometry.planes() == 1 {
            notices.push("ftl.page.stripe.address has no effect: the device has one plane".to_owned());
        }
        if self.stripe.pages() > 1 && geometry.dies() == 1 {
            let pages = self.stripe.pages();
            notices.push(format!("ftl.page.stripe.dies.pages = {pages} has no effect: the device has one die"));
        }
        notices.extend(self.never_in_background(geometry));
        notices.extend(self.never_enough(&self.stripe.view(geometry), logical_pages));
        notices.extend(self.notice_of_pools(logical_pages));
        notices
    }

    /// Collection in gaps that never ends, since it waits for more free blocks than a full device has.
    fn never_enough(&self, geometry: &Geometry, logical_pages: u32) -> Option<String> {
        let holding = logical_pages.div_ceil(geometry.dies()).div_ceil(geometry.pages_per_block());
        let others = holding + self.reserve_blocks + self.kept_open(geometry).unwrap_or(0);
        let most = (geometry.blocks_per_die() - self.fixed_slc_blocks()).saturating_sub(others);
        let blocks = self.idle.collected().filter(|&blocks| blocks > most)?;
        Some(format!(
            "ftl.page.idle.collect.blocks = {blocks}: on a full device {} of a {} can be free beyond the reserve at most, so \
             every gap is spent moving pages",
            error::blocks(most),
            self.stripe.unit()
        ))
    }

    /// Checks the numbers that need no device.
    pub(super) fn check(&self) -> Result<(), FtlError> {
        self.victim.check("ftl.page.victim")?;
        self.placement.check("ftl.page.placement")?;
        self.wear.check("ftl.page.wear")?;
        self.idle.check()?;
        self.check_background()?;
        error::in_range("ftl.page.refresh_percent", self.refresh_percent, 0..=100)
    }
}

impl Config {
    /// The most logical pages on a device.
    ///
    /// # Errors
    /// [`FtlError::Config`] for options that do not work there.
    pub(crate) fn most_pages(&self, geometry: &Geometry, rules: &Rules) -> Result<u32, FtlError> {
        self.check()?;
        self.stripe.check(geometry)?;
        let geometry = &self.stripe.view(geometry);
        self.check_units(geometry, rules)?;
        self.check_slc(geometry, rules)?;
        self.check_padding(geometry, rules)?;
        let (reserve, blocks) = (self.reserve_blocks, geometry.blocks_per_die() - self.fixed_slc_blocks());
        let frontiers = self.kept_open(geometry)?;
        if reserve == 0 {
            return Err(FtlError::Config(
                "ftl.page.reserve_blocks = 0 would deadlock: relocation needs at least 1 free block on each die".into(),
            ));
        }
        let others = frontiers + 2;
        if blocks < reserve.saturating_add(others) {
            return Err(FtlError::Config(format!(
                "ftl.page.reserve_blocks = {reserve} would deadlock: a {} of this device has {}, and \
                 the reserve, {frontiers} that are being filled, one of data and one to collect need {}{}",
                self.stripe.unit(),
                error::blocks(blocks),
                reserve.saturating_add(others),
                error::at_most("ftl.page.reserve_blocks", blocks.saturating_sub(others)),
            )));
        }
        let dies = geometry.dies();
        let of_block = geometry.pages_per_block() - self.padding(rules);
        let usable = usable_pages(of_block, blocks, reserve + frontiers);
        let pages = dies * usable.saturating_sub(balance_pages(geometry));
        let pages = pages.min(self.pool_pages_at_most(geometry, blocks)?);
        let notes = TrimNotes::most_pages_for(geometry, pages, self.durable_trim);
        if pages <= notes && self.padding(rules) > 0 {
            return Err(self.no_room_for_pairs(rules));
        }
        Ok(pages - notes)
    }

    /// Refuses more logical pages than a device holds.
    pub(crate) fn refuse_capacity(&self, geometry: &Geometry, logical_pages: u32, most: u32) -> Result<(), FtlError> {
        if logical_pages <= most {
            return Ok(());
        }
        let part = match self.placement {
            Placement::Pools(_) => ", or change ftl.page.placement.pools.blocks",
            _ => "",
        };
        Err(FtlError::Config(format!(
            "{logical_pages} logical pages are more than a page map with ftl.page.reserve_blocks = {} can export on \
             this device ({most} of {} pages); take a smaller capacity, a larger device or a smaller reserve{part}",
            self.reserve_blocks,
            geometry.pages()
        )))
    }
}

/// When garbage collection moves a victim's pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Collection {
    /// By tokens: each host page to a die moves as many pages as keep the die's free space constant.
    #[default]
    Tokens,
    /// At once: the host page that finds too few free blocks waits until the victim is empty.
    AtOnce,
    /// Early: a host page that finds few free blocks empties a victim at once, if the victim has enough invalid pages.
    Background(Background),
    /// When the host needs a block: it waits until victims are empty. For other designs' schemes, no option for `page`.
    #[serde(skip)]
    Late,
}

/// How garbage collection tells a victim's valid pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValidPages {
    /// By a bitmap in memory, one bit a physical page.
    #[default]
    Bitmap,
    /// By reading all the victim's spare areas and comparing them with the map; each read is charged.
    Spare,
}

fn two_handles() -> FdpOptions {
    FdpOptions { handles: 2, ..FdpOptions::default() }
}

/// The option sets for the proofs.
pub(crate) fn variants() -> Vec<Variant<Config>> {
    let usual = Config::default;
    let victim = |victim| Config { victim, ..usual() };
    let placement = |placement| Config { placement, ..usual() };
    let pools = |pages| placement(Placement::Pools(TwoPools { pages, blocks: 2 }));
    let wear = |wear| Config { wear, ..usual() };
    let fixed =
        |blocks, full| Config { slc_cache: SlcCache::Fixed(Fixed { blocks, full, ..Fixed::default() }), ..usual() };
    let dynamic = |full| Config { slc_cache: SlcCache::Dynamic(Dynamic { full, ..Dynamic::default() }), ..usual() };
    vec![
        Variant::tight("reserve_1", Config { reserve_blocks: 1, ..usual() }),
        Variant::safe("refresh", Config { refresh_percent: 100, ..usual() }),
        Variant::safe("reserve_3", Config { reserve_blocks: 3, ..usual() }),
        Variant::safe("spare", Config { valid_pages: ValidPages::Spare, ..usual() }),
        Variant::safe("forget_trims", Config { durable_trim: false, ..usual() }),
        Variant::safe("at_once", Config { collection: Collection::AtOnce, ..usual() }),
        Variant::safe("background", Config { collection: Collection::Background(Background::default()), ..usual() }),
        Variant::safe("idle", Config { idle: Idle::Collect(Collect { blocks: 3, ..Collect::default() }), ..usual() }),
        Variant::safe("planes", Config { stripe: Stripe::Planes, ..usual() }),
        Variant::safe("address", Config { stripe: Stripe::Address(ByAddress::default()), ..usual() }),
        Variant::safe("fifo", victim(Victim::Fifo)),
        Variant::safe("d_choices", Config { wear: Wear::Dynamic, ..victim(Victim::DChoices(DChoices { choices: 2 })) }),
        Variant::safe(
            "windowed_greedy",
            Config { placement: Placement::One, ..victim(Victim::WindowedGreedy(WindowedGreedy { window: 4 })) },
        ),
        Variant::safe("cat", victim(Victim::Cat)),
        Variant::safe("origin", placement(Placement::Origin(Streams { streams: 2 }))),
        Variant::safe("dac", Config { victim: Victim::CostBenefit, ..placement(Placement::Dac(Dac { regions: 3 })) }),
        Variant::safe("sepbit", Config { victim: Victim::CostBenefitFlash, ..placement(Placement::Sepbit) }),
        Variant::safe("oracle", placement(Placement::Oracle(Oracle { classes: 2, ..Oracle::default() }))),
        Variant::safe("warcip", placement(Placement::Warcip(Warcip { clusters: 2 }))),
        Variant::safe(
            "midas",
            Config {
                victim: Victim::CostBenefit,
                ..placement(Placement::Midas(Midas { groups: 3, epoch: 1, ..Midas::default() }))
            },
        ),
        Variant::safe("pools", pools(2)),
        Variant::safe("pools_fifo", Config { victim: Victim::Fifo, wear: Wear::Dynamic, ..pools(2) }),
        Variant::safe("fdp", placement(Placement::Fdp(two_handles()))),
        Variant::safe(
            "fdp_isolated",
            Config {
                victim: Victim::CostBenefit,
                wear: Wear::Dynamic,
                ..placement(Placement::Fdp(FdpOptions { persistent: Handles::ALL, unit_blocks: 2, ..two_handles() }))
            },
        ),
        Variant::safe("threshold", wear(Wear::Threshold(Threshold { erases: 2 }))),
        Variant::safe("bet", Config { victim: Victim::Random, ..wear(Wear::Bet(Bet { erases: 2, set_blocks: 2 })) }),
        Variant::safe(
            "dual_pool",
            Config { valid_pages: ValidPages::Spare, ..wear(Wear::DualPool(DualPool { erases: 2 })) },
        ),
        Variant::safe("slc_fixed", fixed(2, SlcFull::Direct)),
        Variant::safe("slc_fixed_fold", Config { placement: Placement::One, ..fixed(3, SlcFull::Fold) }),
        Variant::safe("slc_dynamic", Config { wear: Wear::Dynamic, ..dynamic(SlcFull::Direct) }),
        Variant::safe("slc_dynamic_fold", Config { valid_pages: ValidPages::Spare, ..dynamic(SlcFull::Fold) }),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::stripe::OverDies;
    use super::*;
    use nandlab_nand::Shape;

    fn told(config: &Config, planes_per_die: u32) -> Vec<String> {
        let shape = Shape {
            channels: 1,
            dies_per_channel: 1,
            planes_per_die,
            blocks_per_plane: 16,
            pages_per_block: 16,
            page_bytes: 4096,
            spare_bytes: 128,
        };
        config.notices(&Geometry::new(shape).unwrap(), planes_per_die * 8 * 16)
    }

    #[test]
    fn planes_of_a_die_with_one_are_told() {
        assert_eq!(told(&Config::default(), 1), [""; 0]);
        let planes = Config { stripe: Stripe::Planes, ..Config::default() };
        assert_eq!((told(&planes, 1).len(), told(&planes, 2).len()), (1, 0));
        let dies = Config { stripe: Stripe::Dies(OverDies { pages: 2 }), ..Config::default() };
        assert_eq!(told(&dies, 1), ["ftl.page.stripe.dies.pages = 2 has no effect: the device has one die"]);
    }

    /// 16 blocks per plane: 8 full of data, the reserve of 2 and 2 open ones leave 4 free; with two planes per die 12.
    #[test]
    fn more_free_blocks_than_a_full_device_can_have_are_told() {
        for (stripe, planes_per_die, unit, most) in
            [(Stripe::default(), 1, "die", 4), (Stripe::default(), 2, "die", 12), (Stripe::Planes, 2, "plane", 4)]
        {
            let idle = |blocks| {
                let idle = Idle::Collect(Collect { blocks, ..Collect::default() });
                told(&Config { stripe, idle, ..Config::default() }, planes_per_die)
            };
            assert_eq!(idle(most), [""; 0]);
            let said = format!(
                "ftl.page.idle.collect.blocks = {}: on a full device {most} blocks of a {unit} can be free beyond the reserve",
                most + 1
            );
            assert!(idle(most + 1)[0].starts_with(&said), "{:?}", idle(most + 1));
        }
    }
}

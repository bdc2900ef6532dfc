//! Options that are set without effect, told in sentences: a sweep may well set them.

use super::config::{Config, Stripe};
use super::slc::SlcCache;
use crate::error;
use crate::parts::placement::Placement;
use crate::parts::victim::Unread;
use crate::parts::wear::Wear;
use nandlab_nand::Geometry;

/// The options in `config` without effect on a device with `geometry`.
pub(super) fn notices(config: &Config, geometry: &Geometry, logical_pages: u32) -> Vec<String> {
    let usual = Config::default();
    let has_cache = config.slc_cache != SlcCache::None;
    let has_gaps = config.idle_blocks > 0 || has_cache;
    let has_pools = config.placement == Placement::Pools;
    let compares = matches!(config.wear, Wear::Threshold | Wear::Bet | Wear::DualPool);
    // Key, its value, the default, whether it is read, and the setting that would read it.
    let amounts = [
        ("streams", config.streams, usual.streams, config.placement == Placement::Origin, "placement = \"origin\""),
        ("regions", config.regions, usual.regions, config.placement == Placement::Dac, "placement = \"dac\""),
        ("pool_pages", config.pool_pages, usual.pool_pages, has_pools, "placement = \"pools\""),
        ("pool_blocks", config.pool_blocks, usual.pool_blocks, has_pools, "placement = \"pools\""),
        (
            "wear_threshold",
            config.wear_threshold,
            usual.wear_threshold,
            compares,
            "wear = \"threshold\", \"bet\" or \"dual_pool\"",
        ),
        ("wear_set", config.wear_set, usual.wear_set, config.wear == Wear::Bet, "wear = \"bet\""),
        ("idle_after_us", config.idle_after_us, usual.idle_after_us, has_gaps, "idle_blocks or slc_cache"),
        (
            "slc_blocks",
            config.slc_blocks,
            usual.slc_blocks,
            config.slc_cache == SlcCache::Fixed,
            "slc_cache = \"fixed\"",
        ),
    ];
    let mut unread = config.victim_options().unread(config.victim, &usual.victim_options());
    unread.extend(
        amounts
            .into_iter()
            .filter(|&(_, value, usual, is_read, _)| value != usual && !is_read)
            .map(|(key, given, _, _, reader)| Unread { key, given, reader }),
    );
    let mut notices: Vec<String> = unread.iter().map(|each| each.told("page")).collect();
    if config.slc_full != usual.slc_full && !has_cache {
        notices.push("ftl.page.slc_full = \"fold\" has no effect: it counts only with slc_cache".to_owned());
    }
    if config.stripe == Stripe::Planes && geometry.shape().planes_per_die == 1 {
        notices.push("ftl.page.stripe = \"planes\" has no effect: a die of the device has one plane".to_owned());
    }
    if config.stripe_pages > 1 && (config.stripe == Stripe::Planes || geometry.dies() == 1) {
        let why = "it counts only with stripe = \"dies\" on a device of several dies";
        notices.push(format!("ftl.page.stripe_pages = {} has no effect: {why}", config.stripe_pages));
    }
    notices.extend(never_enough(config, &config.stripe.view(geometry), logical_pages));
    notices
}

/// Collection in gaps that never ends, since it waits for more free blocks than a full device has.
fn never_enough(config: &Config, geometry: &Geometry, logical_pages: u32) -> Option<String> {
    let holding = logical_pages.div_ceil(geometry.dies()).div_ceil(geometry.pages_per_block());
    let others = holding + config.reserve_blocks + config.filled_blocks();
    let most = (geometry.blocks_per_die() - config.fixed_slc_blocks()).saturating_sub(others);
    (config.idle_blocks > most).then(|| {
        format!(
            "ftl.page.idle_blocks = {}: on a full device {} of a {} can be free beyond the reserve at most, so every gap \
             is spent moving pages",
            config.idle_blocks,
            error::blocks(most),
            config.stripe.unit()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::slc::SlcFull;
    use super::*;
    use crate::parts::victim::Victim;
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
        notices(config, &Geometry::new(shape).unwrap(), planes_per_die * 8 * 16)
    }

    #[test]
    fn what_nothing_reads_is_told_and_what_something_reads_is_not() {
        let usual = Config::default;
        assert_eq!(told(&usual(), 1), [""; 0]);
        // The configuration, the unread key, and the setting that reads it.
        type Change = fn(&mut Config);
        let cases: [(Config, &str, Change); 10] = [
            (Config { choices: 6, ..usual() }, "choices = 6", |config| config.victim = Victim::DChoices),
            (Config { window: 65, ..usual() }, "window = 65", |config| config.victim = Victim::WindowedGreedy),
            (Config { streams: 3, ..usual() }, "streams = 3", |config| config.placement = Placement::Origin),
            (Config { regions: 3, ..usual() }, "regions = 3", |config| config.placement = Placement::Dac),
            (Config { pool_blocks: 3, ..usual() }, "pool_blocks = 3", |config| config.placement = Placement::Pools),
            (Config { wear_threshold: 3, ..usual() }, "wear_threshold = 3", |config| config.wear = Wear::DualPool),
            (Config { wear_set: 3, ..usual() }, "wear_set = 3", |config| config.wear = Wear::Bet),
            (Config { idle_after_us: 0, ..usual() }, "idle_after_us = 0", |config| config.idle_blocks = 1),
            (Config { slc_blocks: 3, ..usual() }, "slc_blocks = 3", |config| config.slc_cache = SlcCache::Fixed),
            (Config { slc_full: SlcFull::Fold, ..usual() }, "slc_full = \"fold\"", |config| {
                config.slc_cache = SlcCache::Dynamic;
            }),
        ];
        for (mut config, says, read) in cases {
            let said = told(&config, 1);
            assert!(said.len() == 1 && said[0].starts_with(&format!("ftl.page.{says} has no effect: ")), "{said:?}");
            read(&mut config);
            assert_eq!(told(&config, 1), [""; 0], "{says}");
        }
    }

    #[test]
    fn planes_of_a_die_with_one_are_told() {
        let planes = Config { stripe: Stripe::Planes, ..Config::default() };
        assert_eq!((told(&planes, 1).len(), told(&planes, 2).len()), (1, 0));
    }

    /// 16 blocks per plane: 8 full of data, the reserve of 2 and 2 open ones leave 4 free; with two planes per die 12.
    #[test]
    fn more_free_blocks_than_a_full_device_can_have_are_told() {
        for (stripe, planes_per_die, unit, most) in
            [(Stripe::Dies, 1, "die", 4), (Stripe::Dies, 2, "die", 12), (Stripe::Planes, 2, "plane", 4)]
        {
            let idle = |idle_blocks| told(&Config { stripe, idle_blocks, ..Config::default() }, planes_per_die);
            assert_eq!(idle(most), [""; 0]);
            let said = format!(
                "ftl.page.idle_blocks = {}: on a full device {most} blocks of a {unit} can be free beyond the reserve",
                most + 1
            );
            assert!(idle(most + 1)[0].starts_with(&said), "{:?}", idle(most + 1));
        }
    }
}

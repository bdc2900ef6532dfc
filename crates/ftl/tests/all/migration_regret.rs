//! The cost of the block recycling rules against the best schedule of merges and migrations, found in hindsight.
//!
//! The streams are page writes to one logical block. The optimum is strict: a dynamic program over every point with a
//! full log block, since the state after a merge is only the position in the stream. Its costs are the model's. The
//! same model matches the FTL to the last copy and erase on equal schedules.
//!
//! `NANDLAB_BLESS=1 cargo test --release -p nandlab-ftl --test all migration_regret::` writes the tables of
//! docs/papers/migration-optimum.md.

use crate::lab::mount;
use nandlab_block::{BlockDevice, Op, Payload, Request};
use nandlab_ftl::migration::{Adaptive, Config, Limit, Rule};
use nandlab_ftl::parts::store::{EraseWhen, MapUpdate};
use nandlab_nand::plain::WithContent;
use nandlab_nand::random::Random;
use nandlab_nand::{Counting, Geometry, Rules};
use std::fmt::Write as _;
use std::path::Path;

/// Pages per block.
const PAGES: u32 = 128;

/// An erase in copies, on the paper's chip.
const ERASE: f64 = 1.33;

/// Writes per stream.
const WRITES: usize = 10_000;

const MERGE: f64 = 2.0 * ERASE + PAGES as f64;

/// A stream of page writes to a logical block.
struct Stream {
    name: &'static str,
    pages: Vec<u32>,
}

/// A schedule's cost. At each full log block `merges` gets its valid pages and the migrations since the last merge.
fn cost_of_schedule(stream: &[u32], mut merges: impl FnMut(u32, u32) -> bool) -> f64 {
    let (mut at, mut cost, mut mask, mut migrations) = (0, 0.0, 0u128, 0);
    loop {
        let end = at + (PAGES - mask.count_ones()) as usize;
        if end >= stream.len() {
            return cost;
        }
        mask = stream[at..end].iter().fold(mask, |mask, page| mask | 1 << page);
        at = end;
        let valid = mask.count_ones();
        if valid == PAGES || merges(valid, migrations) {
            (cost, mask, migrations) = (cost + MERGE, 0, 0);
        } else {
            (cost, migrations) = (cost + ERASE + f64::from(valid), migrations + 1);
        }
    }
}

/// The lowest cost over all schedules.
fn optimum(stream: &[u32]) -> f64 {
    // By position of the last merge: the least cost of the rest.
    let mut best = vec![0.0; stream.len()];
    for start in (0..stream.len()).rev() {
        let (mut at, mut cost, mut mask, mut least) = (start, 0.0, 0u128, f64::INFINITY);
        // A cost carried on never gets lower.
        while cost < least {
            let end = at + (PAGES - mask.count_ones()) as usize;
            if end >= stream.len() {
                least = cost;
                break;
            }
            mask = stream[at..end].iter().fold(mask, |mask, page| mask | 1 << page);
            at = end;
            least = least.min(cost + MERGE + best[at]);
            let valid = mask.count_ones();
            if valid == PAGES {
                break;
            }
            cost += ERASE + f64::from(valid);
        }
        best[start] = least;
    }
    best[0]
}

/// The FTL's copies and erases for a stream, after the logical block was written once in order.
fn cost_of_ftl(stream: &[u32], config: &Config) -> f64 {
    let geometry = Geometry::single_die(12, PAGES, 512).expect("a geometry");
    let nand: Counting = Counting::new(geometry, Rules::default());
    let mut disk = mount(WithContent::new(nand), 2 * PAGES, config);
    let mut write = |page: u32| {
        disk.submit(&Request::new(Op::Write, page.into(), 1), Payload::None).expect("it writes");
    };
    (0..PAGES).for_each(&mut write);
    stream.iter().copied().for_each(&mut write);
    assert_eq!(disk.events().switch_merges, 1, "the stream is never in order");
    let total = disk.ctx().matrix().total();
    total.copies as f64 + ERASE * total.erases()
}

/// Blocks are erased as they become free and no map page is written, so all costs are the model's.
fn config(recycling: Rule) -> Config {
    Config { recycling, erase_when: EraseWhen::OnFree, map_update: MapUpdate::Oob, ..Config::default() }
}

fn adaptive(patience: f64) -> Rule {
    Rule::Adaptive(Adaptive { patience, erase_copies: ERASE })
}

/// A stream of writes; `page` draws each page from the write's number.
fn stream(name: &'static str, seed: u64, mut page: impl FnMut(&mut Random, usize) -> u64) -> Stream {
    let mut random = Random::new(seed);
    let pages = (0..WRITES).map(|at| page(&mut random, at) as u32 % PAGES).collect();
    Stream { name, pages }
}

/// Streams with one behaviour from beginning to end: `patience` was chosen on these.
fn steady() -> Vec<Stream> {
    let growing = |name, seed, chance: f64| {
        // Two pages over and over, and now and then the next one, written only once.
        let mut next = 2;
        stream(name, seed, move |random, _| {
            if random.chance(chance) {
                next = if next == 120 { 2 } else { next + 1 };
                return next;
            }
            random.below(2)
        })
    };
    vec![
        stream("one page", 1, |_, _| 5),
        stream("8 pages evenly", 2, |random, _| random.below(8)),
        stream("40 pages evenly", 3, |random, _| random.below(40)),
        stream("55 pages evenly", 4, |random, _| random.below(55)),
        stream("all pages evenly", 5, |random, _| random.below(128)),
        growing("growing by 0.1", 6, 0.1 / 128.0),
        growing("growing by 1", 7, 1.0 / 128.0),
        growing("growing by 8", 8, 8.0 / 128.0),
    ]
}

/// Streams that change: nothing was chosen on these.
fn changing() -> Vec<Stream> {
    let zipf = |random: &mut Random, pages: u64| {
        // Page k with a weight of 1 / k, by rejection.
        loop {
            let page = random.below(pages);
            if random.chance(1.0 / (page + 1) as f64) {
                return page;
            }
        }
    };
    let mut cursor = 0;
    vec![
        stream("format, then an event recorder", 21, |random, at| match at {
            0..60 => at as u64,
            _ => 60 + random.below(2),
        }),
        stream("format, then growth", 22, |random, at| match at {
            0..60 => at as u64,
            _ if random.chance(0.005) => 60 + at as u64 / 150,
            _ => random.below(3),
        }),
        stream("4 hot pages, others every 800 writes", 23, |random, at| 4 * (at as u64 / 800) + random.below(4)),
        stream("many pages, then few, then many", 24, |random, at| {
            random.below(match at / 1_500 % 3 {
                0 => 90,
                1 => 3,
                _ => 30,
            })
        }),
        stream(
            "2 hot pages, bursts over all",
            25,
            |random, at| {
                if at % 2_000 < 200 {
                    random.below(128)
                } else {
                    random.below(2)
                }
            },
        ),
        stream("skewed, another order every 1,500 writes", 26, |random, at| {
            zipf(random, 128) * 5 + 37 * (at as u64 / 1_500)
        }),
        stream("a cursor beside a hot page, fast and slow", 27, |random, at| {
            let chance = if at / 2_000 % 2 == 0 { 0.002 } else { 0.05 };
            cursor += u64::from(random.chance(chance));
            if random.chance(0.5) {
                1 + cursor % 127
            } else {
                0
            }
        }),
    ]
}

/// Each rule's cost for a stream, as a multiple of the optimum.
struct Costs {
    merge: f64,
    cost: f64,
    limit: f64,
    /// The best fixed limit for this stream, and its cost.
    best_limit: (u32, f64),
    macroscopic: f64,
    adaptive: f64,
    optimum: f64,
}

fn costs(stream: &Stream) -> Costs {
    let pages = &stream.pages;
    let optimum = optimum(pages);
    let share = |recycling| cost_of_ftl(pages, &config(recycling)) / optimum;
    let limited = |limit| {
        let cost = cost_of_schedule(pages, |valid, migrations| 2 * valid >= PAGES || migrations >= limit);
        (limit, cost / optimum)
    };
    let limits = (1..=256).map(limited);
    Costs {
        merge: share(Rule::Merge),
        cost: share(Rule::Cost),
        limit: share(Rule::Limit(Limit::default())),
        best_limit: limits.min_by(|a, b| a.1.total_cmp(&b.1)).expect("limits were tried"),
        macroscopic: share(Rule::default()),
        adaptive: share(adaptive(Adaptive::default().patience)),
        optimum,
    }
}

fn table(streams: &[Stream]) -> String {
    let mut table = String::from(
        "| stream | optimum | adaptive | macro | best fixed limit | limit 64 | cost | merge |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for stream in streams {
        let Costs { merge, cost, limit, best_limit, macroscopic, adaptive, optimum } = costs(stream);
        let above = |share: f64| format!("{:+.1} %", (1000.0 * (share - 1.0)).round() / 10.0 + 0.0);
        let row = [
            stream.name.to_owned(),
            format!("{optimum:.0}"),
            above(adaptive),
            above(macroscopic),
            format!("{} ({})", above(best_limit.1), best_limit.0),
            above(limit),
            above(cost),
            above(merge),
        ];
        writeln!(table, "| {} |", row.join(" | ")).expect("a string takes every row");
    }
    table
}

#[test]
fn the_model_costs_what_the_ftl_does() {
    for stream in steady().iter().chain(&changing()) {
        let limited = |migrations| config(Rule::Limit(Limit { migrations }));
        // Most migrations in a row.
        let schedules =
            [(config(Rule::Merge), 0), (config(Rule::Cost), u32::MAX), (limited(None), 64), (limited(Some(5)), 5)];
        for (config, most) in schedules {
            let found = cost_of_ftl(&stream.pages, &config);
            let merges = |valid: u32, migrations: u32| 2 * valid >= PAGES || migrations >= most;
            let expected = cost_of_schedule(&stream.pages, merges);
            assert!((found - expected).abs() < 1e-6 * expected, "{}: {found}, model {expected}", stream.name);
        }
    }
}

#[test]
fn the_optimum_is_no_worse_than_any_of_many_random_schedules_and_is_one_itself() {
    let stream = &changing()[3].pages[..3_000];
    let least = optimum(stream);
    let mut random = Random::new(9);
    for _ in 0..2_000 {
        let chance = random.below(100) as f64 / 100.0;
        assert!(cost_of_schedule(stream, |_, _| random.chance(chance)) >= least - 1e-6);
    }
    // Every schedule for a stream with seven full log blocks.
    let short = &stream[..800];
    let all = (0..1u32 << 12).map(|bits| {
        let mut at = 0;
        cost_of_schedule(short, |_, _| {
            at += 1;
            bits >> (at - 1) & 1 == 1
        })
    });
    let best = all.min_by(f64::total_cmp).expect("schedules were tried");
    assert!((optimum(short) - best).abs() < 1e-9, "{} and {best}", optimum(short));
}

#[test]
fn the_adaptive_rule_stays_near_the_optimum_where_the_workload_changes() {
    let bound = 1.0 + 1.0 / Adaptive::default().patience;
    for stream in &changing() {
        let costs = costs(stream);
        assert!(costs.adaptive * costs.optimum <= bound * costs.optimum + MERGE, "{}: the bound", stream.name);
        assert!(costs.adaptive < 1.25, "{}: {}", stream.name, costs.adaptive);
        assert!(costs.optimum <= costs.best_limit.1 * costs.optimum, "{}", stream.name);
    }
    let recorder = costs(&changing()[0]);
    assert!(recorder.cost > 5.0, "what the paper observed: {}", recorder.cost);
}

#[test]
fn the_event_recorder_costs_what_a_calculation_by_hand_says() {
    // Its first 128 writes go to 62 pages: a migration then costs 62 copies and leaves 66 log pages. From then on two
    // pages are written: 2 copies, and 126 pages.
    let (all, two) = (62.0 + ERASE, 2.0 + ERASE);
    let full = |first: usize, every: usize| (first..WRITES).step_by(every).count() as f64;
    let found = costs(&changing()[0]);
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-6, "{found}, {expected}");
    // A merge at write 128, and two-page migrations from 256 on.
    close(found.optimum, MERGE + full(256, 126) * two);
    close(found.optimum, 390.4);
    // The account is empty at 128, and all pages move; at 194 it holds 60 pages not written since.
    close(found.adaptive * found.optimum, all + MERGE + full(194 + 128, 126) * two);
    close(found.adaptive * found.optimum, 450.4);
    close(found.cost * found.optimum, full(128, 66) * all);
    close(found.merge * found.optimum, full(128, 128) * MERGE);
    // 61 pages and more are a growth by as many in the first migration, so they are merged at once.
    close(found.macroscopic, 1.0);
}

#[test]
fn the_page_has_the_tables_that_are_measured() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/papers/migration-optimum.md");
    let mut text = std::fs::read_to_string(&page).expect("docs/papers/migration-optimum.md can be read");
    for (name, streams) in [("changing", changing()), ("steady", steady())] {
        let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
        let start = text.find(&open).expect("the page has a place for the table") + open.len();
        let end = text.find(&close).expect("the place for the table ends");
        let measured = format!("\n{}\n", table(&streams));
        if std::env::var_os("NANDLAB_BLESS").is_some() {
            text.replace_range(start..end, &measured);
            std::fs::write(&page, &text).expect("docs/papers/migration-optimum.md can be written");
        } else {
            assert_eq!(&text[start..end], measured, "NANDLAB_BLESS=1 writes the table anew");
        }
    }
}

/// The criterion for `patience`: the mean excess over the optimum on the steady streams.
#[test]
fn patience_is_the_best_of_those_tried_on_steady_streams() {
    let streams: Vec<(Stream, f64)> = steady()
        .into_iter()
        .map(|stream| {
            let least = optimum(&stream.pages);
            (stream, least)
        })
        .collect();
    let mean = |patience| {
        let share = |(stream, least): &(Stream, f64)| cost_of_ftl(&stream.pages, &config(adaptive(patience))) / least;
        streams.iter().map(share).sum::<f64>() / streams.len() as f64
    };
    let tried = [0.125, 0.25, 0.5, 1.0, 2.0].map(|patience| (patience, mean(patience)));
    let best = tried.iter().min_by(|a, b| a.1.total_cmp(&b.1)).expect("some were tried");
    assert_eq!(best.0, Adaptive::default().patience, "{tried:?}");
}

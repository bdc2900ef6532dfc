//! Replacement against models written another way: plain lists, searched from end to end.

use nandlab_block::{Blank, Mirror};
use nandlab_index::pool::{Budget, Config, Pool, Replacement, FIRST_PAGE};
use nandlab_nand::random::Random;
use nandlab_nand::Origin;

/// A policy by the book. `access` returns whether the page was there, and the evicted page.
trait Model {
    fn access(&mut self, page: u32) -> (bool, Option<u32>);
}

struct Lru(usize, Vec<u32>);

impl Model for Lru {
    fn access(&mut self, page: u32) -> (bool, Option<u32>) {
        let hit = self.1.contains(&page);
        self.1.retain(|&other| other != page);
        self.1.push(page);
        (hit, (self.1.len() > self.0).then(|| self.1.remove(0)))
    }
}

/// The circle as a queue: the hand takes from its front and gives a marked page a second chance at the end.
struct Clock(usize, Vec<(u32, bool)>);

impl Model for Clock {
    fn access(&mut self, page: u32) -> (bool, Option<u32>) {
        if let Some(entry) = self.1.iter_mut().find(|entry| entry.0 == page) {
            entry.1 = true;
            return (true, None);
        }
        let mut left = None;
        if self.1.len() == self.0 {
            while self.1[0].1 {
                let (marked, _) = self.1.remove(0);
                self.1.push((marked, false));
            }
            left = Some(self.1.remove(0).0);
        }
        self.1.push((page, true));
        (false, left)
    }
}

/// The paper's pseudocode, with A1in, A1out and Am as lists, the oldest first.
struct TwoQ {
    frames: usize,
    a1_in: Vec<u32>,
    a1_out: Vec<u32>,
    am: Vec<u32>,
}

impl Model for TwoQ {
    fn access(&mut self, page: u32) -> (bool, Option<u32>) {
        if let Some(at) = self.am.iter().position(|&other| other == page) {
            let page = self.am.remove(at);
            self.am.push(page);
            return (true, None);
        }
        if self.a1_in.contains(&page) {
            return (true, None);
        }
        let mut left = None;
        if self.a1_in.len() + self.am.len() == self.frames {
            if self.a1_in.len() > (self.frames / 4).max(1) || self.am.is_empty() {
                let oldest = self.a1_in.remove(0);
                self.a1_out.push(oldest);
                if self.a1_out.len() > (self.frames / 2).max(1) {
                    self.a1_out.remove(0);
                }
                left = Some(oldest);
            } else {
                left = Some(self.am.remove(0));
            }
        }
        if self.a1_out.contains(&page) {
            self.a1_out.retain(|&other| other != page);
            self.am.push(page);
        } else {
            self.a1_in.push(page);
        }
        (false, left)
    }
}

fn model(policy: Replacement, frames: usize) -> Box<dyn Model> {
    match policy {
        Replacement::Lru => Box::new(Lru(frames, Vec::new())),
        Replacement::Clock => Box::new(Clock(frames, Vec::new())),
        Replacement::TwoQ => Box::new(TwoQ { frames, a1_in: Vec::new(), a1_out: Vec::new(), am: Vec::new() }),
    }
}

/// Random pages, mostly from a small set, with scans in between.
fn pages(random: &mut Random, count: usize) -> Vec<u32> {
    let mut pages = Vec::new();
    while pages.len() < count {
        match random.below(50) {
            0 => pages.extend(FIRST_PAGE..FIRST_PAGE + 200),
            n if n < 15 => pages.push(FIRST_PAGE + random.below(200) as u32),
            _ => pages.push(FIRST_PAGE + (200.0 * random.unit().powi(4)) as u32),
        }
    }
    pages
}

#[test]
fn every_policy_does_what_its_model_does() {
    for &policy in Replacement::ALL {
        for frames in [1, 2, 3, 4, 7, 16, 50, 199, 300] {
            let mut disk = Mirror::new(Blank::new(400));
            let config = Config { page_bytes: 512, budget: Budget::Frames(frames), policy, ..Config::default() };
            let mut pool = Pool::create(&mut disk, &config).unwrap();
            for _ in 0..200 {
                pool.add_page().unwrap();
            }
            let mut model = model(policy, frames as usize);
            let mut random = Random::new(frames.into());
            let (mut dirty, mut write_backs, mut evictions) = (vec![false; 202], 0, 0);
            for page in pages(&mut random, 20_000) {
                let before = *pool.stats();
                let frame = pool.fetch(page, Origin::INDEX_LEAF).unwrap();
                let number = &pool.page(frame)[..4];
                assert!(number == [0; 4] || number == page.to_le_bytes(), "another page came");
                let (hit, left) = model.access(page);
                assert_eq!(pool.stats().hits - before.hits, u64::from(hit), "{policy:?}, {frames} frames, page {page}");
                if let Some(left) = left {
                    evictions += 1;
                    write_backs += u64::from(std::mem::take(&mut dirty[left as usize]));
                }
                if random.chance(0.3) {
                    pool.page_mut(frame).put(0, &page.to_le_bytes());
                    dirty[page as usize] = true;
                }
                assert_eq!((pool.stats().evictions, pool.stats().write_backs), (evictions, write_backs));
            }
            let stats = *pool.stats();
            println!("{} of {frames}: {} hits, {} misses", policy.name(), stats.hits, stats.misses);
            let left = dirty.iter().filter(|&&dirty| dirty).count() as u64;
            pool.flush(&[1; 64]).unwrap();
            assert_eq!(pool.stats().flushed, left);
            let pool = Pool::open(&mut disk, &config).unwrap();
            assert_eq!((pool.meta(), pool.pages()), (&[1; 64], 202));
        }
    }
}

#[test]
fn a_scan_does_not_wash_2q_out() {
    let hits = |policy| {
        let mut disk = Mirror::new(Blank::new(4_000));
        let config = Config { page_bytes: 512, budget: Budget::Frames(40), policy, ..Config::default() };
        let mut pool = Pool::create(&mut disk, &config).unwrap();
        for _ in 0..3_000 {
            pool.add_page().unwrap();
        }
        let mut random = Random::new(1);
        for round in 0..50_000 {
            let page = if round % 3 == 0 { 20 + round / 3 % 2_900 } else { random.below(20) as u32 };
            pool.fetch(FIRST_PAGE + page, Origin::INDEX_LEAF).unwrap();
        }
        pool.stats().hits
    };
    assert!(hits(Replacement::TwoQ) >= hits(Replacement::Lru) && hits(Replacement::Clock) > 0);
}

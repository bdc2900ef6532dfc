//! Random operations on trees and on an ordered map, everything compared; the state after a new start; refusals.

use crate::{ascending, Map};
use nandlab_block::{Blank, BlockDevice, Completion, Error, Mirror, Op, Payload, Request};
use nandlab_index::btree::{FixedRecords, Report};
use nandlab_index::pool::{self, Budget, Replacement, WriteBack};
use nandlab_index::{Config, IndexError, Records, Tree};
use nandlab_nand::random::Random;
use nandlab_nand::Origin;

const PAGE_BYTES: [u32; 8] = [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];

fn disk(page_bytes: u32, pages: u32) -> Mirror<Blank> {
    Mirror::new(Blank::new(u64::from(page_bytes / 512 * pages)))
}

fn fixed(key_bytes: u16, value_bytes: u16, header_bytes: u8) -> Records {
    Records::Fixed(FixedRecords { key_bytes, value_bytes, header_bytes })
}

/// Makes keys and values the records take.
struct Words {
    random: Random,
    records: Records,
    /// Longest key and longest value, if lengths vary.
    longest: [u64; 2],
    keys: u64,
}

impl Words {
    fn new(records: Records, page_bytes: u32, keys: u64, seed: u64) -> Self {
        let most = u64::from(page_bytes - 16) / 4 - 6;
        Self { random: Random::new(seed), records, longest: [most / 2 - 4, most / 2], keys }
    }

    fn word(&mut self, length: usize, number: u64) -> Vec<u8> {
        let mut bytes = Random::new(number);
        (0..length).map(|_| bytes.next_u64() as u8 & 0x8F).collect()
    }

    fn key(&mut self) -> Vec<u8> {
        let number = self.random.below(self.keys);
        let length = match self.records {
            Records::Fixed(fixed) => fixed.key_bytes.into(),
            // A few long ones among short ones; the length belongs to the key.
            _ if number % 16 == 0 => (number * 7 % self.longest[0]) as usize,
            _ => (number * 13 % 20) as usize,
        };
        self.word(length, number)
    }

    fn value(&mut self) -> Vec<u8> {
        let length = match self.records {
            Records::Fixed(fixed) => fixed.value_bytes.into(),
            _ if self.random.chance(0.1) => self.random.below(self.longest[1] + 1) as usize,
            _ => self.random.below(24) as usize,
        };
        let number = self.random.next_u64();
        self.word(length, number)
    }
}

/// One random operation on both.
fn step(tree: &mut Tree<'_>, map: &mut Map, words: &mut Words, growth: f64) {
    let key = words.key();
    if words.random.chance(0.1) {
        assert_eq!(tree.get(&key).unwrap().as_ref(), map.get(&key));
        return;
    }
    if !words.random.chance(growth) {
        assert_eq!(tree.delete(&key).unwrap(), map.remove(&key).is_some());
        return;
    }
    let value = words.value();
    match words.random.below(3) {
        0 => {
            let is_new = !map.contains_key(&key);
            assert_eq!(tree.insert(&key, &value).unwrap(), is_new);
            map.entry(key).or_insert(value);
        }
        1 => {
            assert_eq!(tree.update(&key, &value).unwrap(), map.contains_key(&key));
            map.entry(key).and_modify(|old| *old = value);
        }
        _ => assert_eq!(tree.put(&key, &value).unwrap(), map.insert(key, value).is_some()),
    }
}

fn contents(tree: &mut Tree<'_>) -> Map {
    range(tree, None, None)
}

fn range(tree: &mut Tree<'_>, from: Option<&[u8]>, end: Option<&[u8]>) -> Map {
    let mut cursor = tree.range(from, end).unwrap();
    ascending(|| cursor.next().unwrap().map(|(key, value)| (key.to_vec(), value.to_vec())))
}

fn check(tree: &mut Tree<'_>, map: &Map) -> Report {
    let report = tree.check().unwrap();
    assert_eq!(report.records, map.len() as u64);
    assert_eq!(&contents(tree), map);
    report
}

/// Random operations while the tree grows and while it shrinks, with a new start now and then.
fn conforms(config: &Config, pages: u32, steps: usize, seed: u64) {
    let mut disk = disk(config.pool.page_bytes, pages);
    let keys = (steps / 3) as u64;
    let mut words = Words::new(config.records, config.pool.page_bytes, keys, seed);
    let mut map = Map::new();
    Tree::create(&mut disk, config).unwrap();
    let mut most_levels = 0;
    for part in 0..6 {
        let mut tree = Tree::open(&mut disk, &config.pool).unwrap();
        assert_eq!(tree.records_as(), config.records);
        assert_eq!(tree.len(), map.len() as u64);
        let growth = if part < 3 { 0.8 } else { 0.2 };
        for _ in 0..steps / 6 {
            step(&mut tree, &mut map, &mut words, growth);
        }
        let report = check(&mut tree, &map);
        most_levels = most_levels.max(report.levels);
        let (from, end) = (words.key(), words.key());
        let expected = if from < end {
            map.range(from.clone()..end.clone()).map(|(k, v)| (k.clone(), v.clone())).collect()
        } else {
            Map::new()
        };
        assert_eq!(range(&mut tree, Some(&from), Some(&end)), expected);
        tree.flush().unwrap();
    }
    assert!(most_levels > 1, "{config:?}: the tree stayed a leaf");
    let mut tree = Tree::open(&mut disk, &config.pool).unwrap();
    for key in map.keys() {
        assert!(tree.delete(key).unwrap());
    }
    map.clear();
    let report = check(&mut tree, &map);
    assert!(report.leaves <= 8, "an empty tree of {report:?}");
}

fn pool_config(page_bytes: u32, frames: u32) -> pool::Config {
    pool::Config { page_bytes, budget: Budget::Frames(frames), ..pool::Config::default() }
}

#[test]
fn every_page_size_and_layout_is_an_ordered_map() {
    for page_bytes in PAGE_BYTES {
        for (records, seed) in [
            (fixed(4, 4, 8), 1),
            (fixed(8, 20, 16), 2),
            (fixed(13, 0, 8), 3),
            (Records::Slotted, 4),
            (Records::Deltas, 5),
        ] {
            // Enough to split the leaves at every size.
            let steps = match records {
                Records::Fixed(fixed) => {
                    12_000.max(page_bytes as usize * 16 / usize::from(fixed.key_bytes + fixed.value_bytes))
                }
                _ => 12_000.max(page_bytes as usize / 2),
            };
            let pool = pool_config(page_bytes, 6);
            conforms(&Config { pool, records }, 40 + (8 << 20) / page_bytes, steps, seed);
        }
    }
}

#[test]
fn every_policy_and_mode_of_writing_is_an_ordered_map() {
    for &policy in Replacement::ALL {
        for frames in [1, 2, 3, 17, 10_000] {
            for (shadow, write_back) in [
                (false, WriteBack::Page),
                (false, WriteBack::Sectors),
                (true, WriteBack::Page),
                (true, WriteBack::Sectors),
            ] {
                for records in [fixed(4, 4, 8), Records::Slotted, Records::Deltas] {
                    let pool = pool::Config { policy, shadow, write_back, ..pool_config(1024, frames) };
                    conforms(&Config { pool, records }, 4_000, 4_000, u64::from(frames));
                }
            }
        }
    }
}

#[test]
fn bulk_load_fills_pages_as_asked() {
    for records in [fixed(4, 4, 8), Records::Slotted, Records::Deltas] {
        for (count, fill) in
            [(0, 1.0), (1, 1.0), (61, 1.0), (63, 1.0), (64, 1.0), (5_000, 0.7), (100_000, 1.0), (3_970, 1.0)]
        {
            let config = Config { pool: pool_config(512, 40), records };
            let mut disk = disk(512, 20_000);
            let map: Map =
                (0..count).map(|n: u32| ((n * 7).to_be_bytes().to_vec(), n.to_le_bytes().to_vec())).collect();
            let mut tree = Tree::create(&mut disk, &config).unwrap();
            tree.bulk_load(&map, fill).unwrap();
            let report = check(&mut tree, &map);
            if count >= 5_000 {
                assert!((report.leaf_fill - fill).abs() < 0.05, "{report:?} for {fill}");
            }
            tree.flush().unwrap();
            drop(tree);
            let mut tree = Tree::open(&mut disk, &config.pool).unwrap();
            let mut map = map;
            let mut words = Words::new(fixed(4, 4, 8), 512, 1_000, 3);
            for _ in 0..2_000 {
                step(&mut tree, &mut map, &mut words, 0.5);
            }
            check(&mut tree, &map);
        }
    }
}

#[test]
fn bulk_load_refuses_what_does_not_ascend() {
    let config = Config { pool: pool_config(512, 4), records: fixed(1, 0, 8) };
    let load = |keys: &[[u8; 1]]| {
        let mut disk = disk(512, 40);
        let mut tree = Tree::create(&mut disk, &config).unwrap();
        let result = tree.bulk_load(keys.iter().map(|key| (key, [])), 1.0);
        (result, tree.insert(&[1], &[]))
    };
    assert_eq!(load(&[[1], [2]]), (Ok(()), Ok(false)));
    let (result, after) = load(&[[1], [3], [3]]);
    assert_eq!(result.unwrap_err().to_string(), "bulk load of record 2: its key is not above the one before");
    assert_eq!(after, Err(IndexError::Broken));
    let mut disk = disk(512, 40);
    let mut tree = Tree::create(&mut disk, &config).unwrap();
    tree.insert(&[1], &[]).unwrap();
    assert!(matches!(tree.bulk_load([([2], [])], 1.0), Err(IndexError::BulkLoad { record: 0, .. })));
    assert_eq!(tree.insert(&[2], &[]), Ok(true), "a refusal before anything changed breaks nothing");
}

/// Too large an operation is refused before any change, and the existing data stays usable.
#[test]
fn a_full_device_is_refused_and_goes_on() {
    for shadow in [false, true] {
        let pool = pool::Config { shadow, ..pool_config(512, 8) };
        let config = Config { pool, records: fixed(4, 4, 8) };
        let mut disk = disk(512, 60);
        let mut tree = Tree::create(&mut disk, &config).unwrap();
        let mut map = Map::new();
        let full = loop {
            let key = (map.len() as u32).wrapping_mul(0x9E37_79B9).to_be_bytes();
            match tree.insert(&key, b"abcd") {
                Ok(_) => map.insert(key.to_vec(), b"abcd".to_vec()),
                Err(error) => break error,
            };
        };
        assert_eq!(full, IndexError::Full { pages: 60, shadow });
        // A flush gives back the previous flush's slots; the device is full when this no longer helps.
        check(&mut tree, &map);
        tree.flush().unwrap();
        check(&mut tree, &map);
        let keys: Vec<_> = map.keys().cloned().collect();
        for key in keys {
            if tree.delete(&key) == Err(IndexError::Full { pages: 60, shadow }) {
                tree.flush().unwrap();
                assert_eq!(tree.delete(&key), Ok(true));
            }
            map.remove(&key);
        }
        check(&mut tree, &map);
        assert!(map.is_empty() && tree.insert(b"1234", b"abcd").unwrap());
    }
}

#[test]
fn wrong_options_and_records_are_refused_with_a_sentence() {
    let create = |pool: pool::Config, records| {
        let mut disk = disk(512, 400);
        Tree::create(&mut disk, &Config { pool, records }).map(drop).unwrap_err().to_string()
    };
    let default = Records::default();
    assert!(create(pool_config(1000, 1), default).contains("page_bytes = 1000 cannot work: a page is a power of two"));
    assert!(create(pool_config(131_072, 1), default).contains("from 512 to 65536"));
    assert!(create(pool_config(65_536, 1), default).contains("room for 3 pages"));
    assert!(create(pool_config(512, 0), default).contains("budget.frames = 0"));
    let few = pool::Config { budget: Budget::Bytes(511), ..pool_config(512, 1) };
    assert!(create(few, default).contains("budget.bytes = 511"));
    assert!(create(pool_config(512, 1), fixed(4, 4, 7)).contains("header_bytes = 7"));
    assert!(create(pool_config(512, 1), fixed(0, 4, 8)).contains("key_bytes = 0"));
    assert!(create(pool_config(512, 1), fixed(100, 27, 8)).contains("four records"));

    let mut device = disk(512, 400);
    let mut tree = Tree::create(&mut device, &Config { pool: pool_config(512, 4), records: default }).unwrap();
    assert_eq!(
        tree.insert(b"12345", b"1234").unwrap_err().to_string(),
        "a key of 5 bytes: this index takes 4 bytes exactly"
    );
    assert!(matches!(tree.get(b""), Err(IndexError::Length { what: "key", .. })));
    let mut device = disk(512, 400);
    let mut tree = Tree::create(&mut device, &Config { pool: pool_config(512, 4), records: Records::Slotted }).unwrap();
    assert!(tree.insert(&[1; 100], &[2; 18]).unwrap());
    let error = tree.insert(&[1; 100], &[2; 19]).unwrap_err().to_string();
    assert!(error.contains("at most 118 bytes together, the key at most 114"), "{error}");
    assert!(tree.insert(&[1; 115], &[]).is_err());
}

#[test]
fn an_index_is_opened_as_it_was_made() {
    let mut device = disk(4096, 100);
    let open = |device: &mut Mirror<Blank>, pool: &pool::Config| Tree::open(device, pool).map(drop);
    assert_eq!(open(&mut device, &pool_config(512, 4)), Err(IndexError::NoIndex { page_bytes: 512 }));
    Tree::create(&mut device, &Config { pool: pool_config(4096, 4), records: Records::Deltas }).unwrap();
    assert_eq!(open(&mut device, &pool_config(4096, 9)), Ok(()));
    let shadow = pool::Config { shadow: true, ..pool_config(4096, 4) };
    assert!(matches!(open(&mut device, &shadow), Err(IndexError::Mismatch { key: "pool.shadow", .. })));
    // With 512-byte pages the second header lies elsewhere; the first one may be the older, and still tells.
    assert!(open(&mut device, &pool_config(512, 4)).is_err());
}

/// Pages written in place since a flush may be from different times: the index reports this instead of handing them
/// out.
#[test]
fn an_index_left_without_a_flush_is_as_flushed_or_refused() {
    let config = Config { pool: pool_config(512, 4), records: fixed(4, 4, 8) };
    let mut device = disk(512, 400);
    let mut tree = Tree::create(&mut device, &config).unwrap();
    for n in 0..40_u32 {
        tree.insert(&n.to_be_bytes(), b"abcd").unwrap();
    }
    drop(tree);
    assert_eq!(Tree::open(&mut device, &config.pool).unwrap().len(), 0, "nothing was written back");
    let mut tree = Tree::create(&mut device, &config).unwrap();
    for n in 0..1_000_u32 {
        tree.insert(&n.wrapping_mul(0x9E37_79B9).to_be_bytes(), b"abcd").unwrap();
    }
    drop(tree);
    assert_eq!(Tree::open(&mut device, &config.pool).map(drop), Err(IndexError::Unclean));
}

/// Changes bytes in a page below the tree.
fn scribble(disk: &mut Mirror<Blank>, page: u64, change: impl FnOnce(&mut [u8])) {
    let mut bytes = [0; 512];
    disk.submit(&Request::new(Op::Read, page, 1), Payload::Read(&mut bytes)).unwrap();
    change(&mut bytes);
    disk.submit(&Request::new(Op::Write, page, 1), Payload::Write(&bytes)).unwrap();
}

#[test]
fn the_checker_finds_what_is_wrong() {
    let config = Config { pool: pool_config(512, 8), records: fixed(4, 4, 8) };
    // Page 2 is the first leaf, page 3 the second, page 4 the root; half the keys go, so some pages are free.
    let damage = |page: u64, change: &dyn Fn(&mut [u8])| {
        let mut disk = disk(512, 100);
        let mut tree = Tree::create(&mut disk, &config).unwrap();
        for n in 0..1_000_u32 {
            tree.insert(&n.to_be_bytes(), b"abcd").unwrap();
        }
        for n in 500..1_000_u32 {
            tree.delete(&n.to_be_bytes()).unwrap();
        }
        assert!(tree.check().unwrap().free > 5);
        tree.flush().unwrap();
        drop(tree);
        scribble(&mut disk, page, change);
        let mut tree = Tree::open(&mut disk, &config.pool).unwrap();
        let result = tree.check();
        result.map(|report| format!("{report:?}")).unwrap_or_else(|error| error.to_string())
    };
    assert!(damage(2, &|_| {}).contains("records: 500"));
    assert!(damage(2, &|page| page[8..12].fill(9)).contains("page 2 is damaged: its keys do not ascend"));
    assert!(damage(3, &|page| page[8..12].fill(0)).contains("page 3 is damaged: its keys reach beyond"));
    assert!(damage(2, &|page| page[4] = 5).contains("the leaf before links to Some(5)"));
    assert!(damage(2, &|page| page[2] -= 1).contains("499 records, noted are 500"));
    assert!(damage(2, &|page| page[1] = 1).contains("a page of level 0 is due"));
    assert!(damage(2, &|page| page[3] = 1).contains("records, room for 63"));
    // The root: its second child is the first one again; its third is not there.
    assert!(damage(4, &|page| page[8 + 12] = page[8 + 4]).contains("two links lead to it"));
    assert!(damage(4, &|page| page[8 + 20] = 99).contains("page 99 is damaged"));
    // A free page ends the list too early: the others are in no list.
    let cut = |page: &mut [u8]| {
        if page[0] == 0xF7 && page[4] != 0 {
            page[4] = 0;
        }
    };
    let lost = (5..40).filter(|&page| damage(page, &cut).contains("free pages, noted are")).count();
    assert!(lost > 3, "{lost} free pages");
}

/// Keeps the requests and fails from one on.
struct Watched {
    disk: Mirror<Blank>,
    requests: Vec<(Op, u64, u32, Origin)>,
    fail_at: usize,
}

impl BlockDevice for Watched {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        self.requests.push((request.op, request.sector, request.sectors, request.origin));
        if self.requests.len() > self.fail_at {
            return Err(Error::PowerLost);
        }
        self.disk.submit(request, data)
    }

    fn sectors(&self) -> u64 {
        self.disk.sectors()
    }
}

fn watched(pages: u32) -> Watched {
    Watched { disk: disk(512, pages), requests: Vec::new(), fail_at: usize::MAX }
}

#[test]
fn a_device_that_fails_breaks_the_tree_for_good() {
    let config = Config { pool: pool_config(512, 4), records: fixed(4, 4, 8) };
    let mut device = Watched { fail_at: 200, ..watched(400) };
    let mut tree = Tree::create(&mut device, &config).unwrap();
    let mut random = Random::new(1);
    let error = loop {
        if let Err(error) = tree.insert(&(random.next_u64() as u32).to_be_bytes(), b"abcd") {
            break error;
        }
    };
    assert_eq!(error, IndexError::Device(Error::PowerLost));
    assert_eq!(tree.get(b"1234"), Err(IndexError::Broken));
    assert_eq!(tree.flush(), Err(IndexError::Broken));
}

#[test]
fn requests_carry_the_origin_of_their_page() {
    let config = Config { pool: pool_config(512, 3), records: fixed(4, 4, 8) };
    let mut device = watched(4_000);
    let mut tree = Tree::create(&mut device, &config).unwrap();
    let mut random = Random::new(1);
    for _ in 0..20_000 {
        tree.insert(&(random.next_u64() as u32).to_be_bytes(), b"abcd").unwrap();
    }
    let report = tree.check().unwrap();
    assert_eq!(report.levels, 3);
    tree.flush().unwrap();
    drop(tree);
    let count = |op, origin| device.requests.iter().filter(|request| request.0 == op && request.3 == origin).count();
    for origin in [Origin::INDEX_LEAF, Origin::INDEX_INNER, Origin::INDEX_ROOT] {
        assert!(count(Op::Write, origin) > 0, "{}", origin.name());
    }
    assert!(count(Op::Write, Origin::INDEX_LEAF) > 18_000 && count(Op::Read, Origin::INDEX_LEAF) > 18_000);
    assert!(count(Op::Write, Origin::INDEX_ROOT) < 30, "{} writes of roots", count(Op::Write, Origin::INDEX_ROOT));
    assert_eq!(count(Op::Write, Origin::HOST) + count(Op::Read, Origin::HOST), 0);
    let headers = device.requests.iter().filter(|request| request.3 == Origin::INDEX_HEADER && request.0 == Op::Write);
    assert!(headers.clone().all(|request| request.1 < 2 && request.2 == 1));
    assert_eq!(headers.count(), 6, "two wiped; before the pages and after, for the empty tree and for the flush");
}

/// A former root still in the pool gets its new origin as leaf or inner page on its next use.
#[test]
fn an_old_root_loses_its_origin() {
    let config = Config { pool: pool_config(512, 500), records: fixed(4, 4, 8) };
    let mut device = watched(4_000);
    let mut tree = Tree::create(&mut device, &config).unwrap();
    // The last insert splits the root.
    while tree.levels() < 3 {
        let key = (tree.len() as u32).wrapping_mul(0x9E37_79B9).to_be_bytes();
        assert!(tree.insert(&key, b"abcd").unwrap());
    }
    tree.flush().unwrap();
    drop(tree);
    let roots = device.requests.iter().filter(|request| request.0 == Op::Write && request.3 == Origin::INDEX_ROOT);
    assert_eq!(roots.count(), 2, "the empty tree, and the root of the last flush");
}

/// The layout with appended deltas changes only the new record's sectors; slots and records are far apart.
#[test]
fn deltas_write_fewer_sectors_than_slots() {
    let sectors = |records| {
        let pool = pool::Config { write_back: WriteBack::Sectors, ..pool_config(8192, 8) };
        let mut disk = disk(8192, 2_000);
        let mut tree = Tree::create(&mut disk, &Config { pool, records }).unwrap();
        let mut random = Random::new(3);
        for _ in 0..20_000 {
            let key = random.next_u64().to_be_bytes();
            tree.insert(&key, &key[..(key[7] % 8) as usize]).unwrap();
        }
        tree.flush().unwrap();
        tree.stats().written_sectors as f64 / (tree.stats().write_backs + tree.stats().flushed) as f64
    };
    let (slotted, deltas) = (sectors(Records::Slotted), sectors(Records::Deltas));
    println!("sectors a write-back of 16: slotted {slotted:.2}, deltas {deltas:.2}");
    assert!(deltas < 2.0 && slotted > 3.0);
}

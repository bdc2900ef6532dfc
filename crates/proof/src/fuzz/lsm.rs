//! The targets `lsm_operations` and `lsm_bytes`: an LSM tree with varied options beside an ordered map, and one whose device
//! has changed bytes.
//!
//! ```text
//! lsm_operations
//!   byte 0..16   options, one a byte
//!        16..    the script, four bytes a step: what is done, the key in two bytes, and the value's length or the range's end
//! lsm_bytes
//!   byte 0       bit 0 tiered compaction, bit 1 no log
//!        1..     changes, five bytes each: how a byte changes, its sector in two bytes, its place in the sector, its new value
//! ```

use super::sentence;
use nandlab_block::{Blank, BlockDevice, ByteCount, Mirror, Op, Payload, Request};
use nandlab_index::lsm::{
    Allocation, Backlog, Bloom, Compaction, Discard, FileChoice, Fstrim, Options, TieredOptions, Tree, Trim,
};
use nandlab_index::IndexError;
use std::collections::BTreeMap;
use std::sync::OnceLock;

type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// Option bytes.
const OPTIONS: usize = 16;
/// Longer scripts only take longer.
const MAX_STEPS: usize = 1_500;
/// Sectors of the device.
const SECTORS: u64 = 512;

/// One of `choices`, by a byte.
fn one<T, const N: usize>(byte: u8, choices: [T; N]) -> T {
    choices.into_iter().nth(usize::from(byte) % N).expect("there is a choice")
}

/// Sizes that make several levels out of a few hundred records; each list has values that are refused.
fn options(bytes: &[u8; OPTIONS]) -> Options {
    let size = |byte, sizes: [u64; 6]| ByteCount(one(byte, sizes));
    let tiered = |size_ratio_percent| Compaction::Tiered(TieredOptions { size_ratio_percent, ..Default::default() });
    let compaction = one(bytes[0], [Compaction::Leveled, Compaction::Leveled, tiered(1), tiered(80)]);
    let is_leveled = compaction == Compaction::Leveled;
    let level = |value: Option<u32>| value.filter(|_| is_leveled || bytes[15] == 255);
    Options {
        compaction,
        key_bytes: one(bytes[1], [2, 3, 8, 0]),
        value_bytes: one(bytes[2], [12, 0, 40, 700, u16::MAX]),
        write_buffer_bytes: size(bytes[3], [900, 1_500, 3_000, 6_000, 9, 1 << 41]),
        target_file_bytes: size(bytes[4], [900, 2_000, 4_000, 8_000, 9, 1 << 41]),
        level0_trigger: one(bytes[5], [3, 1, 2, 6, 0]),
        level0_slowdown: one(bytes[6], [None, None, Some(6), Some(9), Some(1)]),
        level_base_bytes: level(one(bytes[7], [Some(2_048), None, Some(6_144), Some(1), Some(0)]))
            .map(|bytes| ByteCount(bytes.into())),
        level_multiplier: level(one(bytes[8], [Some(3), None, Some(2), Some(100), Some(1)])),
        target_file_multiplier: level(one(bytes[9], [None, Some(2), Some(10), Some(11)])),
        dynamic_levels: one(bytes[10], [None, Some(true), Some(false)]).filter(|_| is_leveled),
        file_choice: one(bytes[10] / 3, [None, Some(FileChoice::RoundRobin)]).filter(|_| is_leveled),
        backlog: one(bytes[10] / 6, [None, Some(Backlog::Sizes)]).filter(|_| is_leveled),
        bloom_bits_per_key: one(bytes[11], [10.0, 0.0, 1.0, 64.0, f64::NAN]),
        bloom: one(bytes[11] / 5, [Bloom::Plain, Bloom::Lines]),
        block_bytes: one(bytes[12], [256, 512, 4_096, 255]),
        cache_bytes: size(bytes[12] / 4, [4_096, 0, 300, 1 << 20, 1, 1_000]),
        write_unit_bytes: one(bytes[13], [512, 512, 1_024, 4_096, 513]),
        extent_bytes: size(bytes[13] / 5, [1_024, 512, 2_048, 4_096, 8_192, 700]),
        wal: bytes[14] % 4 != 0,
        trim: one(
            bytes[14] / 4,
            [
                Trim::AtOnce,
                Trim::Discard(Discard { bytes: ByteCount(6_000) }),
                Trim::Fstrim(Fstrim { every_bytes: ByteCount(9_000) }),
                Trim::Never,
                Trim::Discard(Discard { bytes: ByteCount(0) }),
            ],
        ),
        compaction_readahead_bytes: size(bytes[15], [256 << 10, 512, 1_024, 4_096, 65_536, 700]),
        table_write_bytes: size(bytes[15] / 6, [256 << 10, 512, 1_024, 4_096, 65_536, 1_000]),
        allocation: one(bytes[14] / 20, [Allocation::FirstFit, Allocation::NextFit]),
        ..Options::default()
    }
}

fn disk() -> Mirror<Blank> {
    Mirror::new(Blank::new(SECTORS))
}

fn contents(tree: &mut Tree<'_>, from: Option<&[u8]>, end: Option<&[u8]>) -> Result<Contents, IndexError> {
    let mut found = Contents::new();
    let mut cursor = tree.range(from, end)?;
    while let Some((key, value)) = cursor.next()? {
        let earlier = found.last_key_value().map(|(earlier, _)| earlier.clone());
        assert!(earlier.is_none_or(|earlier| earlier[..] < *key), "keys ascend");
        found.insert(key.to_vec(), value.to_vec());
    }
    Ok(found)
}

pub(super) fn operations(data: &[u8]) {
    let Some((head, script)) = data.split_first_chunk::<OPTIONS>() else { return };
    let options = options(head);
    if let Err(why) = options.check().and_then(|()| options.check_device(SECTORS)) {
        sentence(&why.to_string(), 0);
        return;
    }
    let mut disk = disk();
    match Tree::create(&mut disk, &options.config()).map(drop) {
        Ok(()) => {}
        Err(why @ (IndexError::NoSpace { .. } | IndexError::Option { .. })) => return sentence(&why.to_string(), 0),
        Err(error) => panic!("{options:?}: {error}"),
    }
    let mut steps = script.chunks_exact(4).take(MAX_STEPS);
    let mut states = vec![Contents::new()];
    while play(&mut disk, &options, &mut states, &mut steps) {}
}

/// Opens the tree, compares, and plays steps; true if another start follows. `states` are those since the last flush.
fn play<'s>(
    disk: &mut Mirror<Blank>,
    options: &Options,
    states: &mut Vec<Contents>,
    steps: &mut impl Iterator<Item = &'s [u8]>,
) -> bool {
    let mut tree = match Tree::open(disk, &options.config()) {
        Ok(tree) => tree,
        // Each start needs room for a log.
        Err(IndexError::NoSpace { .. }) => return false,
        Err(error) => panic!("{options:?}: {error}"),
    };
    let mut map = contents(&mut tree, None, None).expect("a sound device reads");
    assert!(states.contains(&map), "{} records, as at no time since the last flush", map.len());
    *states = vec![map.clone()];
    tree.check().expect("a sound tree");
    for step in steps {
        if step[0] % 32 == 31 {
            return true;
        }
        match carry_out(&mut tree, options, &mut map, step) {
            Ok(true) => *states = vec![map.clone()],
            Ok(false) if states.last() != Some(&map) => states.push(map.clone()),
            Ok(false) => {}
            Err(IndexError::NoSpace { .. }) => drop(tree.check().expect("a full tree is sound")),
            Err(error) => panic!("{options:?}: {error}"),
        }
    }
    assert_eq!(contents(&mut tree, None, None).expect("a sound device reads"), map);
    false
}

/// One step on the tree, and on the map if the tree takes it; true after a flush.
fn carry_out(tree: &mut Tree<'_>, options: &Options, map: &mut Contents, step: &[u8]) -> Result<bool, IndexError> {
    let key = |low: u8, high: u8| {
        let number = u64::from(u16::from_le_bytes([low, high]) % 800);
        let number = if options.key_bytes == 2 { number } else { number.wrapping_mul(0x9E37_79B9_7F4A_7C15) };
        number.to_be_bytes()[8 - usize::from(options.key_bytes)..].to_vec()
    };
    let (one, other) = (key(step[1], step[2]), key(step[3], step[2]));
    match step[0] % 32 {
        0..=17 => {
            let bytes = usize::from(step[3]) * usize::from(options.value_bytes) / 255;
            tree.put(&one, &vec![step[3]; bytes])?;
            map.insert(one, vec![step[3]; bytes]);
        }
        18..=22 => {
            tree.delete(&one)?;
            map.remove(&one);
        }
        23..=26 => assert_eq!(tree.get(&one)?.as_ref(), map.get(&one), "key {one:?}"),
        27 if one < other => {
            let expected = map.range(one.clone()..other.clone()).map(|(key, value)| (key.clone(), value.clone()));
            assert_eq!(contents(tree, Some(&one), Some(&other))?, expected.collect());
        }
        27 => drop(tree.check()?),
        28 => tree.compact(&one.clone().min(other.clone()), &one.max(other))?,
        29 => tree.compact_top()?,
        _ => {
            tree.flush()?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// A tree's device, and the tree's contents after each operation.
struct Sound {
    sectors: Vec<[u8; 512]>,
    states: Vec<Contents>,
}

/// Options of the trees whose bytes are changed: small frames, so that the log and the manifest have many.
fn small(kind: usize) -> Options {
    let mut head = [0; OPTIONS];
    head[0] = if kind & 1 == 0 { 0 } else { 2 };
    head[1] = 2;
    head[14] = u8::from(kind & 2 == 0);
    options(&head)
}

fn sound(kind: usize) -> Sound {
    let (options, mut disk) = (small(kind), disk());
    let mut tree = Tree::create(&mut disk, &options.config()).expect("an empty device takes a tree");
    let mut states = vec![Contents::new()];
    for n in 0..900_u64 {
        let mut map = states.last().expect("there is a first state").clone();
        let key = (n * n % 331).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
        if n % 5 == 4 {
            tree.delete(&key).expect("there is room");
            map.remove(&key[..]);
        } else {
            tree.put(&key, &n.to_be_bytes()).expect("there is room");
            map.insert(key.to_vec(), n.to_be_bytes().to_vec());
        }
        states.push(map);
        if n % 40 == 39 {
            tree.flush().expect("there is room");
        }
    }
    tree.flush().expect("there is room");
    drop(tree);
    let mut sectors = vec![[0; 512]; SECTORS as usize];
    for (at, sector) in (0..).zip(&mut sectors) {
        disk.submit(&Request::new(Op::Read, at, 1), Payload::Read(sector)).expect("a sound device reads");
    }
    Sound { sectors, states }
}

pub(super) fn bytes(data: &[u8]) {
    static TREES: [OnceLock<Sound>; 4] = [const { OnceLock::new() }; 4];
    let Some((&kind, changes)) = data.split_first() else { return };
    let kind = usize::from(kind & 3);
    let Sound { sectors, states } = TREES[kind].get_or_init(|| sound(kind));
    let mut disk = disk();
    let mut damaged = sectors.clone();
    for change in changes.chunks_exact(5).take(64) {
        change_sector(&mut damaged, sectors, change);
    }
    for (at, sector) in (0..).zip(&damaged) {
        disk.submit(&Request::new(Op::Write, at, 1), Payload::Write(sector)).expect("a sound device writes");
    }
    match look(&mut disk, &small(kind)) {
        // The end of a log or of the manifest may look like one that a power cut tore: an earlier state, as a whole.
        Ok(found) => assert!(states.contains(&found), "{} records, as at no time", found.len()),
        Err(error @ (IndexError::DamagedFile { .. } | IndexError::NoIndex { .. })) => sentence(&error.to_string(), 0),
        Err(error) => panic!("{error}"),
    }
}

fn change_sector(damaged: &mut [[u8; 512]], sound: &[[u8; 512]], change: &[u8]) {
    let used: Vec<usize> = (0..sound.len()).filter(|&at| sound[at] != [0; 512]).collect();
    let number = usize::from(u16::from_le_bytes([change[1], change[2]]));
    let sector = used[number % used.len()];
    let place = usize::from(change[3]) + 256 * usize::from(change[0] >> 7);
    match change[0] % 8 {
        0 => damaged[sector] = [change[4]; 512],
        1 => damaged[sector] = sound[used[(number / used.len() * 256 + usize::from(change[4])) % used.len()]],
        2 => damaged[sector][place..].fill(change[4]),
        3 => damaged[sector][place] ^= 1 << (change[4] % 8),
        _ => damaged[sector][place] ^= change[4],
    }
}

/// What a changed device gives: the contents, or the error.
fn look(disk: &mut Mirror<Blank>, options: &Options) -> Result<Contents, IndexError> {
    let mut tree = Tree::open(disk, &options.config())?;
    let found = contents(&mut tree, None, None)?;
    for (key, value) in &found {
        assert_eq!(tree.get(key)?.as_ref(), Some(value), "a lookup says the same as a walk");
    }
    tree.check()?;
    Ok(found)
}

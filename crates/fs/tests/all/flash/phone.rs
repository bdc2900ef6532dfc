//! The measurement of Doh et al. (2008) at small scale: the first garbage collection.

use super::rig::Lent;
use nandlab_fs::minv::{self, Minv};
use nandlab_fs::yaffs::{self, Yaffs};
use nandlab_fs::{FileSystem, FsError};
use nandlab_nand::nvm::{NvmCost, Nvram};
use nandlab_nand::plain::WithContent;
use nandlab_nand::random::Random;
use nandlab_nand::{BlockId, Counting, Geometry, ProgramOrder, Rules};

const LISTS: [&str; 3] = ["dialled", "received", "missed"];
const MESSAGES: [&str; 2] = ["incoming", "outgoing"];

/// Full call lists of 300 B, empty message files.
pub(crate) fn set_up(fs: &mut dyn FileSystem) -> Result<(), FsError> {
    for list in LISTS {
        let file = fs.create(list)?;
        fs.write(file, 0, &[7; 300])?;
        fs.close(file)?;
    }
    for messages in MESSAGES {
        let file = fs.create(messages)?;
        fs.close(file)?;
    }
    Ok(())
}

/// One day: 25 records of 15 B overwritten in their lists, and 6 messages of 512 B appended, in random order.
pub(crate) fn transaction(fs: &mut dyn FileSystem, random: &mut Random, slots: &mut [u64; 3]) -> Result<(), FsError> {
    let mut work: Vec<usize> = [[0; 10].as_slice(), &[1; 10], &[2; 5], &[3; 3], &[4; 3]].concat();
    while !work.is_empty() {
        let what = work.swap_remove(random.below(work.len() as u64) as usize);
        if what < 3 {
            let file = fs.open(LISTS[what])?;
            fs.write(file, slots[what] * 15, &[1; 15])?;
            slots[what] = (slots[what] + 1) % 20;
            fs.close(file)?;
        } else {
            let file = fs.open(MESSAGES[what - 3])?;
            let end = fs.len(file)?;
            fs.write(file, end, &[2; 512])?;
            fs.close(file)?;
        }
    }
    Ok(())
}

fn flash() -> WithContent<Counting> {
    let rules = Rules { program_order: ProgramOrder::Any, partial_programs: 3, ..Rules::default() };
    WithContent::new(Counting::new(Geometry::single_die(2048, 32, 512).expect("the shape is sound"), rules))
}

/// The first transaction with an aggressive collection.
fn first_aggressive(aggressive: impl Fn(u64) -> u64, most: u64) -> Option<u64> {
    (1..=most).find(|&transaction| aggressive(transaction) > 0)
}

#[test]
fn yaffs_uses_every_block_by_a_thousand_transactions_and_collects_aggressively_before_two_thousand() {
    let mut flash = flash();
    // The paper has no caches, and the code of its time.
    let config = yaffs::Config { short_op_cache: 0, code: yaffs::Code::Of2007, ..yaffs::Config::default() };
    let mut fs = Yaffs::mount(&mut flash as Lent<'_>, &config).unwrap();
    let (mut random, mut slots) = (Random::new(1), [0; 3]);
    set_up(&mut fs).unwrap();
    let mut counts = Vec::new();
    let mut used = vec![false; 2048];
    let mut all_used = None;
    for number in 1..=2000u64 {
        transaction(&mut fs, &mut random, &mut slots).unwrap();
        counts.push(fs.collections());
        for (block, used) in (0..).map(BlockId).zip(&mut used) {
            let counting = fs.nand().counting();
            *used |= counting.high_water(block) > 0 || counting.pe_cycles()[block.index()] > 0;
        }
        if all_used.is_none() && used.iter().all(|&used| used) {
            all_used = Some(number);
        }
    }
    for transactions in [500, 1000, 1500, 2000] {
        println!("yaffs after {transactions}: {:?}", counts[transactions - 1]);
    }
    let first = first_aggressive(|transaction| counts[transaction as usize - 1].aggressive, 2000);
    println!("yaffs: every block was used at {all_used:?}, first aggressive collection at {first:?}");
    assert!(all_used.is_some_and(|at| (900..=1100).contains(&at)), "every block was used at {all_used:?}");
    assert!(first.is_some_and(|at| at > 1000 && at <= 2000), "first aggressive collection at {first:?}");
    assert!(counts[499].passive > 0 && counts[999].aggressive == 0);
    fs.check();
}

#[test]
fn minv_hardly_erases_before_two_thousand_transactions_and_then_collects_aggressively() {
    let config = minv::Config::default();
    let (mut flash, mut nvram) = (flash(), Nvram::new(1 << 20, NvmCost::default()));
    let mut fs = Minv::mount(&mut flash as Lent<'_>, &mut nvram, &config).unwrap();
    let (mut random, mut slots) = (Random::new(1), [0; 3]);
    set_up(&mut fs).unwrap();
    let mut counts = Vec::new();
    let mut erases = Vec::new();
    for _ in 1..=2500 {
        transaction(&mut fs, &mut random, &mut slots).unwrap();
        counts.push(fs.collections());
        erases.push(fs.nand().counting().pe_cycles().iter().sum::<u32>());
    }
    for transactions in [500, 1000, 1500, 2000, 2500] {
        println!("minv after {transactions}: {:?}, {} erases", counts[transactions - 1], erases[transactions - 1]);
    }
    let first = first_aggressive(|transaction| counts[transaction as usize - 1].aggressive, 2500);
    println!("minv: first aggressive collection at {first:?}");
    assert!(first.is_some_and(|at| at > 2000 && at <= 2500), "first aggressive collection at {first:?}");
    fs.check();
}

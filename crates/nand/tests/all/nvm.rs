//! NVRAM: stored data persists, words are atomic, and every access counts.

use nandlab_nand::nvm::{Nvm, NvmCost, Nvram, PowerLost};
use nandlab_nand::NandError;
use std::num::NonZeroU32;

fn contents(memory: &mut Nvram) -> Vec<u8> {
    let mut bytes = vec![0; memory.bytes() as usize];
    memory.read(0, &mut bytes).unwrap();
    bytes
}

#[test]
fn bytes_come_back_at_any_address_and_length() {
    let mut memory = Nvram::new(60, NvmCost::default());
    assert_eq!(memory.bytes(), 64, "whole words");
    let mut expected = vec![0u8; 64];
    for (number, (at, length)) in (0..64).flat_map(|at| (0..=64 - at).map(move |length| (at, length))).enumerate() {
        let bytes = vec![number as u8; length];
        memory.write(at as u64, &bytes).unwrap();
        expected[at..at + length].copy_from_slice(&bytes);
        let mut back = vec![0; length];
        memory.read(at as u64, &mut back).unwrap();
        assert_eq!(back, bytes);
    }
    assert_eq!(contents(&mut memory), expected);
    memory.store(8, *b"new word").unwrap();
    assert_eq!(&contents(&mut memory)[8..16], b"new word");
}

#[test]
fn a_long_write_is_torn_between_words_and_nowhere_else() {
    // From 5 on, 27 bytes: three bytes, then three words, with no rest.
    let (old, new) = (vec![1u8; 40], [2u8; 27]);
    for stores in 0..=5 {
        let mut memory = Nvram::new(40, NvmCost::default());
        memory.write(0, &old).unwrap();
        memory.cut_after(stores);
        let written = memory.write(5, &new);
        assert_eq!(written.is_ok(), stores >= 4, "four words are touched");
        memory.restore();
        let end = [5, 8, 16, 24, 32, 32][stores as usize];
        let mut expected = old.clone();
        expected[5..end].fill(2);
        assert_eq!(contents(&mut memory), expected, "after {stores} stores");
    }
}

#[test]
fn without_power_nothing_answers() {
    let mut memory = Nvram::new(64, NvmCost::default());
    memory.cut_after(1);
    memory.store(0, [1; 8]).unwrap();
    assert_eq!(memory.read(0, &mut [0; 8]), Ok(()), "power goes at the store, not before");
    assert_eq!(memory.store(8, [2; 8]), Err(PowerLost));
    assert_eq!(memory.read(0, &mut [0; 8]), Err(PowerLost));
    assert_eq!(memory.store(16, [3; 8]), Err(PowerLost));
    assert_eq!(memory.write(16, &[3]), Err(PowerLost));
    memory.restore();
    let mut expected = vec![0; 64];
    expected[..8].fill(1);
    assert_eq!(contents(&mut memory), expected);
    memory.store(8, [2; 8]).unwrap();
    assert_eq!(NandError::from(PowerLost), NandError::PowerLost);
}

/// A user that keeps a count in the memory and a copy of it in RAM.
struct User<'a> {
    memory: &'a mut dyn Nvm,
    count: u64,
}

impl<'a> User<'a> {
    fn mount(memory: &'a mut dyn Nvm) -> Self {
        let mut word = [0; 8];
        memory.read(0, &mut word).unwrap();
        Self { memory, count: u64::from_le_bytes(word) }
    }

    fn add(&mut self) {
        self.count += 1;
        self.memory.store(0, self.count.to_le_bytes()).unwrap();
    }
}

#[test]
fn what_is_stored_outlives_its_user() {
    let mut memory = Nvram::new(8, NvmCost::default());
    for session in 0..3 {
        let mut user = User::mount(&mut memory);
        assert_eq!(user.count, session * 5);
        (0..5).for_each(|_| user.add());
    }
}

#[test]
fn accesses_are_counted_and_cost_by_the_units_they_touch() {
    let words =
        NvmCost { unit_bytes: NonZeroU32::new(8).unwrap(), read_ns: 10.0, write_ns: 25.0, read_nj: 0.5, write_nj: 2.0 };
    let mut memory = Nvram::new(8192, words);
    memory.read(0, &mut [0; 8]).unwrap();
    memory.read(7, &mut [0; 2]).unwrap();
    memory.read(7, &mut []).unwrap();
    memory.store(0, [0; 8]).unwrap();
    memory.write(4, &[0; 16]).unwrap();
    let usage = memory.usage();
    assert_eq!((usage.reads, usage.read_units), (3, 3));
    assert_eq!((usage.writes, usage.written_units, usage.stored_words), (2, 4, 4));
    assert_eq!((usage.time_ns, usage.energy_nj), (3 * 10 + 4 * 25, 3.0 * 0.5 + 4.0 * 2.0));

    // By pages of 4 KiB: 11 ns and 0.1 nJ a read, 27 ns and 0.26 nJ a write, whatever the part of the page.
    let pages = NvmCost {
        unit_bytes: NonZeroU32::new(4096).unwrap(),
        read_ns: 11.0,
        write_ns: 27.0,
        read_nj: 0.1,
        write_nj: 0.26,
    };
    let mut memory = Nvram::new(8192, pages);
    memory.write(0, &[0; 4096]).unwrap();
    memory.write(4096, &[0; 512]).unwrap();
    memory.read(4000, &mut [0; 200]).unwrap();
    let usage = memory.usage();
    assert_eq!((usage.written_units, usage.read_units, usage.stored_words), (2, 2, 576));
    assert_eq!(usage.time_ns, 2 * 27 + 2 * 11);
    assert!((usage.energy_nj - 0.72).abs() < 1e-12);
}

#[test]
fn a_lost_store_is_not_counted() {
    let mut memory = Nvram::new(64, NvmCost::default());
    memory.cut_after(2);
    assert_eq!(memory.write(0, &[1; 64]), Err(PowerLost));
    let usage = memory.usage();
    assert_eq!((usage.writes, usage.stored_words), (0, 2), "the words that came before it are");
}

#[test]
#[should_panic(expected = "9 bytes from 56 on are outside the memory of 64 bytes")]
fn addresses_end_with_the_memory() {
    let _ = Nvram::new(64, NvmCost::default()).write(56, &[0; 9]);
}

#[test]
#[should_panic(expected = "8 bytes from 18446744073709551608 on are outside")]
fn addresses_do_not_wrap() {
    let _ = Nvram::new(64, NvmCost::default()).store(u64::MAX - 7, [0; 8]);
}

#[test]
#[should_panic(expected = "store at 12: a word stands at a multiple of 8")]
fn a_word_is_aligned() {
    let _ = Nvram::new(64, NvmCost::default()).store(12, [0; 8]);
}

//! Large tables in huge pages, if the system has them: a random access then rarely waits for the translation of its
//! address. And memory that was used once.
//!
//! A [`Table`] is blank at first and takes memory where it is written, so a large device costs nothing before it is used.
//! The system gives memory that reads as zeros, and touches it with the first write. A blank entry is therefore stored as
//! zero.

use crate::address::{BlockId, Lpn, Ppa};
use std::cell::Cell;

/// An entry of a [`Table`]: a number whose highest value means that there is none.
pub trait Entry: Copy + PartialEq {
    /// No entry.
    const BLANK: Self;

    /// The entry for a number.
    fn of(number: u32) -> Self;

    /// The entry's number.
    fn number(self) -> u32;
}

impl Entry for u32 {
    const BLANK: Self = Self::MAX;

    #[inline]
    fn of(number: u32) -> Self {
        number
    }

    #[inline]
    fn number(self) -> u32 {
        self
    }
}

macro_rules! addresses {
    ($($address:ident),*) => {$(
        impl Entry for $address {
            const BLANK: Self = Self::NONE;

            #[inline]
            fn of(number: u32) -> Self {
                Self(number)
            }

            #[inline]
            fn number(self) -> u32 {
                self.0
            }
        }
    )*};
}

addresses!(Ppa, Lpn, BlockId);

/// A table of fixed length, without any entry at first.
#[derive(Clone, Debug, Default)]
pub struct Table<T> {
    /// The entries' numbers inverted, so that a blank one is zero.
    inverted: Vec<u32>,
    entry: std::marker::PhantomData<T>,
}

impl<T: Entry> Table<T> {
    /// `len` blank entries, which take no memory yet.
    pub fn blank(len: usize) -> Self {
        Self { inverted: zeroed(len), entry: std::marker::PhantomData }
    }

    /// The number of entries, blank ones too.
    #[inline]
    pub fn len(&self) -> usize {
        self.inverted.len()
    }

    /// Whether the table has no room for an entry.
    pub fn is_empty(&self) -> bool {
        self.inverted.is_empty()
    }

    /// The entry at a place.
    ///
    /// # Panics
    /// If there is no such place; so do all functions without an answer for it.
    #[inline]
    pub fn at(&self, place: usize) -> T {
        T::of(!self.inverted[place])
    }

    /// The entry at a place; `None` if there is no such place.
    #[inline]
    pub fn get(&self, place: usize) -> Option<T> {
        self.inverted.get(place).map(|&inverted| T::of(!inverted))
    }

    /// Sets the entry at a place.
    #[inline]
    pub fn set(&mut self, place: usize, entry: T) {
        self.inverted[place] = !entry.number();
    }

    /// Sets the entries from a place on.
    #[inline]
    pub fn set_run(&mut self, place: usize, entries: impl ExactSizeIterator<Item = T>) {
        let room = &mut self.inverted[place..place + entries.len()];
        room.iter_mut().zip(entries).for_each(|(inverted, entry)| *inverted = !entry.number());
    }

    /// Sets the entry at a place, and returns the one before.
    #[inline]
    pub fn replace(&mut self, place: usize, entry: T) -> T {
        T::of(!std::mem::replace(&mut self.inverted[place], !entry.number()))
    }

    /// Sets the entry at a place to `to` if it is `from`; tells whether it was.
    #[inline]
    pub fn follow(&mut self, place: usize, from: T, to: T) -> bool {
        let inverted = &mut self.inverted[place];
        let is_here = *inverted == !from.number();
        if is_here {
            *inverted = !to.number();
        }
        is_here
    }

    /// Where the entries from the start of `places` on ascend by one, from `from`, they ascend from `to` now. Returns how many
    /// did.
    #[inline]
    pub fn follow_run(&mut self, places: std::ops::Range<usize>, from: T, to: T) -> usize {
        // Inverted numbers descend.
        let (from, to) = (!from.number(), !to.number());
        let entries = &mut self.inverted[places];
        let run = (0..).zip(&*entries).take_while(|&(n, &entry)| entry == from.wrapping_sub(n)).count();
        (0..).zip(&mut entries[..run]).for_each(|(n, entry)| *entry = to.wrapping_sub(n));
        run
    }

    /// Makes entries blank.
    pub fn clear(&mut self, places: std::ops::Range<usize>) {
        self.inverted[places].fill(0);
    }

    /// The entries at some places, blank ones too.
    #[inline]
    pub fn range(&self, places: std::ops::Range<usize>) -> impl ExactSizeIterator<Item = T> + '_ {
        self.inverted[places].iter().map(|&inverted| T::of(!inverted))
    }

    /// Every entry, blank ones too.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + DoubleEndedIterator + '_ {
        self.inverted.iter().map(|&inverted| T::of(!inverted))
    }

    /// The entries that are not blank, with their places.
    pub fn entries(&self) -> impl Iterator<Item = (usize, T)> + '_ {
        self.iter().enumerate().filter(|&(_, entry)| entry != T::BLANK)
    }

    /// Starts loading the entry at a place, if there is such a place.
    #[inline(always)]
    pub fn prefetch(&self, place: usize) {
        crate::prefetch::prefetch(&self.inverted, place);
    }
}

/// Largest table, in bytes, that is written at once. Without this, one of two runs of a small page map was a third slower than the
/// other, and with it none of two was. Memory pages that are taken as requests come may lie so that they share the cache badly;
/// that this is the cause was not measured.
const AT_ONCE: usize = 4 << 20;

/// Largest table, in bytes, that is in huge pages though little of it may be written. The first write to a huge page takes
/// 2 MiB, so a few writes all over a larger table would take memory as if the whole device were in use.
const ALWAYS_HUGE: usize = 32 << 20;

thread_local! {
    static FILLED: Cell<bool> = const { Cell::new(false) };
}

/// Carries out `make`. If `filled`, all of the tables made in it will be written, so that large ones may be in huge pages,
/// too. Only speed and memory depend on it.
pub fn to_be_filled<R>(filled: bool, make: impl FnOnce() -> R) -> R {
    let before = FILLED.replace(filled);
    let made = make();
    FILLED.set(before);
    made
}

/// A table of `len` zeros, which takes no memory until it is written.
pub fn zeroed<T: Default + Clone>(len: usize) -> Vec<T> {
    if len * size_of::<T>() <= AT_ONCE {
        return filled(T::default(), len);
    }
    // For zeros, the allocator takes memory from the system that reads as zeros, and does not touch it.
    let table = vec![T::default(); len];
    if len * size_of::<T>() <= ALWAYS_HUGE || FILLED.get() {
        ask_for_huge_pages(&table);
    }
    table
}

/// A table of `len` times `value`.
pub fn filled<T: Clone>(value: T, len: usize) -> Vec<T> {
    let mut table = Vec::new();
    resize(&mut table, len, value);
    table
}

/// Resizes `table` as [`Vec::resize`] does; if it must move, it moves to huge pages.
pub fn resize<T: Clone>(table: &mut Vec<T>, len: usize, value: T) {
    reserve(table, len);
    table.resize(len, value);
}

/// Makes room for `len` entries in all; if the table must move, it moves to huge pages.
pub fn reserve<T>(table: &mut Vec<T>, len: usize) {
    if len > table.capacity() {
        let mut larger = Vec::with_capacity(len);
        // Before the first access, which decides on the size of a page.
        ask_for_huge_pages(&larger);
        larger.append(table);
        *table = larger;
    }
}

/// Only for the huge pages wholly inside the room of `table`; nothing depends on the answer.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn ask_for_huge_pages<T>(table: &Vec<T>) {
    use rustix::mm::{madvise, Advice};
    const HUGE: usize = 2 << 20;
    let bytes = table.capacity() * size_of::<T>();
    let before = table.as_ptr().cast::<u8>().align_offset(HUGE);
    let length = bytes.saturating_sub(before) / HUGE * HUGE;
    if length > 0 {
        let first = table.as_ptr().cast::<u8>().wrapping_add(before).cast_mut();
        // SAFETY: the range lies in the table's own room, and the advice changes no contents.
        let _ = unsafe { madvise(first.cast(), length, Advice::LinuxHugepage) };
    }
}

/// Other systems choose the size themselves.
#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages<T>(_: &[T]) {}

/// Gives memory that is free back to the system. A mount reads much that it forgets again, in many small pieces, and the
/// GNU allocator keeps the room of such.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
pub fn give_back_free_memory() {
    extern "C" {
        fn malloc_trim(pad: usize) -> std::ffi::c_int;
    }
    // SAFETY: it may be called at any time and by any thread; it touches only memory that is free.
    let _ = unsafe { malloc_trim(0) };
}

/// Other allocators decide themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_back_free_memory() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_blank_until_they_are_set() {
        let mut table = Table::<Ppa>::blank(9 << 20);
        assert_eq!((table.len(), table.at(9), table.get(9 << 20)), (9 << 20, Ppa::NONE, None));
        table.set(9, Ppa(0));
        table.set(5, Ppa(7));
        assert_eq!((table.replace(5, Ppa(8)), table.at(5)), (Ppa(7), Ppa(8)));
        assert!(table.entries().eq([(5, Ppa(8)), (9, Ppa(0))]));
        assert!(!table.follow(5, Ppa(7), Ppa(1)) && table.follow(5, Ppa(8), Ppa(1)));
        (20..25).for_each(|place| table.set(place, Ppa(place as u32 + 80)));
        table.set(23, Ppa(3));
        assert_eq!(table.follow_run(20..25, Ppa(100), Ppa(7)), 3);
        assert!(table.range(20..25).eq([7, 8, 9, 3, 104].map(Ppa)));
        table.clear(20..25);
        table.set(5, Ppa(8));
        table.clear(0..6);
        assert!(table.entries().eq([(9, Ppa(0))]));
        assert_eq!(table.iter().next_back(), Some(Ppa::NONE));
    }

    #[test]
    fn a_list_that_moves_holds_what_it_held() {
        let mut table = filled(7u32, 3 << 20);
        assert_eq!(table, vec![7; 3 << 20]);
        table[5] = 1;
        resize(&mut table, 5 << 20, 9);
        assert_eq!((table.len(), table[5], table[4], table[3 << 20]), (5 << 20, 1, 7, 9));
        assert!(filled(0u8, 0).is_empty());
    }
}

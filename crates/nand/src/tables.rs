//! Large tables in huge pages, if the system has them: a random access then rarely waits for the translation of its
//! address. And memory that was used once.

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
    fn a_table_holds_what_a_list_holds() {
        let mut table = filled(7u32, 3 << 20);
        assert_eq!(table, vec![7; 3 << 20]);
        table[5] = 1;
        resize(&mut table, 5 << 20, 9);
        assert_eq!((table.len(), table[5], table[4], table[3 << 20]), (5 << 20, 1, 7, 9));
        assert!(filled(0u8, 0).is_empty());
    }
}

//! Hints to the processor's cache.

/// Starts loading `table[at]`; loads nothing of use out of range, and does nothing on machines without such a hint.
#[inline(always)]
#[allow(unsafe_code)]
pub fn prefetch<T>(table: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        // Without a branch: whether an entry is there is often unpredictable.
        let entry = table.as_ptr().wrapping_add(at.min(table.len()));
        // SAFETY: a prefetch accesses nothing architecturally, whatever the address.
        unsafe {
            use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
            _mm_prefetch::<_MM_HINT_T0>(entry.cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, at);
}

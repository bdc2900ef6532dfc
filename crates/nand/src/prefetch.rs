//! Hints to the processor's cache.

/// Starts loading `table[at]`; does nothing out of range or on machines without such a hint.
#[inline(always)]
#[allow(unsafe_code)]
pub fn prefetch<T>(table: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(entry) = table.get(at) {
        // SAFETY: a prefetch reads nothing architecturally, and the pointer comes from a live reference.
        unsafe {
            use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(entry).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, at);
}

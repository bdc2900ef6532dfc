//! `nandlab_proof::fuzz::lsm_operations` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nandlab_proof::fuzz::lsm_operations(data));

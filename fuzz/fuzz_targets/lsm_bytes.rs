//! `nandlab_proof::fuzz::lsm_bytes` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nandlab_proof::fuzz::lsm_bytes(data));

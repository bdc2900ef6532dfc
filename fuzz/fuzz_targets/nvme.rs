//! `nandlab_proof::fuzz::nvme` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nandlab_proof::fuzz::nvme(data));

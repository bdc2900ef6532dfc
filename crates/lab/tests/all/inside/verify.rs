//! Tests of `src/stack/verify.rs`.

use nandlab_block::{BlockDevice, Completion, Error, Op, Payload, Request};
use nandlab_lab::inside::Oracle;
use nandlab_nand::SECTOR_BYTES;

const SECTOR: usize = SECTOR_BYTES as usize;

/// A RAM disk that may lose a write.
struct Disk {
    bytes: Vec<u8>,
    lose: bool,
}

impl BlockDevice for Disk {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        let range = request.sector as usize * SECTOR..request.end() as usize * SECTOR;
        match data {
            Payload::Write(bytes) if !self.lose => self.bytes[range].copy_from_slice(bytes),
            Payload::Read(bytes) => bytes.copy_from_slice(&self.bytes[range]),
            _ => {}
        }
        Ok(Completion::default())
    }

    fn sectors(&self) -> u64 {
        (self.bytes.len() / SECTOR) as u64
    }
}

fn run(lose: bool) {
    let mut disk = Disk { bytes: vec![0; 16 * SECTOR], lose: false };
    let mut oracle = Oracle::new(16, false);
    oracle.submit(&mut disk, &Request::new(Op::Read, 0, 16)).unwrap();
    oracle.submit(&mut disk, &Request::new(Op::Write, 3, 5)).unwrap();
    disk.lose = lose;
    oracle.submit(&mut disk, &Request::new(Op::Write, 4, 1)).unwrap();
    oracle.submit(&mut disk, &Request::new(Op::Trim, 3, 1)).unwrap();
    oracle.submit(&mut disk, &Request::new(Op::Read, 0, 16)).unwrap();
    disk.bytes[3 * SECTOR..4 * SECTOR].fill(0);
    oracle.submit(&mut disk, &Request::new(Op::Read, 0, 16)).unwrap();
}

#[test]
fn an_honest_disk_passes() {
    run(false);
}

#[test]
fn what_was_trimmed_may_be_older_where_a_map_may_be_lost() {
    let answer = |loses_trims: bool, trims: bool| {
        let mut disk = Disk { bytes: vec![0; 16 * SECTOR], lose: false };
        let mut oracle = Oracle::new(16, loses_trims);
        oracle.submit(&mut disk, &Request::new(Op::Write, 3, 1)).unwrap();
        let first = disk.bytes.clone();
        oracle.submit(&mut disk, &Request::new(Op::Write, 3, 1)).unwrap();
        if trims {
            oracle.submit(&mut disk, &Request::new(Op::Trim, 3, 1)).unwrap();
        }
        disk.bytes = first;
        std::panic::catch_unwind(move || oracle.submit(&mut disk, &Request::new(Op::Read, 3, 1)).is_ok())
    };
    assert!(answer(true, true).unwrap());
    assert!(answer(true, false).is_err() && answer(false, true).is_err());
}

#[test]
#[should_panic(expected = "sector 4 reads back other bytes than write 2")]
fn a_lost_write_is_found() {
    run(true);
}

//! A RAM device. It records its requests, and loses unflushed data at a power cut.

use nandlab_block::{BlockDevice, Completion, Error, Op, Payload, Request};
use nandlab_nand::random::Random;
use std::collections::BTreeMap;

/// See above.
#[derive(Clone)]
pub struct Disk {
    pub bytes: Vec<u8>,
    /// Requests since this list was emptied.
    pub requests: Vec<Request>,
    /// Sectors written since the last flush, with their contents at that flush.
    unflushed: BTreeMap<u64, [u8; 512]>,
    /// Requests until the power cut.
    pub left: u64,
}

impl Disk {
    pub fn new(bytes: usize) -> Self {
        Self { bytes: vec![0xA5; bytes], requests: Vec::new(), unflushed: BTreeMap::new(), left: u64::MAX }
    }

    pub fn of(bytes: Vec<u8>) -> Self {
        Self { bytes, ..Self::new(0) }
    }

    /// Restores power: some unflushed sectors go back to their old contents.
    pub fn power_up(&mut self, random: &mut Random) {
        let kept = random.unit();
        for (sector, old) in std::mem::take(&mut self.unflushed) {
            if !random.chance(kept) {
                self.bytes[sector as usize * 512..][..512].copy_from_slice(&old);
            }
        }
        self.left = u64::MAX;
    }
}

impl BlockDevice for Disk {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        self.left = self.left.checked_sub(1).ok_or(Error::PowerLost)?;
        self.requests.push(*request);
        let part = request.sector as usize * 512..request.end() as usize * 512;
        match (request.op, data) {
            (Op::Read, Payload::Read(to)) => to.copy_from_slice(&self.bytes[part]),
            (Op::Write, Payload::Write(from)) => {
                for sector in request.sector..request.end() {
                    let old = self.bytes[sector as usize * 512..][..512].try_into().unwrap();
                    self.unflushed.entry(sector).or_insert(old);
                }
                self.bytes[part].copy_from_slice(from);
            }
            (Op::Trim, Payload::None) => self.bytes[part].fill(0),
            (Op::Flush, Payload::None) => self.unflushed.clear(),
            other => panic!("{other:?}"),
        }
        Ok(Completion { arrival: request.time, done: request.time + 1 })
    }

    fn sectors(&self) -> u64 {
        self.bytes.len() as u64 / 512
    }
}

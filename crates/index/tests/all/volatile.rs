//! A device with weaker guarantees than this project's block devices: writes and trims since the last flush may be there or
//! not, sector by sector and in any order, and one sector may be part new, part old.

use nandlab_block::{BlockDevice, Completion, Error, Op, Payload, Request};
use nandlab_nand::random::Random;
use std::collections::BTreeMap;

type Sector = [u8; 512];

/// A disk with a volatile cache.
#[derive(Clone)]
pub struct Disk {
    pub durable: Vec<Sector>,
    /// By sector: the writes since the last flush, the newest last.
    pub written: BTreeMap<u64, Vec<Sector>>,
    /// Requests until the power goes.
    pub left: u64,
}

impl Disk {
    pub fn new(sectors: usize) -> Self {
        Self { durable: vec![[0; 512]; sectors], written: BTreeMap::new(), left: u64::MAX }
    }

    /// Power goes and comes back. Each sector is as at the last flush, as after a later write, or mixed.
    pub fn cut(&mut self, random: &mut Random) {
        // Some cuts keep nearly all, some nearly nothing.
        let kept = random.unit();
        for (sector, states) in std::mem::take(&mut self.written) {
            let state = states[random.below(states.len() as u64) as usize];
            if random.chance(kept) {
                let new = 0..if random.chance(0.2) { random.below(512) as usize } else { 512 };
                self.durable[sector as usize][new.clone()].copy_from_slice(&state[new]);
            }
        }
        self.left = u64::MAX;
    }
}

impl BlockDevice for Disk {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        let is_last = self.left == 1;
        self.left = self.left.checked_sub(1).ok_or(Error::PowerLost)?;
        match (request.op, data) {
            (Op::Flush, _) => {
                for (sector, states) in std::mem::take(&mut self.written) {
                    self.durable[sector as usize] = *states.last().unwrap();
                }
            }
            (Op::Write, Payload::Write(bytes)) => {
                for (sector, bytes) in (request.sector..).zip(bytes.chunks_exact(512)) {
                    self.written.entry(sector).or_default().push(bytes.try_into().unwrap());
                }
                // The power goes during the write.
                return if is_last { Err(Error::PowerLost) } else { Ok(Completion::default()) };
            }
            (Op::Trim, _) => {
                for sector in request.sector..request.end() {
                    self.written.entry(sector).or_default().push([0; 512]);
                }
            }
            (Op::Read, Payload::Read(bytes)) => {
                for (sector, bytes) in (request.sector..).zip(bytes.chunks_exact_mut(512)) {
                    let newest = self.written.get(&sector).and_then(|states| states.last());
                    bytes.copy_from_slice(newest.unwrap_or(&self.durable[sector as usize]));
                }
            }
            other => panic!("{other:?}"),
        }
        Ok(Completion::default())
    }

    fn sectors(&self) -> u64 {
        self.durable.len() as u64
    }
}

//! Pass-through: forwards every request unchanged to the device below.
//!
//! ## Idea
//! A buffer of size zero. It costs nothing and keeps nothing, so a run with it has the same result as a run
//! without it. The tests of every stack compare with it, and it is the smallest example of a buffer.
//!
//! ## Write path
//! None of its own: the device below acknowledges writes and carries out flushes.
//!
//! ## Recovery
//! A power cut loses only the device's own unflushed data.
//!
//! ## Invariants
//! Every page read or written is a miss.
//!
//! ## Differences
//! None: no paper describes it.
//!
//! ## References
//! None.

use crate::parts::sizes::Size;
use crate::{Buffer, Counts, Devices, Memory, MountError, Options};
use nandlab_block::{Completion, Error, Op, Payload, RamUse, Request};
use nandlab_nand::nvm::Nvm;
use nandlab_nand::Geometry;

/// Options of `[buffer.pass_through]`: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Options for Config {
    fn memories(&self) -> Vec<Size> {
        Vec::new()
    }

    fn sized(&self, _: u64, _: &Geometry) -> Self {
        *self
    }
}

impl Config {
    #[allow(clippy::unnecessary_wraps, clippy::trivially_copy_pass_by_ref)] // every buffer is mounted this way
    pub(crate) fn mount(&self, geometry: &Geometry, _: &mut dyn Nvm) -> Result<PassThrough, MountError> {
        Ok(PassThrough { sectors_per_page: geometry.sectors_per_page().into(), counts: Counts::default() })
    }
}

/// Forwards every request.
#[derive(Clone, Copy, Debug)]
pub struct PassThrough {
    sectors_per_page: u64,
    counts: Counts,
}

impl Buffer for PassThrough {
    fn submit(&mut self, devices: Devices<'_>, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        let pages = request.end().div_ceil(self.sectors_per_page) - request.sector / self.sectors_per_page;
        match request.op {
            Op::Read => self.counts.read_misses += pages,
            Op::Write | Op::Append => self.counts.write_misses += pages,
            Op::Trim | Op::Flush | Op::UnitUpdate | Op::Zone(_) => {}
        }
        devices.below.submit(request, data)
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn kept_in(&self, _: u32) -> Option<Memory> {
        None
    }

    fn surviving(&self, _: u32) -> u64 {
        0
    }

    fn ram(&self) -> RamUse {
        RamUse::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BufferConfig, Buffered};
    use nandlab_block::BlockDevice;
    use nandlab_nand::nvm::Nvram;

    /// Records its requests.
    #[derive(Default)]
    struct Below(Vec<(Request, usize)>);

    impl BlockDevice for Below {
        fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
            let bytes = match data {
                Payload::Read(bytes) => {
                    bytes.fill(7);
                    bytes.len()
                }
                Payload::Write(bytes) => bytes.len(),
                Payload::None => 0,
            };
            self.0.push((*request, bytes));
            match request.sector {
                13 => Err(Error::PowerLost),
                _ => Ok(Completion { arrival: request.time, done: request.time + 5 }),
            }
        }

        fn sectors(&self) -> u64 {
            99
        }
    }

    #[test]
    fn every_request_arrives_below_and_its_answer_above() {
        let geometry = Geometry::single_die(8, 4, 2048).expect("a small device");
        let mut nvram = Nvram::new(0, Default::default());
        let mut buffer = BufferConfig::PassThrough(Config {}).mount(&geometry, &mut nvram).expect("it has no options");
        let mut below = Below::default();
        let mut device = Buffered::new(&mut *buffer, &mut nvram, &mut below);
        assert_eq!(device.sectors(), 99);
        let mut bytes = [0; 1024];
        let read = Request { time: 3, ..Request::new(Op::Read, 3, 2) };
        let answer = device.submit(&read, Payload::Read(&mut bytes));
        assert_eq!(answer, Ok(Completion { arrival: 3, done: 8 }));
        assert_eq!(bytes, [7; 1024]);
        let write = Request::new(Op::Write, 4, 4);
        device.submit(&write, Payload::Write(&[1; 2048])).expect("the device below takes it");
        let (trim, flush) = (Request::new(Op::Trim, 0, 8), Request::new(Op::Flush, 0, 0));
        device.submit(&trim, Payload::None).expect("the device below takes it");
        device.submit(&flush, Payload::None).expect("the device below takes it");
        let failing = Request::new(Op::Write, 13, 1);
        assert_eq!(device.submit(&failing, Payload::None), Err(Error::PowerLost));
        assert_eq!(below.0, [(read, 1024), (write, 2048), (trim, 0), (flush, 0), (failing, 0)]);
        // Sectors 3 and 4 are in two pages of four sectors; 4 to 7 and 13 are in one page each.
        assert_eq!(buffer.counts(), Counts { read_misses: 2, write_misses: 2, ..Counts::default() });
        assert_eq!(buffer.ram().total(), 0);
    }
}

//! Bytes in memory for a device without bytes.

use nandlab_block::{BlockDevice, Completion, Error, Op, Payload, Request};
use nandlab_nand::SECTOR_BYTES;

/// A device that keeps the bytes itself and passes every request on without them.
///
/// A tree needs the bytes of its pages; a device that only counts has none. Over a mirror the tree runs on the fast
/// counting stack, and the device below sees exactly the requests that one with bytes would see.
#[derive(Debug)]
pub struct Mirror<D> {
    inner: D,
    bytes: Vec<u8>,
}

impl<D: BlockDevice> Mirror<D> {
    /// A mirror of `inner`, all zeros; memory is taken as it is written.
    pub fn new(inner: D) -> Self {
        let bytes = vec![0; (inner.sectors() * u64::from(SECTOR_BYTES)) as usize];
        Self { inner, bytes }
    }

    /// The device below.
    pub fn inner(&self) -> &D {
        &self.inner
    }

    /// The device below, to be read or changed.
    pub fn inner_mut(&mut self) -> &mut D {
        &mut self.inner
    }

    /// The device below, without the bytes.
    pub fn into_inner(self) -> D {
        self.inner
    }
}

impl<D: BlockDevice> BlockDevice for Mirror<D> {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        let completion = self.inner.submit(request, Payload::None)?;
        // The device below has refused what reaches past its end.
        let range =
            (request.sector * u64::from(SECTOR_BYTES)) as usize..(request.end() * u64::from(SECTOR_BYTES)) as usize;
        match (request.op, data) {
            (Op::Read, Payload::Read(to)) => to.copy_from_slice(&self.bytes[range]),
            (Op::Write, Payload::Write(from)) => self.bytes[range].copy_from_slice(from),
            (Op::Trim, _) => self.bytes[range].fill(0),
            _ => {}
        }
        Ok(completion)
    }

    fn sectors(&self) -> u64 {
        self.inner.sectors()
    }
}

/// A device that takes every request at once and keeps nothing: under a [`Mirror`] a disk in memory.
#[derive(Clone, Copy, Debug)]
pub struct Blank {
    sectors: u64,
}

impl Blank {
    /// A device of `sectors` sectors.
    pub fn new(sectors: u64) -> Self {
        Self { sectors }
    }
}

impl BlockDevice for Blank {
    fn submit(&mut self, request: &Request, _: Payload<'_>) -> Result<Completion, Error> {
        if request.end() > self.sectors {
            let (sector, sectors, capacity) = (request.sector, request.sectors, self.sectors);
            return Err(Error::OutOfRange { sector, sectors, capacity });
        }
        Ok(Completion { arrival: request.time, done: request.time })
    }

    fn sectors(&self) -> u64 {
        self.sectors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that no bytes come down, and counts.
    struct Bare(Blank, Vec<(Op, u64)>);

    impl BlockDevice for Bare {
        fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
            assert!(matches!(data, Payload::None));
            self.1.push((request.op, request.sector));
            self.0.submit(request, data)
        }

        fn sectors(&self) -> u64 {
            self.0.sectors()
        }
    }

    #[test]
    fn bytes_stay_and_requests_pass() {
        let mut mirror = Mirror::new(Bare(Blank::new(8), Vec::new()));
        let mut bytes = [7; 1024];
        mirror.submit(&Request::new(Op::Write, 3, 2), Payload::Write(&bytes)).unwrap();
        mirror.submit(&Request::new(Op::Trim, 4, 1), Payload::None).unwrap();
        mirror.submit(&Request::new(Op::Read, 3, 2), Payload::Read(&mut bytes)).unwrap();
        assert_eq!((bytes[..512] == [7; 512], bytes[512..] == [0; 512]), (true, true));
        let beyond = mirror.submit(&Request::new(Op::Read, 7, 2), Payload::Read(&mut bytes));
        assert_eq!(beyond, Err(Error::OutOfRange { sector: 7, sectors: 2, capacity: 8 }));
        assert_eq!(mirror.into_inner().1, [(Op::Write, 3), (Op::Trim, 4), (Op::Read, 3), (Op::Read, 7)]);
    }
}

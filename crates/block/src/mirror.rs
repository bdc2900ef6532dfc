//! Bytes in memory for a device without bytes.

use crate::{BlockDevice, Completion, Ended, Error, Op, Payload, Queued, Request, ZoneCommand, ZoneReport, ZoneShape};
use nandlab_nand::{Time, SECTOR_BYTES};
use std::cell::Cell;
use std::rc::Rc;

/// Piece size in bytes: memory is taken a piece at a time.
const PIECE: usize = 1 << 20;

/// A device that keeps the bytes itself and passes every request on without them.
///
/// An index or a file system needs the bytes it wrote; a counting device has none. Over a mirror they run on the fast
/// counting stack, and the device below sees exactly the requests a device with bytes would see.
#[derive(Debug)]
pub struct Mirror<D> {
    inner: D,
    /// The bytes by [`PIECE`]; an empty piece holds zeros.
    pieces: Vec<Vec<u8>>,
    /// Whether the device below has bytes too; they must be equal.
    compares: bool,
    switch: Switch,
}

/// Takes the device below a mirror off: requests from then on are answered by the mirror, at once.
#[derive(Clone, Debug, Default)]
pub struct Switch(Rc<Cell<bool>>);

impl Switch {
    /// Throws the switch; there is no way back, since the device below has missed something.
    pub fn detach(&self) {
        self.0.set(true);
    }
}

impl<D: BlockDevice> Mirror<D> {
    /// A mirror over `inner`, all zeros; memory is taken on writes.
    pub fn new(inner: D) -> Self {
        Self { inner, pieces: Vec::new(), compares: false, switch: Switch::default() }
    }

    /// A mirror over a device with bytes; writes go down too, and reads must return the same bytes.
    ///
    /// # Panics
    /// At a read with other bytes.
    pub fn comparing(inner: D) -> Self {
        Self { compares: true, ..Self::new(inner) }
    }

    /// The switch that takes the device below off.
    pub fn switch(&self) -> Switch {
        self.switch.clone()
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

    /// The same bytes over another device; it must hold them if this one does.
    pub fn onto<E: BlockDevice>(self, inner: E) -> Mirror<E> {
        let Self { pieces, compares, switch, .. } = self;
        Mirror { inner, pieces, compares, switch }
    }

    /// Passes a request on by `pass`; `None` if the device below was taken off.
    fn pass_on<T>(
        &mut self,
        request: &Request,
        data: &mut Payload<'_>,
        pass: impl FnOnce(&mut D, &Request, Payload<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        if self.switch.0.get() {
            return Ok(None);
        }
        if !self.compares {
            return pass(&mut self.inner, request, Payload::None).map(Some);
        }
        match data {
            Payload::None => pass(&mut self.inner, request, Payload::None).map(Some),
            Payload::Write(bytes) => pass(&mut self.inner, request, Payload::Write(bytes)).map(Some),
            Payload::Read(bytes) => {
                let passed = pass(&mut self.inner, request, Payload::Read(bytes))?;
                let mut kept = vec![0; bytes.len()];
                self.read(start(request), &mut kept);
                assert!(kept == **bytes, "sector {} reads back other bytes than were written there", request.sector);
                Ok(Some(passed))
            }
        }
    }

    /// Does with the bytes what `request` says.
    fn keep(&mut self, request: &Request, data: Payload<'_>) {
        match (request.op, data) {
            (Op::Read, Payload::Read(to)) => self.read(start(request), to),
            (Op::Write, Payload::Write(from)) => self.write(start(request), from),
            (Op::Trim, _) => self.write(start(request), &vec![0; request.sectors as usize * SECTOR_BYTES as usize]),
            (Op::Zone(ZoneCommand::Reset), _) => {
                let sectors = self.inner.zone_shape().map_or(0, |shape| shape.size) as usize;
                self.write(start(request), &vec![0; sectors * SECTOR_BYTES as usize]);
            }
            _ => {}
        }
    }

    fn read(&self, mut at: usize, mut to: &mut [u8]) {
        while !to.is_empty() {
            let (piece, from) = (at / PIECE, at % PIECE);
            let (part, rest) = to.split_at_mut(to.len().min(PIECE - from));
            match self.pieces.get(piece).filter(|bytes| !bytes.is_empty()) {
                Some(bytes) => part.copy_from_slice(&bytes[from..from + part.len()]),
                None => part.fill(0),
            }
            at += part.len();
            to = rest;
        }
    }

    fn write(&mut self, mut at: usize, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (piece, to) = (at / PIECE, at % PIECE);
            let (part, rest) = bytes.split_at(bytes.len().min(PIECE - to));
            if piece >= self.pieces.len() {
                self.pieces.resize_with(piece + 1, Vec::new);
            }
            let kept = &mut self.pieces[piece];
            kept.resize(PIECE, 0);
            kept[to..to + part.len()].copy_from_slice(part);
            at += part.len();
            bytes = rest;
        }
    }
}

/// A request's first byte.
fn start(request: &Request) -> usize {
    (request.sector * u64::from(SECTOR_BYTES)) as usize
}

impl<D: BlockDevice> BlockDevice for Mirror<D> {
    fn submit(&mut self, request: &Request, mut data: Payload<'_>) -> Result<Completion, Error> {
        // The device below refuses requests past its end.
        let passed = self.pass_on(request, &mut data, D::submit)?;
        self.keep(request, data);
        Ok(passed.unwrap_or(Completion { arrival: request.time, done: request.time }))
    }

    fn zone_shape(&self) -> Option<ZoneShape> {
        self.inner.zone_shape()
    }

    fn zone_at(&self, sector: u64) -> Option<ZoneReport> {
        self.inner.zone_at(sector)
    }

    fn sectors(&self) -> u64 {
        self.inner.sectors()
    }

    fn queued(&mut self) -> Option<&mut dyn Queued> {
        if self.switch.0.get() || self.inner.queued().is_none() {
            return None;
        }
        Some(self)
    }

    fn peek(&self, sector: u64, bytes: &mut [u8]) -> bool {
        self.read((sector * u64::from(SECTOR_BYTES)) as usize, bytes);
        true
    }
}

impl<D: BlockDevice> Queued for Mirror<D> {
    fn begin(&mut self, request: &Request, mut data: Payload<'_>) -> Result<u64, Error> {
        let begin = |device: &mut D, request: &Request, data: Payload<'_>| {
            device.queued().expect("the device below takes requests side by side").begin(request, data)
        };
        let number = self.pass_on(request, &mut data, begin)?;
        self.keep(request, data);
        Ok(number.expect("a mirror without its device has no queue"))
    }

    fn step(&mut self, limit: Time, ended: &mut Vec<Ended>) -> bool {
        self.inner.queued().is_some_and(|queued| queued.step(limit, ended))
    }

    fn now(&mut self) -> Time {
        self.inner.queued().map_or(0, Queued::now)
    }
}

/// A device that takes every request at once and keeps nothing: under a [`Mirror`] a disk in memory.
#[derive(Clone, Copy, Debug)]
pub struct Blank {
    sectors: u64,
}

impl Blank {
    /// A device with `sectors` sectors.
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

    #[test]
    fn bytes_across_pieces_are_kept() {
        let mut mirror = Mirror::new(Blank::new(3 * PIECE as u64 / 512));
        let at = PIECE as u64 / 512 - 1;
        let bytes: Vec<u8> = (0..2048_u32).map(|n| (n % 251) as u8).collect();
        mirror.submit(&Request::new(Op::Write, at, 4), Payload::Write(&bytes)).unwrap();
        let mut read = vec![9; 6 * 512];
        mirror.submit(&Request::new(Op::Read, at - 1, 6), Payload::Read(&mut read)).unwrap();
        assert_eq!((&read[..512], &read[512..2560], &read[2560..]), (&[0; 512][..], &bytes[..], &[0; 512][..]));
        let far = mirror.submit(&Request::new(Op::Read, 2 * PIECE as u64 / 512, 6), Payload::Read(&mut read));
        assert!(far.is_ok() && read.iter().all(|&byte| byte == 0));
    }

    #[test]
    #[should_panic(expected = "sector 3 reads back other bytes")]
    fn a_device_that_forgets_is_found() {
        let mut mirror = Mirror::comparing(Blank::new(8));
        let mut bytes = [7; 512];
        mirror.submit(&Request::new(Op::Write, 3, 1), Payload::Write(&bytes)).unwrap();
        bytes = [0; 512];
        let _ = mirror.submit(&Request::new(Op::Read, 3, 1), Payload::Read(&mut bytes));
    }

    #[test]
    fn nothing_goes_below_once_the_switch_is_thrown() {
        let mut mirror = Mirror::new(Bare(Blank::new(8), Vec::new()));
        mirror.switch().detach();
        let mut bytes = [7; 512];
        mirror.submit(&Request::new(Op::Write, 3, 1), Payload::Write(&bytes)).unwrap();
        bytes = [0; 512];
        mirror.submit(&Request::new(Op::Read, 3, 1), Payload::Read(&mut bytes)).unwrap();
        assert_eq!(bytes, [7; 512]);
        assert!(mirror.into_inner().1.is_empty());
    }
}

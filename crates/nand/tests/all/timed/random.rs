//! Random operations, compared with a naive scheduler and with a device without a clock.

use super::{device, new, old, oob, timing, ERASE, PAGE, PROGRAM, READ, SPARE, TAIL_ON_BUS, US};
use nandlab_nand::profile::{PageCopy, PlaneOverlap, Timing};
use nandlab_nand::random::Random;
use nandlab_nand::{BlockId, Cause, Nand, Origin, Ppa, Time};

/// The clock's rules in a naive, slow form.
struct Naive {
    buses: Vec<Vec<(Time, Time)>>,
    /// By die (or plane, if planes overlap): the times of its operations.
    units: Vec<Vec<(Time, Time)>>,
    /// By die: the first time that later reads may use.
    open: Vec<Time>,
    units_per_die: u32,
    planes_per_die: u32,
    copy: PageCopy,
}

impl Naive {
    /// The first start on the bus from `from` on.
    fn bus_start(&self, unit: usize, from: Time, ns: Time) -> Time {
        let taken = &self.buses[unit / self.units_per_die as usize % self.buses.len()];
        let free = |start: Time| taken.iter().all(|&(s, e)| start + ns <= s || e <= start);
        let starts = std::iter::once(from).chain(taken.iter().map(|&(_, end)| end).filter(|&end| end > from));
        starts.filter(|&start| free(start)).min().unwrap()
    }

    fn bus(&mut self, unit: usize, from: Time, ns: Time) -> Time {
        let start = self.bus_start(unit, from, ns);
        let channels = self.buses.len();
        self.buses[unit / self.units_per_die as usize % channels].push((start, start + ns));
        start + ns
    }

    /// When all operations of a unit so far have ended.
    fn free(&self, unit: usize) -> Time {
        self.units[unit].iter().map(|&(_, end)| end).max().unwrap_or(0)
    }

    /// A read, at the first time at which the unit is idle long enough since its last write or copy.
    fn read(&mut self, unit: usize, ready: Time, bus: Time) -> Time {
        let ready = ready.max(self.open[unit]);
        let ends = self.units[unit].iter().map(|&(_, end)| end).filter(|&end| end > ready);
        let fits = |&start: &Time| {
            let end = self.bus_start(unit, start + READ, bus) + bus;
            self.units[unit].iter().all(|&(s, e)| end <= s || e <= start)
        };
        let start = std::iter::once(ready).chain(ends).filter(fits).min().unwrap();
        let end = self.bus(unit, start + READ, bus);
        self.units[unit].push((start, end));
        end
    }

    /// A copy's read, behind everything.
    fn read_last(&mut self, unit: usize, ready: Time, bus: Time) -> Time {
        self.open[unit] = self.free(unit);
        self.open[unit] = self.read(unit, ready, bus);
        self.open[unit]
    }

    fn write(&mut self, unit: usize, ready: Time, array: Time, bus: Time) -> Time {
        let start = ready.max(self.free(unit));
        let end = array + if bus == 0 { start } else { self.bus(unit, start, bus) };
        self.units[unit].push((start, end));
        self.open[unit] = end;
        end
    }
}

/// An operation with its planes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    Read(u32, Ppa),
    ReadSpare(u32, Ppa),
    ReadTail(u32, Ppa),
    Program(u32, Ppa),
    Copy(u32, Ppa, u32, Ppa),
    Erase(u32, BlockId),
}

/// Random legal operations: blocks 0 and 1 of a plane stay programmed, block 2 is programmed page by page and
/// erased when full.
pub(super) struct Ops {
    random: Random,
    /// Programmed pages in block 2, by plane.
    fill: Vec<u32>,
}

impl Ops {
    pub(super) fn new(seed: u64, planes: u32) -> Self {
        Self { random: Random::new(seed), fill: vec![0; planes as usize] }
    }

    pub(super) fn next(&mut self) -> Op {
        let mut below = |bound: u32| self.random.below(bound.into()) as u32;
        let planes = self.fill.len() as u32;
        let (plane, source, page, what) = (below(planes), below(planes), below(16), below(8));
        let fill = &mut self.fill[plane as usize];
        match what {
            0..=2 => Op::Read(plane, old(plane, page)),
            3 => Op::ReadSpare(plane, old(plane, page)),
            4 => Op::ReadTail(plane, old(plane, page)),
            _ if *fill == 8 => {
                *fill = 0;
                Op::Erase(plane, BlockId(plane * 4 + 2))
            }
            _ => {
                *fill += 1;
                let to = new(plane, *fill - 1);
                if what == 5 {
                    Op::Copy(source, old(source, page), plane, to)
                } else {
                    Op::Program(plane, to)
                }
            }
        }
    }
}

/// Issues `op`; returns its end.
pub(super) fn issue(nand: &mut impl Nand<Buf = ()>, op: Op) -> Time {
    match op {
        Op::Read(_, at) => drop(nand.read(at, &mut ()).unwrap()),
        Op::ReadSpare(_, at) => drop(nand.read_spare(at).unwrap()),
        Op::ReadTail(_, at) => drop(nand.read_tail(at, &mut [0; 8]).unwrap()),
        Op::Program(_, at) => assert_eq!(nand.program(at, &(), &[], oob(0)).unwrap().0, nand.ctx().last()),
        Op::Copy(_, from, _, to) => drop(nand.copy(from, to, oob(0)).unwrap()),
        Op::Erase(_, block) => assert_eq!(nand.erase(block).unwrap().0, nand.ctx().last()),
    }
    nand.ctx().last()
}

impl Naive {
    fn new([channels, dies_per_channel, planes_per_die]: [u32; 3], timing: &Timing) -> Self {
        let units_per_die = if timing.plane_overlap == PlaneOverlap::Independent { planes_per_die } else { 1 };
        let units = channels * dies_per_channel * units_per_die;
        let buses = vec![vec![]; channels as usize];
        let (units, open) = (vec![vec![]; units as usize], vec![0; units as usize]);
        Self { buses, units, open, units_per_die, planes_per_die, copy: timing.copy }
    }

    /// The plane's unit: its die, or the plane itself if planes overlap.
    fn unit(&self, plane: u32) -> usize {
        (if self.units_per_die == 1 { plane / self.planes_per_die } else { plane }) as usize
    }

    fn end(&mut self, op: Op, ready: Time) -> Time {
        match op {
            Op::Read(plane, _) => self.read(self.unit(plane), ready, PAGE),
            Op::ReadSpare(plane, _) => self.read(self.unit(plane), ready, SPARE),
            Op::ReadTail(plane, _) => self.read(self.unit(plane), ready, TAIL_ON_BUS),
            Op::Program(plane, _) => self.write(self.unit(plane), ready, PROGRAM, PAGE),
            Op::Erase(plane, _) => self.write(self.unit(plane), ready, ERASE, 0),
            Op::Copy(source, _, target, _) => self.copy(source, target, ready),
        }
    }

    fn copy(&mut self, source: u32, target: u32, ready: Time) -> Time {
        let (from, to) = (self.unit(source), self.unit(target));
        match self.copy {
            PageCopy::Copyback if source == target => self.write(to, ready, READ + PROGRAM, 0),
            PageCopy::TotalUs(us) if from == to => self.write(to, ready, us as Time * US, 0),
            _ if from == to => {
                // The register holds one page, so the bus stays taken until the page is back.
                let loaded = self.read_last(from, ready, 2 * PAGE);
                self.write(to, loaded, PROGRAM, 0)
            }
            _ => {
                let out = self.read_last(from, ready, PAGE);
                self.write(to, out, PROGRAM, PAGE)
            }
        }
    }
}

/// Devices as channels x dies x planes: a single unit, many dies on a bus, several buses; planes that share
/// their die and independent planes, including a bus with four units; every kind of copy.
fn devices() -> Vec<([u32; 3], Timing)> {
    let mut devices = vec![];
    for shape in [[1, 1, 1], [1, 8, 1], [2, 4, 1], [4, 1, 1], [1, 1, 2], [2, 2, 2], [1, 2, 2], [3, 1, 3]] {
        for plane_overlap in [PlaneOverlap::None, PlaneOverlap::Independent] {
            for copy in [PageCopy::External, PageCopy::Copyback, PageCopy::TotalUs(600.0)] {
                devices.push((shape, Timing { copy, plane_overlap, ..timing() }));
            }
        }
    }
    devices
}

#[test]
fn random_operations_end_when_a_naive_scheduler_says() {
    for (seed, (shape, timing)) in (1..).zip(devices()) {
        let [channels, dies_per_channel, planes_per_die] = shape;
        let mut nand = device(channels, dies_per_channel, planes_per_die, &timing);
        let mut naive = Naive::new(shape, &timing);
        let (mut ops, mut random) = (Ops::new(seed, shape.iter().product()), Random::stream(seed, 1));
        let mut arrival = 0;
        for n in 0..2_000 {
            if random.chance(0.3) {
                // Quiet and busy stretches: the dies become idle, or run far ahead of the arrivals.
                let mean = if n / 500 % 2 == 0 { 100 * US } else { 1000 * US };
                arrival += random.below(2 * mean);
                nand.ctx().begin(Origin::HOST, arrival);
            }
            if random.chance(0.1) {
                let last = nand.ctx().last();
                nand.ctx().after(last);
            }
            let op = ops.next();
            let expected = naive.end(op, nand.ctx().ready());
            assert_eq!(issue(&mut nand, op), expected, "operation {n}: {op:?}, {shape:?}, {timing:?}");
        }
        let taken = |bus: &Vec<(Time, Time)>| bus.iter().map(|(start, end)| end - start).sum::<Time>();
        assert_eq!(nand.channel_busy_ns(), naive.buses.iter().map(taken).collect::<Vec<_>>());
    }
}

#[test]
fn time_changes_no_count() {
    let mut timed = device(2, 2, 1, &timing());
    let mut counting = timed.inner().clone();
    let mut ops = Ops::new(9, 4);
    for n in 0..2_000 {
        let op = ops.next();
        let both: [&mut dyn Nand<Buf = ()>; 2] = [&mut timed, &mut counting];
        for mut nand in both {
            nand.ctx().begin(Origin((n % 5) as u8), n * US);
            nand.ctx().set_cause(if n % 3 == 0 { Cause::Gc } else { Cause::Host });
            issue(&mut nand, op);
        }
    }
    assert!(timed.ctx().horizon() > 0);
    assert_eq!(counting.ctx().horizon(), 0);
    assert_eq!(timed.ctx().matrix(), counting.ctx().matrix());
    assert_eq!(timed.inner().pe_cycles(), counting.pe_cycles());
}

//! Random operations against a scheduler without a thought for speed, and against a device without a clock.

use crate::{device, new, old, oob, timing, ERASE, PAGE, PROGRAM, READ, SPARE, TAIL_ON_BUS, US};
use nandlab_nand::random::Random;
use nandlab_nand::{BlockId, Cause, Nand, Origin, Ppa, Time};

/// The rules of the clock, spelt out without a thought for speed.
struct Naive {
    buses: Vec<Vec<(Time, Time)>>,
    units: Vec<Time>,
    channels: usize,
}

impl Naive {
    fn bus(&mut self, unit: usize, from: Time, ns: Time) -> Time {
        let taken = &mut self.buses[unit % self.channels];
        let free = |start: Time| taken.iter().all(|&(s, e)| start + ns <= s || e <= start);
        let starts = std::iter::once(from).chain(taken.iter().map(|&(_, end)| end).filter(|&end| end > from));
        let start = starts.filter(|&start| free(start)).min().unwrap();
        taken.push((start, start + ns));
        start + ns
    }

    fn read(&mut self, unit: usize, ready: Time, bus: Time) -> Time {
        let sensed = ready.max(self.units[unit]) + READ;
        self.units[unit] = self.bus(unit, sensed, bus);
        self.units[unit]
    }

    fn write(&mut self, unit: usize, ready: Time, array: Time, bus: Time) -> Time {
        let start = ready.max(self.units[unit]);
        self.units[unit] = array + if bus == 0 { start } else { self.bus(unit, start, bus) };
        self.units[unit]
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Read(u32, Ppa),
    ReadSpare(u32, Ppa),
    ReadTail(u32, Ppa),
    Program(u32, Ppa),
    Copy(u32, Ppa, u32, Ppa),
    Erase(u32, BlockId),
}

/// Random operations that the flash allows: blocks 0 and 1 of a die stay programmed, block 2 is programmed page by
/// page and erased when full.
struct Ops {
    random: Random,
    /// Programmed pages of block 2, by die.
    fill: Vec<u32>,
}

impl Ops {
    fn new(seed: u64, dies: u32) -> Self {
        Self { random: Random::new(seed), fill: vec![0; dies as usize] }
    }

    fn next(&mut self) -> Op {
        let mut below = |bound: u32| self.random.below(bound.into()) as u32;
        let dies = self.fill.len() as u32;
        let (die, source, page, what) = (below(dies), below(dies), below(16), below(8));
        let fill = &mut self.fill[die as usize];
        match what {
            0..=2 => Op::Read(die, old(die, page)),
            3 => Op::ReadSpare(die, old(die, page)),
            4 => Op::ReadTail(die, old(die, page)),
            _ if *fill == 8 => {
                *fill = 0;
                Op::Erase(die, BlockId(die * 4 + 2))
            }
            _ => {
                *fill += 1;
                let to = new(die, *fill - 1);
                if what == 5 {
                    Op::Copy(source, old(source, page), die, to)
                } else {
                    Op::Program(die, to)
                }
            }
        }
    }
}

/// Issues `op`; returns its end.
fn issue(nand: &mut impl Nand<Buf = ()>, op: Op) -> Time {
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
    fn new(channels: u32, dies: u32) -> Self {
        let channels = channels as usize;
        Self { buses: vec![vec![]; channels], units: vec![0; dies as usize], channels }
    }

    fn end(&mut self, op: Op, ready: Time) -> Time {
        match op {
            Op::Read(die, _) => self.read(die as usize, ready, PAGE),
            Op::ReadSpare(die, _) => self.read(die as usize, ready, SPARE),
            Op::ReadTail(die, _) => self.read(die as usize, ready, TAIL_ON_BUS),
            Op::Program(die, _) => self.write(die as usize, ready, PROGRAM, PAGE),
            Op::Erase(die, _) => self.write(die as usize, ready, ERASE, 0),
            Op::Copy(source, _, die, _) if source == die => {
                let loaded = self.read(die as usize, ready, 2 * PAGE);
                self.write(die as usize, loaded, PROGRAM, 0)
            }
            Op::Copy(source, _, die, _) => {
                let out = self.read(source as usize, ready, PAGE);
                self.write(die as usize, out, PROGRAM, PAGE)
            }
        }
    }
}

#[test]
fn random_operations_end_when_a_naive_scheduler_says() {
    for (channels, dies_per_channel, seed) in [(1, 1, 1), (1, 8, 2), (2, 4, 3), (4, 1, 4)] {
        let dies = channels * dies_per_channel;
        let mut nand = device(channels, dies_per_channel, 1, &timing());
        let mut naive = Naive::new(channels, dies);
        let (mut ops, mut random) = (Ops::new(seed, dies), Random::stream(seed, 1));
        let mut arrival = 0;
        for n in 0..4_000 {
            if random.chance(0.3) {
                // Quiet and busy stretches: the dies run dry, or far ahead of the arrivals.
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
            assert_eq!(issue(&mut nand, op), expected, "operation {n}: {op:?}, {channels} channels, {dies} dies");
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

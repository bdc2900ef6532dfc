//! Power cuts between a buffer's NVRAM word stores, also during mounts. The device below keeps an
//! arbitrary subset of changes since its last flush.

use crate::common::{geometry, request, subjects, Rig, SECTOR, SECTORS};
use nandlab_block::{Error, Op, Payload, Request};
use nandlab_buffer::{BufferConfig, MountError};
use nandlab_nand::nvm::{NvmCost, Nvram};
use nandlab_nand::random::Random;

/// Scripts with cuts per subject.
const SEEDS: u64 = 4;

type Bytes = [u8; SECTOR];

/// A sector's allowed contents, now and after a cut.
#[derive(Clone)]
struct Sector {
    now: Vec<Bytes>,
    after_cut: Vec<Bytes>,
}

fn fresh() -> Vec<Sector> {
    let zeros = vec![[0; SECTOR]];
    vec![Sector { now: zeros.clone(), after_cut: zeros }; SECTORS as usize]
}

/// A rig with NVRAM cuts.
struct Cuttable {
    rig: Rig,
    nvram: Nvram,
    model: Vec<Sector>,
    version: u64,
}

impl Cuttable {
    fn new(config: &BufferConfig) -> Self {
        let nvram = Nvram::new(config.nvram_bytes(&geometry()), NvmCost::default());
        Self { rig: Rig::new(config, geometry(), SECTORS), nvram, model: fresh(), version: 0 }
    }

    /// Mounts until no cut hits the mount; each interrupted mount is dropped, as at a power cut.
    fn mount(&mut self, random: &mut Random, cuts: u32) {
        for left in (0..=cuts).rev() {
            self.nvram.restore();
            if left > 0 {
                self.nvram.cut_after(random.below(5));
            }
            match self.rig.config.mount(&geometry(), &mut self.nvram) {
                Ok(buffer) => {
                    self.nvram.restore();
                    self.rig.buffer = buffer;
                    return;
                }
                Err(MountError::PowerLost) => assert!(left > 0, "power is lost without a cut"),
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<(), Error> {
        let Rig { buffer, disk, .. } = &mut self.rig;
        let mut device = nandlab_buffer::Buffered::new(&mut **buffer, &mut self.nvram, disk);
        nandlab_block::BlockDevice::submit(&mut device, request, data).map(drop)
    }

    /// Carries out a request and updates its sectors in the model.
    fn step(&mut self, request: &Request) -> Result<(), Error> {
        let range = request.sector as usize..request.end() as usize;
        match request.op {
            Op::Write => {
                self.version += 1;
                let word = |sector: u64| (self.version << 32 | sector | 1 << 63).to_le_bytes();
                let bytes: Vec<u8> = (request.sector..request.end())
                    .flat_map(|sector| std::iter::repeat_n(word(sector), SECTOR / 8).flatten())
                    .collect();
                let start = range.start;
                let of = |sector: usize| -> Bytes { bytes[(sector - start) * SECTOR..][..SECTOR].try_into().unwrap() };
                range.clone().for_each(|sector| self.model[sector].after_cut.push(of(sector)));
                self.submit(request, Payload::Write(&bytes))?;
                range.for_each(|sector| self.model[sector].now = vec![of(sector)]);
            }
            Op::Trim => {
                range.clone().for_each(|sector| self.model[sector].after_cut.push([0; SECTOR]));
                self.submit(request, Payload::None)?;
                for sector in range {
                    let page = sector as u64 / 4 * 4;
                    if request.sector <= page && page + 4 <= request.end() {
                        self.model[sector].now.clear();
                    }
                    self.model[sector].now.push([0; SECTOR]);
                }
            }
            Op::Read => self.read(request)?,
            Op::UnitUpdate | Op::Append | Op::Zone(_) => self.submit(request, Payload::None)?,
            Op::Flush => {
                self.submit(request, Payload::None)?;
                self.model.iter_mut().for_each(|sector| sector.after_cut.clone_from(&sector.now));
            }
        }
        self.pin();
        Ok(())
    }

    /// The newest data in NVRAM survives without a flush: pages written there, and pages moved there since.
    fn pin(&mut self) {
        for sector in 0..SECTORS {
            if self.rig.buffer.surviving((sector / 4) as u32) >> (sector % 4) & 1 == 1 {
                let state = &mut self.model[sector as usize];
                state.after_cut.clone_from(&state.now);
            }
        }
    }

    fn read(&mut self, request: &Request) -> Result<(), Error> {
        let mut bytes = vec![0xEE; request.sectors as usize * SECTOR];
        self.submit(request, Payload::Read(&mut bytes))?;
        for (sector, bytes) in (request.sector as usize..).zip(bytes.chunks(SECTOR)) {
            let read: Bytes = bytes.try_into().unwrap();
            let allowed = &mut self.model[sector].now;
            assert!(
                allowed.contains(&read),
                "sector {sector} begins {:?}, not one of {:?}",
                &read[..8],
                allowed.iter().map(|one| &one[..8]).collect::<Vec<_>>()
            );
            *allowed = vec![read];
        }
        Ok(())
    }

    /// Cuts the power: DRAM is lost, and so is unflushed data on the device below.
    fn cut(&mut self, random: &mut Random) {
        self.rig.disk.cut(random);
        self.model.iter_mut().for_each(|sector| sector.now.clone_from(&sector.after_cut));
    }

    /// Reads everything; the contents read are fixed from now on, even after the next cut.
    fn settle(&mut self) {
        self.read(&Request::new(Op::Read, 0, SECTORS as u32)).expect("there is power");
        self.submit(&Request::new(Op::Flush, 0, 0), Payload::None).expect("there is power");
        self.model.iter_mut().for_each(|sector| sector.after_cut.clone_from(&sector.now));
    }
}

/// Plays a script with cuts; returns how many cuts hit a store.
fn play(name: &str, config: &BufferConfig, seed: u64, rounds: u64) -> u64 {
    let mut random = Random::stream(seed, 991);
    let mut rig = Cuttable::new(config);
    rig.mount(&mut random, 0);
    let mut torn = 0;
    for round in 0..rounds {
        let steps = 1 + random.below(30);
        let words = random.below(6_000);
        rig.nvram.cut_after(words);
        for _ in 0..steps {
            match rig.step(&request(&mut random)) {
                Ok(()) => {}
                Err(Error::PowerLost) => {
                    torn += 1;
                    break;
                }
                Err(error) => panic!("{name}, seed {seed}: {error}"),
            }
        }
        rig.cut(&mut random);
        rig.mount(&mut random, (round % 3) as u32);
        rig.settle();
    }
    torn
}

#[test]
fn what_was_acknowledged_in_nvram_or_flushed_survives_every_cut() {
    for (name, config) in subjects() {
        let mut torn = 0;
        for seed in 0..SEEDS {
            let played = std::panic::catch_unwind(|| play(&name, &config, seed, 25));
            torn += played.unwrap_or_else(|panic| {
                eprintln!("{name}, seed {seed}");
                std::panic::resume_unwind(panic)
            });
        }
        let has_nvram = config.nvram_bytes(&geometry()) > 0;
        // A buffer larger than the device fills only its DRAM.
        let demotes = !name.ends_with(" 100 pages");
        assert!(!has_nvram || !demotes || torn > SEEDS, "{name}: only {torn} cuts fell into a store");
    }
}

/// Cuts between every two words of a script that changes, demotes and flushes pages.
#[test]
fn no_word_is_a_bad_one_to_be_cut_at() {
    for config in BufferConfig::all().iter().filter(|config| config.nvram_bytes(&geometry()) > 0) {
        let config = config.sized(12 * 2048, &geometry());
        let mut cuts = 0;
        for words in 0.. {
            let mut random = Random::stream(5, 992);
            let mut rig = Cuttable::new(&config);
            rig.mount(&mut random, 0);
            rig.nvram.cut_after(words * 7);
            let lost = (0..25).any(|_| rig.step(&request(&mut random)).is_err());
            rig.cut(&mut random);
            rig.mount(&mut random, 0);
            rig.settle();
            cuts += 1;
            if !lost {
                break;
            }
        }
        println!("{}: {cuts} cuts", config.name());
        assert!(cuts > 200, "{}: only {cuts} cuts", config.name());
    }
}

#[test]
fn memory_that_was_divided_otherwise_is_refused() {
    let config = BufferConfig::all().into_iter().find(|config| config.name() == "hybrid_lru").unwrap();
    let (small, large) = (config.sized(10 * 2048, &geometry()), config.sized(20 * 2048, &geometry()));
    let mut nvram = Nvram::new(large.nvram_bytes(&geometry()), NvmCost::default());
    small.mount(&geometry(), &mut nvram).map(drop).unwrap();
    let refused = large.mount(&geometry(), &mut nvram).map(drop).unwrap_err().to_string();
    assert!(refused.contains("mount it with the sizes with which it was written"), "{refused}");
    let mut tiny = Nvram::new(64, NvmCost::default());
    let refused = small.mount(&geometry(), &mut tiny).map(drop).unwrap_err().to_string();
    assert!(refused.contains("the NVRAM has 64 bytes"), "{refused}");
}

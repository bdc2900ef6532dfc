//! A device with bytes, and scripts for it.

use nandlab_block::{BlockDevice, Completion, Error, Op, Payload, Request};
use nandlab_buffer::{Buffer, BufferConfig, Buffered};
use nandlab_nand::nvm::{Nvm, NvmCost, Nvram};
use nandlab_nand::random::Random;
use nandlab_nand::{Geometry, Origin};

/// Bytes per sector.
pub const SECTOR: usize = 512;

/// Sectors in RAM, durable only at a flush: a power cut restores the last flushed version or any later one.
#[derive(Clone, Default)]
pub struct Disk {
    pub sectors: Vec<[u8; SECTOR]>,
    /// Contents at the last flush of sectors changed since.
    old: Vec<(usize, [u8; SECTOR])>,
    /// Every received request.
    pub log: Vec<Request>,
}

impl Disk {
    pub fn new(sectors: u64) -> Self {
        Self { sectors: vec![[0; SECTOR]; sectors as usize], ..Self::default() }
    }

    /// Cuts the power: each change since the last flush is kept or lost.
    pub fn cut(&mut self, random: &mut Random) {
        for (sector, old) in std::mem::take(&mut self.old).into_iter().rev() {
            if random.chance(0.5) {
                self.sectors[sector] = old;
            }
        }
    }

    fn change(&mut self, sector: usize, to: [u8; SECTOR]) {
        self.old.push((sector, self.sectors[sector]));
        self.sectors[sector] = to;
    }
}

impl BlockDevice for Disk {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        self.log.push(*request);
        let range = request.sector as usize..request.end() as usize;
        match (request.op, data) {
            (Op::Write, Payload::Write(bytes)) => {
                assert_eq!(bytes.len(), range.len() * SECTOR);
                for (sector, bytes) in range.zip(bytes.chunks(SECTOR)) {
                    self.change(sector, bytes.try_into().unwrap());
                }
            }
            (Op::Read, Payload::Read(bytes)) => bytes.copy_from_slice(self.sectors[range].as_flattened()),
            (Op::Trim, _) => range.for_each(|sector| self.change(sector, [0; SECTOR])),
            (Op::Flush, _) => self.old.clear(),
            _ => {}
        }
        Ok(Completion { arrival: request.time, done: request.time })
    }

    fn sectors(&self) -> u64 {
        self.sectors.len() as u64
    }
}

/// A buffer and its devices.
pub struct Rig {
    pub config: BufferConfig,
    pub buffer: Box<dyn Buffer>,
    pub nvram: Box<dyn Nvm>,
    pub disk: Disk,
}

impl Rig {
    pub fn new(config: &BufferConfig, geometry: Geometry, sectors: u64) -> Self {
        let mut nvram: Box<dyn Nvm> = Box::new(Nvram::new(config.nvram_bytes(&geometry), NvmCost::default()));
        let buffer = config.mount(&geometry, &mut *nvram).unwrap_or_else(|error| panic!("{config:?}: {error}"));
        Self { config: config.clone(), buffer, nvram, disk: Disk::new(sectors) }
    }

    pub fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        Buffered::new(&mut *self.buffer, &mut *self.nvram, &mut self.disk).submit(request, data)
    }
}

/// Sizes in pages, from one to more than the device's 48 pages.
pub const SIZES: [u64; 7] = [1, 2, 3, 7, 16, 40, 100];

/// Pages of 4 sectors, blocks of 4 pages.
pub fn geometry() -> Geometry {
    Geometry::single_die(16, 4, 2048).unwrap()
}

/// Sectors of the device: 12 blocks.
pub const SECTORS: u64 = 12 * 4 * 4;

/// Every buffer with every option set and every size.
pub fn subjects() -> Vec<(String, BufferConfig)> {
    let mut all = Vec::new();
    for config in BufferConfig::all() {
        let variants = [vec![("default", config.clone())], config.variants()].concat();
        for (name, config) in variants {
            for pages in SIZES {
                let sized = config.sized(pages * 2048, &geometry());
                all.push((format!("{}:{name} of {pages} pages", sized.name()), sized));
            }
        }
    }
    all
}

/// A random request: half on a quarter of the device, three of five on whole pages.
pub fn request(random: &mut Random) -> Request {
    let op = match random.below(20) {
        0..=9 => Op::Write,
        10..=15 => Op::Read,
        16 | 17 => Op::Trim,
        _ => Op::Flush,
    };
    if op == Op::Flush {
        return Request::new(op, 0, 0);
    }
    let span = if random.chance(0.5) { SECTORS / 4 } else { SECTORS };
    let mut sector = random.below(span);
    let most = [1, 4, 12, 40][random.below(4) as usize];
    let mut length = 1 + random.below(most);
    if random.chance(0.6) {
        sector = sector / 4 * 4;
        length = length.div_ceil(4) * 4;
    }
    let origin = Origin(random.below(3) as u8);
    Request { origin, ..Request::new(op, sector, length.min(SECTORS - sector) as u32) }
}

//! The sizes of a compaction's requests at the device.

use super::beside::Disk as Beside;
use super::zones::takes_updates;
use super::{disk, small};
use crate::zoned::Zoned;
use nandlab_block::{
    BlockDevice, ByteCount, Completion, Ended, Error, Op, Payload, Queued, Request, ZoneReport, ZoneShape,
};
use nandlab_index::lsm::{Options, Tree};
use nandlab_nand::{Origin, Time};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Of 1 KiB: three tables of level 0.
const RECORDS: u32 = 7_000;

type Log = Rc<RefCell<Vec<Request>>>;

/// A device whose requests are noted.
struct Noted<D> {
    device: D,
    log: Log,
}

impl<D: BlockDevice> BlockDevice for Noted<D> {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        self.log.borrow_mut().push(*request);
        self.device.submit(request, data)
    }

    fn sectors(&self) -> u64 {
        self.device.sectors()
    }

    fn zone_shape(&self) -> Option<ZoneShape> {
        self.device.zone_shape()
    }

    fn zone_at(&self, sector: u64) -> Option<ZoneReport> {
        self.device.zone_at(sector)
    }

    fn queued(&mut self) -> Option<&mut dyn Queued> {
        self.device.queued().is_some().then_some(self)
    }

    fn peek(&self, sector: u64, bytes: &mut [u8]) -> bool {
        self.device.peek(sector, bytes)
    }
}

impl<D: BlockDevice> Queued for Noted<D> {
    fn begin(&mut self, request: &Request, data: Payload<'_>) -> Result<u64, Error> {
        self.log.borrow_mut().push(*request);
        self.device.queued().unwrap().begin(request, data)
    }

    fn step(&mut self, limit: Time, ended: &mut Vec<Ended>) -> bool {
        self.device.queued().unwrap().step(limit, ended)
    }

    fn now(&mut self) -> Time {
        self.device.queued().unwrap().now()
    }
}

/// Tables of 4 MiB, merged all at once; the log is not among the requests.
fn options([readahead, write]: [u64; 2], block_bytes: u32) -> Options {
    Options {
        value_bytes: 1000,
        write_buffer_bytes: ByteCount(3 << 20),
        target_file_bytes: ByteCount(4 << 20),
        level0_trigger: 1000,
        level_base_bytes: Some(ByteCount(1 << 30)),
        block_bytes,
        compaction_readahead_bytes: ByteCount(readahead << 10),
        table_write_bytes: ByteCount(write << 10),
        wal: false,
        ..Options::default()
    }
}

/// The data requests of a compaction of four tables of level 0, and the bytes of these.
fn compacted(device: impl BlockDevice, options: &Options) -> (Vec<Request>, u64) {
    options.check().unwrap();
    let mut noted = Noted { device, log: Log::default() };
    let log = noted.log.clone();
    let mut tree = Tree::create(&mut noted, &options.config()).unwrap();
    for n in 0..RECORDS {
        tree.put(&n.wrapping_mul(0x9E37_79B9).to_be_bytes(), &[n as u8; 1000]).unwrap();
    }
    tree.write_out().unwrap();
    let (tables, bytes) = tree.levels()[0];
    assert!(tables > 2, "{tables}");
    log.borrow_mut().clear();
    tree.compact(&[0; 4], &[0xFF; 4]).unwrap();
    let requests = log.borrow().iter().copied().filter(|request| request.origin == Origin::INDEX_LEAF).collect();
    assert_eq!((tree.levels()[0], tree.stats().compactions), ((0, 0), 1));
    assert_eq!(tree.check().unwrap().records, u64::from(RECORDS));
    (requests, bytes)
}

fn largest(requests: &[Request], op: Op) -> u64 {
    requests.iter().filter(|request| request.op == op).map(|request| u64::from(request.sectors) * 512).max().unwrap()
}

#[test]
fn the_largest_requests_of_a_compaction_have_the_sizes_asked_for() {
    for sizes in [[256, 256], [2048, 1024], [64, 16], [4, 4]] {
        // Blocks of 10,000 bytes end in the middle of a unit, and hold several.
        for block_bytes in [4096, 10_000] {
            let options = options(sizes, block_bytes);
            let on_blocks = compacted(disk(64 << 20), &options);
            // The queue below jobs is the same for all sizes.
            let has_jobs = sizes == [256, 256] && block_bytes == 4096;
            let with_jobs = has_jobs.then(|| compacted(Beside::new(64 << 11), &Options { threads: 1, ..options }));
            for (requests, bytes) in with_jobs.into_iter().chain([on_blocks]) {
                let found = [Op::Read, Op::Write].map(|op| largest(&requests, op) >> 10);
                assert_eq!(found, sizes, "blocks of {block_bytes} bytes");
                let reads = || requests.iter().filter(|request| request.op == Op::Read);
                let sectors: BTreeSet<u64> = reads().flat_map(|read| read.sector..read.end()).collect();
                let read: u64 = reads().map(|read| u64::from(read.sectors)).sum();
                assert_eq!(sectors.len() as u64, read, "no sector is read twice");
                // Index and filter are not among the data.
                assert!((0.95..1.0).contains(&(read as f64 * 512.0 / bytes as f64)), "{read} sectors of {bytes} bytes");
            }
        }
    }
}

/// Tables have 8 KiB: what is written at once without an option is at most their data.
#[test]
fn tables_leave_a_zone_in_requests_of_the_size_of_their_writes() {
    let most = [1, 3, 256].map(|kib| {
        let mut noted = Noted { device: Zoned::new(80, 128, 128, 14), log: Log::default() };
        let options = Options { table_write_bytes: ByteCount(kib << 10), ..small() };
        let [_, moved] = takes_updates(&mut noted, &options, 0.6, 6_000);
        assert!(moved > 0.1, "{moved}");
        let log = noted.log.borrow();
        let data: Vec<Request> = log.iter().copied().filter(|request| request.origin == Origin::INDEX_LEAF).collect();
        largest(&data, Op::Write) >> 10
    });
    println!("{most:?}");
    assert!(most[..2] == [1, 3] && most[2] > 7, "{most:?}");
}

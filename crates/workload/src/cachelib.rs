//! CacheLib: what a flash cache with small and large objects writes to its drive.
//!
//! ## Idea
//! Navy, the flash engine of CacheLib, keeps objects in two engines, and each has its part of the footprint. The
//! small-object cache (BigHash) is first: buckets of `bucket` bytes. An insert hashes its key to a bucket, reads the
//! bucket and writes it again, so small objects cause random writes. The large-object cache (BlockCache) has the rest:
//! regions of `segment` bytes, filled from start to end with the objects that arrive, and reused first in, first out.
//! The two streams interleave at random. With flexible data placement each engine has a reclaim unit handle of its
//! own: random and sequential writes never share an erase unit, and the drive moves the buckets alone.
//!
//! ## Invariants
//! An object lies in one region: if the rest of a region is too short for it, the next region begins and the rest is
//! not written. `small_share` is a share of the bytes written, in expectation over those two streams. With `theta = 0`
//! and far more keys than buckets every bucket is written equally often.
//!
//! ## Differences
//! BlockCache gathers a region in memory and writes it at once, in pieces; here each object is a write when it
//! arrives, so `large_size` is also the size of the pieces. BigHash is the last part of CacheLib's drive, and the first
//! one here. Left out are lookups, reinsertions, the metadata at the start of the drive, and the choice of what is
//! admitted. Navy trims nothing; `trim` is for what-if questions. CacheLib gives out handles from 1 on, BigHash first,
//! and leaves handle 0 to all other writes: hence the defaults. The default of `soc_share` is that of CacheLib's FDP page.
//! The default of `small_share` follows from logs of the artifact of WARP (FAST 2026): the drive's write amplification
//! jumps when the large-object cache was filled once, and that tells its share, 19 to 23 % of the bytes. Large objects are
//! 10 KB to 1 MB (Navy Overview); the default is a range of these.
//!
//! ## References
//! Allison et al., "Towards efficient flash caches with emerging NVMe flexible data placement SSDs", EuroSys 2025. Berg
//! et al., "The CacheLib caching engine: design and experiences at scale", OSDI 2020. CacheLib's documentation, "Navy
//! Overview" and "FDP enabled cache"; its NavyConfig.h for the sizes of buckets and regions, BigHash.cpp,
//! RegionManager.cpp and FdpNvme.h for what is written where.

use crate::mix::{Footprint, Gaps, Mix};
use crate::placement::Placement;
use crate::size::{share, Size, SizeRange, Sizes};
use crate::zipf::Ranks;
use crate::{Options, Setting, Workload, WorkloadError};
use nandlab_block::{ByteCount, Op, Request};
use nandlab_nand::random::{Random, Stream};
use nandlab_nand::{Origin, PlacementId, Time, SECTOR_BYTES};
use serde::{Deserialize, Serialize};

const SECTOR: u64 = SECTOR_BYTES as u64;
/// The large-object cache begins at a multiple of this: Navy's block size.
const BLOCK_SECTORS: u64 = 8;
/// Where a key's bucket is; the same in every experiment, so seeds change the order and not the place.
const HASH_KEY: u64 = 0x6269_6768_6173_6800;

const SMALL: Origin = Origin(Origin::NAMES.len() as u8);
const LARGE: Origin = Origin(SMALL.0 + 1);

/// Options of `[workload.cachelib]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Requests in all: writes, reads of buckets and trims.
    pub requests: u64,
    /// Part of the device that the cache uses, from its start: a share up to 1, or bytes such as `"64 MiB"`.
    pub footprint: Footprint,
    /// Part of the footprint for small objects, from its start; above 0 and below 1.
    pub soc_share: f64,
    /// Share of the bytes written that small objects cause, as whole buckets; 0 to 1. The default is about that of
    /// replays of CacheLib's key-value traces.
    pub small_share: f64,
    /// Size of a bucket of small objects, in whole sectors.
    pub bucket: ByteCount,
    /// Read a bucket before it is written, as an insert does.
    pub bucket_reads: bool,
    /// Different keys of small objects.
    pub keys: u64,
    /// Exponent of the keys' popularity among inserts, 0 (all equal) to 10.
    pub theta: f64,
    /// Size of a region of large objects, in whole sectors.
    pub segment: ByteCount,
    /// Size of a large object, at most a region: as `size` of other workloads.
    pub large_size: Size,
    /// Trim a region before it is filled again.
    pub trim: bool,
    /// Writes carry the placement identifiers `soc_handle` and `loc_handle`.
    pub placement: bool,
    /// Where small objects go: a handle such as 5, or group and handle such as `"1:5"`.
    pub soc_handle: Placement,
    /// Where large objects go.
    pub loc_handle: Placement,
    /// Mean arrivals a second, with exponentially distributed gaps; for `host.arrival = "recorded"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_s: Option<f64>,
}

impl Default for Config {
    fn default() -> Self {
        let large = SizeRange { min: ByteCount(16 << 10), max: ByteCount(256 << 10), step: None };
        Self {
            requests: 100_000,
            footprint: Footprint::Share(1.0),
            soc_share: 0.04,
            small_share: 0.77,
            bucket: ByteCount(4096),
            bucket_reads: true,
            keys: 100_000_000,
            theta: 0.0,
            segment: ByteCount(16 << 20),
            large_size: Size::Range(large),
            trim: false,
            placement: true,
            soc_handle: Placement::of(1),
            loc_handle: Placement::of(2),
            requests_per_s: None,
        }
    }
}

impl Config {
    /// The options that all generators have.
    fn mix(&self) -> Mix {
        let Self { requests, footprint, requests_per_s, .. } = *self;
        Mix { requests, footprint, requests_per_s, ..Mix::default() }
    }

    /// The layout on a device with `sectors`.
    fn layout(&self, sectors: u64) -> Result<Layout, WorkloadError> {
        let footprint = self.footprint.sectors(sectors);
        let bucket = self.bucket.0 / SECTOR;
        let region = self.segment.0 / SECTOR;
        let buckets = (self.soc_share * footprint as f64) as u64 / bucket;
        if buckets == 0 {
            let why = format!(
                "of {} it is less than a bucket of {}: give it a larger share, or a larger footprint",
                ByteCount(footprint * SECTOR).rounded(),
                self.bucket
            );
            return Err(WorkloadError::option("soc_share", &self.soc_share, why));
        }
        let start = (buckets * bucket).next_multiple_of(BLOCK_SECTORS);
        let regions = footprint.saturating_sub(start) / region;
        if regions < 2 {
            let why = format!(
                "large objects have {} of the footprint, and they need two regions at least",
                ByteCount(footprint.saturating_sub(start) * SECTOR).rounded()
            );
            return Err(WorkloadError::option("segment", &self.segment, why));
        }
        Ok(Layout { bucket: bucket as u32, buckets, start, region, regions })
    }
}

impl Options for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        self.mix().check()?;
        if !(self.soc_share > 0.0 && self.soc_share < 1.0) {
            return Err(WorkloadError::option("soc_share", &self.soc_share, "it is a share above 0 and below 1"));
        }
        if !(0.0..=1.0).contains(&self.small_share) {
            return Err(WorkloadError::option("small_share", &self.small_share, "a share is a number from 0 to 1"));
        }
        for (key, size) in [("bucket", self.bucket), ("segment", self.segment)] {
            if size.0 == 0 || size.0 % SECTOR != 0 || size.0 > 1 << 40 {
                let why = "it is a number of whole sectors of 512 B, at least one and at most 1 TiB";
                return Err(WorkloadError::option(key, &size, why));
            }
        }
        if !(1..=1 << 62).contains(&self.keys) {
            return Err(WorkloadError::option("keys", &self.keys, "there are 1 to 2^62 keys"));
        }
        if !(0.0..=10.0).contains(&self.theta) {
            return Err(WorkloadError::option("theta", &self.theta, "the exponent is a number from 0 to 10"));
        }
        let largest = Sizes::new("large_size", &self.large_size)?.largest();
        if u64::from(largest) * SECTOR > self.segment.0 {
            let largest = ByteCount(u64::from(largest) * SECTOR);
            let why = format!("an object lies in one region, and a region has {}", self.segment);
            return Err(WorkloadError::option("large_size", &largest, why));
        }
        Ok(())
    }

    fn open(&self, setting: &Setting<'_>) -> Result<Box<dyn Workload>, WorkloadError> {
        self.check()?;
        self.mix().slots(setting)?;
        let layout = self.layout(setting.sectors)?;
        let sizes = Sizes::new("large_size", &self.large_size)?;
        // So many of the inserts that the bytes have the share: n x bucket to (1 - n) x mean as s to 1 - s.
        let small = self.small_share / f64::from(layout.bucket);
        let inserts = small / (small + (1.0 - self.small_share) / sizes.mean());
        let placement = |chosen: Placement| if self.placement { chosen.id() } else { PlacementId::NONE };
        Ok(Box::new(Cache {
            random: Random::of(setting.seed, Stream::Requests),
            gaps: Gaps::new(self.requests_per_s),
            small_below: share(inserts),
            keys: Ranks::new(self.keys, self.theta),
            sizes,
            bucket_reads: self.bucket_reads,
            trims: self.trim,
            placements: [placement(self.soc_handle), placement(self.loc_handle)],
            layout,
            region: 0,
            filled: 0,
            is_full: false,
            held: None,
            left: self.requests,
            requests: self.requests,
        }))
    }

    fn has_times(&self) -> bool {
        self.requests_per_s.is_some()
    }
}

/// Where the two caches lie, in sectors.
#[derive(Clone, Copy, Debug)]
struct Layout {
    bucket: u32,
    buckets: u64,
    /// The first region.
    start: u64,
    region: u64,
    regions: u64,
}

struct Cache {
    random: Random,
    gaps: Gaps,
    /// A 64-bit draw below this inserts a small object.
    small_below: u64,
    keys: Ranks,
    sizes: Sizes,
    bucket_reads: bool,
    trims: bool,
    /// Of small and of large objects.
    placements: [PlacementId; 2],
    layout: Layout,
    /// The region being filled, and its filled sectors.
    region: u64,
    filled: u64,
    /// Whether every region was filled before.
    is_full: bool,
    /// The write behind a read or a trim.
    held: Option<Request>,
    left: u64,
    requests: u64,
}

impl Cache {
    #[inline]
    fn next(&mut self) -> Request {
        let time = self.gaps.next(&mut self.random);
        if let Some(write) = self.held.take() {
            return Request { time, ..write };
        }
        let request = if self.random.next_u64() < self.small_below { self.small() } else { self.large() };
        Request { time, ..request }
    }

    /// Inserts a small object: its bucket is read and written.
    fn small(&mut self) -> Request {
        let key = self.keys.draw(&mut self.random);
        let bucket = Random::new(key ^ HASH_KEY).below(self.layout.buckets);
        let sectors = self.layout.bucket;
        let read = Request { origin: SMALL, ..Request::new(Op::Read, bucket * u64::from(sectors), sectors) };
        let write = Request { op: Op::Write, placement: self.placements[0], ..read };
        if !self.bucket_reads {
            return write;
        }
        self.held = Some(write);
        read
    }

    /// Appends a large object to the region being filled, or to the next one.
    fn large(&mut self) -> Request {
        let Layout { start, region, regions, .. } = self.layout;
        let sectors = self.sizes.draw(&mut self.random);
        if self.filled + u64::from(sectors) > region {
            self.filled = 0;
            self.region += 1;
            if self.region == regions {
                (self.region, self.is_full) = (0, true);
            }
        }
        let first = start + self.region * region;
        let at = Request { origin: LARGE, ..Request::new(Op::Write, first + self.filled, sectors) };
        let write = Request { placement: self.placements[1], ..at };
        let begins = self.filled == 0;
        self.filled += u64::from(sectors);
        if !(begins && self.is_full && self.trims) {
            return write;
        }
        self.held = Some(write);
        Request { sector: first, sectors: region as u32, op: Op::Trim, ..at }
    }
}

impl Workload for Cache {
    fn fill(&mut self, batch: &mut Vec<Request>, room: usize) -> Result<usize, WorkloadError> {
        let count = self.left.min(room as u64) as usize;
        batch.reserve(count);
        for _ in 0..count {
            let request = self.next();
            batch.push(request);
        }
        self.left -= count as u64;
        Ok(count)
    }

    fn len_hint(&self) -> Option<u64> {
        Some(self.requests)
    }

    fn leave_out(&mut self, requests: u64) -> Option<Time> {
        let requests = requests.min(self.left);
        self.left -= requests;
        Some(self.gaps.leave_out(requests))
    }

    fn sectors_hint(&self) -> Option<u64> {
        let small = self.small_below as f64 / 2f64.powi(64);
        let reads = if self.bucket_reads { small } else { 0.0 };
        let inserted = (small + reads) * f64::from(self.layout.bucket) + (1.0 - small) * self.sizes.mean();
        Some((self.requests as f64 * inserted / (1.0 + reads)) as u64)
    }

    fn origins(&self) -> Vec<(Origin, String)> {
        vec![(SMALL, "small_objects".to_owned()), (LARGE, "large_objects".to_owned())]
    }
}

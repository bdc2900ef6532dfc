//! Buffer speed, over a device that does nothing: only the buffer's own work is measured.

use super::{million_per_s, repetitions, Measured, PAGE_BYTES};
use crate::error::{ConfigError, LabError};
use nandlab_block::{BlockDevice, ByteCount, Completion, Error, HostClock, Op, Payload, Request};
use nandlab_buffer::{BufferConfig, Buffered, MountError};
use nandlab_nand::nvm::{CountedNvram, NvmCost};
use nandlab_nand::random::Random;
use nandlab_nand::{Geometry, SECTOR_BYTES};
use std::collections::BTreeMap;

const SECTORS_PER_PAGE: u64 = PAGE_BYTES / SECTOR_BYTES as u64;
/// Accesses per buffered page.
const SPAN: u64 = 4;

/// A device with this many sectors that does nothing.
struct Nothing(u64);

impl BlockDevice for Nothing {
    fn submit(&mut self, request: &Request, _: Payload<'_>) -> Result<Completion, Error> {
        Ok(Completion { arrival: request.time, done: request.time })
    }

    fn sectors(&self) -> u64 {
        self.0
    }
}

/// Page accesses per second for the buffer with this name; its tables fit the processor's cache.
pub(super) fn small(name: &str, quick: bool) -> Result<Measured, LabError> {
    measure(name, 32 << 20, 1, quick)
}

/// The same with 1 Mi pages in the buffer (16 Ki in a quick run); its tables are larger than the cache.
pub(super) fn large(name: &str, quick: bool) -> Result<Measured, LabError> {
    measure(name, (4 << 30) >> if quick { 6 } else { 0 }, 2 * SPAN, quick)
}

/// The first `fills` rounds fill the buffer and are not measured.
fn measure(name: &str, buffer_bytes: u64, fills: u64, quick: bool) -> Result<Measured, LabError> {
    let pages = buffer_bytes / PAGE_BYTES * SPAN;
    let geometry = Geometry::single_die((pages / 64) as u32 + 64, 64, PAGE_BYTES as u32).expect("it can be built");
    let config = BufferConfig::all().into_iter().find(|config| config.name() == name).expect("a name of the list");
    let config = config.sized(buffer_bytes, &geometry);
    let mut nvram = CountedNvram::new(config.nvram_bytes(&geometry), NvmCost::default());
    let mounted = config.mount(&geometry, &mut nvram).map_err(|error| match error {
        MountError::Config(message) => LabError::from(ConfigError { message, ..Default::default() }),
        MountError::PowerLost => LabError::PowerLost,
    });
    let mut buffer = mounted?;
    let mut nothing = Nothing(pages * SECTORS_PER_PAGE);
    let mut random = Random::new(1);
    let (mut clock, mut done, mut values) = (HostClock::closed_loop(1), Vec::new(), Vec::new());
    let mut device = Buffered::new(&mut *buffer, &mut nvram, &mut nothing);
    for round in 0..fills + repetitions(quick) as u64 {
        let access = |_| {
            let op = if random.chance(0.5) { Op::Write } else { Op::Read };
            Request::new(op, random.below(pages) * SECTORS_PER_PAGE, SECTORS_PER_PAGE as u32)
        };
        let requests: Vec<Request> = (0..if quick { 20_000 } else { 1_000_000 }).map(access).collect();
        let value = million_per_s(|| {
            for batch in requests.chunks(1024) {
                done.clear();
                let carried = device.submit_batch(batch, &mut clock, &mut done);
                carried.expect("a device that does nothing fails at nothing");
            }
            Ok::<_, LabError>(requests.len() as u64)
        })?;
        if round >= fills {
            values.push(value);
        }
    }
    let params = BTreeMap::from([
        ("workload", "uniform random pages, half of them written, over a device that does nothing".to_owned()),
        ("span", ByteCount(pages * PAGE_BYTES).to_string()),
        ("buffer", format!("[buffer.{name}] of {}", ByteCount(buffer_bytes))),
        ("pages_per_block", "64".to_owned()),
    ]);
    let ram = buffer.ram();
    let state_bytes = ram.sram.values().sum();
    Ok(Measured { unit: "million page accesses/s", values, state_bytes, params })
}

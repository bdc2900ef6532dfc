use nandlab_block::*;
use nandlab_buffer::*;
use nandlab_nand::nvm::*;
use nandlab_nand::random::Random;
use nandlab_nand::Geometry;
struct Nothing;
impl BlockDevice for Nothing {
    fn submit(&mut self, request: &Request, _: Payload<'_>) -> Result<Completion, Error> {
        Ok(Completion { arrival: request.time, done: request.time })
    }
    fn sectors(&self) -> u64 {
        32768 * 8
    }
}
fn main() {
    let geometry = Geometry::single_die(1024, 64, 4096).unwrap();
    let skew: bool = std::env::args().nth(1).is_some();
    let mut random = Random::new(1);
    let requests: Vec<Request> = (0..1_000_000)
        .map(|_| {
            let page = if skew {
                let u = random.unit();
                (32768.0 * u * u * u * u) as u64
            } else {
                random.below(32768)
            };
            Request::new(if random.chance(0.5) { Op::Write } else { Op::Read }, page * 8, 8)
        })
        .collect();
    for config in BufferConfig::all() {
        let mut nvram = CountedNvram::new(config.nvram_bytes(&geometry), NvmCost::default());
        let mut buffer = config.mount(&geometry, &mut nvram).unwrap();
        let mut below = Nothing;
        let mut device = Buffered::new(&mut *buffer, &mut nvram, &mut below);
        let mut clock = HostClock::closed_loop(1);
        let mut done = Vec::with_capacity(1_000_000);
        let mut best = 0f64;
        for _ in 0..3 {
            let cpu = || {
                let t = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
                t.split(' ').next().unwrap().parse::<u64>().unwrap()
            };
            let start = cpu();
            for batch in requests.chunks(1024) {
                done.clear();
                device.submit_batch(batch, &mut clock, &mut done).unwrap();
            }
            best = best.max(1e9 / (cpu() - start) as f64);
        }
        println!(
            "{:14} {:6.1} M/s  hit {:.3} flushes {}",
            config.name(),
            best,
            buffer.counts().hits() as f64 / 3e6,
            buffer.counts().flushes
        );
    }
}

//! A job file's section.

use super::batch::Batch;
use super::checks::Checks;
use super::company::Company;
use super::errors::Tolerance;
use super::flow::Share;
use super::keys::{find, Class, Unfollowed, SYNCHRONOUS};
use super::placing::{Choice, Placing};
use super::skew::Distribution;
use super::target::Wish;
use super::text::{amount, by_direction, bytes, number, switch, time, Amount, Entry, KbBase};
use super::values::{files, pattern, range, reads_for_writes, service, split, synchronous, unknown, Rules, Service};
pub(super) use super::values::{Asks, Generator, Lengths, Rate, Steps};
use super::zoning::{Stride, Zoning};
use super::Malformed;
use nandlab_block::Op;
use nandlab_nand::{Time, SECTOR_BYTES};

const US: Time = 1000;
const S: Time = 1_000_000 * US;
const SECTOR: u64 = SECTOR_BYTES as u64;
/// Largest request: its sector count has 32 bits.
const LONGEST: u64 = u32::MAX as u64 * SECTOR;
const MAX_DEPTH: u64 = 65_536;
const MAX_CLONES: u64 = 1024;
const MAX_FILES: u64 = 65_536;

/// A section, with what `[global]` sets for it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Job {
    pub(super) name: String,
    pub(super) line: u64,
    pub(super) asks: Asks,
    pub(super) is_random: bool,
    /// For reads, writes and trims.
    pub(super) lengths: [Lengths; 3],
    pub(super) size: Option<Amount>,
    pub(super) io_size: Option<Amount>,
    pub(super) filesize: Option<u64>,
    pub(super) offset: Amount,
    pub(super) offset_increment: Amount,
    pub(super) offset_align: Option<u64>,
    /// File names; without one the job has its own file.
    pub(super) files: Vec<String>,
    /// How many files it has, and how many are open; 0: as many as have names, and all.
    pub(super) file_number: u64,
    pub(super) open_files: u64,
    /// How the next file is chosen, and how many requests it gets.
    pub(super) service: Service,
    pub(super) service_requests: u64,
    /// What `rw` has behind a colon.
    pub(super) steps: Steps,
    pub(super) generator: Generator,
    /// Whether lengths go by places in order and at random, not by kinds.
    pub(super) by_place: bool,
    /// Whether the draws of a pass repeat, unless it has a seed.
    pub(super) rand_repeats: bool,
    pub(super) verifies: bool,
    /// What it reads back, unless `verifies` says no.
    pub(super) checks: Checks,
    /// How many requests it waits for at a time.
    pub(super) batch: Batch,
    /// Whether it goes on when a request fails.
    pub(super) tolerance: Tolerance,
    /// The keys about other jobs, and its share of a flow.
    pub(super) company: Company,
    pub(super) share: Share,
    /// The keys about a latency that its depth follows.
    pub(super) wish: Wish,
    pub(super) depth: u32,
    /// The engine, if it waits for each request.
    pub(super) waits: Option<String>,
    /// Whether the engine is none: it waits at depth 1.
    pub(super) is_null: bool,
    pub(super) clones: u32,
    /// Reads among reads and writes, in per cent.
    pub(super) read_share: u64,
    pub(super) seed: Option<u64>,
    pub(super) think: Time,
    pub(super) think_blocks: u64,
    pub(super) rates: [Option<Rate>; 3],
    pub(super) is_poisson: bool,
    pub(super) runtime: Time,
    pub(super) is_time_based: bool,
    /// Whether it would be, but for a runtime.
    pub(super) lacks_runtime: bool,
    pub(super) delay: Time,
    pub(super) loops: u64,
    /// Requests in all; 0: as many as the bytes are.
    pub(super) requests: u64,
    /// A flush after so many writes; 0: none.
    pub(super) fsync: u64,
    /// Whether a write ends when it is durable, and is a read of the medium.
    pub(super) is_durable: bool,
    pub(super) reads_for_writes: bool,
    pub(super) fdatasync: u64,
    pub(super) end_fsync: bool,
    pub(super) fsync_on_close: bool,
    pub(super) is_behind_wall: bool,
    /// Whether random requests come to each place once before any comes twice.
    pub(super) covers: bool,
    pub(super) distribution: Distribution,
    /// Random requests in a random job, in per cent, by reads, writes and trims; the others continue after the last
    /// request.
    pub(super) random_share: [u64; 3],
    /// Alignment for random places, unless it is the smallest request.
    pub(super) align: [Option<u64>; 3],
    /// How much longer it runs, before fio measures.
    pub(super) ramp: Time,
    /// The keys for the placement identifiers of its writes, and what they choose.
    pub(super) placing: Placing,
    pub(super) choice: Choice,
    /// The keys about zones.
    pub(super) zoning: Zoning,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            name: String::new(),
            line: 0,
            asks: Asks::Only(Op::Read),
            is_random: false,
            lengths: [(); 3].map(|()| Lengths::Range(4096, 4096)),
            size: None,
            io_size: None,
            filesize: None,
            offset: Amount::Bytes(0),
            offset_increment: Amount::Bytes(0),
            offset_align: None,
            files: Vec::new(),
            file_number: 0,
            open_files: 0,
            service: Service::InTurn,
            service_requests: 1,
            steps: Steps::default(),
            generator: Generator::Tausworthe,
            by_place: false,
            rand_repeats: true,
            verifies: true,
            checks: Checks::default(),
            batch: Batch::default(),
            tolerance: Tolerance::default(),
            company: Company::default(),
            share: Share::default(),
            wish: Wish::default(),
            depth: 1,
            waits: Some("psync".to_owned()),
            is_null: false,
            clones: 1,
            read_share: 50,
            seed: None,
            think: 0,
            think_blocks: 1,
            rates: [None; 3],
            is_poisson: false,
            runtime: 0,
            is_time_based: false,
            lacks_runtime: false,
            delay: 0,
            loops: 1,
            requests: 0,
            fsync: 0,
            is_durable: false,
            reads_for_writes: false,
            fdatasync: 0,
            end_fsync: false,
            fsync_on_close: false,
            is_behind_wall: false,
            covers: true,
            distribution: Distribution::Uniform,
            random_share: [100; 3],
            align: [None; 3],
            ramp: 0,
            placing: Placing::default(),
            choice: Choice::None,
            zoning: Zoning::default(),
        }
    }
}

impl Job {
    /// Takes a section's keys; keys that are not followed go to `unfollowed`.
    pub(super) fn take<'a>(
        &mut self,
        entries: &[Entry<'a>],
        base: KbBase,
        unfollowed: &mut Unfollowed<'a>,
    ) -> Result<(), Malformed> {
        for entry in entries {
            match find(entry.key).map(|key| key.class) {
                Some(Class::Nothing) => {
                    unfollowed.keys.insert(entry.key);
                }
                Some(Class::Told { harmless, what }) => {
                    if !harmless.contains(&entry.value.unwrap_or("1")) {
                        unfollowed.told.insert(entry.key, what);
                    }
                }
                Some(Class::Refused { harmless, why }) => {
                    if !harmless.contains(&entry.value.unwrap_or("1")) {
                        let value = entry.value.map_or(String::new(), |value| format!(" = {value}"));
                        return Err(entry.wrong(format!("{}{value} is not followed: {why}", entry.key)));
                    }
                }
                Some(Class::Followed { .. }) => self.set(entry, base)?,
                None => return Err(unknown(entry)),
            }
        }
        Ok(())
    }

    fn set(&mut self, entry: &Entry<'_>, base: KbBase) -> Result<(), Malformed> {
        let value = entry.value.unwrap_or("");
        let wrong = |what: &str| entry.wrong(format!("{} = {value} cannot work: {what}", entry.key));
        if let Some(keyword) = ["$pagesize", "$mb_memory", "$ncpus"].iter().find(|keyword| value.contains(*keyword)) {
            return Err(wrong(&format!("{keyword} is a number of the machine that fio runs on; write the value")));
        }
        match entry.key {
            "kb_base" => {}
            "rw" | "readwrite" => self.set_pattern(entry, base)?,
            "bs" | "blocksize" => {
                self.set_lengths(entry, |part| bytes(entry, part, base).map(|n| Lengths::Range(n, n)))?;
            }
            "bsrange" | "blocksize_range" => self.set_lengths(entry, |part| range(entry, part, base))?,
            "bssplit" => self.set_lengths(entry, |part| split(entry, part, base))?,
            "size" => self.size = Some(amount(entry, value, base)?),
            "io_size" | "io_limit" => self.io_size = Some(amount(entry, value, base)?),
            "filesize" => self.filesize = Some(bytes(entry, value, base)?).filter(|&bytes| bytes > 0),
            "offset" | "fileoffset" => self.offset = amount(entry, value, base)?,
            "offset_increment" => self.offset_increment = amount(entry, value, base)?,
            "offset_align" => self.offset_align = Some(bytes(entry, value, base)?).filter(|&bytes| bytes > 0),
            "filename" => self.files = files(entry)?,
            "file_service_type" => (self.service, self.service_requests) = service(entry, base)?,
            "nrfiles" | "nr_files" => self.file_number = number(entry, 0, MAX_FILES)?,
            "openfiles" => self.open_files = number(entry, 0, MAX_FILES)?,
            "rw_sequencer" => {
                self.steps.repeats = match value {
                    "sequential" => false,
                    "identical" => true,
                    _ => return Err(wrong("expected sequential or identical")),
                }
            }
            "random_generator" => {
                self.generator = match value {
                    "tausworthe" | "tausworthe64" => Generator::Tausworthe,
                    "lfsr" => Generator::Lfsr,
                    _ => return Err(wrong("expected tausworthe, tausworthe64 or lfsr")),
                }
            }
            "bs_is_seq_rand" => self.by_place = switch(entry)?,
            "randrepeat" => self.rand_repeats = switch(entry)?,
            "allrandrepeat" | "fill_device" | "fill_fs" => drop(switch(entry)?),
            "sync" => self.is_durable = synchronous(entry)?,
            "writefua" => self.is_durable = switch(entry)?,
            "sg_write_mode" | "write_mode" => self.reads_for_writes = reads_for_writes(entry)?,
            "do_verify" => self.verifies = switch(entry)?,
            "verify" | "verify_only" | "verify_backlog" | "verify_backlog_batch" | "experimental_verify" => {
                self.checks.set(entry)?;
            }
            "iodepth_batch"
            | "iodepth_batch_submit"
            | "iodepth_batch_complete_min"
            | "iodepth_batch_complete"
            | "iodepth_batch_complete_max"
            | "iodepth_low" => self.batch.set(entry)?,
            "continue_on_error" | "ignore_error" | "exitall_on_error" => self.tolerance.set(entry)?,
            "exitall" | "exit_what" | "new_group" | "wait_for" => self.company.set(entry)?,
            "latency_target" | "latency_window" | "latency_percentile" | "latency_run" => self.wish.set(entry)?,
            "flow" | "flow_id" | "flow_sleep" => self.share.set(entry)?,
            _ => self.set_course(entry, base)?,
        }
        Ok(())
    }

    /// Takes a key about engines, rates, times, ends, and places.
    fn set_course(&mut self, entry: &Entry<'_>, base: KbBase) -> Result<(), Malformed> {
        let value = entry.value.unwrap_or("");
        let wrong = |what: &str| entry.wrong(format!("{} = {value} cannot work: {what}", entry.key));
        match entry.key {
            "ioengine" => {
                self.waits = SYNCHRONOUS.contains(&value).then(|| value.to_owned());
                self.is_null = value == "null";
            }
            "iodepth" => self.depth = number(entry, 1, MAX_DEPTH)? as u32,
            "numjobs" => self.clones = number(entry, 1, MAX_CLONES)? as u32,
            "rwmixread" => self.read_share = number(entry, 0, 100)?,
            "rwmixwrite" => self.read_share = 100 - number(entry, 0, 100)?,
            "randseed" => self.seed = Some(number(entry, 0, u64::MAX)?),
            "thinktime" => self.think = time(entry, US)?,
            "thinktime_blocks" => self.think_blocks = number(entry, 1, 1 << 32)?,
            "rate" => self.set_rates(entry, |part| Ok(Rate::BytesPerS(bytes(entry, part, base)?)))?,
            "rate_iops" => self.set_rates(entry, |part| Ok(Rate::RequestsPerS(bytes(entry, part, base)?)))?,
            "rate_process" => {
                self.is_poisson = match value {
                    "linear" => false,
                    "poisson" => true,
                    _ => return Err(wrong("expected linear or poisson")),
                }
            }
            "runtime" | "timeout" => self.runtime = time(entry, S)?,
            "time_based" => self.is_time_based = switch(entry)?,
            "startdelay" => self.delay = time(entry, S)?,
            "loops" => self.loops = number(entry, 1, 1 << 32)?,
            "number_ios" => self.requests = number(entry, 0, 1 << 62)?,
            "fsync" => self.fsync = number(entry, 0, 1 << 32)?,
            "fdatasync" => self.fdatasync = number(entry, 0, 1 << 32)?,
            "end_fsync" => self.end_fsync = switch(entry)?,
            "fsync_on_close" => self.fsync_on_close = switch(entry)?,
            "stonewall" | "wait_for_previous" => self.is_behind_wall = switch(entry)?,
            "norandommap" => self.covers = !switch(entry)?,
            "random_distribution" => self.distribution = Distribution::parse(entry, base)?,
            "percentage_random" | "blockalign" | "ba" => self.set_places(entry, base)?,
            "ramp_time" => self.ramp = time(entry, S)?,
            "fdp" | "dataplacement" | "data_placement" | "plids" | "fdp_pli" | "plid_select" | "fdp_pli_select"
            | "dp_scheme" => self.placing.set(entry)?,
            "zonemode"
            | "zonesize"
            | "zonerange"
            | "zoneskip"
            | "zonecapacity"
            | "max_open_zones"
            | "job_max_open_zones"
            | "ignore_zone_limits"
            | "read_beyond_wp"
            | "zone_reset_threshold"
            | "zone_reset_frequency" => self.zoning.set(entry, base)?,
            _ => return Err(unknown(entry)),
        }
        Ok(())
    }

    /// Takes `rw`, with a number behind a colon: of a random job how many requests are one step, otherwise bytes.
    fn set_pattern(&mut self, entry: &Entry<'_>, base: KbBase) -> Result<(), Malformed> {
        let (value, step) =
            entry.value.unwrap_or("").split_once(':').map_or((entry.value, None), |(a, b)| (Some(a), Some(b)));
        let within = Entry { value, ..*entry };
        (self.asks, self.is_random) = pattern(&within)?;
        self.steps = Steps { repeats: self.steps.repeats, is_random: self.is_random, ..Steps::default() };
        let Some(step) = step else { return Ok(()) };
        if self.is_random {
            self.steps.every = number(&Entry { value: Some(step), ..*entry }, 0, 1 << 32)?;
            return Ok(());
        }
        let (sign, digits) = step.strip_prefix('-').map_or((1, step), |digits| (-1, digits));
        self.steps.add = sign * bytes(entry, digits, base)? as i64;
        if self.steps.add % SECTOR as i64 != 0 {
            return Err(entry
                .wrong(format!("{} = {step} cannot work: requests start at whole sectors of 512 bytes", entry.key)));
        }
        Ok(())
    }

    /// Sets the choice for random places.
    fn set_places(&mut self, entry: &Entry<'_>, base: KbBase) -> Result<(), Malformed> {
        let wrong =
            |what: &str| entry.wrong(format!("{} = {} cannot work: {what}", entry.key, entry.value.unwrap_or("")));
        for (direction, part) in by_direction(entry)?.into_iter().enumerate() {
            let Some(part) = part else { continue };
            if entry.key == "percentage_random" {
                let percent = part.parse().ok().filter(|&percent: &u64| percent <= 100);
                self.random_share[direction] = percent.ok_or_else(|| wrong("expected per cents from 0 to 100"))?;
                continue;
            }
            let bytes = bytes(entry, part, base)?;
            if bytes == 0 || bytes % SECTOR != 0 {
                return Err(wrong("requests start at whole sectors of 512 bytes"));
            }
            self.align[direction] = Some(bytes);
        }
        Ok(())
    }

    fn set_lengths(
        &mut self,
        entry: &Entry<'_>,
        parse: impl Fn(&str) -> Result<Lengths, Malformed>,
    ) -> Result<(), Malformed> {
        for (lengths, part) in self.lengths.iter_mut().zip(by_direction(entry)?) {
            let Some(part) = part else { continue };
            let parsed = parse(part)?;
            let is_wrong = |&bytes: &u64| bytes == 0 || bytes % SECTOR != 0 || bytes > LONGEST;
            if let Some(bytes) = [parsed.least(), parsed.most()].into_iter().find(is_wrong) {
                let what = "a request is 512 bytes to 2 TiB - 512 long, in whole sectors of 512";
                let message = format!("{} = {part} cannot work: it is {bytes} bytes, and {what}", entry.key);
                return Err(entry.wrong(message));
            }
            *lengths = parsed;
        }
        Ok(())
    }

    fn set_rates(
        &mut self,
        entry: &Entry<'_>,
        parse: impl Fn(&str) -> Result<Rate, Malformed>,
    ) -> Result<(), Malformed> {
        for (rate, part) in self.rates.iter_mut().zip(by_direction(entry)?) {
            let Some(part) = part else { continue };
            // 0 is no limit.
            let parsed = parse(part)?;
            *rate = Some(parsed).filter(|rate| !matches!(rate, Rate::BytesPerS(0) | Rate::RequestsPerS(0)));
        }
        Ok(())
    }

    /// Requests outstanding at a time: one if the engine waits for each.
    pub(super) fn outstanding(&self) -> u32 {
        if self.waits.is_some() || self.batch.is_polling() {
            1
        } else {
            self.depth
        }
    }

    /// Whether random requests visit each place once before any comes twice. Popular places come again, and other
    /// alignments have no map for visited places (HOWTO of fio 3.33, `random_distribution` and `blockalign`).
    pub(super) fn covers_once(&self) -> bool {
        let is_aligned =
            |(align, lengths): (&Option<u64>, &Lengths)| align.is_some_and(|align| align != lengths.least());
        let is_uniform = self.distribution == Distribution::Uniform;
        self.covers && is_uniform && !self.align.iter().zip(&self.lengths).any(is_aligned)
    }

    /// Whether a map of used places keeps its random requests from coming to a place twice in a pass.
    pub(super) fn has_map(&self) -> bool {
        self.is_random && self.generator == Generator::Tausworthe && self.covers_once()
    }

    /// The ranges that it goes through; with several files open there are none, if it says so (init.c of fio 3.33).
    pub(super) fn stride(&self) -> Option<Stride> {
        self.zoning.stride().filter(|_| self.open_files <= 1)
    }

    /// How many files it has.
    pub(super) fn file_count(&self) -> usize {
        match self.files.len() {
            0 => (self.file_number as usize).max(1),
            named => named,
        }
    }

    /// Whether each pass has the draws of the first one: a seed ends that (init.c of fio 3.33).
    pub(super) fn repeats(&self) -> bool {
        self.rand_repeats && self.seed.is_none()
    }

    /// Whether a pass ends with the job's size: fio 3.33 counts the bytes of requests that its engine does not wait for.
    pub(super) fn ends_with_size(&self) -> bool {
        self.waits.is_none() && !(self.is_null && self.depth == 1)
    }

    /// Whether files that are through stay so in passes for bytes alone.
    pub(super) fn keeps_done(&self) -> bool {
        !(self.is_time_based || self.loops > 1 || self.verifies)
    }

    /// What random places in this direction are multiples of.
    pub(super) fn alignment(&self, direction: usize) -> u64 {
        self.align[direction].unwrap_or(self.lengths[direction].least())
    }

    /// What places are chosen by, with so many files.
    pub(super) fn rules(&self, files: usize) -> Rules {
        Rules {
            random_share: if self.is_random { self.random_share } else { [0; 3] },
            align: [0, 1, 2].map(|direction| self.alignment(direction)),
            least: [0, 1, 2].map(|direction| self.lengths[direction].least()),
            steps: self.steps,
            goes_round: self.is_time_based || matches!(self.service, Service::Skewed(_)),
            wraps: self.is_time_based && files == 1,
            follows_trims: self.is_random && self.asks == Asks::TrimWrite,
        }
    }

    /// Whether some of its requests are writes.
    pub(super) fn writes(&self) -> bool {
        !matches!(self.asks, Asks::Only(Op::Read | Op::Trim))
    }

    /// Whether the first request of a mix has to be a write, as in fio.
    pub(super) fn begins_with_write(&self) -> bool {
        self.zoning.is_on() && !self.zoning.reads_beyond && self.read_share < 100
    }

    /// An error about the job as a whole.
    pub(super) fn wrong(&self, message: &str) -> Malformed {
        let message = format!("the job [{}] cannot work: {message}", self.name);
        Malformed { line: self.line, column: 1, message }
    }

    /// The job's shortest request.
    pub(super) fn least(&self) -> u64 {
        let shortest = self.asks.directions().iter().map(|&direction| self.lengths[direction].least()).min();
        shortest.expect("a job asks for something")
    }
}

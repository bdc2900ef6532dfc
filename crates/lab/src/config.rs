//! A whole experiment, as one TOML file holds it.
//!
//! [`Experiment::parse`] reads TOML or JSON, applies overrides, fills in every default and checks everything
//! checkable before the run: ranges, combinations, the device size, and whether the FTL can export the
//! requested capacity. Every error names its place in the text.

pub(crate) mod advice;
mod amount;
mod asks;
mod device;
mod disk;
mod elsewhere;
pub(crate) mod endurance;
mod fill;
mod find;
mod firmware;
mod fits;
pub(crate) mod footprint;
mod fs;
mod future;
mod host;
mod index;
mod memory;
mod over_provisioning;
mod path;
mod precondition;
mod queues;
mod reader;
mod reliability;
mod sample;
mod sizing;
mod slc;
pub(crate) mod tree;
pub(crate) mod typed;
mod usual;
mod zones;

pub use device::{Device, Model};
pub use fill::Fill;
pub(crate) use fs::key_error;
pub use host::{Arrival, Host};
pub use memory::{Memory, OneMemory, Powered};
pub use precondition::{FillPlacement, Precondition, SteadyWrites};
pub use sample::Sampling;
pub use sizing::Sizing;
pub use tree::Format;

use crate::error::{ConfigError, LabError};
use crate::json;
use advice::Advice;
use device::DeviceTable;
use nandlab_block::ZoneShape;
use nandlab_buffer::BufferConfig;
use nandlab_fs::{FsConfig, Over};
use nandlab_ftl::{Facts, FtlConfig};
use nandlab_index::IndexConfig;
use nandlab_nand::Geometry;
use nandlab_workload::keys::KeySetting;
use nandlab_workload::{Kind, Setting, WorkloadConfig, WorkloadError};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tree::{KeyError, Part, Tree};

/// The tables that every experiment has, written or not: name, one line, and the schema of the options.
pub(crate) fn tables() -> [(&'static str, &'static str, schemars::Schema); 4] {
    [
        ("host", "How the host's requests arrive.", schemars::schema_for!(Host)),
        ("precondition", "What is written before the measurement.", schemars::schema_for!(Precondition)),
        (
            "device",
            "The flash: a profile, what differs from it, and the size.",
            schemars::schema_for!(device::DeviceTable),
        ),
        ("memory", "What the memories of a write buffer cost.", schemars::schema_for!(memory::MemoryTable)),
    ]
}

/// An experiment with every default filled in.
#[derive(Clone, Debug, Serialize)]
pub struct Experiment {
    /// Seed for everything random.
    pub seed: u64,
    /// The host's workload; none for a disk, which programs use.
    #[serde(skip_serializing_if = "disk::is_none")]
    pub workload: WorkloadConfig,
    /// When the host's requests arrive.
    pub host: Host,
    /// Writes before the measurement.
    pub precondition: Precondition,
    /// The index for a key workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<IndexConfig>,
    /// The file system for a file workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fs: Option<FsConfig>,
    /// The write buffer over the FTL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<BufferConfig>,
    /// Costs for the buffer's memories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// The flash translation layer; none below a file system on bare flash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ftl: Option<FtlConfig>,
    /// The NAND device; a placeholder if a real directory takes its place.
    #[serde(serialize_with = "device::serialize", skip_serializing_if = "Device::is_stand_in")]
    pub device: Device,
    /// Sentences about rounded or ignored inputs.
    #[serde(skip)]
    pub notices: Vec<String>,
    /// The original text, to locate later errors.
    #[serde(skip)]
    tree: Tree,
    /// The start folder for relative paths.
    #[serde(skip)]
    pub(crate) base: PathBuf,
}

/// An experiment as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename = "experiment")]
struct Table {
    #[serde(default = "default_seed")]
    seed: u64,
    workload: WorkloadConfig,
    host: Option<Host>,
    precondition: Option<Precondition>,
    index: Option<IndexConfig>,
    fs: Option<FsConfig>,
    buffer: Option<BufferConfig>,
    memory: Option<memory::MemoryTable>,
    ftl: Option<FtlConfig>,
    device: Option<DeviceTable>,
}

fn default_seed() -> u64 {
    1
}

impl Experiment {
    /// Reads an experiment.
    ///
    /// `source` names the text in errors (if empty, errors name no place), relative paths start at `base`, and
    /// `sets` are overrides such as `device.capacity=64MiB`.
    ///
    /// # Errors
    /// [`LabError::Config`].
    pub fn parse(text: &str, format: Format, source: &str, base: &Path, sets: &[String]) -> Result<Self, LabError> {
        let mut tree = Tree::parse(text, format, source)?;
        for set in sets {
            tree.set(set)?;
        }
        Ok(Self::from_tree(tree, base)?)
    }

    fn from_tree(tree: Tree, base: &Path) -> Result<Self, ConfigError> {
        let mut table: Table = typed::typed(&tree, "", &tree.root)?;
        for jobs in table.workload.jobs_of_fio() {
            // From here on they are part of the experiment, so that its record says what the run depended on.
            jobs.take_environment(base, &|name| std::env::var(name).ok());
        }
        let over = table.fs.as_ref().map_or(Over::Device, FsConfig::over);
        if table.ftl.is_none() && over == Over::Device {
            return Err(tree.error("", Part::Key, "the experiment needs the key `ftl`, such as [ftl.page]".to_owned()));
        }
        let (device, mut notices) = match (over, table.device) {
            (Over::Directory, Some(_)) => return Err(fs::refuse_device(&tree)),
            (Over::Directory, None) => (Device::stand_in(&tree)?, Vec::new()),
            (_, device) => Device::from_table(&tree, device.unwrap_or_default(), base, over == Over::Flash)?,
        };
        let host = table.host.unwrap_or_default();
        if let Some((memory, buffer)) = table.memory.as_ref().zip(table.buffer.as_ref()) {
            notices.extend(memory.notices(buffer.nominal_bytes()));
        }
        let memory = table.memory.map(|memory| Memory::from_table(&tree, &memory, host.arrival, base)).transpose()?;
        if memory.is_some() && table.buffer.is_none() {
            notices.push("[memory] has no effect: there is no buffer whose memories it could describe".to_owned());
        }
        let mut experiment = Self {
            seed: table.seed,
            workload: table.workload,
            host,
            precondition: table.precondition.unwrap_or_default(),
            index: table.index,
            fs: table.fs,
            buffer: table.buffer,
            memory,
            ftl: table.ftl,
            device,
            notices: Vec::new(),
            tree,
            base: base.to_owned(),
        };
        experiment.indexes().for_each(IndexConfig::resolve);
        if let Some(sample) = &mut experiment.host.sample {
            sample.resolve();
        }
        firmware::lay(&mut experiment)?;
        notices.extend(zones::lay(&mut experiment)?);
        future::refuse_unknowable(&experiment)?;
        notices.extend(experiment.check().map_err(|error| experiment.tree.located(error))?);
        experiment.notices = notices;
        Ok(experiment)
    }

    /// All indexes, those of tenants too.
    fn indexes(&mut self) -> impl Iterator<Item = &mut IndexConfig> {
        let tenants = match &mut self.workload {
            WorkloadConfig::Tenants(tenants) => &mut tenants.tenant[..],
            _ => &mut [],
        };
        self.index.iter_mut().chain(tenants.iter_mut().filter_map(|tenant| tenant.index.as_mut()))
    }

    /// Checks everything that can be checked before the run; gives sentences about rounded or ignored inputs.
    fn check(&self) -> Result<Vec<String>, KeyError> {
        let mut notices = Vec::new();
        fs::check(self)?;
        notices.extend(index::check(self)?);
        self.check_ranges()?;
        let sizing = Sizing::of(self)?;
        self.check_fit(&sizing)?;
        notices.extend(reliability::check(self, &sizing)?);
        notices.extend(self.unread_precondition());
        notices.extend(self.unused_weights());
        notices.extend(self.unused_path());
        if let Some(fs) = &self.fs {
            let said = fs.notices(sizing.sectors());
            notices.extend(said.into_iter().map(|notice| format!("fs.{}.{notice}", fs.name())));
        }
        notices.extend(self.check_buffer(&sizing)?);
        notices.extend(sizing.notices);
        Ok(notices)
    }

    /// Refuses a buffer that cannot work here, and gives the notices on the others.
    fn check_buffer(&self, sizing: &Sizing) -> Result<Vec<String>, KeyError> {
        let Some(buffer) = &self.buffer else { return Ok(Vec::new()) };
        let key = format!("buffer.{}", buffer.name());
        let are_known = matches!(self.workload.kind(), Kind::Requests(_)) && !self.has_above();
        if buffer.profiler(&sizing.geometry).is_some() && !are_known {
            let key = format!("{key}.thresholds");
            let message = format!(
                "{key} = \"auto\" takes a look at the requests before they are played, and those of an index or a file \
                 system are not known then: set t_state, t_read and t_write, or thresholds = \"online\""
            );
            return Err(KeyError::of_value(key, message));
        }
        buffer.check(&sizing.geometry).map_err(|message| KeyError::of_key(key, message))?;
        Ok(buffer.notices(&sizing.geometry))
    }

    /// The experiment as JSON, with every default explicit; parsing it again gives the same experiment.
    pub fn to_json(&self) -> String {
        json::text(self)
    }

    /// Block and page counts.
    ///
    /// # Errors
    /// [`LabError::Config`]; impossible for a parsed and unmodified experiment.
    pub fn sizing(&self) -> Result<Sizing, LabError> {
        Ok(Sizing::of(self)?)
    }

    /// Whether the file system is on bare flash, without an FTL.
    pub fn is_bare(&self) -> bool {
        self.fs.as_ref().is_some_and(|fs| fs.over() == Over::Flash)
    }

    /// Whether a real directory replaces the device.
    pub fn is_in_directory(&self) -> bool {
        self.device.is_stand_in()
    }

    /// What the FTL's options settle; the defaults without an FTL.
    pub(crate) fn ftl_facts(&self) -> Facts {
        self.ftl.as_ref().map_or_else(Facts::default, FtlConfig::facts)
    }

    /// The zones visible to the device's host.
    pub(crate) fn zone_shape(&self, geometry: &Geometry) -> Option<ZoneShape> {
        // The sizing reports an FTL that refuses its device.
        self.ftl.as_ref().and_then(|ftl| ftl.planned_zones(geometry).ok().flatten())
    }

    /// The setting to open a key workload in.
    pub(crate) fn key_setting<'a>(&self, base: &'a Path) -> KeySetting<'a> {
        let largest_key = self.index.as_ref().map_or(u64::MAX, IndexConfig::largest_key);
        KeySetting { seed: self.seed, base, largest_key }
    }

    /// A workload's error, with advice about the device.
    pub(crate) fn explain(&self, error: WorkloadError) -> LabError {
        let (name, larger) = (
            self.workload.name(),
            match &error {
                WorkloadError::TooSmall { needed, .. } => Advice::to_hold(self, *needed).sentence(),
                _ => None,
            },
        );
        let message = larger.map(|larger| error.with_larger_device(&larger));
        match LabError::from_workload(error, name) {
            LabError::Config(mut wrong) => {
                wrong.message = message.unwrap_or(wrong.message);
                LabError::Config(wrong)
            }
            other => other,
        }
    }

    /// An error about this experiment, with its place in the text if its key is known.
    pub(crate) fn located(&self, error: LabError) -> LabError {
        match error {
            LabError::Config(wrong) if wrong.file.is_none() => match &wrong.key {
                Some(key) => self.tree.error(key, Part::Value, wrong.message.clone()).into(),
                None => LabError::Config(wrong),
            },
            LabError::Trace(mut wrong) => {
                if let Some(key) = wrong.key.as_deref() {
                    let named = self.tree.error(key, Part::Value, String::new());
                    let line = named.line.map(|line| format!(", line {line}")).unwrap_or_default();
                    let place = named.file.map(|file| format!(" in {file}{line}")).unwrap_or_default();
                    wrong.message += &format!(" ({key}{place})");
                }
                LabError::Trace(wrong)
            }
            other => other,
        }
    }

    /// Checks that a generator fits the device; a trace file is checked when the run starts.
    fn check_fit(&self, sizing: &Sizing) -> Result<(), KeyError> {
        sample::check_buffer(self, sizing)?;
        let workload = self.workload.name();
        let options = match self.workload.kind() {
            Kind::Requests(_) if matches!(workload, "trace" | "fio") => return Ok(()),
            Kind::Requests(options) => options,
            Kind::Keys(_) => return index::check_fit(self, sizing),
            Kind::Files(_) => return fs::check_fit(self, sizing),
        };
        let watch = |_| true;
        let setting = Setting {
            sectors: sizing.sectors(),
            seed: self.seed,
            base: Path::new(""),
            watch: &watch,
            took: None,
            queues: self.host.queues(),
            placements: self.ftl_facts().placements,
            zones: self.zone_shape(&sizing.geometry),
        };
        let mut opened = options.open(&setting).map_err(|error| workload_key_error(error, workload))?;
        let total = opened.len_hint().unwrap_or(0);
        self.refuse_endless_warm_up(total)?;
        sample::check_fit(self, &mut *opened, total)
    }

    /// Refuses a warm-up as long as all `total` requests, with none left to measure; a `total` of 0 is unknown.
    pub(crate) fn refuse_endless_warm_up(&self, total: u64) -> Result<(), KeyError> {
        let warm_up = self.precondition.warm_up;
        if warm_up == 0 || total == 0 || warm_up < total {
            return Ok(());
        }
        let message = format!(
            "precondition.warm_up = {warm_up} leaves nothing to be measured: the workload has {total} requests; \
             expected less than that"
        );
        Err(KeyError::of_value("precondition.warm_up", message))
    }

    fn check_ranges(&self) -> Result<(), KeyError> {
        let refuse = |key: &str, given: &dyn std::fmt::Display, why: &str| {
            Err(KeyError::of_value(key, format!("{key} = {given} cannot work: {why}")))
        };
        let workload = self.workload.name();
        if disk::is_none(&self.workload) {
            return self.check_gaps(&refuse);
        }
        self.workload.kind().check().map_err(|error| workload_key_error(error, workload))?;
        self.check_timing(&refuse)?;
        self.check_host(&refuse)?;
        let arrival = self.host.arrival;
        let has_times = match self.workload.kind() {
            Kind::Requests(options) => options.has_times(),
            Kind::Keys(_) => {
                index::check_host(self)?;
                true
            }
            Kind::Files(_) => {
                fs::check_host(self)?;
                true
            }
        };
        if arrival == Arrival::Recorded && !has_times {
            let key = format!("workload.{workload}.requests_per_s");
            let why = format!("the requests have no times of their own: set {key}, or play a trace");
            return refuse("host.arrival", &"\"recorded\"", &why);
        }
        self.check_gaps(&refuse)?;
        self.check_precondition(&refuse)
    }
}

impl Experiment {
    /// Refuses work in gaps between requests if there are no gaps.
    fn check_gaps(&self, refuse: &tree::Refuse<'_>) -> Result<(), KeyError> {
        match self.ftl_facts().gaps {
            Some(gaps) if self.device.model == Model::Counting => {
                let why = "a device that only counts has no time in which it rests; leave it or device.model out";
                refuse(gaps.key, &gaps.value, why)
            }
            _ => Ok(()),
        }
    }
}

/// Error in a workload's options.
fn workload_key_error(error: WorkloadError, workload: &str) -> KeyError {
    match LabError::from_workload(error, workload) {
        LabError::Config(error) => KeyError::of_value(error.key.clone().unwrap_or_default(), error.message.clone()),
        other => KeyError::of_value("workload", other.to_string()),
    }
}

//! Tenants: several owners of submission queues, each with a workload of its own, on one device.
//!
//! ## Idea
//! Each tenant puts commands into its own submission queues, and the controller takes them out by the rules in
//! `[host.queues]`. A tenant keeps `queue_depth` commands outstanding in each queue: those that wait and those under
//! way. With `requests_per_s` in its workload, its commands come at their own times instead. They wait in the queue, and
//! in front of it while `queue_depth` are outstanding. A latency begins when the command comes, so it includes the wait;
//! the record also tells the wait alone. Each tenant is a separate origin, and has its own part of the device.
//!
//! ## Differences
//! Taking a command costs no time of its own. The controller takes the next one at the moment when another ends.
//!
//! ## References
//! NVM Express Base Specification 2.0, section 3.4 (queues, command arbitration). Tavakkol et al., "FLIN: Enabling
//! fairness and enhancing performance in modern NVMe solid state drives", ISCA 2018.

mod parts;
mod queues;

use crate::origins::{named, origins};
use crate::{Kind, Options, Setting, Workload, WorkloadConfig, WorkloadError};
use nandlab_block::Priority;
use nandlab_nand::random::{Random, Stream};
use nandlab_nand::Origin;
pub use parts::Part;
use queues::{Asker, Controller, Queue};
use serde::{Deserialize, Serialize};

/// Most queues of a tenant, and most outstanding commands in one.
const MOST_QUEUES: u32 = 64;
const MOST_DEPTH: u32 = 65_536;

/// Options of `[workload.tenants]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The tenants, each with a name, a workload, and the queues' priority, number and depth.
    pub tenant: Vec<Tenant>,
    /// The tenant whose last request ends the run: the `"first"` one that is done, so that all compete as long as
    /// it lasts, or the `"last"`.
    #[serde(default)]
    pub until: Until,
    /// The tenant that runs alone, by its name; the others ask for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<String>,
}

/// A tenant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tenant {
    /// Its name in the record.
    pub name: String,
    /// Its requests, by a generator.
    #[schemars(schema_with = "any_table")]
    pub workload: WorkloadConfig,
    /// Its submission queues, 1 to 64.
    #[serde(default = "one")]
    pub queues: u32,
    /// Commands outstanding in each queue, waiting or under way; 1 unless given, and 65,536 with `requests_per_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
    /// The class of its queues; it counts only with weighted arbitration.
    #[serde(default)]
    pub priority: Priority,
    /// Its part of the device, behind the tenants' before: a share, bytes, or `"whole"` for the whole device, which it shares;
    /// without it an equal part of what is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
}

/// When the run ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// With the last request of the tenant that is done first.
    #[default]
    First,
    /// With the last request of all.
    Last,
}

fn one() -> u32 {
    1
}

/// A table named by a workload; its schema contains this one.
fn any_table(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "object" })
}

impl Config {
    /// The tenants that ask, each with its origin.
    pub fn asking(&self) -> impl Iterator<Item = (Origin, &Tenant)> {
        let asks = |tenant: &Tenant| self.alone.as_ref().is_none_or(|alone| *alone == tenant.name);
        origins().zip(&self.tenant).filter(move |(_, tenant)| asks(tenant))
    }

    /// Checks the list as a whole.
    fn check_names(&self) -> Result<(), WorkloadError> {
        if self.tenant.is_empty() {
            return Err(WorkloadError::option("tenant", &"[]", "it lists at least one tenant"));
        }
        let most = origins().count();
        if self.tenant.len() > most {
            let why = format!("{most} tenants can be told apart; one tenant may have several queues");
            return Err(WorkloadError::option("tenant", &format!("{} tenants", self.tenant.len()), why));
        }
        for (at, tenant) in self.tenant.iter().enumerate() {
            let refuse = |why: &str| {
                let given = format!("\"{}\"", tenant.name);
                Err(WorkloadError::option(&format!("tenant[{at}].name"), &given, why))
            };
            if tenant.name.trim().is_empty() {
                return refuse("a tenant needs a name, by which the record tells it apart");
            }
            if self.tenant[..at].iter().any(|other| other.name == tenant.name) {
                return refuse("another tenant has this name");
            }
        }
        match &self.alone {
            Some(alone) if self.asking().next().is_none() => {
                let names: Vec<_> = self.tenant.iter().map(|tenant| format!("\"{}\"", tenant.name)).collect();
                let why = format!("no tenant has this name; there are {}", names.join(", "));
                Err(WorkloadError::option("alone", &format!("\"{alone}\""), why))
            }
            _ => Ok(()),
        }
    }
}

impl Tenant {
    /// The generator's options; an error if the workload is none.
    fn generator(&self, at: usize) -> Result<&dyn Options, WorkloadError> {
        let name = self.workload.name();
        match self.workload.kind() {
            Kind::Requests(options) if !options.paces_itself() && name != "trace" => Ok(options),
            kind => {
                let why = match (name, kind) {
                    ("trace", _) => "a trace has the requests of a whole device",
                    (_, Kind::Requests(_)) => "it has queues of its own",
                    (_, Kind::Keys(_)) => "it asks an index, and a tenant asks for sectors",
                    (_, Kind::Files(_)) => "it asks a file system, and a tenant asks for sectors",
                };
                let why = format!("{why}; a tenant's workload is sequential, uniform, zipf, hot_cold or cachelib");
                Err(WorkloadError::option(&format!("tenant[{at}].workload"), &name, why))
            }
        }
    }

    /// Whether its commands come at their own times.
    fn is_open(&self) -> bool {
        matches!(self.workload.kind(), Kind::Requests(options) if options.has_times())
    }

    fn depth(&self) -> u32 {
        self.queue_depth.unwrap_or(if self.is_open() { MOST_DEPTH } else { 1 })
    }

    fn check(&self, at: usize) -> Result<(), WorkloadError> {
        let key = |key: &str| format!("tenant[{at}].{key}");
        self.generator(at)?.check().map_err(|error| self.placed(at, error))?;
        if !(1..=MOST_QUEUES).contains(&self.queues) {
            return Err(WorkloadError::option(&key("queues"), &self.queues, "a tenant has 1 to 64 queues"));
        }
        if !(1..=MOST_DEPTH).contains(&self.depth()) {
            let why = "1 to 65536 commands can be outstanding in a queue";
            return Err(WorkloadError::option(&key("queue_depth"), &self.depth(), why));
        }
        Ok(())
    }

    /// An error of its generator, with the key inside this table.
    fn placed(&self, at: usize, error: WorkloadError) -> WorkloadError {
        match error {
            WorkloadError::Option { key, given, why } => {
                let key = format!("tenant[{at}].workload.{}.{key}", self.workload.name());
                WorkloadError::Option { key, given, why }
            }
            other => other,
        }
    }
}

/// The seed of a tenant; a single one has the experiment's, so it makes the same requests as without queues.
fn seed_of(seed: u64, at: usize) -> u64 {
    match at {
        0 => seed,
        _ => Random::stream(seed, Stream::Tenants as u64 + at as u64).next_u64(),
    }
}

impl Options for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        self.check_names()?;
        self.tenant.iter().enumerate().try_for_each(|(at, tenant)| tenant.check(at))
    }

    fn open(&self, setting: &Setting<'_>) -> Result<Box<dyn Workload>, WorkloadError> {
        self.check()?;
        let regions = parts::lay_out(&self.tenant, setting.sectors)?;
        let (mut askers, mut queues) = (Vec::new(), Vec::new());
        for (origin, tenant) in self.asking() {
            let at = self.tenant.iter().position(|one| one.name == tenant.name).expect("it is one of the list");
            let region = &regions[at];
            let seed = seed_of(setting.seed, at);
            let own = Setting { sectors: region.sectors, seed, took: None, zones: None, ..*setting };
            let source = tenant.generator(at)?.open(&own).map_err(|error| tenant.placed(at, error))?;
            queues.extend((0..tenant.queues).map(|_| Queue::new(askers.len(), tenant.depth(), tenant.priority)));
            let of_it = queues.len() - tenant.queues as usize..queues.len();
            askers.push(Asker::new(source, (origin, region.first), of_it, tenant.is_open())?);
        }
        let names = named(self.tenant.iter().map(|tenant| tenant.name.as_str()));
        Ok(Box::new(Controller::new(&setting.queues, askers, queues, (names, self.until))?))
    }

    fn has_times(&self) -> bool {
        false
    }

    fn paces_itself(&self) -> bool {
        true
    }
}

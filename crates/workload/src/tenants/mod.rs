//! Tenants: several owners of submission queues, each with a workload of its own, on one device.
//!
//! ## Idea
//! Each tenant puts commands into its own submission queues, and the controller takes them out by the rules in
//! `[host.queues]`. A tenant keeps `queue_depth` commands outstanding in each queue: those that wait and those under
//! way. With `requests_per_s` in its workload, its commands come at their own times instead. They wait in the queue, and
//! in front of it while `queue_depth` are outstanding. A latency begins when the command comes, so it includes the wait;
//! the record also tells the wait alone. Each tenant is a separate origin, and has its own part of the device.
//!
//! A trace plays at its recorded times, or in a closed loop with `arrival = "closed"`. Jobs of fio pace themselves: the
//! tenant's queues take what they ask.
//!
//! A tenant with keys has an index of its own, and one with files a file system, over its part of the device. Who opens the
//! tenants plays these ([`Config::open_with`]): their requests come when the index or the file system makes them.
//!
//! A tenant with a limit asks as before, but its commands come into the queues no faster than its token buckets let them.
//! What they wait for counts as a wait in the queue.
//!
//! A tenant with a reservation goes before arbitration when it is behind, see [`Reserve`].
//!
//! ## Differences
//! Taking a command costs no time of its own. The controller takes the next one at the moment when another ends.
//!
//! ## References
//! NVM Express Base Specification 2.0, section 3.4 (queues, command arbitration). Tavakkol et al., "FLIN: Enabling
//! fairness and enhancing performance in modern NVMe solid state drives", ISCA 2018.

mod above;
mod limit;
mod parts;
mod queues;
mod reserve;

use crate::origins::{named, origins};
use crate::{Kind, Options, Setting, Workload, WorkloadConfig, WorkloadError};
use above::Silent;
pub use above::{Above, Play};
use limit::Buckets;
pub use limit::Limit;
use nandlab_block::Priority;
use nandlab_fs::FsConfig;
use nandlab_index::IndexConfig;
use nandlab_nand::random::{Random, Stream};
use nandlab_nand::Origin;
pub use parts::Part;
use queues::{Asker, Controller, Pace, Queue, Rates};
use reserve::Due;
pub use reserve::Reserve;
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
    /// What it asks for: sectors by a generator, from a trace or by jobs of fio; keys of its index; or files.
    #[schemars(schema_with = "any_table")]
    pub workload: WorkloadConfig,
    /// The index in its part of the device, for a workload that asks for keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_table")]
    pub index: Option<IndexConfig>,
    /// The file system in its part of the device, for a workload that asks for files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_table")]
    pub fs: Option<FsConfig>,
    /// Its submission queues, 1 to 64.
    #[serde(default = "one")]
    pub queues: u32,
    /// Commands outstanding in each queue, waiting or under way; unless given 1 in a closed loop, and 65,536 for
    /// commands with times and for fio, indexes and file systems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
    /// The class of its queues; it counts only with weighted arbitration.
    #[serde(default)]
    pub priority: Priority,
    /// Its part of the device, behind the tenants' before: a share, bytes, or `"whole"` for the whole device, which it shares;
    /// without it an equal part of what is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// When its commands come: `"recorded"`, at the times of its workload, or `"closed"`, each at the end of another.
    /// Recorded unless given, if the workload has times. Jobs of fio, an index and a file system pace themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival: Option<Arrival>,
    /// The most requests and bytes a second that it gets; no limit unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// The least requests and bytes a second that it gets before arbitration, as long as it asks and the device can; nothing is
    /// reserved unless given. It needs `host.queues.commands`: without it no command waits in a queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Reserve>,
}

/// When a tenant's commands come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// Each at the end of another.
    Closed,
    /// At the times of the workload.
    Recorded,
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
        origins().zip(&self.tenant).filter(|(_, tenant)| self.asks(tenant))
    }

    /// Whether no other tenant runs alone.
    fn asks(&self, tenant: &Tenant) -> bool {
        self.alone.as_ref().is_none_or(|alone| *alone == tenant.name)
    }

    /// The sectors of each tenant on a device with `sectors`, which has no zones.
    ///
    /// # Errors
    /// [`WorkloadError::Option`] if the parts do not fit.
    pub fn parts(&self, sectors: u64) -> Result<Vec<std::ops::Range<u64>>, WorkloadError> {
        let regions = parts::lay_out(&self.tenant, sectors, None)?;
        Ok(regions.iter().map(|region| region.first..region.first + region.sectors).collect())
    }

    /// Opens the tenants; `play` makes the requests of each one that has an index or a file system.
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open_with(&self, setting: &Setting<'_>, play: &mut Play<'_>) -> Result<Box<dyn Workload>, WorkloadError> {
        self.open_those(setting, play, (false, self.until))
    }

    /// Opens the tenants that have an index or a file system, without their limits and reservations, for their loads. Those that
    /// ask for nothing, since another one runs alone, load as well: the device is the same then.
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open_loads(&self, setting: &Setting<'_>, play: &mut Play<'_>) -> Result<Box<dyn Workload>, WorkloadError> {
        self.open_those(setting, play, (true, Until::Last))
    }

    fn open_those(
        &self,
        setting: &Setting<'_>,
        play: &mut Play<'_>,
        (are_loads, until): (bool, Until),
    ) -> Result<Box<dyn Workload>, WorkloadError> {
        self.check()?;
        let regions = parts::lay_out(&self.tenant, setting.sectors, setting.zones)?;
        self.check_zones(setting.zones, are_loads)?;
        let (mut askers, mut queues) = (Vec::new(), Vec::new());
        let takes_part = |tenant: &Tenant| if are_loads { tenant.is_above() } else { self.asks(tenant) };
        for (origin, tenant) in origins().zip(&self.tenant).filter(|(_, tenant)| takes_part(tenant)) {
            let at = self.tenant.iter().position(|one| one.name == tenant.name).expect("it is one of the list");
            let region = &regions[at];
            let zones = setting.zones.map(|zones| self.share(tenant, region.zones(zones)));
            let seed = seed_of(setting.seed, at);
            let own = Setting { sectors: region.sectors, seed, took: None, zones, ..*setting };
            let mut source = tenant.source(at, (&own, region.first), play)?;
            if tenant.pace() == Pace::Own {
                source.tells_later();
            }
            queues.extend((0..tenant.queues).map(|_| Queue::new(askers.len(), tenant.depth(), tenant.priority)));
            let of_it = queues.len() - tenant.queues as usize..queues.len();
            let (limit, reserve) =
                if are_loads { (None, None) } else { (tenant.limit.as_ref(), tenant.reserve.as_ref()) };
            let rates = Rates {
                buckets: limit.map(Buckets::new),
                due: reserve.map(|reserve| Due::new(reserve, setting.queues.longest_turn())),
            };
            askers.push(Asker::new(source, (origin, region.first), of_it, (tenant.pace(), rates))?);
        }
        let names = named(self.tenant.iter().map(|tenant| tenant.name.as_str()));
        Ok(Box::new(Controller::new(&setting.queues, askers, queues, (names, until))?))
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
    /// Whether it has an index or a file system.
    pub fn is_above(&self) -> bool {
        self.index.is_some() || self.fs.is_some()
    }

    /// What its commands wait for.
    fn pace(&self) -> Pace {
        match self.workload.kind() {
            Kind::Requests(options) if options.paces_itself() => Pace::Own,
            Kind::Keys(_) | Kind::Files(_) => Pace::Own,
            Kind::Requests(options) if options.has_times() && self.arrival != Some(Arrival::Closed) => Pace::Open,
            Kind::Requests(_) => Pace::Closed,
        }
    }

    fn depth(&self) -> u32 {
        self.queue_depth.unwrap_or(if self.pace() == Pace::Closed { 1 } else { MOST_DEPTH })
    }

    fn check(&self, at: usize) -> Result<(), WorkloadError> {
        let key = |key: &str| format!("tenant[{at}].{key}");
        self.check_kind(at)?;
        if !(1..=MOST_QUEUES).contains(&self.queues) {
            return Err(WorkloadError::option(&key("queues"), &self.queues, "a tenant has 1 to 64 queues"));
        }
        if !(1..=MOST_DEPTH).contains(&self.depth()) {
            let why = "1 to 65536 commands can be outstanding in a queue";
            return Err(WorkloadError::option(&key("queue_depth"), &self.depth(), why));
        }
        match (self.arrival, self.pace()) {
            (Some(_), Pace::Own) => {
                let why = "jobs of fio, an index and a file system pace themselves; leave it out";
                return Err(WorkloadError::option(&key("arrival"), &"...", why));
            }
            (Some(Arrival::Recorded), Pace::Closed) => {
                let why = "its workload has no times; requests_per_s gives a generator some";
                return Err(WorkloadError::option(&key("arrival"), &"\"recorded\"", why));
            }
            _ => {}
        }
        self.limit.map_or(Ok(()), |limit| limit.check(&key("limit")))?;
        self.reserve.map_or(Ok(()), |reserve| reserve.check(&key("reserve"), self.limit.as_ref()))
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

    /// Tenants with an index or a file system ask for nothing: [`Config::open_with`] lets the caller play them.
    fn open(&self, setting: &Setting<'_>) -> Result<Box<dyn Workload>, WorkloadError> {
        self.open_with(setting, &mut |_| Ok(Box::new(Silent)))
    }

    fn has_times(&self) -> bool {
        false
    }

    fn paces_itself(&self) -> bool {
        true
    }
}

impl WorkloadConfig {
    /// The jobs of fio in it, those of tenants too.
    pub fn jobs_of_fio(&mut self) -> Vec<&mut crate::fio::Config> {
        match self {
            Self::Fio(jobs) => vec![jobs],
            Self::Tenants(tenants) => {
                tenants.tenant.iter_mut().flat_map(|tenant| tenant.workload.jobs_of_fio()).collect()
            }
            _ => Vec::new(),
        }
    }
}

//! Tenants with an index or a file system in their part of the device.

use super::{Config, Part, Tenant};
use crate::origins::origins;
use crate::{Kind, Setting, Workload, WorkloadError};
use nandlab_block::{Request, ZoneShape};
use nandlab_fs::{FsConfig, FsError, Over};
use nandlab_index::lsm::{zones_needed, ACTIVE_ZONES_MIN};
use nandlab_index::{IndexConfig, IndexError};
use std::path::Path;

/// A tenant with an index or a file system, for whoever plays it.
#[derive(Debug)]
pub struct Above<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Its place in the list, from 0.
    pub at: usize,
    /// The first sector of its part.
    pub first: u64,
    /// The sectors of its part; its requests count from the start of the part.
    pub sectors: u64,
    /// The zones of its part, if the device has some. The limits are the tenant's share of those of the device.
    pub zones: Option<ZoneShape>,
    /// Its seed.
    pub seed: u64,
    /// Folder for relative paths.
    pub base: &'a Path,
}

impl Above<'_> {
    /// Whether its index has requests side by side.
    pub fn has_jobs(&self) -> bool {
        self.tenant.index.as_ref().is_some_and(IndexConfig::has_jobs)
    }
}

/// Makes the requests of a tenant with an index or a file system.
pub type Play<'p> = dyn FnMut(&Above<'_>) -> Result<Box<dyn Workload>, WorkloadError> + 'p;

/// A tenant whose index or file system nobody plays.
pub(super) struct Silent;

impl Workload for Silent {
    fn fill(&mut self, _: &mut Vec<Request>, _: usize) -> Result<usize, WorkloadError> {
        Ok(0)
    }

    fn len_hint(&self) -> Option<u64> {
        None
    }
}

impl Tenant {
    /// Checks the workload, and what is above the tenant's part for it.
    pub(super) fn check_kind(&self, at: usize) -> Result<(), WorkloadError> {
        let name = self.workload.name();
        let refuse =
            |key: &str, given: &str, why: &str| Err(WorkloadError::option(&format!("tenant[{at}].{key}"), &given, why));
        let needs = match self.workload.kind() {
            Kind::Requests(_) if name == "tenants" => return refuse("workload", name, "it has queues of its own"),
            Kind::Requests(_) => (false, false),
            Kind::Keys(_) => (true, false),
            Kind::Files(_) => (false, true),
        };
        match (needs, self.index.is_some(), self.fs.is_some()) {
            ((true, _), false, _) => {
                return refuse("workload", name, "it asks for keys: give the tenant an index, such as index.lsm = {}")
            }
            ((_, true), _, false) => {
                return refuse(
                    "workload",
                    name,
                    "it asks for files: give the tenant a file system, such as fs.fat = {}",
                )
            }
            ((false, _), true, _) => return refuse("index", "{ ... }", "its workload asks for no keys; leave it out"),
            ((_, false), _, true) => return refuse("fs", "{ ... }", "its workload asks for no files; leave it out"),
            _ => {}
        }
        self.workload.kind().check().map_err(|error| self.placed(at, error))?;
        if let Some(index) = &self.index {
            index.check().map_err(|error| of_index(at, index, &error))?;
        }
        let Some(fs) = &self.fs else { return Ok(()) };
        if fs.over() != Over::Device {
            let why = "a tenant has a part of the sectors that the FTL exports, and this file system is not over sectors; take fat";
            return refuse("fs", fs.name(), why);
        }
        fs.check().map_err(|error| of_fs(at, fs, &error))
    }

    /// Opens its workload in its part of the device.
    pub(super) fn source(
        &self,
        at: usize,
        (own, first): (&Setting<'_>, u64),
        play: &mut Play<'_>,
    ) -> Result<Box<dyn Workload>, WorkloadError> {
        let writes_in_order = self.is_above() || matches!(self.workload.name(), "fio" | "trace");
        if own.zones.is_some() && writes_in_order && self.queues > 1 {
            let why =
                "a zone takes writes in the order of their sectors, and only a single queue keeps it; leave it out";
            return Err(WorkloadError::option(&format!("tenant[{at}].queues"), &self.queues, why));
        }
        let opened = match self.workload.kind() {
            Kind::Requests(options) => options.open(own),
            Kind::Keys(_) | Kind::Files(_) => {
                self.check_part(at, own)?;
                let Setting { sectors, zones, seed, base, .. } = *own;
                play(&Above { tenant: self, at, first, sectors, zones, seed, base })
            }
        };
        opened.map_err(|error| self.placed(at, error))
    }

    /// Checks that its index or file system can work in the zones of its part.
    fn check_own_zones(&self, at: usize, (zones, sectors): (ZoneShape, u64)) -> Result<(), WorkloadError> {
        let refuse =
            |key: &str, given: &str, why: &str| Err(WorkloadError::option(&format!("tenant[{at}].{key}"), &given, why));
        let of_fs = || self.fs.as_ref().map_or("fs", FsConfig::name);
        let above = self.index.as_ref().map_or_else(of_fs, IndexConfig::name);
        let Some(IndexConfig::Lsm(options)) = &self.index else {
            let why = "a B+tree and a file system write anywhere, and the zones of this device are written in order; index.lsm \
                       writes in order";
            return refuse(if self.index.is_some() { "index" } else { "fs" }, above, why);
        };
        if zones.conventional > 0 {
            let why = format!(
                "the first zones of its part, {}, are conventional, and a tree keeps its manifest in zones with a write pointer; \
                 leave device.zones.conventional out, or give these zones to a tenant before it",
                zones.conventional
            );
            return match self.part {
                Some(Part::Own(part)) => refuse("part", &part.to_string(), &why),
                Some(Part::Whole) => refuse("part", "\"whole\"", &why),
                None => refuse("index", above, &why),
            };
        }
        let (count, needed) =
            (sectors / zones.size, zones_needed(options.write_unit_bytes, zones.capacity, sectors / zones.size));
        if count < needed {
            let why = format!("it needs {needed} zones, and the part of this tenant has {count}");
            return refuse("index", above, &why);
        }
        if (1..ACTIVE_ZONES_MIN).contains(&zones.max_active) {
            let why = format!(
                "it needs {ACTIVE_ZONES_MIN} active zones, and its share of device.zones.max_active is {}; 0 is no limit",
                zones.max_active
            );
            return refuse("index", above, &why);
        }
        Ok(())
    }

    /// Checks that its index or file system fits its part.
    fn check_part(&self, at: usize, own: &Setting<'_>) -> Result<(), WorkloadError> {
        own.zones.map_or(Ok(()), |zones| self.check_own_zones(at, (zones, own.sectors)))?;
        if let (Some(index), Kind::Keys(keys)) = (&self.index, self.workload.kind()) {
            let largest = keys.largest_key().unwrap_or(0);
            if largest > index.largest_key() {
                let bytes = (64 - largest.leading_zeros()).div_ceil(8);
                let key = format!("tenant[{at}].index.{}.key_bytes", index.name());
                let why = format!("its workload asks for keys up to {largest}, which have {bytes} bytes");
                return Err(WorkloadError::option(&key, &index.key_bytes(), why));
            }
            if own.zones.is_none() {
                index.check_device(own.sectors).map_err(|error| of_index(at, index, &error))?;
            }
        }
        match &self.fs {
            Some(fs) => fs.plan(own.sectors).map(drop).map_err(|error| of_fs(at, fs, &error)),
            None => Ok(()),
        }
    }
}

impl Config {
    /// A tenant's zones with its share of the limits: trees divide them equally, all others see those of the device.
    pub(super) fn share(&self, tenant: &Tenant, zones: ZoneShape) -> ZoneShape {
        let trees = self.tenant.iter().filter(|one| one.index.is_some()).count() as u32;
        if tenant.index.is_none() || trees == 0 {
            return zones;
        }
        // 0 is no limit.
        let share = |most: u32| if most == 0 { 0 } else { (most / trees).max(1) };
        ZoneShape { max_open: share(zones.max_open), max_active: share(zones.max_active), ..zones }
    }

    /// Checks that nobody else takes what a tree needs of a device with zones: its own zones, and places among the active ones.
    /// With loads, all tenants that load count, too.
    pub(super) fn check_zones(&self, zones: Option<ZoneShape>, with_loads: bool) -> Result<(), WorkloadError> {
        let takes_part = |tenant: &Tenant| self.asks(tenant) || with_loads && tenant.is_above();
        let all = || origins().zip(&self.tenant).filter(|(_, tenant)| takes_part(tenant));
        let tree = all().find(|(_, tenant)| tenant.index.is_some());
        let (Some(zones), Some((origin, tree))) = (zones, tree) else { return Ok(()) };
        let others = || all().filter(|(other, _)| *other != origin).map(|(_, tenant)| tenant);
        let at = |tenant: &Tenant| self.tenant.iter().position(|one| one.name == tenant.name).unwrap_or(0);
        let is_whole = |tenant: &&Tenant| tenant.part == Some(Part::Whole);
        if let Some(whole) =
            others().find(is_whole).or(Some(tree).filter(is_whole).filter(|_| others().next().is_some()))
        {
            let why = "a tree writes at the write pointers of its zones, and no other tenant may move these; give each its own part";
            return Err(WorkloadError::option(&format!("tenant[{}].part", at(whole)), &"\"whole\"", why));
        }
        let has_limit = zones.max_active > 0 || zones.max_open > 0;
        if let Some(other) = others().find(|tenant| has_limit && tenant.index.is_none()) {
            let why = "trees divide the open and active zones among them, and this tenant may take any number of them; leave \
                       device.zones.max_open and max_active at 0, which is no limit";
            return Err(WorkloadError::option(&format!("tenant[{}].workload", at(other)), &other.workload.name(), why));
        }
        Ok(())
    }
}

fn of_index(at: usize, index: &IndexConfig, error: &IndexError) -> WorkloadError {
    let table = format!("tenant[{at}].index.{}", index.name());
    match error {
        IndexError::Option { key, given, why } => WorkloadError::option(&format!("{table}.{key}"), given, why.clone()),
        other => WorkloadError::option(&table, &"{ ... }", other.to_string()),
    }
}

fn of_fs(at: usize, fs: &FsConfig, error: &FsError) -> WorkloadError {
    let table = format!("tenant[{at}].fs.{}", fs.name());
    match error {
        FsError::Option { key, given, why } => WorkloadError::option(&format!("{table}.{key}"), given, why.clone()),
        other => WorkloadError::option(&table, &"{ ... }", other.to_string()),
    }
}

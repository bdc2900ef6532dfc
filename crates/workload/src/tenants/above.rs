//! Tenants with an index or a file system in their part of the device.

use super::Tenant;
use crate::{Kind, Setting, Workload, WorkloadError};
use nandlab_block::Request;
use nandlab_fs::{FsConfig, FsError, Over};
use nandlab_index::{IndexConfig, IndexError};
use std::path::Path;

/// A tenant with an index or a file system, for whoever plays it.
#[derive(Debug)]
pub struct Above<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Its place in the list, from 0.
    pub at: usize,
    /// The sectors of its part; its requests count from the start of the part.
    pub sectors: u64,
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
        own: &Setting<'_>,
        play: &mut Play<'_>,
    ) -> Result<Box<dyn Workload>, WorkloadError> {
        let opened = match self.workload.kind() {
            Kind::Requests(options) => options.open(&Setting { zones: None, ..*own }),
            Kind::Keys(_) | Kind::Files(_) => {
                self.check_part(at, own)?;
                play(&Above { tenant: self, at, sectors: own.sectors, seed: own.seed, base: own.base })
            }
        };
        opened.map_err(|error| self.placed(at, error))
    }

    /// Checks that its index or file system fits its part.
    fn check_part(&self, at: usize, own: &Setting<'_>) -> Result<(), WorkloadError> {
        if own.zones.is_some() {
            let why = "an index or a file system of a tenant writes anywhere, and the zones of this device are written in order";
            return Err(WorkloadError::option(&format!("tenant[{at}].workload"), &self.workload.name(), why));
        }
        if let (Some(index), Kind::Keys(keys)) = (&self.index, self.workload.kind()) {
            let largest = keys.largest_key().unwrap_or(0);
            if largest > index.largest_key() {
                let bytes = (64 - largest.leading_zeros()).div_ceil(8);
                let key = format!("tenant[{at}].index.{}.key_bytes", index.name());
                let why = format!("its workload asks for keys up to {largest}, which have {bytes} bytes");
                return Err(WorkloadError::option(&key, &index.key_bytes(), why));
            }
            index.check_device(own.sectors).map_err(|error| of_index(at, index, &error))?;
        }
        match &self.fs {
            Some(fs) => fs.plan(own.sectors).map(drop).map_err(|error| of_fs(at, fs, &error)),
            None => Ok(()),
        }
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

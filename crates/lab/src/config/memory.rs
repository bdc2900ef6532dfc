//! The `[memory]` table: costs for a buffer's DRAM and NVRAM.

use super::find::{find, Named};
use super::tree::{Format, Part, Tree};
use super::typed::typed;
use super::Arrival;
use crate::error::ConfigError;
use crate::json;
use crate::memories::{self, MemoryCosts, MemoryProfile};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// How long static power counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Powered {
    /// For the trace's duration: from the arrival of its first request to that of its last, as recorded. It does not depend
    /// on the device, so designs that play one trace pay for the same time.
    Trace,
    /// For the run's simulated time, to the end of the last operation.
    Run,
}

/// The `[memory]` table as written; in its sub-tables, `profile` names a profile, and the other keys override
/// its values.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MemoryTable {
    /// The DRAM: `profile`, a bundled memory's name (`nandlab list memories`) or the path of a TOML file, and changes to it;
    /// "wap-dram" without a profile.
    #[serde(default)]
    #[schemars(with = "Option<BTreeMap<String, Value>>")]
    dram: Map<String, Value>,
    /// The NVRAM likewise; "wap-stt-mram" without a profile.
    #[serde(default)]
    #[schemars(with = "Option<BTreeMap<String, Value>>")]
    nvram: Map<String, Value>,
    /// How long static power counts; by default for the trace's duration if requests come as recorded, else for the run.
    powered: Option<Powered>,
}

impl MemoryTable {
    /// Sentences about options without effect, for a buffer with this many DRAM and NVRAM bytes.
    pub(super) fn notices(&self, (dram, nvram): (u64, u64)) -> Vec<String> {
        [("dram", &self.dram, dram), ("nvram", &self.nvram, nvram)]
            .into_iter()
            .filter(|(_, table, bytes)| !table.is_empty() && *bytes == 0)
            .map(|(name, ..)| format!("[memory.{name}] has no effect: the buffer has no {}", name.to_uppercase()))
            .collect()
    }
}

/// A buffer's memories.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Memory {
    /// Its DRAM.
    pub dram: OneMemory,
    /// Its NVRAM.
    pub nvram: OneMemory,
    /// How long static power counts. Default: for the trace's duration, if requests come as recorded.
    pub powered: Powered,
}

/// A memory, and its profile's name.
#[derive(Clone, Debug, PartialEq)]
pub struct OneMemory {
    profile: String,
    /// Its costs.
    pub costs: MemoryCosts,
}

impl Serialize for OneMemory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written<'a> {
            profile: &'a str,
            #[serde(flatten)]
            costs: MemoryCosts,
        }
        Written { profile: &self.profile, costs: self.costs }.serialize(serializer)
    }
}

impl Memory {
    pub(super) fn from_table(
        tree: &Tree,
        table: &MemoryTable,
        arrival: Arrival,
        base: &Path,
    ) -> Result<Self, ConfigError> {
        let powered = match (table.powered, arrival) {
            (Some(Powered::Trace), Arrival::Closed) => {
                let message =
                    "memory.powered = \"trace\" has no time to go by: only host.arrival = \"recorded\" keeps \
                               the times of a trace";
                return Err(tree.error("memory.powered", Part::Value, message.to_owned()));
            }
            (Some(powered), _) => powered,
            (None, Arrival::Recorded) => Powered::Trace,
            (None, Arrival::Closed) => Powered::Run,
        };
        Ok(Self {
            dram: one(tree, "memory.dram", "wap-dram", &table.dram, base)?,
            nvram: one(tree, "memory.nvram", "wap-stt-mram", &table.nvram, base)?,
            powered,
        })
    }
}

fn one(tree: &Tree, at: &str, usual: &str, table: &Map<String, Value>, base: &Path) -> Result<OneMemory, ConfigError> {
    let key = format!("{at}.profile");
    let profile = match table.get("profile") {
        None => usual,
        Some(Value::String(name)) => name,
        Some(other) => {
            return Err(tree.error(&key, Part::Value, format!("{key}: expected a string, given {other}")));
        }
    };
    let named = Named { key: &key, what: "memory", list: memories::LIST };
    let (text, source) = find(tree, &named, profile, base)?;
    let own = Tree::parse(&text, Format::Toml, &source)?;
    let whole: MemoryProfile = typed(&own, "", &own.root)?;
    if let Some((key, message)) = whole.costs.wrong() {
        return Err(own.error(key, Part::Value, format!("{key}: {message}")));
    }
    let costs = json::value(&whole.costs);
    let mut merged = costs.as_object().expect("costs are a table").clone();
    for (name, value) in table.iter().filter(|(name, _)| *name != "profile") {
        if !merged.contains_key(name) {
            let known: Vec<&str> = merged.keys().map(String::as_str).collect();
            let key = format!("{at}.{name}");
            let message = format!("{key} is no key of a memory: it has profile, {}", known.join(", "));
            return Err(tree.error(&key, Part::Key, message));
        }
        merged.insert(name.clone(), value.clone());
    }
    let costs: MemoryCosts = typed(tree, at, &Value::Object(merged))?;
    if let Some((key, message)) = costs.wrong() {
        let key = format!("{at}.{key}");
        return Err(tree.error(&key, Part::Value, format!("{key}: {message}")));
    }
    Ok(OneMemory { profile: profile.to_owned(), costs })
}

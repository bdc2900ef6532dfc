//! The `[device]` table: a profile, its overrides, and the device size.

use super::endurance::{counts_endurance, WEAR_COUNTS};
use super::find::{find, Named};
use super::over_provisioning;
use super::tree::{Format, Part, Tree};
use super::typed::typed;
use super::usual;
use crate::error::ConfigError;
use crate::json;
use crate::profiles;
use nandlab_ftl::ZoneOptions;
use nandlab_nand::profile::{Energy, Profile, Timing};
use nandlab_nand::{aging, faulty, Controller, Link, Rules, Shape};
use nandlab_workload::ByteCount;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use std::path::Path;

/// Simulation model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// Counts and time.
    #[default]
    Timed,
    /// Counts only: the fastest.
    Counting,
    /// Counts, time and real bytes; each read is compared with the last write.
    Bytes,
}

/// The `[device]` table as written: a profile, what differs from it, and the size.
#[derive(Clone, Debug, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeviceTable {
    /// A bundled profile's name (`nandlab list devices`), or the path of a TOML file with one.
    #[serde(default = "default_profile")]
    profile: String,
    /// Exported bytes; with it the blocks follow from the over-provisioning. Without, the profile's size counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity: Option<ByteCount>,
    /// Physical over exported size, minus 1, such as 0.07 or "7 %".
    #[serde(default, skip_serializing_if = "Option::is_none", with = "over_provisioning")]
    #[schemars(schema_with = "over_provisioning::schema")]
    over_provisioning: Option<f64>,
    /// Blocks in a plane, instead of the profile's.
    #[serde(skip_serializing_if = "Option::is_none")]
    blocks_per_plane: Option<u32>,
    /// What is simulated: counts and time, counts alone, or bytes as well.
    #[serde(default)]
    model: Model,
    /// Instead of the profile's counts.
    #[serde(default)]
    #[schemars(with = "Shape")]
    shape: Map<String, Value>,
    /// Instead of the profile's rules.
    #[serde(default)]
    #[schemars(with = "Rules")]
    rules: Map<String, Value>,
    /// Instead of the profile's times.
    #[serde(default)]
    #[schemars(with = "Timing")]
    timing: Map<String, Value>,
    /// Energy of the operations; a profile has it or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Energy>")]
    energy: Option<Map<String, Value>>,
    /// The controller between link and flash.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Controller>")]
    controller: Option<Map<String, Value>>,
    /// The link to the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Link>")]
    link: Option<Map<String, Value>>,
    /// Zones, for `ftl.zns` and `ftl.zoned`.
    #[serde(skip_serializing_if = "Option::is_none")]
    zones: Option<ZoneOptions>,
    /// Failures of programs and erases, bad blocks and bit errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    faults: Option<faulty::Config>,
    /// Cells that age.
    #[serde(skip_serializing_if = "Option::is_none")]
    reliability: Option<aging::Config>,
}

impl DeviceTable {
    /// Notices about times on a device that keeps none.
    fn idle_times(&self) -> impl Iterator<Item = String> + '_ {
        let keys = [
            "suspend",
            "plane_overlap",
            "transfer_command_us",
            "read_transfer",
            "order",
            "page_types",
            "program_pages",
        ];
        let idle = keys.into_iter().filter(|&key| self.model == Model::Counting && self.timing.contains_key(key));
        idle.map(|key| format!("device.timing.{key} has no effect: device.model = \"counting\" keeps no time"))
    }
}

impl Default for DeviceTable {
    fn default() -> Self {
        Self {
            profile: default_profile(),
            capacity: None,
            over_provisioning: None,
            blocks_per_plane: None,
            model: Model::default(),
            shape: Map::new(),
            rules: Map::new(),
            timing: Map::new(),
            energy: None,
            controller: None,
            link: None,
            zones: None,
            faults: None,
            reliability: None,
        }
    }
}

fn default_profile() -> String {
    "generic".to_owned()
}

/// An experiment's device: its profile with the overrides applied.
#[derive(Clone, Debug)]
pub struct Device {
    /// The profile's name: a bundled one, or the path to a TOML file.
    pub named: String,
    /// The profile with the experiment's overrides.
    pub profile: Profile,
    /// Exported bytes; for a file system without an FTL, the flash size.
    pub capacity: Option<ByteCount>,
    /// Physical over logical size, minus 1.
    pub over_provisioning: Option<f64>,
    /// Blocks per plane, if fixed.
    pub blocks_per_plane: Option<u32>,
    /// Simulation model.
    pub model: Model,
    /// Zones, if the device has some.
    pub zones: Option<ZoneOptions>,
    /// Fault options.
    pub faults: Option<faulty::Config>,
    /// Raw bit errors in aging cells.
    pub reliability: Option<aging::Config>,
    /// Whether this is a placeholder without a device.
    pub(super) stands_in: bool,
}

pub(super) const DEFAULT_OVER_PROVISIONING: f64 = 0.07;
const COMBINATIONS: &str = "give capacity with over_provisioning, capacity with blocks_per_plane, or one of \
                            capacity and over_provisioning alone";

impl Device {
    /// The device, and sentences about options without effect; `is_bare`: a file system has the whole flash.
    pub(super) fn from_table(
        tree: &Tree,
        table: DeviceTable,
        base: &Path,
        is_bare: bool,
    ) -> Result<(Self, Vec<String>), ConfigError> {
        let refuse = |key: &str, message: String| Err(tree.error(key, Part::Key, message));
        let mut over_provisioning = table.over_provisioning;
        if is_bare {
            let given = [
                ("over_provisioning", table.over_provisioning.is_some()),
                ("blocks_per_plane", table.blocks_per_plane.is_some()),
            ];
            if let Some((key, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
                let message = format!(
                    "device.{key} would not be used: a file system on bare flash has all of it; device.capacity is its size"
                );
                return refuse(&format!("device.{key}"), message);
            }
        }
        match (table.capacity, over_provisioning, table.blocks_per_plane) {
            (_, None, None) if !is_bare => over_provisioning = Some(DEFAULT_OVER_PROVISIONING),
            (Some(_), Some(_), Some(_)) | (None, _, Some(_)) => {
                let own = match table.capacity {
                    None => "; without a capacity the number of blocks is device.shape.blocks_per_plane",
                    Some(_) => "",
                };
                let message =
                    format!("device.blocks_per_plane does not go with what else is given: {COMBINATIONS}{own}");
                return refuse("device.blocks_per_plane", message);
            }
            _ => {}
        }
        if table.capacity.is_some() && table.shape.contains_key("blocks_per_plane") {
            let message = "device.shape.blocks_per_plane contradicts device.capacity, from which the number of blocks \
                           follows; for a fixed number set device.blocks_per_plane";
            return refuse("device.shape.blocks_per_plane", message.to_owned());
        }
        let (own, profile) = load(tree, &table, base)?;
        let mut notices = Vec::new();
        let endurance = profile.rules.endurance;
        if endurance != own.rules.endurance && !table.faults.as_ref().is_some_and(counts_endurance) {
            notices.push(format!(
                "device.rules.endurance = {endurance} changes no operation, only the lifetime that a run tells of; \
                 {WEAR_COUNTS}"
            ));
        }
        notices.extend(table.idle_times());
        let own = object(&own.timing);
        notices.extend(usual::notices("device.timing", &table.timing, &own));
        if profiles::LIST.iter().all(|bundled| bundled.name != table.profile) {
            notices.extend(usual::notices("timing", &own, &Map::new()));
        }
        let device = Self {
            named: table.profile,
            profile,
            capacity: table.capacity,
            over_provisioning,
            blocks_per_plane: table.blocks_per_plane,
            model: table.model,
            zones: table.zones,
            faults: table.faults,
            reliability: table.reliability,
            stands_in: false,
        };
        Ok((device, notices))
    }

    /// Placeholder for a device, used with a real directory: it counts nothing, and has no energy.
    pub(super) fn stand_in(tree: &Tree) -> Result<Self, ConfigError> {
        let table = DeviceTable { model: Model::Counting, ..DeviceTable::default() };
        let (mut device, _) = Self::from_table(tree, table, Path::new(""), false)?;
        (device.profile.energy, device.profile.controller, device.profile.link) = (None, None, None);
        Ok(Self { stands_in: true, ..device })
    }

    /// Whether this is a placeholder without a device.
    pub(crate) fn is_stand_in(&self) -> bool {
        self.stands_in
    }

    /// The device as a table with every default explicit.
    fn to_table(&self) -> DeviceTable {
        let Profile { shape, rules, timing, energy, controller, link, .. } = &self.profile;
        let mut shape = object(shape);
        if self.capacity.is_some() {
            shape.shift_remove("blocks_per_plane");
        }
        DeviceTable {
            profile: self.named.clone(),
            capacity: self.capacity,
            over_provisioning: self.over_provisioning,
            blocks_per_plane: self.blocks_per_plane,
            model: self.model,
            shape,
            rules: object(rules),
            timing: object(timing),
            energy: energy.map(|energy| object(&energy)),
            controller: controller.map(|controller| object(&controller)),
            link: link.map(|link| object(&link)),
            zones: self.zones,
            faults: self.faults.clone(),
            reliability: self.reliability.clone(),
        }
    }
}

pub(super) fn serialize<S: Serializer>(device: &Device, serializer: S) -> Result<S::Ok, S::Error> {
    device.to_table().serialize(serializer)
}

fn object(of: &impl Serialize) -> Map<String, Value> {
    match json::value(of) {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// The profile named by `table`, and the same with the overrides in `table`.
fn load(tree: &Tree, table: &DeviceTable, base: &Path) -> Result<(Profile, Profile), ConfigError> {
    let named = Named { key: "device.profile", what: "profile", list: profiles::LIST };
    let (text, source) = find(tree, &named, &table.profile, base)?;
    let own = Tree::parse(&text, Format::Toml, &source)?;
    // Check the profile alone first: its errors belong to its own file.
    let profile: Profile = typed(&own, "", &own.root)?;
    profile.geometry().map_err(|error| {
        let key = format!("shape.{}", error.key);
        own.error(&key, Part::Value, format!("shape.{error}"))
    })?;
    let mut merged = own.root;
    let empty = Map::new();
    for (name, overrides) in [
        ("shape", &table.shape),
        ("rules", &table.rules),
        ("timing", &table.timing),
        ("energy", table.energy.as_ref().unwrap_or(&empty)),
        ("controller", table.controller.as_ref().unwrap_or(&empty)),
        ("link", table.link.as_ref().unwrap_or(&empty)),
    ] {
        if overrides.is_empty() {
            continue;
        }
        let entry = merged.as_object_mut().expect("a profile is a table").entry(name);
        let part = entry.or_insert_with(|| Value::Object(Map::new()));
        part.as_object_mut().expect("the profile was read before").extend(overrides.clone());
    }
    Ok((profile, typed(tree, "device", &merged)?))
}

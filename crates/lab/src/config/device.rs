//! The `[device]` table: a profile, overrides of it, and how large the device is.

use super::advice::Advice;
use super::slc;
use super::tree::{Format, Part, Tree};
use super::typed::typed;
use super::Experiment;
use crate::bundled::Bundled;
use crate::error::ConfigError;
use crate::notices::{counts_endurance, WEAR_COUNTS};
use crate::profiles;
use nandlab_ftl::{Ftl, FtlConfig, FtlError, Visitor};
use nandlab_nand::profile::Profile;
use nandlab_nand::{aging, faulty};
use nandlab_nand::{Geometry, Rules, Shape};
use nandlab_workload::{nearest, ByteCount};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use std::io;
use std::path::Path;

/// How the device is simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// Counts and time.
    #[default]
    Timed,
    /// Counts only: the fastest.
    Counting,
    /// Counts, time and real bytes, each read compared with what was written.
    Bytes,
}

/// The `[device]` table as it is written.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeviceTable {
    #[serde(default = "default_profile")]
    profile: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity: Option<ByteCount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    over_provisioning: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocks_per_plane: Option<u32>,
    #[serde(default)]
    model: Model,
    #[serde(default)]
    shape: Map<String, Value>,
    #[serde(default)]
    rules: Map<String, Value>,
    #[serde(default)]
    timing: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    energy: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    controller: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    faults: Option<faulty::Config>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reliability: Option<aging::Config>,
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
            faults: None,
            reliability: None,
        }
    }
}

fn default_profile() -> String {
    "generic".to_owned()
}

/// The device of an experiment, its profile with the overrides applied.
#[derive(Clone, Debug)]
pub struct Device {
    /// The profile as it was named: a bundled one, or the path of a TOML file.
    pub named: String,
    /// The profile with the overrides of the experiment.
    pub profile: Profile,
    /// Exported bytes; those of the flash, where a file system has it without an FTL.
    pub capacity: Option<ByteCount>,
    /// Physical over logical size, minus 1.
    pub over_provisioning: Option<f64>,
    /// Blocks of a plane, where they are fixed.
    pub blocks_per_plane: Option<u32>,
    /// How the device is simulated.
    pub model: Model,
    /// What fails.
    pub faults: Option<faulty::Config>,
    /// Raw bit errors of cells that age.
    pub reliability: Option<aging::Config>,
    /// Whether there is no device.
    pub(super) stands_in: bool,
}

const DEFAULT_OVER_PROVISIONING: f64 = 0.07;
const COMBINATIONS: &str = "give capacity with over_provisioning, capacity with blocks_per_plane, or one of \
                            capacity and over_provisioning alone";

impl Device {
    /// The device, and what of its table has no effect, in sentences; `is_bare`: a file system has the whole flash.
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
                let message = format!("device.blocks_per_plane does not go with what else is given: {COMBINATIONS}");
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
        if table.model == Model::Counting {
            let idle = ["suspend", "plane_overlap"].into_iter().filter(|&key| table.timing.contains_key(key));
            notices.extend(
                idle.map(|key| format!("device.timing.{key} has no effect: device.model = \"counting\" keeps no time")),
            );
        }
        let device = Self {
            named: table.profile,
            profile,
            capacity: table.capacity,
            over_provisioning,
            blocks_per_plane: table.blocks_per_plane,
            model: table.model,
            faults: table.faults,
            reliability: table.reliability,
            stands_in: false,
        };
        Ok((device, notices))
    }

    /// What stands for the device where a real directory takes its place: it counts nothing, and has no energy.
    pub(super) fn stand_in(tree: &Tree) -> Result<Self, ConfigError> {
        let table = DeviceTable { model: Model::Counting, ..DeviceTable::default() };
        let (mut device, _) = Self::from_table(tree, table, Path::new(""), false)?;
        (device.profile.energy, device.profile.controller) = (None, None);
        Ok(Self { stands_in: true, ..device })
    }

    /// Whether there is no device.
    pub(crate) fn is_stand_in(&self) -> bool {
        self.stands_in
    }

    /// The device as a table in which nothing is left to defaults.
    fn to_table(&self) -> DeviceTable {
        let object = |value: Result<Value, serde_json::Error>| match value {
            Ok(Value::Object(map)) => map,
            _ => Map::new(),
        };
        let Profile { shape, rules, timing, energy, controller, .. } = &self.profile;
        let mut shape = object(serde_json::to_value(shape));
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
            rules: object(serde_json::to_value(rules)),
            timing: object(serde_json::to_value(timing)),
            energy: energy.map(|energy| object(serde_json::to_value(energy))),
            controller: controller.map(|controller| object(serde_json::to_value(controller))),
            faults: self.faults.clone(),
            reliability: self.reliability.clone(),
        }
    }
}

pub(super) fn serialize<S: Serializer>(device: &Device, serializer: S) -> Result<S::Ok, S::Error> {
    device.to_table().serialize(serializer)
}

/// The profile that `table` names, and the same with the overrides of `table`.
fn load(tree: &Tree, table: &DeviceTable, base: &Path) -> Result<(Profile, Profile), ConfigError> {
    let named = Named { key: "device.profile", what: "profile", list: profiles::LIST };
    let (text, source) = find(tree, &named, &table.profile, base)?;
    let own = Tree::parse(&text, Format::Toml, &source)?;
    // By itself first: what is wrong in the profile is an error of that file.
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

/// Where profiles of a kind stand: the key that names one, what it is, and those that come with the program.
pub(super) struct Named<'a> {
    pub key: &'a str,
    pub what: &'a str,
    pub list: &'static [Bundled],
}

/// The text of the profile `name` and the name for its errors.
pub(super) fn find(tree: &Tree, named: &Named<'_>, name: &str, base: &Path) -> Result<(String, String), ConfigError> {
    let Named { key, what, list } = named;
    let refuse = |message: String| Err(tree.error(key, Part::Value, message));
    if name.contains('/') || name.contains('\\') || name.ends_with(".toml") {
        let path = base.join(name);
        return match std::fs::read_to_string(&path) {
            Ok(text) => Ok((text, path.display().to_string())),
            Err(error) => refuse(format!("{key}: {}: {}", path.display(), unreadable(&error))),
        };
    }
    if let Some(profile) = list.iter().find(|profile| profile.name == name) {
        return Ok((profile.text.to_owned(), format!("{what} {name}")));
    }
    let names: Vec<&str> = list.iter().map(|profile| profile.name).collect();
    let hint = nearest(name, names.iter().copied());
    let hint = hint.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
    let names = names.join(", ");
    refuse(format!("{key}: there is no {what} `{name}`{hint} (known: {names}; or the path of a .toml file)"))
}

/// Why a file cannot be read, as a sentence.
fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "the file may not be read by you".to_owned(),
        io::ErrorKind::IsADirectory => "this is a folder, expected a file".to_owned(),
        io::ErrorKind::InvalidInput => "no file has such a name".to_owned(),
        io::ErrorKind::InvalidData => "the file is no UTF-8 text".to_owned(),
        _ => format!("the file cannot be read: {error}"),
    }
}

/// Counts of a device: physical and exported.
#[derive(Clone, Debug)]
pub struct Sizing {
    /// The physical device.
    pub geometry: Geometry,
    /// Pages that the FTL exports; all of them, where there is none.
    pub logical_pages: u32,
    /// What was rounded, and what has no effect, in sentences.
    pub notices: Vec<String>,
}

/// A key and what is wrong with it.
pub(super) type Fault = (String, String);

impl Sizing {
    /// Physical over logical size, minus 1.
    pub fn over_provisioning(&self) -> f64 {
        f64::from(self.geometry.pages()) / f64::from(self.logical_pages) - 1.0
    }

    /// Bytes exported.
    pub fn logical_bytes(&self) -> u64 {
        u64::from(self.logical_pages) * u64::from(self.geometry.page_bytes())
    }

    /// Sectors exported.
    pub fn sectors(&self) -> u64 {
        u64::from(self.logical_pages) * u64::from(self.geometry.sectors_per_page())
    }

    pub(super) fn of(experiment: &Experiment) -> Result<Self, Fault> {
        let device = &experiment.device;
        let mut notices = Vec::new();
        if let Some(op) = device.over_provisioning {
            if !(op > 0.0 && op <= 100.0) {
                let key = "device.over_provisioning";
                return Err((
                    key.into(),
                    format!("{key} = {op} cannot work: it is a ratio above 0 and up to 100, such as 0.07"),
                ));
            }
        }
        let (geometry, logical_pages) = if experiment.is_bare() {
            let geometry = bare(device, &mut notices)?;
            (geometry, geometry.pages())
        } else {
            sizes(device, &mut notices)?
        };
        let mut sizing = Self { geometry, logical_pages, notices };
        sizing.fits(experiment)?;
        slc::has_times(experiment)?;
        if let Some(ftl) = &experiment.ftl {
            sizing.notices.extend(ftl_notices(ftl, &geometry, logical_pages)?);
        }
        Ok(sizing)
    }

    /// Whether the FTL can export so much.
    fn fits(&self, experiment: &Experiment) -> Result<(), Fault> {
        let rules = &experiment.device.profile.rules;
        let Some(ftl) = &experiment.ftl else { return Ok(()) };
        let ways_out = || {
            let ways_out = Advice::to_fit(experiment).sentence();
            ways_out.map(|ways| format!(": {ways}")).unwrap_or_default()
        };
        let most = most_pages(ftl, &self.geometry, rules)
            .map_err(|(key, message)| (key, format!("{message}{}", ways_out())))?;
        if self.logical_pages <= most {
            return Ok(());
        }
        let page = u64::from(self.geometry.page_bytes());
        let bytes = |pages: u32| ByteCount(u64::from(pages) * page).rounded();
        let key = if experiment.device.capacity.is_some() { "device.capacity" } else { "device.over_provisioning" };
        let message = format!(
            "{} ({}) are to be exported from {} of {}, and ftl.{} can export {} ({}) of them{}",
            bytes(self.logical_pages),
            counted(self.logical_pages, "page"),
            counted(self.geometry.blocks(), "block"),
            counted(self.geometry.pages_per_block(), "page"),
            ftl.name(),
            bytes(most),
            counted(most, "page"),
            ways_out(),
        );
        Err((key.into(), message))
    }
}

/// `1 block`, `2 blocks`.
fn counted(count: u32, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Geometry and exported pages, whether or not an FTL can export them.
pub(super) fn sizes(device: &Device, notices: &mut Vec<String>) -> Result<(Geometry, u32), Fault> {
    match device.capacity {
        Some(capacity) => from_capacity(device, capacity, notices),
        None => from_blocks(device),
    }
}

/// Geometry and exported pages where the exported bytes are given.
fn from_capacity(device: &Device, capacity: ByteCount, notices: &mut Vec<String>) -> Result<(Geometry, u32), Fault> {
    let key = "device.capacity";
    let shape = device.profile.shape;
    // A shape of one block a plane is checked before anything is divided by it.
    geometry(Shape { blocks_per_plane: 1, ..shape })?;
    let page = u64::from(shape.page_bytes);
    let pages = capacity.0 / page;
    let refuse = |why: String| Err((key.to_owned(), format!("{key} = {capacity} cannot work: {why}")));
    if pages == 0 {
        return refuse(format!("a page of this device has {page} B, and at least one is exported"));
    }
    let Ok(logical_pages) = u32::try_from(pages) else {
        return refuse(format!("{pages} pages are more than a 32-bit page address can name"));
    };
    if capacity.0 % page != 0 {
        notices.push(format!(
            "{key} = {capacity} is no whole number of pages of {page} B and was rounded down to {}",
            ByteCount(pages * page)
        ));
    }
    if let Some(blocks_per_plane) = device.blocks_per_plane {
        let geometry = geometry(Shape { blocks_per_plane, ..shape })?;
        if geometry.pages() < logical_pages {
            let physical = ByteCount(u64::from(geometry.pages()) * page);
            return refuse(format!("device.blocks_per_plane = {blocks_per_plane} gives the device {physical} in all"));
        }
        return Ok((geometry, logical_pages));
    }
    let over_provisioning = device.over_provisioning.unwrap_or(DEFAULT_OVER_PROVISIONING);
    let blocks = f64::from(logical_pages) * (1.0 + over_provisioning) / f64::from(shape.pages_per_block);
    let planes = shape.channels * shape.dies_per_channel * shape.planes_per_die;
    // 1.07 x 100 blocks are 107 blocks, not 108 because 1.07 is none of the numbers that a computer has.
    let blocks_per_plane = (blocks / f64::from(planes) - 1e-6).ceil();
    if blocks_per_plane > f64::from(u32::MAX) {
        return refuse("the device would have more blocks than a 32-bit address can name".into());
    }
    Ok((geometry(Shape { blocks_per_plane: (blocks_per_plane as u32).max(1), ..shape })?, logical_pages))
}

/// Geometry and exported pages where the physical size is that of the profile.
fn from_blocks(device: &Device) -> Result<(Geometry, u32), Fault> {
    let geometry = geometry(device.profile.shape)?;
    let over_provisioning = device.over_provisioning.unwrap_or(DEFAULT_OVER_PROVISIONING);
    let logical_pages = (f64::from(geometry.pages()) / (1.0 + over_provisioning) + 1e-6) as u32;
    Ok((geometry, logical_pages.max(1)))
}

/// The flash that a file system has without an FTL: that of the profile, or whole blocks of the capacity.
fn bare(device: &Device, notices: &mut Vec<String>) -> Result<Geometry, Fault> {
    let Some(capacity) = device.capacity else { return geometry(device.profile.shape) };
    let shape = device.profile.shape;
    let planes = geometry(Shape { blocks_per_plane: 1, ..shape })?;
    let each = u64::from(planes.pages()) * u64::from(planes.page_bytes());
    let blocks_per_plane = u32::try_from(capacity.0.div_ceil(each).max(1)).map_err(|_| {
        let why = "the device would have more blocks than a 32-bit address can name";
        ("device.capacity".to_owned(), format!("device.capacity = {capacity} cannot work: {why}"))
    })?;
    if capacity.0 % each != 0 {
        notices.push(format!(
            "device.capacity = {capacity} is no whole number of blocks in each plane and was rounded up to {}",
            ByteCount(u64::from(blocks_per_plane) * each)
        ));
    }
    geometry(Shape { blocks_per_plane, ..shape })
}

fn geometry(shape: Shape) -> Result<Geometry, Fault> {
    Geometry::new(shape).map_err(|error| (format!("device.shape.{}", error.key), format!("device.shape.{error}")))
}

/// Pages that `ftl` can export.
pub(super) fn most_pages(ftl: &FtlConfig, geometry: &Geometry, rules: &Rules) -> Result<u32, Fault> {
    struct Most<'a>(&'a Geometry, &'a Rules);
    impl Visitor for Most<'_> {
        type Out = Result<u32, FtlError>;
        fn visit<F: Ftl>(self, config: &F::Config) -> Self::Out {
            F::max_logical_pages(self.0, self.1, config)
        }
    }
    ftl.dispatch(Most(geometry, rules)).map_err(|error| key_and_message(&error))
}

/// Options of `ftl` that have no effect where so many pages are exported, in sentences.
fn ftl_notices(ftl: &FtlConfig, geometry: &Geometry, logical_pages: u32) -> Result<Vec<String>, Fault> {
    struct Notices<'a>(&'a Geometry, u32);
    impl Visitor for Notices<'_> {
        type Out = Result<Vec<String>, FtlError>;
        fn visit<F: Ftl>(self, config: &F::Config) -> Self::Out {
            F::notices(config, self.0, self.1)
        }
    }
    ftl.dispatch(Notices(geometry, logical_pages)).map_err(|error| key_and_message(&error))
}

/// The sentence of an FTL starts with the key at fault, if there is one.
fn key_and_message(error: &FtlError) -> Fault {
    let message = error.to_string();
    let key = message.split(" = ").next().filter(|key| key.starts_with("ftl.") && !key.contains(' '));
    (key.unwrap_or("ftl").to_owned(), message)
}

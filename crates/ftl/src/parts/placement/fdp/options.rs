//! The options of flexible data placement, and how they divide a device.

use crate::options::options;
use crate::{error, FtlError};
use nandlab_block::nearest;
use nandlab_nand::{Geometry, Origin, PlacementId, PlacementIds};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

options! {
    Options
    /// The options of flexible data placement.
    #[derive(Eq)]
    {
        /// Reclaim unit handles, 1 to 128. Default 8.
        handles: u32 = 8,
        /// Persistently isolated handles: `"all"`, `"none"`, or their numbers. Their moved pages stay among themselves;
        /// moved pages of the others share units. With `"none"` all handles are initially isolated.
        persistent: Handles = Handles::NONE,
        /// Reclaim groups: parts of the device with equally many dies. Default 1.
        groups: u32 = 1,
        /// Blocks in a reclaim unit: a multiple of the dies in a group, or a divisor. 0 stands for one block on each die
        /// of a group. Default 0.
        unit_blocks: u32 = 0,
        /// Handles for writes without an identifier, by origin, such as `{ fat = 1, file_data = 2 }`; other origins write
        /// through handle 0, and all of them to group 0. `"each"`: each origin has a handle of its own, given in the order in which they come, and the
        /// last handle serves all others. Default `{}`.
        origins: Origins = Origins::Table([0; Origin::COUNT]),
    }
}

/// Some handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handles(u128);

impl Handles {
    /// None of them.
    pub const NONE: Self = Self(0);
    /// All of them.
    pub const ALL: Self = Self(u128::MAX);

    /// Whether `handle` is among them.
    pub fn has(self, handle: u32) -> bool {
        self.0 >> handle & 1 == 1
    }
}

impl FromIterator<u32> for Handles {
    fn from_iter<I: IntoIterator<Item = u32>>(handles: I) -> Self {
        Self(handles.into_iter().fold(0, |set, handle| set | 1 << handle))
    }
}

/// How an experiment names handles.
#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
enum Named {
    Word(String),
    List(Vec<u32>),
}

impl<'de> Deserialize<'de> for Handles {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Named::deserialize(from).map_err(|_| D::Error::custom(EXPECTED_HANDLES))? {
            Named::Word(word) if word == "all" => Ok(Self::ALL),
            Named::Word(word) if word == "none" => Ok(Self::NONE),
            Named::Word(_) => Err(D::Error::custom(EXPECTED_HANDLES)),
            Named::List(list) => match list.iter().find_map(|&handle| known(handle).err()) {
                Some(why) => Err(D::Error::custom(why)),
                None => Ok(list.into_iter().collect()),
            },
        }
    }
}

/// A handle that some device has, or a sentence.
fn known(handle: u32) -> Result<u8, String> {
    match u8::try_from(handle) {
        Ok(small) if handle < PlacementId::HANDLES => Ok(small),
        _ => Err(format!("there is no handle {handle}: a device has {} at most", PlacementId::HANDLES)),
    }
}

const EXPECTED_HANDLES: &str = "expected \"all\", \"none\" or a list of handles such as [0, 2]";

impl Serialize for Handles {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::NONE => to.serialize_str("none"),
            Self::ALL => to.serialize_str("all"),
            _ => to.collect_seq((0..PlacementId::HANDLES).filter(|&handle| self.has(handle))),
        }
    }
}

impl schemars::JsonSchema for Handles {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Handles".into()
    }

    fn json_schema(make: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Named::json_schema(make)
    }
}

/// The handles for writes without an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origins {
    /// Each origin has a handle of its own, given in the order in which they come.
    Each,
    /// By origin: its handle.
    Table([u8; Origin::COUNT]),
}

/// How an experiment names handles by origin.
#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
enum ByOrigin {
    Word(String),
    Table(BTreeMap<String, u32>),
}

impl<'de> Deserialize<'de> for Origins {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let expected = "expected \"each\" or a table of handles by origin such as { fat = 1 }";
        let named = match ByOrigin::deserialize(from).map_err(|_| D::Error::custom(expected))? {
            ByOrigin::Word(word) if word == "each" => return Ok(Self::Each),
            ByOrigin::Word(_) => return Err(D::Error::custom(expected)),
            ByOrigin::Table(named) => named,
        };
        let mut table = [0; Origin::COUNT];
        for (name, handle) in named {
            let Some(origin) = Origin::from_name(&name) else {
                let hint = nearest(&name, Origin::NAMES).map(|near| format!("; did you mean `{near}`?"));
                let all = || format!(": there are {}", Origin::NAMES.join(", "));
                return Err(D::Error::custom(format!("`{name}` is no origin{}", hint.unwrap_or_else(all))));
            };
            table[usize::from(origin.0)] = known(handle).map_err(D::Error::custom)?;
        }
        Ok(Self::Table(table))
    }
}

impl Serialize for Origins {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Each => to.serialize_str("each"),
            Self::Table(table) => {
                let named = (0..).map(Origin).zip(table).filter(|&(_, &handle)| handle > 0);
                to.collect_map(named.map(|(origin, handle)| (origin.name(), handle)))
            }
        }
    }
}

impl schemars::JsonSchema for Origins {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Origins".into()
    }

    fn json_schema(make: &mut schemars::SchemaGenerator) -> schemars::Schema {
        ByOrigin::json_schema(make)
    }
}

impl Options {
    /// Checks the numbers that need no device.
    pub(crate) fn check(self, key: &str) -> Result<(), FtlError> {
        error::in_range(&format!("{key}.fdp.handles"), self.handles, 1..=PlacementId::HANDLES)?;
        error::in_range(&format!("{key}.fdp.groups"), self.groups, 1..=u32::from(u8::MAX))?;
        let beyond = |handle: u32, key: &str| {
            Err(FtlError::Config(format!(
                "{key} names handle {handle}: with handles = {} there are 0 to {}",
                self.handles,
                self.handles - 1
            )))
        };
        let named = (self.handles..PlacementId::HANDLES).find(|&handle| self.persistent.has(handle));
        if let Some(handle) = named.filter(|_| self.persistent != Handles::ALL) {
            return beyond(handle, &format!("{key}.fdp.persistent"));
        }
        if let Origins::Table(table) = self.origins {
            if let Some(&handle) = table.iter().find(|&&handle| u32::from(handle) >= self.handles) {
                return beyond(handle.into(), &format!("{key}.fdp.origins"));
            }
        }
        Ok(())
    }

    /// The identifiers that a host may use.
    pub(crate) fn placements(self) -> PlacementIds {
        PlacementIds { groups: self.groups, handles: self.handles }
    }

    /// The origins that have another handle than the first one.
    pub(crate) fn placed_origins(self) -> Vec<Origin> {
        match self.origins {
            Origins::Each => Vec::new(),
            Origins::Table(table) => {
                (0..).map(Origin).zip(table).filter(|&(_, at)| at > 0).map(|(one, _)| one).collect()
            }
        }
    }

    /// Whether moved pages of some handles share units.
    fn shares(self) -> bool {
        (0..self.handles).any(|handle| !self.persistent.has(handle))
    }

    /// Units being filled at the same time in a group: one a handle, one for the moved pages of each persistently
    /// isolated handle, and one for those of all others.
    pub(crate) fn frontiers(self) -> u32 {
        let isolated = (0..self.handles).filter(|&handle| self.persistent.has(handle)).count() as u32;
        self.handles + isolated + u32::from(self.shares())
    }
}

/// How the options divide a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// Dies in a group.
    pub(crate) dies: u32,
    /// Consecutive dies that a unit lies on.
    pub(crate) span: u32,
    /// A unit's blocks on each of these dies.
    pub(crate) slots: u32,
}

impl Layout {
    /// The division of a device with so many `dies`.
    ///
    /// # Errors
    /// A sentence with the key if they cannot be divided so; `unit` is the word for a die.
    pub(crate) fn new(options: Options, dies: u32, unit: &str) -> Result<Self, FtlError> {
        let Options { groups, unit_blocks, .. } = options;
        let key = "ftl.page.placement.fdp";
        if groups > dies || dies % groups != 0 {
            return Err(FtlError::Config(format!(
                "{key}.groups = {groups}: each group has as many {unit}s as the others, and this device has {dies}"
            )));
        }
        let dies = dies / groups;
        let blocks = if unit_blocks == 0 { dies } else { unit_blocks };
        if blocks % dies != 0 && dies % blocks != 0 {
            let below = blocks / dies * dies;
            let above = below.checked_add(dies).map_or(String::new(), |above| format!(" or {above}"));
            return Err(FtlError::Config(format!(
                "{key}.unit_blocks = {unit_blocks}: a group has {dies} {unit}s, and a unit has a number of blocks that divides \
                 it or is a multiple of it, such as {}{above}",
                below.max(1),
            )));
        }
        Ok(Self { dies, span: blocks.min(dies), slots: (blocks / dies).max(1) })
    }

    /// Blocks in a unit.
    pub(crate) fn blocks(self) -> u32 {
        self.span * self.slots
    }

    /// The row of a die: the dies over which its units lie.
    pub(crate) fn row_of(self, die: u32) -> u32 {
        die / self.span
    }

    /// The rows of a group.
    pub(crate) fn rows(self, group: u32) -> std::ops::Range<u32> {
        let rows = self.dies / self.span;
        group * rows..(group + 1) * rows
    }

    /// The dies of a row.
    pub(crate) fn dies_of_row(self, row: u32) -> std::ops::Range<u32> {
        row * self.span..(row + 1) * self.span
    }
}

/// The frontiers of the options: a handle's is its number, those of moved pages follow.
#[derive(Clone, Debug)]
pub(super) struct Destinations {
    /// By handle: the frontier for its moved pages.
    moved: Vec<u16>,
    /// The frontier for the FTL's own pages.
    pub(super) own: usize,
}

impl Destinations {
    pub(super) fn new(options: Options) -> Self {
        let shared = options.handles as u16;
        let mut next = shared + u16::from(options.shares());
        let moved = (0..options.handles).map(|handle| {
            if !options.persistent.has(handle) {
                return shared;
            }
            next += 1;
            next - 1
        });
        // Without a shared frontier the first one of moved pages is that of handle 0, the default one.
        Self { moved: moved.collect(), own: shared.into() }
    }

    /// The frontier for moved pages of `handle`.
    pub(super) fn moved(&self, handle: u8) -> usize {
        self.moved[usize::from(handle)].into()
    }
}

/// The units of a device as blocks of another one, in which a row of dies is a die. A unit of more pages than a block may
/// have is as a smaller one with the same share of valid pages.
pub(super) fn as_blocks(geometry: &Geometry, layout: Layout) -> Geometry {
    let rows = geometry.dies() / layout.span;
    let units = layout.span * geometry.blocks_per_die();
    let pages = u64::from(layout.blocks()) * u64::from(geometry.pages_per_block());
    let most = (u64::from(u32::MAX) - 1) / u64::from(geometry.blocks());
    let pages = pages.min(most).min(Geometry::MAX_PAGES_PER_BLOCK.into()) as u32;
    let mut shape = *geometry.shape();
    (shape.channels, shape.dies_per_channel, shape.planes_per_die) = (rows, 1, 1);
    (shape.blocks_per_plane, shape.pages_per_block) = (units, pages);
    Geometry::new(shape).expect("as many blocks as the device has, with no more pages than an address can name")
}

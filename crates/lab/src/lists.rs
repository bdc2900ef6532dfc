//! The choices of the crates below, as JSON.

use crate::config;
use crate::config::tree::{Format, Tree};
use crate::config::typed::typed;
use crate::json;
use crate::memories::{self, MemoryCosts, MemoryProfile};
use crate::profiles;
use nandlab_fs::Over;
use nandlab_ftl::bast;
use nandlab_ftl::parts::victim::Victim;
use nandlab_nand::profile::Profile;
use nandlab_workload::trace;
use serde::de::DeserializeOwned;
use serde::Serialize;

/// Every list.
#[derive(Clone, Debug, Serialize)]
pub struct Lists {
    /// Flash translation layers.
    pub ftls: Vec<Choice>,
    /// Indexes.
    pub indexes: Vec<Choice>,
    /// Write buffers.
    pub buffers: Vec<Choice>,
    /// File systems.
    pub file_systems: Vec<Choice>,
    /// Workloads.
    pub workloads: Vec<Choice>,
    /// Trace formats.
    pub traces: Vec<Choice>,
    /// Device profiles.
    pub devices: Vec<DeviceChoice>,
    /// Buffer memories.
    pub memories: Vec<MemoryChoice>,
    /// Victim policies.
    pub victims: Vec<Choice>,
    /// The tables of an experiment that every run has: the host, what is written before the measurement, the device, and
    /// what a buffer's memories cost.
    pub tables: Vec<Choice>,
}

/// A named choice.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    /// The name in an experiment.
    pub name: &'static str,
    /// One line.
    pub summary: String,
    /// The full description, Markdown.
    pub doc: String,
    /// The paper or book it comes from, short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper: Option<&'static str>,
    /// A workload's target: device `sectors`, index `keys`, or file-system `files`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<&'static str>,
    /// A file system's base: a `device` with sectors, such as an FTL, or bare `flash`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<&'static str>,
    /// Its options, as JSON schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<schemars::Schema>,
    /// Whether an FTL is a zoned drive: a zone takes its next page alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_zones: bool,
    /// Whether an FTL or a file system is code from elsewhere: its options name the code.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_elsewhere: bool,
}

/// A device profile.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceChoice {
    /// The name in `device.profile`.
    pub name: &'static str,
    /// One line.
    pub summary: String,
    /// Source for the figures.
    pub source: String,
    /// Channels.
    pub channels: u32,
    /// Dies over all channels.
    pub dies: u32,
    /// Blocks in the device.
    pub blocks: u32,
    /// Pages per block.
    pub pages_per_block: u32,
    /// Page size, bytes.
    pub page_bytes: u32,
    /// Physical size, bytes.
    pub physical_bytes: u64,
    /// Page read time, us.
    pub read_us: f64,
    /// Page program time, us.
    pub program_us: f64,
    /// Block erase time, us.
    pub erase_us: f64,
    /// P/E cycles guaranteed by the data sheet.
    pub endurance: u32,
    /// The profile itself, TOML.
    pub doc: &'static str,
}

/// A memory for buffers.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryChoice {
    /// The name in `memory.dram.profile` and `memory.nvram.profile`.
    pub name: &'static str,
    /// One line.
    pub summary: String,
    /// Source for the figures.
    pub source: String,
    /// Its costs.
    #[serde(flatten)]
    pub costs: MemoryCosts,
    /// The profile itself, TOML.
    pub doc: &'static str,
}

/// All choices.
pub fn lists() -> Lists {
    let ftls = nandlab_ftl::LIST.iter();
    let indexes = nandlab_index::LIST.iter();
    let buffers = nandlab_buffer::LIST.iter();
    let file_systems = nandlab_fs::LIST.iter();
    let workloads = nandlab_workload::LIST.iter();
    let paper = |paper: &'static str| (!paper.is_empty()).then_some(paper);
    Lists {
        ftls: ftls.map(ftl).collect(),
        indexes: indexes.map(|one| choice(one.name, one.source, Some(one.paper), Some((one.options)()))).collect(),
        buffers: buffers.map(|one| choice(one.name, one.source, paper(one.paper), Some((one.options)()))).collect(),
        file_systems: file_systems.map(file_system).collect(),
        workloads: workloads.map(workload).collect(),
        traces: trace::FORMATS.iter().map(|format| choice(format.name, format.source, None, None)).collect(),
        devices: profiles::LIST.iter().map(device).collect(),
        memories: memories::LIST.iter().map(memory).collect(),
        victims: Victim::LIST.iter().chain(bast::Victim::LIST).map(|&(name, doc)| plain(name, doc)).collect(),
        tables: config::tables().map(table).into(),
    }
}

/// [`lists`] as one JSON document.
pub fn to_json() -> String {
    json::text(&lists())
}

/// An entry described by its source file.
fn choice(name: &'static str, source: &str, paper: Option<&'static str>, options: Option<schemars::Schema>) -> Choice {
    let doc = head_comment(source);
    let first = doc.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    // The head comment starts with the name: "Page map: a map entry for every page."
    let summary = capitalised(first.split_once(": ").map_or(first.as_str(), |(_, rest)| rest));
    Choice { name, summary, doc, paper, asks: None, over: None, options, has_zones: false, is_elsewhere: false }
}

fn ftl(entry: &nandlab_ftl::Entry) -> Choice {
    let paper = (!entry.paper.is_empty()).then_some(entry.paper);
    Choice {
        has_zones: entry.has_zones,
        is_elsewhere: entry.is_elsewhere,
        ..choice(entry.name, entry.source, paper, Some((entry.options)()))
    }
}

fn workload(entry: &nandlab_workload::Entry) -> Choice {
    let asks = Some(entry.asks.noun());
    Choice { asks, ..choice(entry.name, entry.source, None, Some((entry.options)())) }
}

fn file_system(entry: &nandlab_fs::Entry) -> Choice {
    let over = Some(match entry.over {
        Over::Device => "device",
        Over::Flash => "flash",
        Over::Directory => "directory",
    });
    let paper = (!entry.paper.is_empty()).then_some(entry.paper);
    // Its options name the code.
    let is_elsewhere = entry.name == "firmware";
    Choice { over, is_elsewhere, ..choice(entry.name, entry.source, paper, Some((entry.options)())) }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn table((name, doc, options): (&'static str, &str, schemars::Schema)) -> Choice {
    Choice { options: Some(options), ..plain(name, doc) }
}

fn plain(name: &'static str, doc: &str) -> Choice {
    Choice { summary: doc.to_owned(), doc: doc.to_owned(), ..choice(name, "", None, None) }
}

/// A source file's head comment, as Markdown.
fn head_comment(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

fn device(bundled: &crate::bundled::Bundled) -> DeviceChoice {
    let profile: Profile = profile(bundled);
    let geometry = profile.geometry().expect("a test reads every bundled profile");
    DeviceChoice {
        name: bundled.name,
        summary: profile.description,
        source: profile.source,
        channels: profile.shape.channels,
        dies: geometry.dies(),
        blocks: geometry.blocks(),
        pages_per_block: geometry.pages_per_block(),
        page_bytes: geometry.page_bytes(),
        physical_bytes: u64::from(geometry.pages()) * u64::from(geometry.page_bytes()),
        read_us: profile.timing.read_us,
        program_us: profile.timing.program_us,
        erase_us: profile.timing.erase_us,
        endurance: profile.rules.endurance,
        doc: bundled.text,
    }
}

/// # Panics
/// If the bundled file is not what it should be; a test reads each.
fn profile<T: DeserializeOwned>(bundled: &crate::bundled::Bundled) -> T {
    let read = Tree::parse(bundled.text, Format::Toml, bundled.name).and_then(|tree| typed(&tree, "", &tree.root));
    read.unwrap_or_else(|error| panic!("{}: {error}", bundled.name))
}

fn memory(bundled: &crate::bundled::Bundled) -> MemoryChoice {
    let profile: MemoryProfile = profile(bundled);
    let MemoryProfile { description: summary, source, costs, .. } = profile;
    MemoryChoice { name: bundled.name, summary, source, costs, doc: bundled.text }
}

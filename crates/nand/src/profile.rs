//! What is known of a chip: shape, rules, times, energies, as a profile TOML holds them.
//!
//! ```toml
//! name = "example"
//! description = "What it is, in a line"
//! source = "Data sheet or paper"
//!
//! [shape]                  # Shape
//! channels = 1
//! dies_per_channel = 1
//! planes_per_die = 1
//! blocks_per_plane = 4096
//! pages_per_block = 64
//! page_bytes = 2048
//! spare_bytes = 64
//!
//! [rules]                  # Rules
//! program_order = "ascending"
//! partial_programs = 4
//! endurance = 100_000
//!
//! [timing]                 # Timing
//! read_us = 25
//! program_us = 300
//! erase_us = 2000
//! transfer_ns_per_byte = 30
//! copy = "copyback"        # or "external", or { total_us = 326 }
//!
//! [energy]                 # Energy; optional
//! read_nj = 1500
//! program_nj = 4000
//! erase_nj = 34_000
//!
//! [controller]             # Controller; optional
//! sram_bytes = 98_304
//! dram_bytes = 67_108_864
//!
//! [link]                   # Link; optional
//! read_mb_s = 3200
//! ```

mod energy;
mod slc;
mod suspend;
mod timing;
mod types;

pub use energy::{Energy, EnergyUse};
pub use slc::SlcTiming;
pub use suspend::Suspend;
pub use timing::{Order, ReadTransfer};
pub use types::{ByType, PageTypes};

use crate::address::{Geometry, GeometryError, Shape};
use crate::context::{Cell, Time, ERASE_SHARE};
use crate::controller::{Controller, Link};
use crate::oob::Oob;
use crate::quantity::{is_quantity, quantity, QUANTITY_RANGE};
use crate::rules::Rules;
use serde::{Deserialize, Deserializer, Serialize};

/// A device profile.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The name by which experiments ask for it; also the file's name.
    pub name: String,
    /// One-line description.
    pub description: String,
    /// Source for the figures.
    pub source: String,
    /// Channel, die, plane, block, page and byte counts.
    pub shape: Shape,
    /// The chip's rules for its user.
    pub rules: Rules,
    /// Operation times.
    pub timing: Timing,
    /// Operation energies; without it a report has no energy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// The controller; without its memories the record does not compare them with the need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<Controller>,
    /// The link to the host; without it, data moves in no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
}

/// A chip's operation times, in array microseconds unless stated otherwise.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Array to page register (tR).
    #[serde(deserialize_with = "quantity")]
    pub read_us: f64,
    /// Page register to array (tPROG).
    #[serde(deserialize_with = "quantity")]
    pub program_us: f64,
    /// Block erase (tBERS).
    #[serde(deserialize_with = "quantity")]
    pub erase_us: f64,
    /// One byte on a channel's bus, ns; 0 if the times above include the transfer.
    #[serde(deserialize_with = "quantity")]
    pub transfer_ns_per_byte: f64,
    /// Time that the channel needs for the command of each read and program, in addition to its bytes, us.
    #[serde(default, deserialize_with = "quantity", skip_serializing_if = "timing::is_nothing")]
    pub transfer_command_us: f64,
    /// What the channel moves if the host reads a part of a page.
    #[serde(default, skip_serializing_if = "timing::is_page")]
    pub read_transfer: ReadTransfer,
    /// Read of a spare area alone; default [`Self::read_us`], because the chip senses the whole page. The bus
    /// moves 16 bytes.
    #[serde(default, deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub spare_read_us: Option<f64>,
    /// Spare-only program; default [`Self::program_us`].
    #[serde(default, deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub spare_program_us: Option<f64>,
    /// How a page moves inside the device.
    #[serde(default)]
    pub copy: PageCopy,
    /// Whether a die's planes work at the same time.
    #[serde(default)]
    pub plane_overlap: PlaneOverlap,
    /// How erases give way to reads; if omitted, they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<Suspend>,
    /// Blocks with one bit per cell, if the chip has them ([`Rules::bits_per_cell`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc: Option<SlcTiming>,
    /// Times of lower, middle and upper pages, if they differ; they replace [`Self::read_us`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_types: Option<PageTypes>,
    /// Pages that a die programs at once: planes times bits of a cell. The die gathers them, and its array works when it
    /// has them all.
    #[serde(default = "timing::one", deserialize_with = "timing::some_pages", skip_serializing_if = "timing::is_one")]
    pub program_pages: u32,
    /// Which operation a unit or a channel takes next.
    #[serde(default, skip_serializing_if = "timing::is_events")]
    pub order: Order,
    /// Whether a unit reads its next page during the transfer of the last one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_cache: bool,
    /// Whether reads that a request waits for go ahead of everything that waits for their unit; [`Self::suspend`] includes
    /// it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_first: bool,
}

/// How a page moves inside the device.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PageCopy {
    /// Inside a plane through the page register: a read and a program, no bus. Elsewhere as [`Self::External`].
    Copyback,
    /// Through the controller: a read, two transfers and a program.
    #[default]
    External,
    /// This many microseconds in total inside a die (or plane, if planes overlap), without the bus. Elsewhere
    /// as [`Self::External`].
    TotalUs(#[serde(deserialize_with = "quantity")] f64),
}

/// Whether a die's planes work at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlaneOverlap {
    /// A die does one thing at a time.
    #[default]
    None,
    /// Each plane works independently.
    Independent,
    /// Planes program together: one request's pages on different planes of a die, at the same position in their
    /// blocks and consecutive, are transferred one by one and programmed at once. Otherwise a die does one
    /// thing at a time.
    MultiPlane,
}

impl Profile {
    /// The checked shape.
    ///
    /// # Errors
    /// As [`Geometry::new`].
    pub fn geometry(&self) -> Result<Geometry, GeometryError> {
        Geometry::new(self.shape)
    }

    /// The total time of the operations in `cell` in sequence, in ns.
    ///
    /// Equals the sum of [`crate::timed::Timed::unit_busy_ns`], except for three distinctions missing from `cell`
    /// on a profile with a bus (`transfer_ns_per_byte` above 0): a copy counts as a copy inside a plane, and a
    /// read of a page's tail or of a part of it as a read of the page ([`crate::Ctx::spared`]).
    pub fn busy_ns(&self, cell: &Cell) -> Time {
        let times = Durations::new(&self.timing, &self.shape);
        let copy = times.copy_inside.unwrap_or(times.read + times.program + 2 * times.page_transfer);
        let erases = u128::from(cell.erase_shares) * u128::from(times.erase) / u128::from(ERASE_SHARE);
        cell.page_reads * (times.read + times.page_transfer)
            + cell.page_programs * (times.program + times.page_transfer)
            + cell.copies * copy
            + cell.spare_reads * (times.spare_read + times.spare_transfer)
            + cell.spare_programs * (times.spare_program + times.spare_transfer)
            + erases as Time
    }

    /// Energy for the operations in `cell`; `None` if the profile states none.
    pub fn energy(&self, cell: &Cell) -> Option<EnergyUse> {
        const JOULES_PER_NJ: f64 = 1e-9;
        self.energy.map(|each| EnergyUse {
            read_j: (cell.reads() + cell.spare_reads) as f64 * each.read_nj * JOULES_PER_NJ,
            program_j: (cell.programs() + cell.spare_programs) as f64 * each.program_nj * JOULES_PER_NJ,
            erase_j: cell.erases() * each.erase_nj * JOULES_PER_NJ,
        })
    }
}

/// A [`Timing`] in whole nanoseconds for one page size, rounded once.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Durations {
    pub(crate) read: Time,
    pub(crate) program: Time,
    pub(crate) erase: Time,
    pub(crate) spare_read: Time,
    pub(crate) spare_program: Time,
    /// A page with its whole spare area, including the ECC.
    pub(crate) page_transfer: Time,
    /// The metadata in a spare area.
    pub(crate) spare_transfer: Time,
    /// A copy without the bus, if the chip supports it.
    pub(crate) copy_inside: Option<Time>,
    /// The channel's time for a command, part of each transfer.
    command: Time,
    ns_per_byte: f64,
}

impl Durations {
    /// # Panics
    /// If a value is negative, not a number, or above [`MAX_QUANTITY`]; a parsed profile holds none.
    pub(crate) fn new(timing: &Timing, shape: &Shape) -> Self {
        let read = whole_ns("read_us", timing.read_us);
        let program = whole_ns("program_us", timing.program_us);
        let ns_per_byte = timing.transfer_ns_per_byte;
        assert!(is_quantity(ns_per_byte), "transfer_ns_per_byte = {ns_per_byte} is not in {QUANTITY_RANGE}");
        let command = whole_ns("transfer_command_us", timing.transfer_command_us);
        Self {
            read,
            program,
            erase: whole_ns("erase_us", timing.erase_us),
            spare_read: timing.spare_read_us.map_or(read, |us| whole_ns("spare_read_us", us)),
            spare_program: timing.spare_program_us.map_or(program, |us| whole_ns("spare_program_us", us)),
            page_transfer: command + transfer(ns_per_byte, shape.page_bytes + shape.spare_bytes),
            spare_transfer: command + transfer(ns_per_byte, Oob::BYTES as u32),
            copy_inside: match timing.copy {
                PageCopy::Copyback => Some(read + program),
                PageCopy::External => None,
                PageCopy::TotalUs(us) => Some(whole_ns("total_us", us)),
            },
            command,
            ns_per_byte,
        }
    }

    /// A page's last `tail` bytes and its spare-area metadata.
    pub(crate) fn tail_transfer(&self, tail: usize) -> Time {
        self.command + transfer(self.ns_per_byte, (tail + Oob::BYTES) as u32)
    }

    /// `bytes` of a page and its spare area.
    pub(crate) fn part_transfer(&self, bytes: u32) -> Time {
        self.command + transfer(self.ns_per_byte, bytes)
    }
}

fn transfer(ns_per_byte: f64, bytes: u32) -> Time {
    (f64::from(bytes) * ns_per_byte).round() as Time
}

fn whole_ns(key: &str, us: f64) -> Time {
    assert!(is_quantity(us), "{key} = {us} is not in {QUANTITY_RANGE}");
    (us * 1000.0).round() as Time
}

fn some_quantity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    quantity(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::ProgramOrder;

    fn profile(copy: PageCopy, transfer_ns_per_byte: f64) -> Profile {
        Profile {
            name: "test".into(),
            description: String::new(),
            source: String::new(),
            shape: *Geometry::single_die(8, 4, 512).unwrap().shape(),
            rules: Rules {
                program_order: ProgramOrder::Any,
                partial_programs: 2,
                endurance: 10,
                bits_per_cell: 3,
                pair_distance: 0,
                unstable_pages: false,
            },
            timing: Timing {
                read_us: 10.0,
                program_us: 100.0,
                erase_us: 1000.0,
                transfer_ns_per_byte,
                transfer_command_us: 0.0,
                read_transfer: ReadTransfer::Page,
                spare_read_us: Some(5.0),
                spare_program_us: None,
                copy,
                plane_overlap: PlaneOverlap::None,
                suspend: None,
                slc: None,
                page_types: None,
                program_pages: 1,
                order: Order::Events,
                read_cache: false,
                read_first: false,
            },
            energy: Some(Energy { read_nj: 1500.0, program_nj: 4000.0, erase_nj: 34_000.0 }),
            controller: None,
            link: None,
        }
    }

    fn counts() -> Cell {
        Cell {
            page_reads: 3,
            page_programs: 2,
            copies: 5,
            erase_shares: 7 * ERASE_SHARE / 2,
            spare_reads: 11,
            spare_programs: 13,
            meta_reads: 1,
            meta_programs: 1,
        }
    }

    #[test]
    fn busy_time_is_the_sum_of_the_data_sheet_times() {
        let without_bus = 3 * 10_000 + 2 * 100_000 + 3_500_000 + 11 * 5_000 + 13 * 100_000;
        assert_eq!(profile(PageCopy::External, 0.0).busy_ns(&counts()), without_bus + 5 * 110_000);
        assert_eq!(profile(PageCopy::TotalUs(111.0), 0.0).busy_ns(&counts()), without_bus + 5 * 111_000);

        let (page, spare) = (2 * (512 + 64), 2 * 16);
        let with_bus = without_bus + 5 * page + 24 * spare;
        assert_eq!(profile(PageCopy::Copyback, 2.0).busy_ns(&counts()), with_bus + 5 * 110_000);
        assert_eq!(profile(PageCopy::External, 2.0).busy_ns(&counts()), with_bus + 5 * (110_000 + 2 * page));
    }

    #[test]
    fn energy_counts_copies_as_a_read_and_a_program() {
        let used = profile(PageCopy::Copyback, 0.0).energy(&counts()).unwrap();
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-15, "{a} {b}");
        close(used.read_j, 19.0 * 1.5e-6);
        close(used.program_j, 20.0 * 4e-6);
        close(used.erase_j, 3.5 * 34e-6);
        close(used.total_j(), 19.0 * 1.5e-6 + 20.0 * 4e-6 + 3.5 * 34e-6);
        assert_eq!(Profile { energy: None, ..profile(PageCopy::Copyback, 0.0) }.energy(&counts()), None);
    }

    #[test]
    fn fractions_of_a_nanosecond_are_rounded_once_a_page() {
        let timing = Timing { read_us: 0.0004, ..profile(PageCopy::External, 0.3).timing };
        let times = Durations::new(&timing, Geometry::single_die(8, 4, 512).unwrap().shape());
        assert_eq!((times.read, times.page_transfer, times.spare_transfer), (0, 173, 5), "0.4, 172.8 and 4.8 ns");
        assert_eq!(times.tail_transfer(512), 158, "528 bytes in 158.4 ns");
    }

    #[test]
    #[should_panic(expected = "erase_us = -1 is not in the range")]
    fn a_negative_time_built_in_code_is_refused() {
        let timing = Timing { erase_us: -1.0, ..profile(PageCopy::External, 0.0).timing };
        let _ = Durations::new(&timing, Geometry::single_die(8, 4, 512).unwrap().shape());
    }

    /// All profiles in the repository, by name.
    fn shipped() -> Vec<(String, Profile)> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles");
        let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let parse = |path: &std::path::PathBuf| {
            let text = std::fs::read_to_string(path).unwrap();
            assert!(text.starts_with("# "), "{path:?} begins with where it comes from");
            let profile = toml::from_str(&text).unwrap_or_else(|e| panic!("{path:?}: {e}"));
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), profile)
        };
        files.iter().map(parse).collect()
    }

    #[test]
    fn every_shipped_profile_is_a_device() {
        const GIB: u64 = 1 << 30;
        let sizes = [
            ("980pro", 48 * 1024 * 1536 * 16_384),
            ("btree", GIB / 32),
            ("emmc-nexus5", 30 * GIB),
            ("generic-8x4", 16 * GIB),
            ("generic", GIB),
            ("jasmine", 8 * 2076 * 128 * 32_768),
            ("k9f5608", GIB / 32),
            ("k9k4g", GIB / 2),
            ("k9l8g08u0m", GIB),
            ("nvme-a", 32 * 1536 * 1536 * 16_384),
            ("nvme-b", 32 * 1024 * 1024 * 4096),
            ("qlc-3d", 32 * 171 * 768 * 16_384),
            ("tlc-3d", 32 * 228 * 576 * 16_384),
            ("wap", 64 * GIB),
            ("zn540", 32 * 920 * 2154 * 16_384),
        ];
        let shipped = shipped();
        assert_eq!(shipped.len(), sizes.len());
        for ((file, profile), (name, bytes)) in shipped.iter().zip(sizes) {
            assert_eq!((file.as_str(), profile.name.as_str()), (name, name));
            let geometry = profile.geometry().unwrap();
            assert_eq!(u64::from(geometry.pages()) * u64::from(geometry.page_bytes()), bytes, "{name}");
            assert!(Durations::new(&profile.timing, &profile.shape).erase > 0);
            assert!(profile.rules.endurance > 0 && profile.rules.partial_programs > 0);
            let again: Profile = toml::from_str(&toml::to_string(profile).unwrap()).unwrap();
            assert_eq!(&again, profile, "{name} written and read again");
        }
    }

    #[test]
    fn shipped_times_are_the_published_ones() {
        let shipped = shipped();
        let op = |name: &str, cell: Cell| {
            let (_, profile) = shipped.iter().find(|(file, _)| file == name).unwrap();
            profile.busy_ns(&cell)
        };
        let none = Cell::default();
        let read = Cell { page_reads: 1, ..none };
        let program = Cell { page_programs: 1, ..none };
        let copy = Cell { copies: 1, ..none };
        let erase = Cell { erase_shares: ERASE_SHARE, ..none };
        let four = |name| [read, program, copy, erase].map(|cell| op(name, cell));
        assert_eq!(four("k9l8g08u0m"), [113_000, 1_013_000, 1_128_000, 1_500_000]);
        assert_eq!(four("k9f5608"), [41_400, 226_400, 267_800, 2_000_000]);
        assert_eq!(four("k9k4g"), [25_000 + 63_360, 300_000 + 63_360, 325_000, 2_000_000]);
        assert_eq!(four("wap"), [21_000, 200_000, 221_000, 1_200_000]);
        // A page with its spare area is 18,336 bytes.
        assert_eq!(four("tlc-3d"), [75_000 + 15_274, 496_000 + 15_274, 571_000 + 30_548, 4_500_000]);
        assert_eq!(four("qlc-3d"), [120_000 + 11_460, 1_638_000 + 11_460, 1_758_000 + 22_920, 4_500_000]);
        let [read_ns, program_ns, _, erase_ns] = four("btree");
        assert_eq!((read_ns, program_ns, erase_ns), (30_800, 8 * read_ns, 65 * read_ns));
    }

    #[test]
    fn a_wrong_profile_is_refused_with_the_place_and_what_is_allowed() {
        let good = include_str!("../../../profiles/generic.toml");
        for (from, to, sentence) in [
            ("read_us = 50", "read_us = -50", "-50 is not in the range from 0 to 1,000,000,000"),
            ("erase_us = 3000", "erase_us = nan", "NaN is not in the range"),
            ("read_us = 50", "read_ms = 50", "unknown field `read_ms`, expected one of `read_us`"),
            ("read_us = 50", "read_us = \"50\"", "expected f64"),
            ("copy = \"external\"", "copy = { total_us = -1 }", "-1 is not in the range"),
            ("copy = \"external\"", "copy = \"copybak\"", "expected one of `copyback`, `external`, `total_us`"),
            (
                "plane_overlap = \"none\"",
                "plane_overlap = \"all\"",
                "expected one of `none`, `independent`, `multi_plane`",
            ),
            ("endurance = 10_000", "bits_per_cell = 6", "6 cannot work: a cell holds 1 to 5 bits"),
            ("plane_overlap = \"none\"", "slc = { read_us = 25 }", "missing field `program_us`"),
            ("plane_overlap = \"none\"", "spare_read_us = 1e10", "10000000000 is not in the range"),
        ] {
            assert!(good.contains(from), "{from}");
            let bad = good.replace(from, to);
            let line = 1 + bad.lines().position(|line| line == to).unwrap();
            let error = toml::from_str::<Profile>(&bad).unwrap_err().to_string();
            assert!(error.contains(sentence), "{to}: {error}");
            assert!(error.contains(&format!("line {line}, column ")), "{to}: {error}");
        }
    }
}

//! Constructors and queries for chip times.

use super::{PageCopy, PlaneOverlap, Timing};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// What the channel moves if the host reads a part of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadTransfer {
    /// The whole page.
    #[default]
    Page,
    /// The sectors that the host reads, each with its share of the spare area (the ECC). Other reads move whole
    /// pages: collection, read-modify-write, mapping pages.
    Sectors,
}

/// Which operation a unit or a channel takes next. There is one order; the key is read for experiments that name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "&'static str")]
pub enum Order {
    /// One event after the other: a channel serves the unit whose data was ready first.
    #[default]
    Events,
}

impl TryFrom<String> for Order {
    type Error = String;

    fn try_from(order: String) -> Result<Self, String> {
        match order.as_str() {
            "events" => Ok(Self::Events),
            "issue" => Err(
                "\"issue\" cannot work: it gave each operation its times when it was issued, and where dies share a \
                            channel they were up to 51 % off; leave the key out, and the times are those of events"
                    .to_owned(),
            ),
            other => Err(format!("unknown order \"{other}\": the only one is \"events\", and the key may be left out")),
        }
    }
}

impl From<Order> for &'static str {
    fn from(Order::Events: Order) -> Self {
        "events"
    }
}

pub(super) fn is_events(order: &Order) -> bool {
    *order == Order::Events
}

pub(super) fn is_one(pages: &u32) -> bool {
    *pages == 1
}

pub(super) fn one() -> u32 {
    1
}

pub(super) fn some_pages<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let why = "a die programs 1 to 4096 pages at once";
    let pages = u32::deserialize(deserializer)?;
    if (1..=4096).contains(&pages) {
        Ok(pages)
    } else {
        Err(D::Error::custom(format!("{pages} cannot work: {why}")))
    }
}

pub(super) fn is_nothing(time: &f64) -> bool {
    *time == 0.0
}

pub(super) fn is_page(transfer: &ReadTransfer) -> bool {
    *transfer == ReadTransfer::Page
}

impl Timing {
    /// Array times alone, in us: no bus, copies inside, nothing in parallel within a die.
    pub const fn array(read_us: f64, program_us: f64, erase_us: f64) -> Self {
        Self {
            read_us,
            program_us,
            erase_us,
            transfer_ns_per_byte: 0.0,
            transfer_command_us: 0.0,
            read_transfer: ReadTransfer::Page,
            spare_read_us: None,
            spare_program_us: None,
            copy: PageCopy::Copyback,
            plane_overlap: PlaneOverlap::None,
            suspend: None,
            slc: None,
            page_types: None,
            program_pages: 1,
            order: Order::Events,
            read_cache: false,
            read_first: false,
        }
    }

    /// Whether it needs rare features: suspended erases, planes or pages that program together, reads of a part of a
    /// page, page types.
    pub fn has_extras(&self) -> bool {
        self.suspend.is_some()
            || self.plane_overlap == PlaneOverlap::MultiPlane
            || self.read_transfer == ReadTransfer::Sectors
            || self.page_types.is_some()
            || self.program_pages > 1
    }
}

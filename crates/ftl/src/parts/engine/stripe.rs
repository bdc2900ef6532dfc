//! The parts that the page map fills side by side, and which one takes a host page: the next in turn, or the one that the
//! page's address names.
//!
//! ## By address
//! A logical page's number, taken apart, names a channel, a way on it, a die of the way and a plane of the die. The first
//! letter of `order` changes with each page, the second one when the first has gone round. With `CWDP` page n is on channel
//! n mod C, on way (n / C) mod W, and so on. Random writes meet on one plane while others are idle, so this is slower than
//! a turn, and it is what many simulators and drives with few tables do. Collection moves pages within a plane, so a page
//! stays where its address says. Failed blocks, and a plane beyond its share, send it elsewhere until the host writes it again.
//!
//! ## References
//! Y. Hu and others: Performance Impact and Interplay of SSD Parallelism through Advanced Commands, Allocation Strategy
//! and Data Granularity. ICS 2011. A. Tavakkol and others: MQSim. FAST 2018 (`Plane_Allocation_Scheme`).

use crate::options::options;
use crate::{error, FtlError};
use nandlab_nand::Geometry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The parts that the page map fills side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stripe {
    /// Dies in turn: as many host blocks are being filled as there are dies.
    Dies(OverDies),
    /// Planes in turn, one die's planes after another's: the way to planes that overlap or program together. Wherever the
    /// options say die, this is a plane.
    Planes,
    /// Planes by address: a logical page has its plane. Wherever the options say die, this is a plane.
    Address(ByAddress),
}

options! {
    OverDies
    /// The option for stripes over dies.
    #[derive(Eq)]
    {
        /// Consecutive host pages for one die before the next one is in turn, 1 to 65536: with
        /// `device.timing.program_pages`, the pages it programs at once. Default 1.
        pages: u32 = 1,
    }
}

options! {
    ByAddress
    /// The options for planes by address.
    #[derive(Eq)]
    {
        /// What changes first from a page to the next: the letters C (channel), W (way), D (die of a way) and P (plane of
        /// a die) in any order, as in MQSim's `Plane_Allocation_Scheme`. Default "CWDP".
        order: Order = Order(*b"CWDP"),
        /// Ways (chips) on a channel. 0 is one for each die. Default 0.
        ways: u32 = 0,
        /// Planes that `P` counts; what is left of a way's planes is its dies. 0 is all planes of a die. Default 0.
        planes: u32 = 0,
    }
}

/// An order of channel, way, die and plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Order([u8; 4]);

const LETTERS: [u8; 4] = *b"CWDP";

impl TryFrom<String> for Order {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let given = <[u8; 4]>::try_from(text.to_ascii_uppercase().as_bytes()).ok();
        let order = given.filter(|given| LETTERS.iter().all(|letter| given.contains(letter)));
        order.map(Self).ok_or_else(|| {
            format!(
                "\"{text}\" is no order: it has the letters C (channel), W (way), D (die) and P (plane) once each, such as \"CWDP\""
            )
        })
    }
}

impl From<Order> for String {
    fn from(order: Order) -> Self {
        order.0.iter().copied().map(char::from).collect()
    }
}

impl JsonSchema for Order {
    fn schema_name() -> Cow<'static, str> {
        "Order".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "C, W, D and P once each, in any order" })
    }
}

impl Default for Stripe {
    fn default() -> Self {
        Self::Dies(OverDies::default())
    }
}

impl Stripe {
    /// The device as the page map sees it: each part filled side by side is a die.
    pub(crate) fn view(self, geometry: &Geometry) -> Geometry {
        match self {
            Self::Dies(_) => *geometry,
            Self::Planes | Self::Address(_) => geometry.planes_as_dies(),
        }
    }

    /// Consecutive parts that are planes of one die.
    pub(super) fn planes(self, geometry: &Geometry) -> usize {
        match self {
            Self::Dies(_) => 1,
            Self::Planes | Self::Address(_) => geometry.shape().planes_per_die as usize,
        }
    }

    /// Consecutive host pages before the next one is in turn.
    pub(super) fn pages(self) -> u32 {
        match self {
            Self::Dies(OverDies { pages }) => pages,
            Self::Planes | Self::Address(_) => 1,
        }
    }

    /// The word in sentences for a part filled by itself.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Dies(_) => "die",
            Self::Planes | Self::Address(_) => "plane",
        }
    }

    /// Checks the options on a device, whose planes are planes.
    pub(super) fn check(self, geometry: &Geometry) -> Result<(), FtlError> {
        match self {
            Self::Planes => Ok(()),
            Self::Dies(OverDies { pages }) => error::in_range("ftl.page.stripe.dies.pages", pages, 1..=65_536),
            Self::Address(options) => options.digits(geometry).map(drop),
        }
    }

    /// By address modulo its length: the plane, counted over the whole device; empty if the address does not say.
    pub(super) fn by_address(self, geometry: &Geometry) -> Vec<u32> {
        match self {
            Self::Dies(_) | Self::Planes => Vec::new(),
            Self::Address(options) => options.planes_in_order(geometry),
        }
    }
}

impl ByAddress {
    /// Channels, ways on a channel, dies of a way and planes of a die.
    fn digits(self, geometry: &Geometry) -> Result<[u32; 4], FtlError> {
        let shape = geometry.shape();
        let or = |given: u32, all: u32| if given == 0 { all } else { given };
        let (ways, planes) = (or(self.ways, shape.dies_per_channel), or(self.planes, shape.planes_per_die));
        let on_channel = shape.dies_per_channel * shape.planes_per_die;
        // A way has whole dies, or a die has whole ways, and a letter's planes are on one die.
        let parts_dies = shape.dies_per_channel % ways == 0 || ways % shape.dies_per_channel == 0;
        match ways.checked_mul(planes) {
            Some(both) if parts_dies && shape.planes_per_die % planes == 0 && on_channel % both == 0 => {
                Ok([shape.channels, ways, on_channel / both, planes])
            }
            _ => Err(FtlError::Config(format!(
                "ftl.page.stripe.address has {ways} ways of {planes} planes or a multiple of it on a channel, and a channel of \
                 this device has {on_channel} planes ({} dies of {}): a way has whole dies, or a die whole ways, planes divides a \
                 die's planes, and ways times planes those of a channel",
                shape.dies_per_channel, shape.planes_per_die,
            ))),
        }
    }

    fn planes_in_order(self, geometry: &Geometry) -> Vec<u32> {
        let sizes = self.digits(geometry).expect("the options were checked before");
        let shape = geometry.shape();
        let plane = |page: u32| {
            let (mut rest, mut digits) = (page, [0; 4]);
            for letter in self.order.0 {
                let kind = LETTERS.iter().position(|&known| known == letter).expect("an order has known letters");
                digits[kind] = rest % sizes[kind];
                rest /= sizes[kind];
            }
            let [channel, way, die, plane] = digits;
            let on_channel = (way * sizes[2] + die) * sizes[3] + plane;
            let (die, plane) = (on_channel / shape.planes_per_die, on_channel % shape.planes_per_die);
            (die * shape.channels + channel) * shape.planes_per_die + plane
        };
        (0..geometry.planes()).map(plane).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandlab_nand::Shape;

    /// Two channels with two dies of two planes each.
    fn geometry() -> Geometry {
        let shape = Shape {
            channels: 2,
            dies_per_channel: 2,
            planes_per_die: 2,
            blocks_per_plane: 4,
            pages_per_block: 4,
            page_bytes: 512,
            spare_bytes: 64,
        };
        Geometry::new(shape).unwrap()
    }

    fn planes(order: &str, ways: u32, planes: u32) -> Vec<u32> {
        let order = Order::try_from(order.to_owned()).unwrap();
        Stripe::Address(ByAddress { order, ways, planes }).by_address(&geometry())
    }

    /// Dies 0 and 2 are on channel 0, dies 1 and 3 on channel 1; planes 2d and 2d + 1 are on die d.
    #[test]
    fn the_first_letter_changes_first() {
        assert_eq!(planes("CWDP", 0, 0), [0, 2, 4, 6, 1, 3, 5, 7]);
        assert_eq!(planes("wcpd", 0, 0), [0, 4, 2, 6, 1, 5, 3, 7]);
        assert_eq!(planes("PDWC", 0, 0), [0, 1, 4, 5, 2, 3, 6, 7]);
        // One way with two dies of two planes.
        assert_eq!(planes("DCPW", 1, 0), [0, 4, 2, 6, 1, 5, 3, 7]);
        // Two ways, each with two dies of one plane.
        assert_eq!(planes("DCWP", 2, 1), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn ways_and_planes_divide_the_device() {
        for (ways, planes) in [(3, 0), (4, 2), (0, 3), (u32::MAX, 2), (1, 4)] {
            let given = Stripe::Address(ByAddress { ways, planes, ..ByAddress::default() });
            let error = given.check(&geometry()).unwrap_err().to_string();
            assert!(error.contains("4 planes (2 dies of 2)"), "{error}");
        }
        for order in ["CWD", "CWDD", "CWDPX", ""] {
            assert!(Order::try_from(order.to_owned()).unwrap_err().contains("is no order"), "{order}");
        }
    }
}

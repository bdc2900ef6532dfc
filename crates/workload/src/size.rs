//! How long requests are.

use crate::error::WorkloadError;
use nandlab_block::ByteCount;
use nandlab_nand::random::Random;
use nandlab_nand::SECTOR_BYTES;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::Serialize;
use std::fmt;

/// Size of a request: one size, a weighted choice, or a range.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Size {
    /// Always the same: `"4 KiB"`.
    Fixed(ByteCount),
    /// One of several: `[{ size = "4 KiB", weight = 3 }, { size = "64 KiB", weight = 1 }]`.
    Weighted(Vec<WeightedSize>),
    /// Equally likely sizes: `{ min = "4 KiB", max = "64 KiB" }`.
    Range(SizeRange),
}

/// A size and how often it comes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightedSize {
    /// The size.
    pub size: ByteCount,
    /// Its frequency, relative to the other weights.
    pub weight: f64,
}

/// Sizes from `min` to `max` in steps of `step`, all equally likely.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeRange {
    /// The smallest size.
    pub min: ByteCount,
    /// No size is above this one.
    pub max: ByteCount,
    /// Distance of two sizes; `min` where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<ByteCount>,
}

impl Size {
    /// The largest possible size.
    pub fn largest(&self) -> ByteCount {
        match self {
            Self::Fixed(size) => *size,
            Self::Weighted(choice) => {
                let sizes = choice.iter().filter(|one| one.weight > 0.0).map(|one| one.size.0);
                ByteCount(sizes.max().unwrap_or(0))
            }
            Self::Range(range) => range.max,
        }
    }
}

impl Default for Size {
    fn default() -> Self {
        Self::Fixed(ByteCount(4096))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Size;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a size such as \"4 KiB\", a choice such as [{ size = \"4 KiB\", weight = 3 }] \
                     or a range such as { min = \"4 KiB\", max = \"64 KiB\" }",
                )
            }
            fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Size, E> {
                Ok(Size::Fixed(ByteCount(bytes)))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
                text.parse().map(Size::Fixed).map_err(E::custom)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Size, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Size::Weighted)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Size, A::Error> {
                SizeRange::deserialize(MapAccessDeserializer::new(map)).map(Size::Range)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

impl schemars::JsonSchema for Size {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": ["integer", "string", "array", "object"],
            "format": "bytes",
        })
    }
}

/// A [`Size`] made ready to draw from.
#[derive(Clone, Debug)]
pub(crate) enum Sizes {
    Fixed(u32),
    /// Upper bounds of the shares of 2^64, ascending, with each share's sectors.
    Weighted(Vec<(u64, u32)>),
    Range {
        min: u32,
        step: u32,
        count: u64,
    },
}

impl Sizes {
    /// Checks `size`, the value of `key`.
    pub(crate) fn new(key: &str, size: &Size) -> Result<Self, WorkloadError> {
        match size {
            Size::Fixed(bytes) => Ok(Self::Fixed(sectors(key, *bytes)?)),
            Size::Weighted(choice) => Self::weighted(key, choice),
            Size::Range(range) => Self::range(key, range),
        }
    }

    fn weighted(key: &str, choice: &[WeightedSize]) -> Result<Self, WorkloadError> {
        let total: f64 = choice.iter().map(|one| one.weight).sum();
        let mut below = 0.0;
        let mut bounds = Vec::with_capacity(choice.len());
        for (at, one) in choice.iter().enumerate() {
            if !(one.weight.is_finite() && one.weight >= 0.0) {
                let key = format!("{key}[{at}].weight");
                return Err(WorkloadError::option(&key, &one.weight, "a weight is a number of 0 or more"));
            }
            below += one.weight;
            bounds.push((share(below / total), sectors(&format!("{key}[{at}].size"), one.size)?));
        }
        if total <= 0.0 || choice.is_empty() {
            return Err(WorkloadError::option(key, &"[]", "a choice needs a size with a weight above 0"));
        }
        // Rounding must not leave a gap at the top; sizes with weight 0 at the end stay out of reach.
        let last = choice.iter().rposition(|one| one.weight > 0.0).expect("the weights sum to more than 0");
        bounds.truncate(last + 1);
        bounds[last].0 = u64::MAX;
        Ok(Self::Weighted(bounds))
    }

    fn range(key: &str, range: &SizeRange) -> Result<Self, WorkloadError> {
        let min = sectors(&format!("{key}.min"), range.min)?;
        let max = sectors(&format!("{key}.max"), range.max)?;
        let step = sectors(&format!("{key}.step"), range.step.unwrap_or(range.min))?;
        if max < min {
            let why = format!("the largest size is at least the smallest ({})", range.min);
            return Err(WorkloadError::option(&format!("{key}.max"), &range.max, why));
        }
        Ok(Self::Range { min, step, count: u64::from((max - min) / step) + 1 })
    }

    /// The largest size in sectors.
    pub(crate) fn largest(&self) -> u32 {
        match self {
            Self::Fixed(sectors) => *sectors,
            Self::Weighted(bounds) => bounds.iter().map(|&(_, sectors)| sectors).max().unwrap_or(1),
            Self::Range { min, step, count } => min + step * (*count as u32 - 1),
        }
    }

    /// The mean size in sectors.
    pub(crate) fn mean(&self) -> f64 {
        match self {
            Self::Fixed(sectors) => f64::from(*sectors),
            Self::Weighted(bounds) => {
                let mut below = 0;
                let parts = bounds.iter().map(|&(bound, sectors)| {
                    let part = (bound - std::mem::replace(&mut below, bound)) as f64 / u64::MAX as f64;
                    part * f64::from(sectors)
                });
                parts.sum()
            }
            Self::Range { min, .. } => (f64::from(*min) + f64::from(self.largest())) / 2.0,
        }
    }

    /// A size in sectors.
    #[inline]
    pub(crate) fn draw(&self, random: &mut Random) -> u32 {
        match self {
            Self::Fixed(sectors) => *sectors,
            Self::Weighted(bounds) => {
                let at = random.next_u64();
                bounds[bounds.partition_point(|&(bound, _)| bound <= at).min(bounds.len() - 1)].1
            }
            Self::Range { min, step, count } => min + step * random.below(*count) as u32,
        }
    }
}

/// `part` x 2^64, at most 2^64 - 1.
pub(crate) fn share(part: f64) -> u64 {
    (part * 18_446_744_073_709_551_616.0) as u64
}

/// `bytes` in sectors, as a request size.
fn sectors(key: &str, bytes: ByteCount) -> Result<u32, WorkloadError> {
    /// A request's sector count has 32 bits.
    const MAX: u64 = u32::MAX as u64 * SECTOR_BYTES as u64;
    let sector = u64::from(SECTOR_BYTES);
    if bytes.0 == 0 || bytes.0 % sector != 0 || bytes.0 > MAX {
        return Err(WorkloadError::option(
            key,
            &bytes,
            "a request is 512 B to 2 TiB - 512 B long, in whole sectors of 512 B",
        ));
    }
    Ok((bytes.0 / sector) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weighted(choice: &[(u64, f64)]) -> Size {
        Size::Weighted(choice.iter().map(|&(size, weight)| WeightedSize { size: ByteCount(size), weight }).collect())
    }

    #[test]
    fn weights_are_frequencies() {
        let sizes = Sizes::new("size", &weighted(&[(512, 3.0), (4096, 0.0), (8192, 1.0), (1024, 0.0)])).unwrap();
        let mut random = Random::new(3);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..40_000 {
            *counts.entry(sizes.draw(&mut random)).or_insert(0) += 1;
        }
        assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [1, 16]);
        assert!((29_500..30_500).contains(&counts[&1]), "{counts:?}");
    }

    #[test]
    fn a_range_steps_from_the_smallest() {
        let range = SizeRange { min: ByteCount(4096), max: ByteCount(18_000 / 512 * 512), step: None };
        let sizes = Sizes::new("size", &Size::Range(range)).unwrap();
        let mut random = Random::new(3);
        let seen: std::collections::BTreeSet<_> = (0..1000).map(|_| sizes.draw(&mut random)).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [8, 16, 24, 32]);
        assert_eq!(sizes.largest(), 32);
    }

    #[test]
    fn what_cannot_be_a_size_is_refused_with_its_key() {
        let error = |size| Sizes::new("size", &size).unwrap_err().to_string();
        assert!(error(Size::Fixed(ByteCount(1000))).starts_with("size = 1000 B cannot work"));
        assert!(error(weighted(&[])).starts_with("size = []"));
        assert!(error(weighted(&[(512, 1.0), (512, -1.0)])).starts_with("size[1].weight = -1"));
        let range = SizeRange { min: ByteCount(4096), max: ByteCount(512), step: None };
        assert!(error(Size::Range(range)).starts_with("size.max = 512 B"));
    }
}

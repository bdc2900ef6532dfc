//! Skewed random places: Zipf, Pareto, normal, and by zones.
//!
//! The models and values follow `random_distribution` in the HOWTO of fio 3.33, "I/O type".

use super::text::{amount, by_direction, Amount, Entry, KbBase};
use super::Malformed;
use nandlab_nand::random::Random;

/// Zones at most, as in fio.
const MAX_ZONES: usize = 256;

/// A range with its share of the requests.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Zone {
    /// In per cent.
    share: u64,
    extent: Amount,
}

/// How often a random job visits its places.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Distribution {
    /// Each alike.
    Uniform,
    /// The exponent, and the most popular place's position, from 0 to 1.
    Zipf(f64, Option<f64>),
    /// The share h of the places with 1 - h of the requests, and the most popular place's position.
    Pareto(f64, Option<f64>),
    /// The deviation in per cent from all places, and the middle's position.
    Normal(f64, f64),
    /// For reads, writes and trims.
    Zoned(Box<[Vec<Zone>; 3]>),
}

impl Distribution {
    pub(super) fn is_zoned(&self) -> bool {
        matches!(self, Self::Zoned(_))
    }

    pub(super) fn parse(entry: &Entry<'_>, base: KbBase) -> Result<Self, Malformed> {
        let value = entry.value.unwrap_or("");
        // The HOWTO writes `zoned_abs=60/20G` in its example; fio takes a colon.
        let (kind, rest) = value.split_once([':', '=']).map_or((value, None), |(kind, rest)| (kind, Some(rest)));
        if let ("zoned" | "zoned_abs", Some(rest)) = (kind, rest) {
            return zones(entry, rest, (kind == "zoned_abs", base)).map(|zones| Self::Zoned(Box::new(zones)));
        }
        let mut numbers = rest.into_iter().flat_map(|rest| rest.split(':')).map(|part| part.trim().parse::<f64>().ok());
        let (first, center, more) = (numbers.next(), numbers.next(), numbers.next());
        let has_center = center.is_none_or(|center| center.is_some_and(|center| (0.0..=1.0).contains(&center)));
        let center = center.flatten();
        let first = |default: f64| first.map_or(Some(default), |first| first);
        match kind {
            "random" => return Ok(Self::Uniform),
            _ if !has_center || more.is_some() => {}
            "zipf" => {
                if let Some(theta) = first(1.1).filter(|theta| (0.0..=10.0).contains(theta)) {
                    return Ok(Self::Zipf(theta, center));
                }
            }
            "pareto" => {
                if let Some(power) = first(0.2).filter(|&power| power > 0.0 && power < 1.0) {
                    return Ok(Self::Pareto(power, center));
                }
            }
            "normal" => {
                if let Some(deviation) = first(0.0).filter(|deviation| (0.0..100.0).contains(deviation)) {
                    return Ok(Self::Normal(deviation, center.unwrap_or(0.5)));
                }
            }
            _ => {}
        }
        let what = "expected random, zipf with an exponent from 0 to 10, pareto with a power above 0 and below 1, normal with \
                    a deviation from 0 to below 100, each of them with a centre from 0 to 1 behind it where one is set, as \
                    in zipf:1.2:0.25, or zoned:60/10:40/90, zoned_abs:60/20G:40/100G";
        Err(entry.wrong(format!("{} = {value} cannot work: {what}", entry.key)))
    }

    /// Draws from `blocks` places with `block` bytes each, for requests in one direction; `None` if all are alike.
    pub(super) fn places(&self, direction: usize, blocks: u64, block: u64, random: &mut Random) -> Option<Skew> {
        let at = |center: f64| ((blocks as f64 * center) as u64).min(blocks - 1);
        Some(match self {
            Self::Uniform => return None,
            Self::Zipf(theta, center) => Skew {
                is_spread: true,
                blocks,
                middle: center.map_or_else(|| random.below(blocks), at),
                draw: Draw::Zipf(Zipf::new(blocks, *theta)),
            },
            Self::Pareto(power, center) => Skew {
                is_spread: true,
                blocks,
                middle: center.map_or_else(|| random.below(blocks), at),
                // A share h of the places gets 1 - h of the requests, and so again inside that share (Gray et al.,
                // "Quickly generating billion-record synthetic databases", SIGMOD 1994, "self-similar").
                draw: Draw::Pareto(libm::log(*power) / libm::log(1.0 - power)),
            },
            Self::Normal(deviation, center) => {
                let width = libm::ceil(blocks as f64 * deviation / 100.0).min(blocks as f64 / 2.0);
                let middle = (blocks as f64 * (center - 0.5)) as i64;
                let middle = middle.rem_euclid(blocks as i64) as u64;
                Skew { blocks, middle, is_spread: true, draw: Draw::Normal(width) }
            }
            Self::Zoned(zones) => {
                let draw = Draw::Zoned(bounds(&zones[direction], blocks, block));
                Skew { blocks, middle: 0, is_spread: true, draw }
            }
        })
    }
}

/// `access/size:access/size`, for reads, writes and trims; parts without a share split the rest evenly.
fn zones(entry: &Entry<'_>, text: &str, (is_absolute, base): (bool, KbBase)) -> Result<[Vec<Zone>; 3], Malformed> {
    let within = Entry { value: Some(text), ..*entry };
    let mut all: [Vec<Zone>; 3] = Default::default();
    let mut last = Vec::new();
    for (zones, part) in all.iter_mut().zip(by_direction(&within)?) {
        if let Some(part) = part {
            last = zones_of(entry, part, (is_absolute, base))?;
        }
        *zones = last.clone();
    }
    Ok(all)
}

fn zones_of(entry: &Entry<'_>, text: &str, (is_absolute, base): (bool, KbBase)) -> Result<Vec<Zone>, Malformed> {
    let wrong = |what: &str| entry.wrong(format!("{} = {text} cannot work: {what}", entry.key));
    let percent = |text: &str| match text.trim() {
        "" => Ok(None),
        text => {
            let number = text.parse::<u64>().ok().filter(|&number| number <= 100);
            number
                .map(Some)
                .ok_or_else(|| wrong("expected shares of the requests and of the places, such as 60/10:40/90"))
        }
    };
    let mut parts = Vec::new();
    for one in text.split(':') {
        let (share, size) = one.split_once('/').unwrap_or((one, ""));
        let size = match size.trim() {
            "" if is_absolute => return Err(wrong("each zone has a size, such as 60/20G")),
            size if is_absolute => match amount(entry, size, base)? {
                Amount::Zones(_) => return Err(wrong("its sizes are bytes, and not zones of the device")),
                size => Some(size),
            },
            size => percent(size)?.map(Amount::Percent),
        };
        parts.push((percent(share)?, size));
    }
    if parts.len() > MAX_ZONES {
        return Err(wrong("there are 256 zones at most"));
    }
    let shares: Vec<_> = parts.iter().map(|part| part.0).collect();
    let extents: Vec<_> = parts.iter().map(|part| part.1).map(|size| percent_of(size.as_ref())).collect();
    let shares = filled(&shares).ok_or_else(|| wrong("the shares of the requests sum to 100"))?;
    let extents = if is_absolute { Some(vec![0; parts.len()]) } else { filled(&extents) };
    let extents = extents.ok_or_else(|| wrong("the shares of the places sum to 100"))?;
    let zone = |((share, extent), given): ((u64, u64), Option<Amount>)| Zone {
        share,
        extent: given.filter(|_| is_absolute).unwrap_or(Amount::Percent(extent)),
    };
    Ok(shares.into_iter().zip(extents).zip(parts.iter().map(|part| part.1)).map(zone).collect())
}

fn percent_of(size: Option<&Amount>) -> Option<u64> {
    size.and_then(|size| if let Amount::Percent(percent) = size { Some(*percent) } else { None })
}

/// Shares with sum 100; open ones split the rest. `None` if the sum is not 100.
fn filled(shares: &[Option<u64>]) -> Option<Vec<u64>> {
    let given: u64 = shares.iter().flatten().sum();
    let open = shares.iter().filter(|share| share.is_none()).count() as u64;
    if given > 100 || open == 0 && given < 100 {
        return None;
    }
    let rest = (100 - given).checked_div(open).unwrap_or(0);
    Some(shares.iter().map(|share| share.unwrap_or(rest)).collect())
}

/// For each zone: the bound in 100 draws, its first block, and the first block behind it.
fn bounds(zones: &[Zone], blocks: u64, block: u64) -> Vec<(u64, u64, u64)> {
    let (mut share, mut percent, mut start) = (0, 0, 0u64);
    let bound = |zone: &Zone| {
        share += zone.share;
        let first = start;
        start = match zone.extent {
            Amount::Bytes(bytes) => start.saturating_add(bytes / block),
            Amount::Zones(_) => unreachable!("a distribution in zones was refused"),
            Amount::Percent(part) => {
                percent += part;
                (u128::from(blocks) * u128::from(percent) / 100) as u64
            }
        };
        // A zone smaller than a block gets one block; a zone behind the end gets the last one.
        let first = first.min(blocks - 1);
        (share, first, start.clamp(first + 1, blocks))
    };
    zones.iter().map(bound).collect()
}

/// Draws places.
#[derive(Debug)]
pub(super) struct Skew {
    blocks: u64,
    /// The first rank's place.
    middle: u64,
    /// Whether neighbouring ranks lie far apart.
    is_spread: bool,
    draw: Draw,
}

#[derive(Debug)]
enum Draw {
    Zipf(Zipf),
    /// Exponent for a uniform draw.
    Pareto(f64),
    /// Width for the uniform part.
    Normal(f64),
    Zoned(Vec<(u64, u64, u64)>),
}

/// Draws whose mean stands for a normal one.
const DRAWS: u32 = 12;

/// 2^64 times the golden ratio's smaller part: neighbouring ranks lie far apart (Knuth, The Art of Computer Programming
/// 3, section 6.4). fio spreads ranks so; unless the place count is a power of two, some share a place.
const GOLDEN: u64 = 0x61C8_8646_80B5_83EB;

impl Skew {
    pub(super) fn is_zoned(&self) -> bool {
        matches!(self.draw, Draw::Zoned(_))
    }

    /// The same with neighbouring ranks side by side.
    pub(super) fn in_order(self) -> Self {
        Self { is_spread: false, ..self }
    }

    pub(super) fn draw(&self, random: &mut Random) -> u64 {
        let blocks = self.blocks as f64;
        let rank = match &self.draw {
            Draw::Zipf(zipf) => zipf.draw(self.blocks, random),
            Draw::Pareto(power) => ((blocks - 1.0) * libm::pow(random.unit(), *power)) as u64,
            Draw::Normal(width) => {
                // fio 3.33: the mean of 12 places, moved by a uniform draw as wide as the deviation.
                let mean = (0..DRAWS).map(|_| random.unit()).sum::<f64>() / f64::from(DRAWS) * blocks;
                let moved = mean + (random.unit() - 0.5) * width;
                (moved.max(0.0) as u64).min(self.blocks - 1)
            }
            Draw::Zoned(zones) => {
                let drawn = random.below(100);
                let &(_, first, end) = zones.iter().find(|zone| drawn < zone.0).expect("shares sum to 100");
                return first + random.below(end - first);
            }
        };
        let spread = if self.is_spread { rank.wrapping_mul(GOLDEN) } else { rank };
        (spread % self.blocks + self.middle) % self.blocks
    }
}

/// Ranks by Zipf, in the approximation that fio draws from: the two first ranks are exact, and a power stands for the sum of
/// the others (Gray et al. as above). It gives popular ranks some per cent more than the distribution does.
#[derive(Debug)]
struct Zipf {
    theta: f64,
    /// The sum of 1 / k^theta over all ranks.
    sum: f64,
    eta: f64,
}

/// Ranks at most whose sum fio takes.
const MOST_SUMMED: u64 = 10_000_000;
/// Ranks that are summed one by one; an integral stands for the others.
const SUMMED: u64 = 4096;

impl Zipf {
    fn new(ranks: u64, theta: f64) -> Self {
        // At 1, where fio refuses, the power has no exponent.
        let theta = if (theta - 1.0).abs() < 1e-6 { 1.0 + 1e-6 } else { theta };
        let term = |k: u64| libm::pow(k as f64, -theta);
        let last = ranks.min(MOST_SUMMED);
        let mut sum: f64 = (1..=last.min(SUMMED)).map(term).sum();
        if last > SUMMED {
            let below = |x: f64| libm::pow(x, 1.0 - theta) / (1.0 - theta);
            sum += below(last as f64 + 0.5) - below(SUMMED as f64 + 0.5);
        }
        let eta = (1.0 - libm::pow(2.0 / ranks as f64, 1.0 - theta)) / (1.0 - (1.0 + term(2)) / sum);
        Self { theta, sum, eta }
    }

    fn draw(&self, ranks: u64, random: &mut Random) -> u64 {
        let drawn = random.unit();
        let reached = drawn * self.sum;
        if reached < 1.0 || ranks < 3 {
            return u64::from(reached >= 1.0);
        }
        if reached < 1.0 + libm::pow(0.5, self.theta) {
            return 1;
        }
        let share = libm::pow(self.eta * drawn - self.eta + 1.0, 1.0 / (1.0 - self.theta));
        (ranks as f64 * share) as u64
    }
}

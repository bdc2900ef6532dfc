//! Scripts: the steps a firmware is asked to take, and the power cuts.

use super::file_step::{FileStep, Tree};
use nandlab_nand::power_cut::CutPlan;
use nandlab_nand::random::Random;
use std::fmt;

/// One step. Sectors count modulo the firmware's sectors. A block firmware takes no step on files, and a file firmware
/// neither writes nor trims sectors. `python/nandlab/firmware/case` plays the same steps in C.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// `w7`: writes a sector.
    Write(u32),
    /// `t7`: trims a sector.
    Trim(u32),
    /// `s`: syncs.
    Sync,
    /// `m`: power off and on between two operations, then a mount.
    Mount,
    /// A step on files.
    File(FileStep),
}

/// A device fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// `bad:3`: a block is bad from the factory.
    Bad(u32),
    /// `fail_program:9`: the ninth program fails.
    Program(u64),
    /// `fail_erase:2`: the second erase fails.
    Erase(u64),
}

/// Faults, steps and cuts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Script {
    /// In force from the start.
    pub faults: Vec<Fault>,
    /// In order.
    pub steps: Vec<Step>,
    /// The first cut counts from the start, each further one from the cut before.
    pub cuts: Vec<CutPlan>,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(sector) => write!(f, "w{sector}"),
            Self::Trim(sector) => write!(f, "t{sector}"),
            Self::Sync => write!(f, "s"),
            Self::Mount => write!(f, "m"),
            Self::File(step) => write!(f, "{step}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bad(block) => write!(f, "bad:{block}"),
            Self::Program(nth) => write!(f, "fail_program:{nth}"),
            Self::Erase(nth) => write!(f, "fail_erase:{nth}"),
        }
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults = self.faults.iter().map(ToString::to_string);
        let steps = self.steps.iter().map(ToString::to_string);
        let cuts = self.cuts.iter().map(ToString::to_string);
        f.write_str(&faults.chain(steps).chain(cuts).collect::<Vec<_>>().join(" "))
    }
}

impl Script {
    /// The script in a text.
    ///
    /// # Errors
    /// The wrong word, and the possible steps.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut script = Self::default();
        for word in text.split_whitespace() {
            if word.starts_with("cut") {
                script.cuts.push(word.parse().map_err(|error| format!("{error}"))?);
            } else if let Some(fault) = fault(word) {
                script.faults.push(fault);
            } else if let Some(step) = step(word) {
                script.steps.push(step);
            } else {
                return Err(format!(
                    "\"{word}\" is no step: write w7, t7, s, m, bad:3, fail_program:9, fail_erase:2 or cut:9:torn_page; on \
                     files put:a:200, append:a:20, truncate:a:9, move:a:d/b, remove:a or mkdir:d"
                ));
            }
        }
        Ok(script)
    }

    /// Whether a firmware with files, or one with sectors, can take every step.
    pub(super) fn fits(&self, files: bool) -> bool {
        self.steps.iter().all(|step| match step {
            Step::Write(_) | Step::Trim(_) => !files,
            Step::File(_) => files,
            Step::Sync | Step::Mount => true,
        })
    }

    /// A script with this number of steps: a few sectors are written often, all others now and then.
    pub fn drawn(seed: u64, steps: usize, faults: bool, files: bool) -> Self {
        let mut random = Random::new(seed);
        let mut script = Self::default();
        if faults {
            script.faults = match seed % 3 {
                0 => vec![Fault::Bad(1 + random.below(4) as u32)],
                1 => vec![Fault::Program(1 + random.below(steps as u64 / 2 + 1))],
                _ => vec![Fault::Erase(1 + random.below(6))],
            };
        }
        let mut tree = Tree::default();
        let mut draw = || {
            if files {
                return match random.below(20) {
                    0..16 => Step::File(FileStep::drawn(&mut random, &mut tree)),
                    16..19 => Step::Sync,
                    _ => Step::Mount,
                };
            }
            let hot = random.chance(0.5);
            let sector = random.below(if hot { 5 } else { 64 }) as u32;
            match random.below(20) {
                0..14 => Step::Write(sector),
                14..16 => Step::Trim(sector),
                16..19 => Step::Sync,
                _ => Step::Mount,
            }
        };
        script.steps = (0..steps).map(|_| draw()).collect();
        script
    }
}

fn step(word: &str) -> Option<Step> {
    match word {
        "s" => return Some(Step::Sync),
        "m" => return Some(Step::Mount),
        _ => {}
    }
    if let Some(step) = FileStep::parse(word) {
        return Some(Step::File(step));
    }
    let (kind, number) = word.split_at_checked(1)?;
    let sector = number.parse().ok()?;
    match kind {
        "w" => Some(Step::Write(sector)),
        "t" => Some(Step::Trim(sector)),
        _ => None,
    }
}

fn fault(word: &str) -> Option<Fault> {
    let (kind, number) = word.split_once(':')?;
    match kind {
        "bad" => number.parse().ok().map(Fault::Bad),
        "fail_program" => number.parse().ok().filter(|&nth| nth > 0).map(Fault::Program),
        "fail_erase" => number.parse().ok().filter(|&nth| nth > 0).map(Fault::Erase),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_round_trips_through_its_text() {
        let text = "bad:3 fail_program:9 fail_erase:2 w2 t3 s m w7 cut:9:torn_page cut:1:clean";
        assert_eq!(Script::parse(text).unwrap().to_string(), text);
        for seed in 0..9 {
            let drawn = Script::drawn(seed, 40, true, seed % 2 == 0);
            assert_eq!(Script::parse(&drawn.to_string()), Ok(drawn));
        }
        for wrong in ["x", "w", "w-1", "bad:x", "fail_erase:0", "ww2", "é"] {
            assert!(Script::parse(wrong).unwrap_err().contains("is no step"), "{wrong}");
        }
        assert!(Script::parse("cut:3:half").unwrap_err().contains("torn_page"));
    }
}

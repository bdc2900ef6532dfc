//! What is proven: an FTL with one of its sets of options.

use nandlab_ftl::{Ftl, FtlConfig, Visitor};
use std::fmt;
use std::str::FromStr;

/// An FTL with a set of options; written `page` with the default ones, else `page:spare`.
#[derive(Clone, PartialEq, Debug)]
pub struct Subject {
    /// The FTL and its options.
    pub config: FtlConfig,
    /// The name of the options.
    pub variant: &'static str,
    /// Whether a fault or a cut may leave a sound device no room for a write.
    pub is_tight: bool,
}

/// Every FTL on the list, each with all its sets of options, the default ones first.
pub fn subjects() -> Vec<Vec<Subject>> {
    let subject = |variant: nandlab_ftl::Variant<FtlConfig>| Subject {
        config: variant.config,
        variant: variant.name,
        is_tight: variant.is_tight,
    };
    FtlConfig::all().iter().map(|ftl| ftl.variants().into_iter().map(subject).collect()).collect()
}

impl Subject {
    /// The name of the FTL.
    pub fn ftl(&self) -> &'static str {
        self.config.name()
    }

    /// Whether the options are the default ones.
    pub fn is_default(&self) -> bool {
        self.variant == DEFAULT
    }

    /// Whether trims survive a cut after a flush.
    pub fn keeps_trims(&self) -> bool {
        self.config.dispatch(KeepsTrims)
    }
}

const DEFAULT: &str = "default";

struct KeepsTrims;

impl Visitor for KeepsTrims {
    type Out = bool;

    fn visit<F: Ftl>(self, config: &F::Config) -> bool {
        F::keeps_trims(config)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.variant {
            DEFAULT => f.pad(self.ftl()),
            variant => f.pad(&format!("{}:{variant}", self.ftl())),
        }
    }
}

impl FromStr for Subject {
    type Err = String;

    /// Finds a subject by its name.
    fn from_str(text: &str) -> Result<Self, String> {
        let all: Vec<Subject> = subjects().into_iter().flatten().collect();
        let names = || all.iter().map(Subject::to_string).collect::<Vec<_>>().join(", ");
        let found = all.iter().find(|subject| subject.to_string() == text).cloned();
        found.ok_or_else(|| format!("there is no FTL {text}; there are {}", names()))
    }
}

/// The subject of the run with this number: the default options in every second one, the others in turn.
pub fn in_turn(subjects: &[Subject], number: u64) -> &Subject {
    let others = subjects.len() as u64 - 1;
    if number % 2 == 0 || others == 0 {
        return &subjects[0];
    }
    &subjects[1 + (number / 2 % others) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_of_their_own_and_find_their_subject() {
        for subject in subjects().into_iter().flatten() {
            assert_eq!(subject.to_string().parse(), Ok(subject.clone()));
            assert!(subject.variant.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{subject}");
        }
        assert!("page:no_such".parse::<Subject>().unwrap_err().contains("page:spare"));
    }

    #[test]
    fn every_set_of_options_has_its_turn_and_differs_from_the_default() {
        for ftl in subjects() {
            let runs = 2 * ftl.len() as u64;
            for subject in &ftl {
                assert!((0..runs).any(|number| in_turn(&ftl, number) == subject), "{subject}");
                assert_eq!(subject.config == ftl[0].config, subject.is_default(), "{subject}");
            }
        }
    }
}

//! The proof subjects: an FTL with one option set.

use nandlab_ftl::{Events, FtlConfig, Variant};
use std::fmt;
use std::panic::resume_unwind;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// An FTL with an option set; written `page` with the default ones, else `page:spare`.
#[derive(Clone, PartialEq, Debug)]
pub struct Subject {
    /// The FTL and its options.
    pub config: FtlConfig,
    /// The option set's name.
    pub variant: &'static str,
    /// Whether a fault or a cut may leave a sound device no room for a write.
    pub is_tight: bool,
}

/// Every FTL on the list, each with all its option sets, the default one first; with `NANDLAB_FTL=page,bast` only
/// these, for work on them.
pub fn subjects() -> Vec<Vec<Subject>> {
    let only = std::env::var("NANDLAB_FTL").ok();
    let is_asked = |ftl: &str| only.as_ref().is_none_or(|only| only.split(',').any(|name| name == ftl));
    every_subject().into_iter().filter(|ftl| is_asked(ftl[0].ftl())).collect()
}

/// Every FTL on the list, whatever `NANDLAB_FTL` asks for.
pub fn every_subject() -> Vec<Vec<Subject>> {
    let subject = |variant: Variant<FtlConfig>| Subject {
        config: variant.config,
        variant: variant.name,
        is_tight: variant.is_tight,
    };
    FtlConfig::all().iter().map(|ftl| ftl.variants().into_iter().map(subject).collect()).collect()
}

impl Subject {
    /// The FTL's name.
    pub fn ftl(&self) -> &'static str {
        self.config.name()
    }

    /// Whether the FTL's map is paged.
    pub fn pages_map(&self) -> bool {
        self.config.paged_variant().is_some()
    }

    /// Whether the FTL's map is paged, and its runs with these options must page much.
    pub fn pages_most(&self) -> bool {
        self.config.paged_variant() == Some(self.variant)
    }

    /// Whether the options are the default ones.
    pub fn is_default(&self) -> bool {
        self.variant == DEFAULT
    }
}

const DEFAULT: &str = "default";

/// Least paging counts required from one option set for each FTL with a paged map; for moved pages a tenth.
const LEAST_PAGED: u64 = 9_000;

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
        let all: Vec<Subject> = every_subject().into_iter().flatten().collect();
        let names = || all.iter().map(Subject::to_string).collect::<Vec<_>>().join(", ");
        let found = all.iter().find(|subject| subject.to_string() == text).cloned();
        found.ok_or_else(|| format!("there is no FTL {text}; there are {}", names()))
    }
}

/// Asserts that each FTL with a paged map paged much with the option set it names: misses, evictions with changed
/// entries, and collected map blocks with moved pages. Its other option sets do not count. `events` follows the
/// subjects in order.
///
/// # Panics
/// With the FTL and its counts, if they are too low, or if it names options it does not have.
pub fn assert_pages_map(ftls: &[Vec<Subject>], events: &[Events]) {
    let mut events = events.iter();
    let mut too_little = Vec::new();
    for ftl in ftls {
        let did: Vec<(&Subject, &Events)> = ftl.iter().zip(events.by_ref()).collect();
        if !ftl[0].pages_map() {
            continue;
        }
        let most = did.iter().find(|(subject, _)| subject.pages_most());
        let (subject, events) = most.unwrap_or_else(|| panic!("{}: it has no such options", ftl[0]));
        let Events { map_misses, map_dirty_evictions, map_gc_runs, map_gc_copies, .. } = **events;
        let did = format!(
            "{subject}: {map_misses} misses, {map_dirty_evictions} evictions of changed entries, {map_gc_runs} blocks of the \
             map collected, {map_gc_copies} map pages moved"
        );
        println!("{did}");
        let much = [map_misses, map_dirty_evictions, map_gc_runs].iter().all(|&count| count >= LEAST_PAGED);
        if !much || map_gc_copies < LEAST_PAGED / 10 {
            too_little.push(did);
        }
    }
    assert!(too_little.is_empty(), "too little paging: {too_little:#?}");
}

/// The subject for this run number: the default options in every second one, the others in turn.
pub fn in_turn(subjects: &[Subject], number: u64) -> &Subject {
    let others = subjects.len() as u64 - 1;
    if number % 2 == 0 || others == 0 {
        return &subjects[0];
    }
    &subjects[1 + (number / 2 % others) as usize]
}

/// Runs `prove` for every item on all cores; the results are in item order.
///
/// # Panics
/// As `prove`.
pub fn on_all_cores<T: Sync, R: Send>(items: &[T], prove: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((at, item)) = Some(next.fetch_add(1, Relaxed)).and_then(|at| Some((at, items.get(at)?))) {
            done.push((at, prove(item)));
        }
        done
    };
    let mut results = std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let done = workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        done.collect::<Vec<_>>()
    });
    results.sort_by_key(|&(at, _)| at);
    results.into_iter().map(|(_, result)| result).collect()
}

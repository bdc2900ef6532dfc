//! Keys of former versions, and where their values stand now.
//!
//! Options of one choice once stood beside the choice, as in `victim = "d_choices"` with `choices = 5`. They are part of it
//! now: `victim = { d_choices = { choices = 5 } }`. An experiment with a former key is refused with the new spelling. An
//! image keeps the experiment that it was made from, so its header is renewed where it is read.

use serde_json::{Map, Value};

/// A key that is gone.
struct Former {
    ftl: &'static str,
    key: &'static str,
    /// Where the value stands now: an option, a choice, an option of it, and so on.
    places: &'static [&'static [&'static str]],
    /// Whether a number above 0 makes the choice; else it must have been chosen.
    chooses: bool,
}

const fn part_of(ftl: &'static str, key: &'static str, places: &'static [&'static [&'static str]]) -> Former {
    Former { ftl, key, places, chooses: false }
}

const fn choosing(ftl: &'static str, key: &'static str, places: &'static [&'static [&'static str]]) -> Former {
    Former { ftl, key, places, chooses: true }
}

/// A key stands behind those that its place depends on.
const FORMER: [Former; 23] = [
    part_of("page", "stripe_pages", &[&["stripe", "dies", "pages"]]),
    part_of("page", "choices", &[&["victim", "d_choices", "choices"]]),
    part_of("page", "window", &[&["victim", "windowed_greedy", "window"]]),
    part_of("page", "streams", &[&["placement", "origin", "streams"]]),
    part_of("page", "regions", &[&["placement", "dac", "regions"]]),
    part_of("page", "pool_pages", &[&["placement", "pools", "pages"]]),
    part_of("page", "pool_blocks", &[&["placement", "pools", "blocks"]]),
    part_of(
        "page",
        "wear_threshold",
        &[&["wear", "threshold", "erases"], &["wear", "bet", "erases"], &["wear", "dual_pool", "erases"]],
    ),
    part_of("page", "wear_set", &[&["wear", "bet", "set_blocks"]]),
    choosing("page", "idle_blocks", &[&["idle", "collect", "blocks"]]),
    part_of(
        "page",
        "idle_after_us",
        &[
            &["idle", "collect", "after_us"],
            &["slc_cache", "fixed", "idle_after_us"],
            &["slc_cache", "dynamic", "idle_after_us"],
        ],
    ),
    part_of("page", "slc_blocks", &[&["slc_cache", "fixed", "blocks"]]),
    part_of("page", "slc_full", &[&["slc_cache", "fixed", "full"], &["slc_cache", "dynamic", "full"]]),
    part_of("dftl", "choices", &[&["victim", "d_choices", "choices"]]),
    part_of("dftl", "window", &[&["victim", "windowed_greedy", "window"]]),
    part_of("migration", "limit", &[&["recycling", "limit", "migrations"]]),
    part_of("migration", "alpha_fit", &[&["recycling", "macro", "alpha"]]),
    part_of("migration", "alpha_window", &[&["recycling", "macro", "alpha", "least_squares", "window"]]),
    part_of("migration", "alpha_scope", &[&["recycling", "macro", "alpha", "least_squares", "scope"]]),
    part_of("migration", "patience", &[&["recycling", "adaptive", "patience"]]),
    part_of("migration", "erase_copies", &[&["recycling", "adaptive", "erase_copies"]]),
    choosing("migration", "log_recyclings", &[&["kept_recyclings", "latest", "count"]]),
    part_of("migration", "log_recyclings_of", &[&["kept_recyclings", "latest", "of"]]),
];

/// Where the options of `ftl` stand that once had `key`, such as `victim.d_choices.choices`; empty if there was no such key.
pub fn places_of(ftl: &str, key: &str) -> Vec<String> {
    let former = FORMER.iter().find(|former| (former.ftl, former.key) == (ftl, key));
    former.map_or_else(Vec::new, |former| former.places.iter().map(|place| place.join(".")).collect())
}

/// Every former key of `ftl`.
pub fn keys_of(ftl: &str) -> Vec<&'static str> {
    FORMER.iter().filter(|former| former.ftl == ftl).map(|former| former.key).collect()
}

/// Puts the values of former keys in `options` of `ftl` where they stand now; drops those that nothing read.
pub fn renew(ftl: &str, options: &mut Map<String, Value>) {
    for former in FORMER.iter().filter(|former| former.ftl == ftl) {
        let Some(value) = options.remove(former.key) else { continue };
        for place in former.places {
            if former.chooses && value.as_u64() > Some(0) {
                choose(options, place);
            }
            put(options, place, &value);
        }
    }
}

/// Makes the tables down to the last key of `place`.
fn choose(options: &mut Map<String, Value>, place: &[&str]) {
    if let [key, below @ ..] = place {
        if below.is_empty() {
            return;
        }
        let table = options.entry(*key).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(table) = table {
            choose(table, below);
        }
    }
}

/// Puts `value` at `place`, if the choices on the way are made.
fn put(options: &mut Map<String, Value>, place: &[&str], value: &Value) {
    match place {
        [] => {}
        [key] => {
            options.insert((*key).to_owned(), value.clone());
        }
        [key, below @ ..] => {
            let Some(inner) = options.get_mut(*key) else { return };
            // A name alone is the choice with its defaults.
            if inner.as_str() == below.first().copied() {
                *inner = Value::Object(Map::from_iter([(below[0].to_owned(), Value::Object(Map::new()))]));
            }
            if let Value::Object(table) = inner {
                put(table, below, value);
            }
        }
    }
}

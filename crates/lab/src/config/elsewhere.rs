//! Where a key stands that is unknown in its table: one table further in, or one further out.

use super::reader::{Fault, Reader};
use super::Table;
use nandlab_nand::profile::Profile;
use serde::de::DeserializeOwned;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The keys of a profile, which an experiment overrides in its device.
#[derive(Deserialize)]
#[allow(dead_code)] // only its keys count
struct Overrides {
    device: Profile,
}

/// A name that no table has, so that what takes it takes any.
const NO_KEY: &str = "\u{1}";

/// Full paths of `key` beside the table at `path`, whose keys are `known`: in one of its tables, or in the table that it is in.
///
/// `T` is what the text is read as from `base` on.
pub(super) fn elsewhere<T: DeserializeOwned>(base: &str, path: &str, known: &[&str], value: &Value) -> Vec<String> {
    let steps: Vec<&str> = path.split('.').collect();
    let Some((key, table)) = steps.split_last() else { return Vec::new() };
    let inner = known.iter().map(|name| [table, &[*name, *key]].concat());
    let outer = table.split_last().map(|(_, outer)| [outer, &[*key]].concat());
    let depth = base.split('.').filter(|step| !step.is_empty()).count();
    let is_there = |steps: &Vec<&str>| {
        let own = steps.get(depth..).filter(|own| !own.is_empty());
        own.is_some_and(|own| takes::<T>(own, value))
            || takes::<Table>(steps, value)
            || takes::<Overrides>(steps, value)
    };
    inner.chain(outer).filter(is_there).map(|steps| steps.join(".")).collect()
}

/// Whether `T` has a key of its own at `steps`, whatever it makes of the value.
fn takes<T: DeserializeOwned>(steps: &[&str], value: &Value) -> bool {
    let Some((key, tables)) = steps.split_last() else { return false };
    let has = |key: &str| {
        let nest = |inner: Value, name: &&str| Value::Object(Map::from_iter([((*name).to_owned(), inner)]));
        let text = std::iter::once(&key).chain(tables.iter().rev()).fold(value.clone(), nest);
        T::deserialize(Reader(&text)).map_or_else(|wrong| wrong.fault(tables, key) == Fault::Elsewhere, |_| true)
    };
    has(key) && !has(NO_KEY)
}

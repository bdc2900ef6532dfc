//! The index tests, in one executable.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

mod cuts;
mod lsm;
mod pool;
mod theory;
mod tree;
mod volatile;
mod zoned;

use std::collections::BTreeMap;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// A record under a cursor, its key and value.
type Record = (Vec<u8>, Vec<u8>);

/// All records under a cursor; their keys must ascend.
fn ascending(mut next: impl FnMut() -> Option<Record>) -> Map {
    let mut map = Map::new();
    while let Some((key, value)) = next() {
        assert!(map.last_key_value().is_none_or(|(last, _)| *last < key), "keys ascend");
        map.insert(key, value);
    }
    map
}

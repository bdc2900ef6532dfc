//! Operations under way by their names.

use crate::slots::SlotTable;
use crate::time::Time;

/// Operations by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(SlotTable<Time>);

impl Names {
    /// Names the operation `op` by the first free time from `estimate` on.
    pub(super) fn name(&mut self, estimate: Time, op: u32) -> Time {
        let mut name = estimate;
        while !self.0.insert_new(name, op) {
            name += 1;
        }
        name
    }

    #[inline]
    pub(super) fn get(&self, name: Time) -> Option<u32> {
        self.0.get(name)
    }

    /// Forgets a name.
    #[inline]
    pub(super) fn remove(&mut self, name: Time) {
        self.0.remove(name);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use std::collections::BTreeMap;

    #[test]
    fn a_name_in_use_is_not_given_again() {
        let mut names = Names::default();
        assert_eq!([1, 2, 3].map(|op| names.name(70, op)), [70, 71, 72]);
        names.remove(71);
        assert_eq!((names.get(71), names.get(72)), (None, Some(3)));
        assert_eq!(names.name(69, 4), 69);
        assert_eq!(names.name(70, 5), 71);
        [69, 70, 71, 72].into_iter().for_each(|name| names.remove(name));
        assert!(names.is_empty());
    }

    #[test]
    fn it_holds_what_a_map_holds() {
        let (mut random, mut names, mut map) = (Random::new(3), Names::default(), BTreeMap::new());
        for round in 0..20_000 {
            let most = if round % 4_000 < 2_000 { 500 } else { 40 };
            let name = random.below(most);
            if random.below(2) == 0 {
                let free = (name..).find(|name| !map.contains_key(name)).unwrap();
                assert_eq!(names.name(name, round), free);
                map.insert(free, round);
            } else {
                names.remove(name);
                map.remove(&name);
            }
            let asked = random.below(600);
            assert_eq!((names.get(asked), names.is_empty()), (map.get(&asked).copied(), map.is_empty()));
        }
    }
}

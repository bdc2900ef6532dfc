//! Operations under way by their names.
//!
//! A table with open addressing: an entry lies in the first free slot from its home on. Nobody goes through the entries, so
//! their order decides nothing.

use crate::time::Time;

/// Operations by name.
#[derive(Clone, Debug)]
pub(super) struct Names {
    /// A power of two, at most half in use.
    slots: Vec<Slot>,
    count: usize,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    name: Time,
    op: u32,
}

/// No operation.
const FREE: u32 = u32::MAX;

impl Default for Names {
    fn default() -> Self {
        Self::with_slots(64)
    }
}

impl Names {
    fn with_slots(slots: usize) -> Self {
        Self { slots: vec![Slot { name: 0, op: FREE }; slots], count: 0 }
    }

    /// The search for a name begins here. The golden ratio spreads times close together.
    #[inline]
    fn home(&self, name: Time) -> usize {
        (name.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - self.slots.len().ilog2())) as usize
    }

    #[inline]
    fn after(&self, place: usize) -> usize {
        (place + 1) & (self.slots.len() - 1)
    }

    /// The slot with the name, or the free one for it.
    #[inline]
    fn place(&self, name: Time) -> usize {
        let mut place = self.home(name);
        while self.slots[place].op != FREE && self.slots[place].name != name {
            place = self.after(place);
        }
        place
    }

    /// Names the operation `op` by the first free time from `estimate` on.
    pub(super) fn name(&mut self, estimate: Time, op: u32) -> Time {
        if 2 * self.count >= self.slots.len() {
            self.grow();
        }
        let mut name = estimate;
        loop {
            let place = self.place(name);
            if self.slots[place].op == FREE {
                self.slots[place] = Slot { name, op };
                self.count += 1;
                return name;
            }
            name += 1;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let larger = Self::with_slots(2 * self.slots.len());
        for slot in std::mem::replace(self, larger).slots.into_iter().filter(|slot| slot.op != FREE) {
            self.name(slot.name, slot.op);
        }
    }

    pub(super) fn get(&self, name: Time) -> Option<u32> {
        Some(self.slots[self.place(name)].op).filter(|&op| op != FREE)
    }

    /// Forgets a name. The entries behind move up, so no search for them ends at the free slot.
    pub(super) fn remove(&mut self, name: Time) {
        let mut free = self.place(name);
        if self.slots[free].op == FREE {
            return;
        }
        self.count -= 1;
        let mut next = self.after(free);
        while self.slots[next].op != FREE {
            let from_home = next.wrapping_sub(self.home(self.slots[next].name)) & (self.slots.len() - 1);
            if from_home >= next.wrapping_sub(free) & (self.slots.len() - 1) {
                self.slots[free] = self.slots[next];
                free = next;
            }
            next = self.after(next);
        }
        self.slots[free].op = FREE;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
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
            assert_eq!((names.get(asked), names.count), (map.get(&asked).copied(), map.len()));
        }
    }
}

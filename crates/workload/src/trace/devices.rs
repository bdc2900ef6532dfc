//! A trace's devices, numbered as they occur.

use std::collections::BTreeMap;

/// Most devices in a trace.
pub(crate) const MAX_DEVICES: usize = 1 << 14;

const RECENT: usize = 64;

/// The devices' names and numbers.
#[derive(Debug)]
pub(crate) struct Devices {
    names: Vec<Box<[u8]>>,
    numbers: BTreeMap<Box<[u8]>, u32>,
    /// A name's last number, by a few bytes.
    recent: [u32; RECENT],
}

impl Default for Devices {
    fn default() -> Self {
        Self { names: Vec::new(), numbers: BTreeMap::new(), recent: [0; RECENT] }
    }
}

impl Devices {
    /// The device's number; `None` if there are too many devices.
    #[inline]
    pub(crate) fn number(&mut self, name: &[u8]) -> Option<u32> {
        let first = name.first().copied().unwrap_or(0);
        let last = name.last().copied().unwrap_or(0);
        let slot = (usize::from(last) + 7 * usize::from(first) + 3 * name.len()) % RECENT;
        let number = self.recent[slot];
        // Comparing two empty names would cost more than reading a record: they lie at an unmapped address, and a
        // masked vector load from there is slow even if it loads nothing.
        let is_it = |known: &[u8]| known.len() == name.len() && (name.is_empty() || *known == *name);
        if self.names.get(number as usize).is_some_and(|known| is_it(known)) {
            return Some(number);
        }
        let number = self.look_up(name)?;
        self.recent[slot] = number;
        Some(number)
    }

    fn look_up(&mut self, name: &[u8]) -> Option<u32> {
        if let Some(&number) = self.numbers.get(name) {
            return Some(number);
        }
        if self.names.len() == MAX_DEVICES {
            return None;
        }
        let number = self.names.len() as u32;
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        Some(number)
    }

    pub(crate) fn name(&self, number: u32) -> &[u8] {
        self.names.get(number as usize).map_or(b"", |name| name)
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }
}

/// A name as it may be shown.
pub(crate) fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_as_they_occur() {
        let mut devices = Devices::default();
        let names: Vec<String> = (0..500).map(|n| format!("{}", n * 7 % 500)).collect();
        for name in names.iter().chain(names.iter().rev()) {
            let number = devices.number(name.as_bytes()).unwrap();
            assert_eq!(devices.name(number), name.as_bytes());
        }
        assert_eq!(devices.len(), 500);
        assert_eq!(devices.number(b"7"), Some(1));
        for number in 500..MAX_DEVICES {
            assert_eq!(devices.number(format!("more {number}").as_bytes()), Some(number as u32));
        }
        assert_eq!(devices.number(b"one more"), None);
    }
}

use std::collections::BTreeMap;

/// Firmware memory in bytes, by structure.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RamUse {
    /// Fast memory on the controller.
    pub sram: BTreeMap<&'static str, u64>,
    /// Memory beside it.
    pub dram: BTreeMap<&'static str, u64>,
}

impl RamUse {
    /// Bytes in all.
    pub fn total(&self) -> u64 {
        self.sram.values().chain(self.dram.values()).sum()
    }

    /// Both together; structures with the same name on both sides are one.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for (into, from) in [(&mut self.sram, other.sram), (&mut self.dram, other.dram)] {
            for (structure, bytes) in from {
                *into.entry(structure).or_default() += bytes;
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_layers_need_the_sum() {
        let ftl = RamUse { sram: [("state", 3)].into(), dram: [("map", 100)].into() };
        let buffer = RamUse { sram: [("state", 4)].into(), dram: [("pages", 1000)].into() };
        let both = ftl.and(buffer);
        assert_eq!(both.sram, [("state", 7)].into());
        assert_eq!(both.dram, [("map", 100), ("pages", 1000)].into());
        assert_eq!(both.total(), 1107);
    }
}

//! Nodes by rank; within a rank, by last use.

use super::blocks::Node;
use super::list::{Links, List};

/// One list per rank.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranked {
    links: Links,
    lists: Vec<List>,
    /// Rank and last use of each node.
    nodes: Vec<(u32, u64)>,
    now: u64,
    len: u32,
    /// Upper bound of the nonempty lists.
    highest: usize,
    /// Lower bound of the nonempty lists.
    lowest: usize,
}

impl Ranked {
    /// Bytes for `nodes` nodes with ranks below `ranks`.
    pub(crate) fn bytes(nodes: u64, ranks: u64) -> u64 {
        Links::bytes(nodes) + 12 * nodes + 12 * ranks
    }

    /// Adds a node, used now.
    #[inline]
    pub(crate) fn add(&mut self, node: Node, rank: u32) {
        if node as usize >= self.nodes.len() {
            self.nodes.resize((node as usize + 1).next_power_of_two(), (0, 0));
        }
        self.now += 1;
        self.nodes[node as usize] = (rank, self.now);
        self.make_list(rank);
        self.lists[rank as usize].push_front(&mut self.links, node);
        self.len += 1;
    }

    /// Makes room for a list of this rank.
    fn make_list(&mut self, rank: u32) {
        let rank = rank as usize;
        if rank >= self.lists.len() {
            self.lists.resize(rank + 1, List::default());
        }
        self.highest = if self.len == 0 { rank } else { self.highest.max(rank) };
        self.lowest = if self.len == 0 { rank } else { self.lowest.min(rank) };
    }

    #[inline]
    pub(crate) fn remove(&mut self, node: Node) {
        let (rank, _) = self.nodes[node as usize];
        self.lists[rank as usize].remove(&mut self.links, node);
        self.len -= 1;
    }

    #[inline]
    pub(crate) fn rank(&self, node: Node) -> u32 {
        self.nodes[node as usize].0
    }

    /// Marks a node as used now, with this rank.
    #[inline]
    pub(crate) fn used(&mut self, node: Node, rank: u32) {
        self.remove(node);
        self.add(node, rank);
    }

    /// Sets a node's rank without changing its age.
    pub(crate) fn set_rank(&mut self, node: Node, rank: u32) {
        self.remove(node);
        let used = self.nodes[node as usize].1;
        self.nodes[node as usize].0 = rank;
        self.make_list(rank);
        let nodes = &self.nodes;
        let is_newer = |other: Node| nodes[other as usize].1 > used;
        self.lists[rank as usize].insert_behind(&mut self.links, node, is_newer);
        self.len += 1;
    }

    /// The oldest node of the highest rank; there is at least one node.
    #[inline]
    pub(crate) fn highest(&mut self) -> Node {
        while self.lists[self.highest].is_empty() {
            self.highest -= 1;
        }
        self.lists[self.highest].back()
    }

    /// The oldest node of the lowest rank; there is at least one node.
    #[inline]
    pub(crate) fn lowest(&mut self) -> Node {
        while self.lists[self.lowest].is_empty() {
            self.lowest += 1;
        }
        self.lists[self.lowest].back()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandlab_nand::random::Random;

    #[test]
    fn the_extremes_are_those_of_a_search() {
        let (mut ranked, mut plain) = (Ranked::default(), Vec::<(u32, u64, Node)>::new());
        let mut random = Random::new(5);
        for now in 1..20_000 {
            let (node, rank) = (random.below(30) as Node, random.below(9) as u32);
            match (plain.iter().position(|&(_, _, other)| other == node), random.below(3)) {
                (None, _) => {
                    ranked.add(node, rank);
                    plain.push((rank, now, node));
                }
                (Some(at), 0) => {
                    ranked.remove(node);
                    plain.remove(at);
                }
                (Some(at), 1) => {
                    ranked.used(node, rank);
                    plain[at] = (rank, now, node);
                }
                (Some(at), _) => {
                    ranked.set_rank(node, rank);
                    plain[at].0 = rank;
                }
            }
            assert_eq!(ranked.is_empty(), plain.is_empty());
            if !plain.is_empty() {
                let lowest = plain.iter().min_by_key(|(rank, used, _)| (*rank, *used)).unwrap().2;
                let highest = plain.iter().min_by_key(|(rank, used, _)| (u32::MAX - *rank, *used)).unwrap().2;
                assert_eq!((ranked.lowest(), ranked.highest()), (lowest, highest));
            }
        }
    }
}

//! The maximum of numbers in a ring, in logarithmic time.

/// A number per place; 0 if the place is empty.
#[derive(Clone, Debug)]
pub(crate) struct Tournament {
    /// Each node holds the larger of its two children: the overall winner at 1, the places in the last half.
    games: Vec<u32>,
    places: usize,
}

impl Default for Tournament {
    fn default() -> Self {
        Self { games: vec![0; 2], places: 1 }
    }
}

impl Tournament {
    pub(crate) fn bytes(places: u64) -> u64 {
        places.next_power_of_two() * 8
    }

    #[inline]
    pub(crate) fn set(&mut self, place: u32, number: u32) {
        if place as usize >= self.places {
            self.grow(place as usize + 1);
        }
        let mut game = self.places + place as usize;
        self.games[game] = number;
        while game > 1 {
            game /= 2;
            let winner = self.games[2 * game].max(self.games[2 * game + 1]);
            if self.games[game] == winner {
                return;
            }
            self.games[game] = winner;
        }
    }

    #[cold]
    fn grow(&mut self, places: usize) {
        let old = self.games[self.places..].to_vec();
        self.places = places.next_power_of_two();
        self.games = vec![0; 2 * self.places];
        self.games[self.places..][..old.len()].copy_from_slice(&old);
        for game in (1..self.places).rev() {
            self.games[game] = self.games[2 * game].max(self.games[2 * game + 1]);
        }
    }

    /// The place with the largest number, the first in ring order from `hand`; `None` if all are 0.
    pub(crate) fn largest_from(&self, hand: u32) -> Option<u32> {
        let most = self.games[1];
        let from = (hand as usize).min(self.places);
        (most > 0).then(|| self.first(most, from).or_else(|| self.first(most, 0)).expect("the winner stands somewhere"))
    }

    /// The first place from `from` on with `number`, the maximum.
    fn first(&self, number: u32, from: usize) -> Option<u32> {
        if from == self.places {
            return None;
        }
        let mut game = self.places + from;
        // Climb to a subtree wholly behind `from` with this maximum, then descend to its first place.
        while self.games[game] != number {
            while game % 2 == 1 {
                game /= 2;
                if game <= 1 {
                    return None;
                }
            }
            game += 1;
        }
        while game < self.places {
            game = 2 * game + usize::from(self.games[2 * game] != number);
        }
        Some((game - self.places) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandlab_nand::random::Random;

    #[test]
    fn the_largest_is_that_of_a_search() {
        let (mut tournament, mut plain) = (Tournament::default(), Vec::new());
        let mut random = Random::new(9);
        for _ in 0..20_000 {
            let (place, number) =
                (random.below(1 + plain.len() as u64 / 2 * 3).min(40) as usize, random.below(6) as u32);
            plain.resize(plain.len().max(place + 1), 0);
            plain[place] = number;
            tournament.set(place as u32, number);
            let hand = random.below(plain.len() as u64 + 5) as usize;
            let most = *plain.iter().max().unwrap();
            let found = (hand..plain.len()).chain(0..plain.len()).find(|&place| plain[place] == most);
            let found = found.filter(|_| most > 0).map(|place| place as u32);
            assert_eq!(tournament.largest_from(hand as u32), found, "{plain:?} from {hand}");
        }
    }
}

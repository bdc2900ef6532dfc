//! A tournament: the earlier time goes on to the next round.
//!
//! Each player has at most one time. A game's winner is unpredictable, so arithmetic decides it (compilers would make a
//! branch), and the way up always has the same length.

use crate::time::Time;

/// A player's time, and a number to decide between equal times. Times are below 2^63 ns, 292 years.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Key(u128);

impl Key {
    /// No time.
    pub const NONE: Self = Self(i128::MAX as u128);

    /// `time`, before equal times with larger numbers; numbers are below 2^64.
    #[inline]
    pub fn new(time: Time, number: u64) -> Self {
        Self(u128::from(time) << u64::BITS | u128::from(number))
    }

    /// The time; [`Time::MAX`] for none.
    #[inline]
    pub fn time(self) -> Time {
        if self == Self::NONE {
            Time::MAX
        } else {
            (self.0 >> u64::BITS) as Time
        }
    }

    #[inline]
    fn number(self) -> u64 {
        self.0 as u64
    }
}

/// Players and their times.
#[derive(Clone, Debug)]
pub struct Tournament {
    /// The overall winner at 1, the games below it at 2 and 3, and so on; the last half are the players. A key's last
    /// bits are the player.
    games: Vec<Key>,
    /// Times set without a number.
    number: u64,
}

impl Tournament {
    /// No player has a time.
    pub fn new(players: u32) -> Self {
        Self { games: vec![Key::NONE; 2 * players.next_power_of_two() as usize], number: 0 }
    }

    #[inline]
    fn players(&self) -> usize {
        self.games.len() / 2
    }

    /// Sets a player's time; at equal times, the one set first comes first.
    #[inline]
    pub fn set(&mut self, player: u32, time: Time) {
        self.number += 1;
        self.set_in_order(player, time, self.number);
    }

    /// Sets a player's time; at equal times, the smallest number comes first.
    #[inline]
    pub fn set_in_order(&mut self, player: u32, time: Time, number: u64) {
        self.play(player as usize, self.key(player, time, number));
    }

    /// A key as in [`Self::set_in_order`], for times kept beside the tournament.
    #[inline]
    pub fn key(&self, player: u32, time: Time, number: u64) -> Key {
        Key::new(time, number * self.players() as u64 + u64::from(player))
    }

    /// A player has no time.
    #[inline]
    pub fn clear(&mut self, player: u32) {
        self.play(player as usize, Key::NONE);
    }

    #[inline]
    fn play(&mut self, player: usize, key: Key) {
        let mut game = self.players() + player;
        let mut winner = key.0;
        self.games[game] = key;
        while game > 1 {
            let later = self.games[game ^ 1].0.wrapping_sub(winner) as i128;
            // All ones if the other is earlier.
            let other_wins = later >> (i128::BITS - 1);
            winner = winner.wrapping_add((later & other_wins) as u128);
            game /= 2;
            self.games[game] = Key(winner);
        }
    }

    /// The earliest time.
    #[inline]
    pub fn first(&self) -> Key {
        self.games[1]
    }

    /// The player with the earliest time, if there is one.
    #[inline]
    pub fn winner(&self) -> u32 {
        (self.games[1].number() & (self.players() as u64 - 1)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn equal_times_win_in_the_order_in_which_they_were_set() {
        let mut games = Tournament::new(5);
        for (player, time) in [(4, 7), (2, 5), (1, 9), (0, 5), (3, 7), (2, 7)] {
            games.set(player, time);
        }
        let mut order = Vec::new();
        while games.first() != Key::NONE {
            order.push((games.first().time(), games.winner()));
            games.clear(games.winner());
        }
        assert_eq!(order, [(5, 0), (7, 4), (7, 3), (7, 2), (9, 1)]);
        assert_eq!(games.first().time(), Time::MAX);
    }

    #[test]
    fn the_winner_is_the_first_of_a_sorted_list() {
        let (mut random, mut games) = (Random::new(5), Tournament::new(13));
        let mut list: Vec<(Time, u32, u32)> = Vec::new();
        for number in 0..20_000 {
            let player = random.below(13) as u32;
            list.retain(|&(.., other)| other != player);
            if random.below(3) > 0 {
                list.push((random.below(40), number, player));
                games.set(player, list[list.len() - 1].0);
            } else {
                games.clear(player);
            }
            list.sort_unstable();
            let first = list.first().map_or((Time::MAX, None), |&(time, _, player)| (time, Some(player)));
            assert_eq!((games.first().time(), first.1.map(|_| games.winner())), first);
        }
    }
}

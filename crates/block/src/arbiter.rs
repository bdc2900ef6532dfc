//! Chooses the submission queue from which the controller takes its next command.
//!
//! ## Idea
//! The host writes commands into submission queues, and the controller takes them out. *Round robin* gives each queue
//! a turn: it takes up to `burst` of the commands that wait when the turn begins. A queue's priority counts for nothing.
//! *Weighted round robin* has four classes. Urgent queues go first, whatever the others wait for, and may starve them.
//! Then come high, medium and low in rounds: a class takes as many commands a round as its weight. Inside a class the
//! queues have turns of at most `burst` commands, and of no more than the class has left in this round.
//!
//! ## Differences
//! The standard leaves three things open. A turn does not grow while it lasts: commands that come later wait for the
//! next one, so that a queue cannot keep a turn without limit for ever. A class with nothing waiting gives up what it has left
//! in this round. An urgent command comes between two commands of another turn, and that turn goes on afterwards. The admin queue
//! is not there, because nothing here sends it commands.
//!
//! ## References
//! NVM Express Base Specification 2.0: command arbitration, and the arbitration feature.

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use std::fmt;

/// Options of `[host.queues]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Queues {
    /// How the controller chooses among the queues.
    pub arbitration: Arbitration,
    /// Most commands in a queue's turn: 1, 2, 4, 8, 16, 32, 64, or `"none"` for no limit.
    pub burst: Burst,
    /// Most commands that the controller works on at once; no limit without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<u32>,
}

/// How the controller chooses among submission queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arbitration {
    /// Each queue has its turn.
    #[default]
    RoundRobin,
    /// Urgent queues first, the others by the weights of their classes.
    Weighted(Weights),
}

/// Commands a round for each class, 1 to 256. The standard's weight fields hold one less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// Commands a round from queues of high priority.
    pub high: u32,
    /// Commands a round from queues of medium priority.
    pub medium: u32,
    /// Commands a round from queues of low priority.
    pub low: u32,
}

/// Most commands in a queue's turn; `None` is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst(pub Option<u32>);

impl Default for Burst {
    fn default() -> Self {
        Self(Some(1))
    }
}

impl fmt::Display for Burst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(most) => write!(f, "{most}"),
            None => f.write_str("none"),
        }
    }
}

impl schemars::JsonSchema for Burst {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Burst".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [{ "type": "integer" }, { "type": "string", "enum": ["none"] }] })
    }
}

impl Serialize for Burst {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(most) => serializer.serialize_u32(most),
            None => serializer.serialize_str("none"),
        }
    }
}

impl<'de> Deserialize<'de> for Burst {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Most;
        impl Visitor<'_> for Most {
            type Value = Burst;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of commands such as 8, or \"none\"")
            }
            fn visit_u64<E: de::Error>(self, most: u64) -> Result<Burst, E> {
                Ok(Burst(Some(u32::try_from(most).unwrap_or(u32::MAX))))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Burst, E> {
                match text {
                    "none" => Ok(Burst(None)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Most)
    }
}

/// The class of a submission queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Before all others.
    Urgent,
    /// The first weight.
    High,
    /// The second weight.
    #[default]
    Medium,
    /// The third weight.
    Low,
}

impl Queues {
    /// Most commands under way that can be asked for.
    pub const MOST_COMMANDS: u32 = 65_536;

    /// Checks the options; an error is the key below `[host.queues]`, the given value, and why it cannot work.
    ///
    /// # Errors
    /// A burst that is no power of two up to 64, a weight outside 1 to 256, and commands outside 1 to 65,536.
    pub fn check(&self) -> Result<(), (&'static str, String, &'static str)> {
        if self.burst.0.is_some_and(|most| !most.is_power_of_two() || most > 64) {
            let why = "a turn has 1, 2, 4, 8, 16, 32 or 64 commands at most, or \"none\" for no limit";
            return Err(("burst", self.burst.to_string(), why));
        }
        if let Arbitration::Weighted(Weights { high, medium, low }) = self.arbitration {
            let keys = ["arbitration.weighted.high", "arbitration.weighted.medium", "arbitration.weighted.low"];
            for (key, weight) in keys.into_iter().zip([high, medium, low]) {
                if !(1..=256).contains(&weight) {
                    return Err((key, weight.to_string(), "a class takes 1 to 256 commands a round"));
                }
            }
        }
        match self.commands {
            Some(most) if !(1..=Self::MOST_COMMANDS).contains(&most) => {
                Err(("commands", most.to_string(), "the controller works on 1 to 65536 commands at once"))
            }
            _ => Ok(()),
        }
    }
}

impl Queues {
    /// Most commands that the queues of one class take in a round, at most 256.
    pub fn longest_turn(&self) -> u32 {
        match self.arbitration {
            Arbitration::RoundRobin => self.burst.0.unwrap_or(64).min(64),
            Arbitration::Weighted(Weights { high, medium, low }) => high.max(medium).max(low),
        }
    }
}

/// Submission queues with waiting commands, and whose turn it is.
#[derive(Clone, Debug)]
pub struct Arbiter {
    burst: u32,
    /// Strict classes come first, each before all behind it.
    strict: Vec<Class>,
    /// Classes in a round, with their weights.
    rounds: Vec<(Class, u32)>,
    /// The class at work in the round, and what it may still take.
    at_work: usize,
    credits: u32,
    /// Waiting commands in each queue.
    waiting: Vec<u32>,
    all: u64,
}

/// Queues that take turns.
#[derive(Clone, Debug, Default)]
struct Class {
    queues: Vec<usize>,
    /// The queue whose turn it is or will be, by its place in the class.
    turn: usize,
    /// What is left of a turn that has begun.
    left: u32,
}

impl Class {
    fn waits(&self, waiting: &[u32]) -> bool {
        self.queues.iter().any(|&queue| waiting[queue] > 0)
    }

    /// Takes a command from the queue whose turn it is; a turn that begins now has at most `most` commands.
    fn take(&mut self, waiting: &mut [u32], most: u32) -> Option<usize> {
        if self.left == 0 {
            let places = (0..self.queues.len()).map(|step| (self.turn + step) % self.queues.len());
            self.turn = places.into_iter().find(|&place| waiting[self.queues[place]] > 0)?;
            self.left = waiting[self.queues[self.turn]].min(most);
        }
        let queue = self.queues[self.turn];
        waiting[queue] -= 1;
        self.left -= 1;
        if self.left == 0 {
            self.turn = (self.turn + 1) % self.queues.len();
        }
        Some(queue)
    }

    /// A command left one of the queues out of turn: a turn that has begun has no more commands than wait.
    fn shorten(&mut self, waiting: &[u32]) {
        if self.left > 0 {
            self.left = self.left.min(waiting[self.queues[self.turn]]);
            if self.left == 0 {
                self.turn = (self.turn + 1) % self.queues.len();
            }
        }
    }
}

impl Arbiter {
    /// For one queue of each of these priorities, all empty.
    pub fn new(queues: &Queues, priorities: &[Priority]) -> Self {
        let of = |wanted: Priority| Class {
            queues: (0..priorities.len()).filter(|&queue| priorities[queue] == wanted).collect(),
            ..Class::default()
        };
        let (strict, rounds) = match queues.arbitration {
            Arbitration::RoundRobin => {
                (vec![Class { queues: (0..priorities.len()).collect(), ..Class::default() }], Vec::new())
            }
            Arbitration::Weighted(Weights { high, medium, low }) => {
                let rounds = [(Priority::High, high), (Priority::Medium, medium), (Priority::Low, low)];
                (vec![of(Priority::Urgent)], rounds.map(|(class, weight)| (of(class), weight)).to_vec())
            }
        };
        let credits = rounds.first().map_or(0, |&(_, weight)| weight);
        let burst = queues.burst.0.unwrap_or(u32::MAX);
        Self { burst, strict, rounds, at_work: 0, credits, waiting: vec![0; priorities.len()], all: 0 }
    }

    /// A command came into `queue`.
    ///
    /// # Panics
    /// If there is no such queue.
    pub fn push(&mut self, queue: usize) {
        self.waiting[queue] += 1;
        self.all += 1;
    }

    /// Whether no command waits.
    pub fn is_empty(&self) -> bool {
        self.all == 0
    }

    /// The controller takes a command from this queue, whosever turn it is. It is in addition to the queue's turns.
    ///
    /// # Panics
    /// If no command waits in it.
    pub fn take_from(&mut self, queue: usize) {
        self.waiting[queue] = self.waiting[queue].checked_sub(1).expect("the caller knows that a command waits");
        self.all -= 1;
        let classes = self.strict.iter_mut().chain(self.rounds.iter_mut().map(|(class, _)| class));
        classes.for_each(|class| class.shorten(&self.waiting));
    }

    /// The queue whose oldest command the controller takes now; `None` if none waits.
    pub fn take(&mut self) -> Option<usize> {
        if self.all == 0 {
            return None;
        }
        self.all -= 1;
        let (waiting, burst) = (&mut self.waiting, self.burst);
        if let Some(queue) = self.strict.iter_mut().find_map(|class| class.take(waiting, burst)) {
            return Some(queue);
        }
        loop {
            let (class, _) = &mut self.rounds[self.at_work];
            if self.credits > 0 && class.waits(&self.waiting) {
                let most = self.burst.min(self.credits);
                self.credits -= 1;
                return class.take(&mut self.waiting, most);
            }
            self.at_work = (self.at_work + 1) % self.rounds.len();
            self.credits = self.rounds[self.at_work].1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Priority::{High, Low, Medium, Urgent};

    /// An arbiter with so many commands in each queue.
    fn filled(queues: &Queues, with: &[(Priority, u32)]) -> Arbiter {
        let priorities: Vec<_> = with.iter().map(|&(priority, _)| priority).collect();
        let mut arbiter = Arbiter::new(queues, &priorities);
        for (queue, &(_, count)) in with.iter().enumerate() {
            (0..count).for_each(|_| arbiter.push(queue));
        }
        arbiter
    }

    /// The queues of the next `count` commands, one digit each.
    fn taken(arbiter: &mut Arbiter, count: usize) -> String {
        (0..count).filter_map(|_| arbiter.take()).map(|queue| queue.to_string()).collect()
    }

    fn round_robin(burst: Option<u32>) -> Queues {
        Queues { burst: Burst(burst), ..Queues::default() }
    }

    fn weighted(burst: Option<u32>, (high, medium, low): (u32, u32, u32)) -> Queues {
        let arbitration = Arbitration::Weighted(Weights { high, medium, low });
        Queues { arbitration, burst: Burst(burst), commands: None }
    }

    /// Hand-worked rounds.
    #[test]
    fn round_robin_takes_a_burst_from_each_queue() {
        let with = [(Medium, 5), (Medium, 2), (Medium, 3)];
        for (burst, order) in [(Some(1), "0120120200"), (Some(2), "0011220020"), (None, "0000011222")] {
            assert_eq!(taken(&mut filled(&round_robin(burst), &with), 20), order, "{burst:?}");
        }
    }

    /// A queue without limit that is filled again and again does not starve the next one.
    #[test]
    fn a_turn_has_the_commands_that_waited_when_it_began() {
        let mut arbiter = filled(&round_robin(None), &[(Medium, 2), (Medium, 1)]);
        let mut order = String::new();
        for _ in 0..6 {
            order += &taken(&mut arbiter, 1);
            arbiter.push(0);
        }
        assert_eq!(order, "001000");
    }

    #[test]
    fn round_robin_ignores_priorities() {
        let with = |first, second| [(first, 3), (second, 3)];
        let order = |with: &[_]| taken(&mut filled(&round_robin(Some(1)), with), 6);
        assert_eq!(order(&with(Low, Urgent)), "010101");
        assert_eq!(order(&with(Urgent, Low)), order(&with(Low, Urgent)));
    }

    /// Hand-worked rounds of 4, 2 and 1 commands.
    #[test]
    fn classes_take_their_weights_each_round() {
        let with = [(Low, 9), (Medium, 9), (High, 9)];
        for burst in [Some(1), Some(2), None] {
            let mut arbiter = filled(&weighted(burst, (4, 2, 1)), &with);
            assert_eq!(taken(&mut arbiter, 14), "22221102222110", "{burst:?}");
        }
    }

    /// High has 3 commands and 4 credits: it loses the rest of the round, and medium and low go on.
    #[test]
    fn a_class_that_runs_dry_gives_up_the_rest_of_its_round() {
        let mut arbiter = filled(&weighted(Some(1), (4, 2, 1)), &[(High, 3), (Medium, 9), (Low, 9)]);
        assert_eq!(taken(&mut arbiter, 6), "000112");
        (0..5).for_each(|_| arbiter.push(0));
        assert_eq!(taken(&mut arbiter, 8), "00001120");
    }

    /// Two queues of high priority share 6 commands a round: 3 and 3 by single commands; in turns of 4 the first has 4
    /// and the second the 2 that are left, then the first again.
    #[test]
    fn queues_of_a_class_share_its_credits() {
        let with = [(High, 20), (High, 20), (Low, 20)];
        assert_eq!(taken(&mut filled(&weighted(Some(1), (6, 1, 1)), &with), 14), "01010120101012");
        assert_eq!(taken(&mut filled(&weighted(Some(4), (6, 1, 1)), &with), 14), "00001120000112");
        assert_eq!(taken(&mut filled(&weighted(None, (6, 1, 1)), &with), 14), "00000021111112");
    }

    #[test]
    fn urgent_queues_starve_the_rest() {
        let mut arbiter = filled(&weighted(Some(1), (4, 2, 1)), &[(High, 3), (Urgent, 2), (Urgent, 1), (Low, 3)]);
        assert_eq!(taken(&mut arbiter, 4), "1210");
        for _ in 0..100 {
            arbiter.push(1);
            assert_eq!(arbiter.take(), Some(1));
        }
        assert_eq!(taken(&mut arbiter, 9), "00333");
        assert!(arbiter.is_empty() && arbiter.take().is_none());
    }

    /// Turns of 4: queue 0 has begun one. What leaves out of turn shortens it only if too few commands are left.
    #[test]
    fn a_command_out_of_turn_leaves_the_turns_as_they_were() {
        let mut arbiter = filled(&round_robin(Some(4)), &[(Medium, 6), (Medium, 3)]);
        assert_eq!(taken(&mut arbiter, 1), "0");
        arbiter.take_from(1);
        arbiter.take_from(0);
        assert_eq!(taken(&mut arbiter, 9), "000110");
        let mut arbiter = filled(&weighted(Some(4), (4, 2, 1)), &[(High, 3), (High, 2), (Low, 2)]);
        assert_eq!(taken(&mut arbiter, 1), "0");
        arbiter.take_from(0);
        arbiter.take_from(0);
        assert_eq!(taken(&mut arbiter, 9), "1122");
        assert!(arbiter.is_empty());
    }

    #[test]
    fn options_that_cannot_work_are_told_by_key() {
        let key = |queues: Queues| queues.check().err().map(|(key, ..)| key);
        assert_eq!(key(round_robin(Some(3))), Some("burst"));
        assert_eq!(key(round_robin(Some(128))), Some("burst"));
        assert_eq!(key(weighted(None, (257, 1, 1))), Some("arbitration.weighted.high"));
        assert_eq!(key(weighted(None, (256, 1, 0))), Some("arbitration.weighted.low"));
        assert_eq!(key(Queues { commands: Some(0), ..Queues::default() }), Some("commands"));
        assert_eq!(key(weighted(Some(64), (256, 1, 1))), None);
    }
}

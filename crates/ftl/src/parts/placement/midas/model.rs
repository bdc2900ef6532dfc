//! The chain's model: from the groups' sizes to their valid pages and to the write amplification.
//!
//! Space is in blocks of each die, time in host pages of as many: a group of `s` blocks with an inflow `g` keeps a page
//! for `(s - 1/2) / g`, the half for the block being filled. A page's age when it leaves a group follows from that, and
//! the part of pages still valid at that age from the update intervals. This is the Markov chain in its steady state:
//! group i passes the part p(i) of its inflow to group i + 1.
//!
//! The last group takes its own pages back.

use super::curve::Curve;

/// The workload and the device, as seen in an epoch.
#[derive(Debug)]
pub(super) struct Model {
    /// The hot group's part in the host pages.
    pub(super) hot: f64,
    /// Pages not written again after so many steps, cold and hot ones.
    pub(super) survival: [Curve; 2],
    /// Steps of these curves for the host pages of a block of each die.
    pub(super) steps: f64,
    /// Pages in a block.
    pub(super) pages: f64,
    /// Blocks in use on each die, and the blocks needed for the valid pages alone.
    pub(super) blocks: f64,
    pub(super) valid: f64,
    /// The part in both with blocks without a turn as victim for a whole epoch.
    pub(super) idle: f64,
}

/// The model's answer to some sizes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Forecast {
    pub(super) waf: f64,
    /// The victims' valid part in the hot group, in each group along the chain, and in the last one.
    pub(super) valid: Vec<f64>,
}

/// Sizes and their forecast.
pub(super) type Choice = (Vec<u32>, Forecast);

/// The part of an epoch up to which its intervals are trusted.
const TRUSTED: f64 = 0.9;

/// The least gain for which a group is added: a twentieth of a per cent.
const LEAST_GAIN: f64 = 0.0005;

/// Rounds in which each size is tried again.
const ROUNDS: u32 = 3;

impl Model {
    /// The forecast for `sizes`: the hot group's blocks, then those of the chain's groups except the last one, which has
    /// all others. Without any, all pages are in one group. `None` if that cannot work.
    pub(super) fn forecast(&self, sizes: &[u32]) -> Option<Forecast> {
        let hot_time = match sizes.first() {
            Some(&size) if self.hot > 0.0 => (f64::from(size) - 0.5) / self.hot,
            _ => 0.0,
        };
        let flow = Flow { model: self, hot_time };
        let mut valid = Vec::with_capacity(sizes.len() + 1);
        let (mut held, mut used, mut age) = (0.0, 0.0, 0.0);
        if let Some(&size) = sizes.first() {
            valid.push(self.survive(1, hot_time));
            held += self.hot * self.survived(1, hot_time);
            // Without a hot page its block is not opened.
            used += if self.hot > 0.0 { f64::from(size) } else { 0.0 };
        }
        for &size in sizes.iter().skip(1) {
            let inflow = flow.at(age);
            let until = age + (f64::from(size) - 0.5) / inflow;
            if inflow <= 0.0 || self.steps * until > TRUSTED * self.survival[0].end() {
                return None;
            }
            valid.push(flow.at(until) / inflow);
            held += flow.between(age, until);
            used += f64::from(size);
            age = until;
        }
        // The block being filled is half empty, and so is one for hot pages without a group of their own. Idle blocks are
        // left alone: their pages are not written.
        let open = if sizes.is_empty() && self.hot > 0.0 { 1.0 } else { 0.5 };
        let blocks = self.blocks - used - open - self.idle;
        let last = Last { flow: &flow, age, blocks, valid: self.valid - held - self.idle };
        valid.push(last.valid_part()?);
        let hot = if sizes.is_empty() { 0.0 } else { self.hot };
        Some(Forecast { waf: write_amplification(hot, &valid), valid })
    }

    /// A class's part not written again within `time`.
    fn survive(&self, class: usize, time: f64) -> f64 {
        self.survival[class].at(time * self.steps)
    }

    /// The area below it.
    fn survived(&self, class: usize, time: f64) -> f64 {
        self.survival[class].area(time * self.steps) / self.steps
    }

    /// The best sizes for up to `most` groups in the chain: one more group at a time, then each size again.
    pub(super) fn best(&self, most: usize) -> Option<Choice> {
        let hot = self.sizes().filter_map(|size| self.choice(vec![size]));
        let mut best = hot.min_by(|one, other| one.1.waf.total_cmp(&other.1.waf))?;
        while best.0.len() < most {
            let longer = self.sizes().filter_map(|size| self.choice([&best.0[..], &[size]].concat()));
            match longer.min_by(|one, other| one.1.waf.total_cmp(&other.1.waf)) {
                Some(longer) if longer.1.waf < best.1.waf * (1.0 - LEAST_GAIN) => best = longer,
                _ => break,
            }
        }
        for _ in 0..ROUNDS {
            for group in 0..best.0.len() {
                self.improve(&mut best, group);
            }
        }
        self.choice(Vec::new()).filter(|one| one.1.waf <= best.1.waf).or(Some(best))
    }

    fn choice(&self, sizes: Vec<u32>) -> Option<Choice> {
        let forecast = self.forecast(&sizes)?;
        Some((sizes, forecast))
    }

    /// Takes another size for a group if it is better.
    fn improve(&self, best: &mut Choice, group: usize) {
        let now = best.0[group];
        let near = [1, 2, now / 16, now / 32].into_iter().flat_map(|by| [now.saturating_sub(by), now + by]);
        let mut sizes = best.0.clone();
        for size in self.sizes().chain(near).filter(|&size| size > 0) {
            sizes[group] = size;
            if let Some(forecast) = self.forecast(&sizes).filter(|forecast| forecast.waf < best.1.waf) {
                *best = (sizes.clone(), forecast);
            }
        }
    }

    /// Sizes to try: all small ones, then an eighth more each.
    fn sizes(&self) -> impl Iterator<Item = u32> {
        let most = self.blocks as u32;
        std::iter::successors(Some(1), |size| Some(size + (size / 8).max(1))).take_while(move |&size| size < most)
    }
}

/// The valid pages' flow through the chain, behind the hot group.
struct Flow<'a> {
    model: &'a Model,
    /// The age at which pages leave the hot group.
    hot_time: f64,
}

impl Flow<'_> {
    /// Pages that are still valid at this age in the chain, of one host page.
    #[inline]
    fn at(&self, age: f64) -> f64 {
        let Model { hot, .. } = *self.model;
        (1.0 - hot) * self.model.survive(0, age) + hot * self.model.survive(1, self.hot_time + age)
    }

    /// Valid pages between two ages, in blocks.
    #[inline]
    fn between(&self, from: f64, until: f64) -> f64 {
        let model = self.model;
        (1.0 - model.hot) * (model.survived(0, until) - model.survived(0, from))
            + model.hot * (model.survived(1, self.hot_time + until) - model.survived(1, self.hot_time + from))
    }
}

/// The last group, as blocks emptied in turn, with Desnoyers' correction for greedy victims. A page comes in at `age` and is moved once every turn for as long as it is
/// valid, so a turn of `x` costs `F(age + x) + F(age + 2 x) + ...` moves for each host page, where the flow F falls with
/// age. All that comes in and moves fills the group's blocks once a turn, which fixes `x`.
struct Last<'a> {
    flow: &'a Flow<'a>,
    age: f64,
    blocks: f64,
    /// Blocks needed for its valid pages alone.
    valid: f64,
}

impl Last<'_> {
    /// Its victims' valid part.
    fn valid_part(&self) -> Option<f64> {
        let inflow = self.flow.at(self.age);
        if self.valid <= 0.0 || self.blocks <= self.valid || inflow <= 0.0 {
            return None;
        }
        // Greedy finds blocks with fewer valid pages than the oldest, the more the smaller blocks are.
        let greedy = 1.0 + 0.5 / self.flow.model.pages;
        let mut last = Last { blocks: self.blocks * greedy, ..*self };
        // If more pages ought to be here than there are, by Little's law, the intervals are too long by the same part.
        let end = self.end();
        let least = self.flow.between(self.age, end) + self.least_after(end);
        if least > self.valid {
            (last.blocks, last.valid) = (last.blocks * least / self.valid, least);
        }
        let moves = last.moves_by_turns(inflow);
        let valid = 1.0 - greedy * inflow / (inflow + moves);
        Some(valid.max(0.0))
    }

    /// The age up to which intervals are known, or that of pages that come in.
    fn end(&self) -> f64 {
        (self.flow.model.survival[0].end() / self.flow.model.steps).max(self.age)
    }

    /// Pages that live longer than this, if they go on to be written as in the second half of the known time.
    fn least_after(&self, end: f64) -> f64 {
        let (half, left) = (self.flow.at(end / 2.0), self.flow.at(end));
        if left <= 0.0 || half <= left {
            return 0.0;
        }
        left * (end / 2.0) / libm::log(half / left)
    }

    /// Moves for each host page, when blocks are emptied in turn.
    fn moves_by_turns(&self, inflow: f64) -> f64 {
        // Short turns fill no more than the valid pages' room, and longer ones ever more.
        let mut turns = (0.0, self.blocks / inflow);
        for _ in 0..HALVINGS {
            let turn = (turns.0 + turns.1) / 2.0;
            if (inflow + self.moves(turn)) * turn < self.blocks {
                turns.0 = turn;
            } else {
                turns.1 = turn;
            }
        }
        self.moves(turns.1)
    }

    /// Moves for each host page, when a turn takes so long.
    fn moves(&self, turn: f64) -> f64 {
        let end = self.end();
        let (mut age, mut moves) = (self.age + turn, 0.0);
        let mut terms = 0;
        while age < end && terms < MOST_TURNS {
            moves += self.flow.at(age);
            age += turn;
            terms += 1;
        }
        // The other valid pages live longer than anything seen in the epoch: for `rest / left` on average.
        let left = self.flow.at(end);
        let rest = self.valid - self.flow.between(self.age, end);
        if rest <= 0.0 || left <= 0.0 || age < end {
            return moves;
        }
        let rate = left / rest;
        moves + left * libm::exp(-rate * (age - end)) / -libm::expm1(-rate * turn)
    }
}

/// Halvings in the search for a turn: enough for six digits.
const HALVINGS: u32 = 24;

/// Turns within an epoch that are looked at; only turns far too short have more.
const MOST_TURNS: u32 = 256;

/// Write amplification in the chain's steady state: `hot` of the host pages go to the hot group, and `valid` is the valid
/// part of the victims of each group: the hot one, the chain's groups, and the last one, or the last one alone.
fn write_amplification(hot: f64, valid: &[f64]) -> f64 {
    let Some((last, before)) = valid.split_last() else { return 1.0 };
    let from_hot = before.first().map_or(0.0, |valid| hot * valid);
    let (mut inflow, mut waf) = (1.0 - hot + from_hot, 1.0 + from_hot);
    for valid in before.iter().skip(1) {
        inflow *= valid;
        waf += inflow;
    }
    waf + inflow * last / (1.0 - last)
}

#[cfg(test)]
mod tests;

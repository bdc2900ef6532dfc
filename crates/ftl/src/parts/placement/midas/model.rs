//! The model of the chain: from the sizes of the groups to their valid pages and to the write amplification.
//!
//! Space is in blocks of each die, time in host pages of as many: a group of `s` blocks with an inflow `g` keeps a page
//! for `(s - 1/2) / g`, the half for the block being filled. A page's age when it leaves a group follows from that, and
//! the part of pages still valid at that age from the update intervals. This is the Markov chain in its steady state:
//! group i passes the part p(i) of its inflow to group i + 1.
//!
//! The last group takes its own pages back. Its valid part comes from Desnoyers' model of two kinds of pages.

use super::curve::Curve;

/// The workload and the device, as seen in an epoch.
#[derive(Debug)]
pub(super) struct Model {
    /// The part of host pages that goes to the hot group.
    pub(super) hot: f64,
    /// Pages not written again after so many steps, cold and hot ones.
    pub(super) survival: [Curve; 2],
    /// Steps of these curves for the host pages of a block of each die.
    pub(super) steps: f64,
    /// Blocks of each die in use, and the blocks that the valid pages would fill.
    pub(super) blocks: f64,
    pub(super) valid: f64,
}

/// What the model says of some sizes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Forecast {
    pub(super) waf: f64,
    /// The valid part of a victim of the hot group, of each group of the chain, and of the last one.
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
            used += f64::from(size);
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
        // The block being filled is half empty.
        let last = Last { blocks: self.blocks - used - 0.5, valid: self.valid - held };
        valid.push(last.valid_part(&flow, age)?);
        let hot = if sizes.is_empty() { 0.0 } else { self.hot };
        Some(Forecast { waf: write_amplification(hot, &valid), valid })
    }

    /// The part of pages of a class not written again within `time`.
    fn survive(&self, class: usize, time: f64) -> f64 {
        self.survival[class].at(time * self.steps)
    }

    /// The area below it.
    fn survived(&self, class: usize, time: f64) -> f64 {
        self.survival[class].area(time * self.steps) / self.steps
    }

    /// The best sizes for up to `most` groups of the chain: one more group at a time, then each size again.
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
        Some(best)
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

/// The flow of valid pages through the chain, behind the hot group.
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

/// The last group.
struct Last {
    blocks: f64,
    /// Blocks that its valid pages would fill.
    valid: f64,
}

impl Last {
    /// The valid part of its victims, when pages come in at `age`.
    fn valid_part(&self, flow: &Flow<'_>, age: f64) -> Option<f64> {
        if self.valid <= 0.0 || self.blocks <= self.valid {
            return None;
        }
        let space = self.blocks / self.valid;
        let end = flow.model.survival[0].end() / flow.model.steps;
        let inflow = flow.at(age);
        // Pages that come in and are written again before `until`, and their mean time here multiplied by their number.
        let gone = |until: f64| inflow - flow.at(until);
        let time = |until: f64| flow.between(age, until) - (until - age) * flow.at(until);
        if end <= age || inflow <= 0.0 || gone(end) <= 0.0 {
            return None;
        }
        let mean = age + time(end) / gone(end);
        let (share, part) = (gone(mean) / inflow, time(mean) / self.valid);
        let cost = two_kinds(space, share.clamp(0.0, 1.0), part.clamp(1e-6, 1.0 - 1e-6));
        Some(1.0 - 1.0 / cost)
    }
}

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

/// Write amplification of blocks emptied in turn, with `space` blocks for each block of valid pages, if the part `part` of
/// the pages gets the share `share` of the writes: `A = 1 + r / (e^(r space / f A) - 1) + ...` for both kinds.
pub(super) fn two_kinds(space: f64, share: f64, part: f64) -> f64 {
    let kinds = [(share, part), (1.0 - share, 1.0 - part)];
    // With x = space / A the left side rises from below 0 to 1, so there is one solution.
    let lacks = |x: f64| {
        let sum: f64 = kinds.iter().map(|&(share, part)| stays(share, part, x)).sum();
        1.0 + sum - space / x
    };
    let (mut low, mut high) = (0.0, space);
    for _ in 0..STEPS {
        let middle = (low + high) / 2.0;
        if lacks(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    space / high
}

/// Halvings: enough for 8 digits.
const STEPS: u32 = 28;

/// Moves of a kind's pages for each host page.
fn stays(share: f64, part: f64, x: f64) -> f64 {
    let rate = share / part * x;
    if rate < 1e-9 {
        return part / x;
    }
    share / libm::expm1(rate)
}

#[cfg(test)]
mod tests;

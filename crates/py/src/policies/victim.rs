//! A victim policy in Python.

use super::blocks::{described, View};
use super::call::Policy;
use nandlab_lab::own::{BlockId, BlockUse, Blocks, VictimPolicy};
use pyo3::prelude::*;

/// The object, its method `pick(blocks)`, and what it looks at.
pub(super) struct Victim {
    policy: Policy,
    pick: Py<PyAny>,
    view: Py<View>,
}

impl Victim {
    pub fn new(policy: Policy) -> Self {
        Python::attach(|py| {
            let view = View::new(py).unwrap_or_else(|error| policy.wrong(&error.to_string()));
            Self { pick: policy.required(py, "pick"), view, policy }
        })
    }
}

impl std::fmt::Debug for Victim {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Victim in Python")
    }
}

/// The block with the number `answer` that a policy gave.
pub(super) fn chosen(policy: &Policy, (answer, asked): (&Bound<'_, PyAny>, &str), blocks: Blocks<'_>) -> BlockId {
    let wrong = |why: &str| -> ! {
        let given = answer.repr().map_or_else(|_| "something".to_owned(), |given| given.to_string());
        policy.wrong(&format!("{asked}() returned {given}: {why}; it was shown {}", described(blocks)))
    };
    let Ok(number) = answer.extract::<i64>() else { wrong("a block's number is a whole number") };
    let Some(place) = usize::try_from(number).ok().filter(|&place| place < blocks.words().len()) else {
        wrong(&format!("blocks have the numbers 0 to {}", blocks.words().len() - 1))
    };
    let block = blocks.at(place);
    if !blocks.is_closed(block) {
        wrong(match blocks.usage(block) {
            BlockUse::Free => "this block is free",
            BlockUse::Open => "this block is being filled or emptied",
            BlockUse::Bad => "this block is bad",
            BlockUse::Closed => "this block belongs to the other pool",
        })
    }
    block
}

impl VictimPolicy for Victim {
    fn pick(&mut self, blocks: Blocks<'_>, now: u64) -> Option<BlockId> {
        if !blocks.words().iter().any(|&word| word < Blocks::CLOSED) {
            return None;
        }
        Python::attach(|py| {
            let view = self.view.bind(py);
            view.get().during(blocks, now, || {
                let shown = || format!("; it was shown {}", described(blocks));
                let answer = self.policy.call(py, (&self.pick, "pick"), (view,), shown);
                Some(chosen(&self.policy, (&answer, "pick"), blocks))
            })
        })
    }
}

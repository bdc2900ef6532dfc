//! A rule in Python that moves data for the sake of wear.

use super::blocks::{described, numbers, View};
use super::call::Policy;
use super::victim::chosen;
use nandlab_lab::own::{BlockId, Blocks, Move, WearPolicy};
use pyo3::prelude::*;

/// The object and its methods: `next_move(blocks, free)`, and `erased(block, blocks)` if it has one.
pub(super) struct Wear {
    policy: Policy,
    next_move: Py<PyAny>,
    erased: Option<Py<PyAny>>,
    view: Py<View>,
}

impl Wear {
    pub fn new(policy: Policy) -> Self {
        Python::attach(|py| {
            let view = View::new(py).unwrap_or_else(|error| policy.wrong(&error.to_string()));
            Self { next_move: policy.required(py, "next_move"), erased: policy.method(py, "erased"), view, policy }
        })
    }
}

impl std::fmt::Debug for Wear {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Wear in Python")
    }
}

impl WearPolicy for Wear {
    fn erased(&mut self, block: BlockId, blocks: Blocks<'_>) {
        let Some(erased) = &self.erased else { return };
        let place = block.0 - blocks.at(0).0;
        Python::attach(|py| {
            let view = self.view.bind(py);
            view.get().during(blocks, 0, || {
                let shown = || format!("; it was shown {}", described(blocks));
                self.policy.call(py, (erased, "erased"), (place, view), shown);
            });
        });
    }

    fn next_move(&mut self, blocks: Blocks<'_>, free: &[BlockId]) -> Option<Move> {
        let first = blocks.at(0).0;
        Python::attach(|py| {
            let free = numbers(py, free.iter().map(|block| block.0 - first));
            let free = free.unwrap_or_else(|error| self.policy.wrong(&error.to_string()));
            let view = self.view.bind(py);
            view.get().during(blocks, 0, || {
                let shown = || format!("; it was shown {}", described(blocks));
                let answer = self.policy.call(py, (&self.next_move, "next_move"), (view, free), shown);
                if answer.is_none() {
                    return None;
                }
                let Ok((block, to_most_worn)) = answer.extract::<(Bound<'_, PyAny>, bool)>() else {
                    let given = answer.repr().map_or_else(|_| "something".to_owned(), |given| given.to_string());
                    self.policy.wrong(&format!(
                        "next_move() returned {given}: a move is None, or a block and whether it goes to the most worn free \
                         block"
                    ))
                };
                Some(Move { block: chosen(&self.policy, (&block, "next_move"), blocks), to_most_worn })
            })
        })
    }
}

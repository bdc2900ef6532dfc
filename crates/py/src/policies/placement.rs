//! A placement in Python: asked for each page, or once for many.

use super::blocks::numbers;
use super::call::Policy;
use nandlab_lab::own::{About, BlockId, Divided, Lpn, Moved, Own, PlacementPolicy, Written};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Host pages after which a placement with `learn()` is asked again.
const BATCH: usize = 4096;

/// How the class divides the open blocks, by its attributes `frontiers` and `shares`.
pub(super) fn divided(own: Own) -> Divided {
    Python::attach(|py| {
        let make = super::allowed().as_ref().and_then(|allowed| allowed.get(own.name()).map(|make| make.clone_ref(py)));
        let attribute = |name| make.as_ref().and_then(|make| make.bind(py).getattr(name).ok());
        Divided {
            frontiers: attribute("frontiers").and_then(|frontiers| frontiers.extract().ok()).unwrap_or(0),
            shares: attribute("shares").and_then(|shares| shares.is_truthy().ok()).unwrap_or(true),
        }
    })
}

/// By page: the frontier for a write by the host, and for a move.
struct Tables {
    learn: Py<PyAny>,
    host: Vec<u8>,
    moved: Vec<u8>,
    /// Pages written since the last question.
    written: Vec<u32>,
}

/// Who answers.
enum Answers {
    /// `written(page, origin)` and `moved(page, block)`, for each page.
    Methods { written: Py<PyAny>, moved: Py<PyAny> },
    /// `learn(pages)`, once for many.
    Tables(Tables),
}

/// The object and its methods.
pub(super) struct Placement {
    policy: Policy,
    divided: Divided,
    answers: Answers,
    opened: Option<Py<PyAny>>,
    emptied: Option<Py<PyAny>>,
    trimmed: Option<Py<PyAny>>,
    bytes: u64,
    /// Frontiers that the host's pages went to, and those of moved pages, a bit each.
    used: [u64; 2],
}

impl std::fmt::Debug for Placement {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Placement in Python")
    }
}

impl Placement {
    pub fn new(policy: Policy, about: &About) -> Self {
        Python::attach(|py| {
            let pages = about.logical_pages as usize;
            let answers = match policy.method(py, "learn") {
                None => {
                    Answers::Methods { written: policy.required(py, "written"), moved: policy.required(py, "moved") }
                }
                Some(learn) => {
                    let (host, moved) = (vec![0; pages], vec![0; pages]);
                    Answers::Tables(Tables { learn, host, moved, written: Vec::new() })
                }
            };
            let method = |name| policy.method(py, name);
            let mut placement = Self {
                divided: divided(policy.own()),
                answers,
                opened: method("opened"),
                emptied: method("emptied"),
                trimmed: method("trimmed"),
                bytes: policy.attribute(py, "bytes").unwrap_or(0),
                used: [0; 2],
                policy,
            };
            placement.learn();
            placement
        })
    }

    /// Asks for new tables, if it is time.
    fn learn(&mut self) {
        let Answers::Tables(tables) = &mut self.answers else { return };
        Python::attach(|py| {
            let pages =
                numbers(py, tables.written.drain(..)).unwrap_or_else(|error| self.policy.wrong(&error.to_string()));
            let answer = self.policy.call(py, (&tables.learn, "learn"), (pages,), String::new);
            if answer.is_none() {
                return;
            }
            let length = tables.host.len();
            let table = |place: usize| -> PyResult<Vec<u8>> {
                let array =
                    py.import("numpy")?.call_method1("ascontiguousarray", (answer.get_item(place)?, "uint8"))?;
                let bytes = array.call_method0("tobytes")?;
                Ok(bytes.cast::<PyBytes>()?.as_bytes().to_vec())
            };
            match (table(0), table(1)) {
                (Ok(host), Ok(moved)) if host.len() == length && moved.len() == length => {
                    (tables.host, tables.moved) = (host, moved);
                }
                _ => self.policy.wrong(&format!(
                    "learn() returned something else than None or two arrays of {length} frontiers, for writes and for moves"
                )),
            }
        });
    }

    /// A frontier for a page; `by` is 0 for the host's and 1 for a moved one.
    fn checked(&mut self, frontier: usize, by: usize) -> usize {
        let method = ["written", "moved"][by];
        let frontiers = self.divided.frontiers as usize;
        if frontier >= frontiers {
            self.policy
                .wrong(&format!("{method}() returned {frontier}: frontiers have the numbers 0 to {}", frontiers - 1));
        }
        self.used[by] |= 1 << frontier;
        if !self.divided.shares && self.used[0] & self.used[1] != 0 {
            self.policy.wrong(&format!(
                "{method}() returned {frontier}: the host's pages and moved pages both go there, though `shares` is False"
            ));
        }
        frontier
    }

    fn ask_written(&self, page: Written) -> usize {
        let Answers::Methods { written, .. } = &self.answers else { return 0 };
        Python::attach(|py| {
            let shown = || format!("; it was asked about page {}", page.at);
            let answer = self.policy.call(py, (written, "written"), (page.at.0, page.origin.0), shown);
            self.number(&answer, "written")
        })
    }

    fn number(&self, answer: &Bound<'_, PyAny>, method: &str) -> usize {
        answer.extract().unwrap_or_else(|_| {
            let given = answer.repr().map_or_else(|_| "something".to_owned(), |given| given.to_string());
            self.policy.wrong(&format!("{method}() returned {given}: a frontier's number is a whole number, 0 and up"))
        })
    }

    fn tell(&self, method: Option<&Py<PyAny>>, name: &str, about: (u32, Option<usize>)) {
        let Some(method) = method else { return };
        Python::attach(|py| {
            let shown = || format!("; it was told of {}", about.0);
            match about {
                (number, Some(frontier)) => self.policy.call(py, (method, name), (number, frontier), shown),
                (number, None) => self.policy.call(py, (method, name), (number,), shown),
            };
        });
    }
}

impl PlacementPolicy for Placement {
    fn written(&mut self, page: Written) -> usize {
        let frontier = match &mut self.answers {
            Answers::Tables(tables) => {
                tables.written.push(page.at.0);
                let frontier = tables.host[page.at.index()].into();
                if tables.written.len() == BATCH {
                    self.learn();
                }
                frontier
            }
            Answers::Methods { .. } => self.ask_written(page),
        };
        self.checked(frontier, 0)
    }

    fn moved(&mut self, page: Moved) -> usize {
        let of_ftl = page.at == Lpn::NONE;
        let frontier = match &self.answers {
            // The FTL's own pages go to the last one.
            Answers::Tables(_) if of_ftl => self.divided.frontiers as usize - 1,
            Answers::Tables(tables) => tables.moved[page.at.index()].into(),
            Answers::Methods { moved, .. } => Python::attach(|py| {
                let shown = || format!("; it was asked about page {}", page.at);
                let at = (!of_ftl).then_some(page.at.0);
                let answer = self.policy.call(py, (moved, "moved"), (at, page.from.0), shown);
                self.number(&answer, "moved")
            }),
        };
        self.checked(frontier, 1)
    }

    fn opened(&mut self, block: BlockId, frontier: usize) {
        self.tell(self.opened.as_ref(), "opened", (block.0, Some(frontier)));
    }

    fn emptied(&mut self, block: BlockId) {
        self.tell(self.emptied.as_ref(), "emptied", (block.0, None));
    }

    fn trimmed(&mut self, at: Lpn) {
        self.tell(self.trimmed.as_ref(), "trimmed", (at.0, None));
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

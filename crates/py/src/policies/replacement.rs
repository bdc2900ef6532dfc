//! A rule in Python for what leaves a buffer, or a map in memory.

use super::call::Policy;
use nandlab_lab::own::Replaces;
use pyo3::prelude::*;

/// The object, and those methods it has; only `victim()` is required.
pub(super) struct Replacement {
    policy: Policy,
    victim: Py<PyAny>,
    hit: Option<Py<PyAny>>,
    miss: Option<Py<PyAny>>,
    insert: Option<Py<PyAny>>,
    evicted: Option<Py<PyAny>>,
    forget: Option<Py<PyAny>>,
    flushed: Option<Py<PyAny>>,
}

impl Replacement {
    pub fn new(policy: Policy) -> Self {
        Python::attach(|py| {
            let method = |name| policy.method(py, name);
            Self {
                victim: policy.required(py, "victim"),
                hit: method("hit"),
                miss: method("miss"),
                insert: method("insert"),
                evicted: method("evicted"),
                forget: method("forget"),
                flushed: method("flushed"),
                policy,
            }
        })
    }

    fn tell(&self, method: Option<&Py<PyAny>>, name: &str, page: u32) {
        let Some(method) = method else { return };
        Python::attach(|py| {
            self.policy.call(py, (method, name), (page,), || format!("; it was told of page {page}"));
        });
    }
}

impl std::fmt::Debug for Replacement {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Replacement in Python")
    }
}

impl Replaces for Replacement {
    fn hit(&mut self, page: u32) {
        self.tell(self.hit.as_ref(), "hit", page);
    }

    fn miss(&mut self, page: u32) {
        self.tell(self.miss.as_ref(), "miss", page);
    }

    fn victim(&mut self) -> u32 {
        Python::attach(|py| {
            let answer = self.policy.call(py, (&self.victim, "victim"), (), String::new);
            answer.extract().unwrap_or_else(|_| {
                let given = answer.repr().map_or_else(|_| "something".to_owned(), |given| given.to_string());
                self.policy.wrong(&format!("victim() returned {given}: a page's number is a whole number, 0 and up"))
            })
        })
    }

    fn evicted(&mut self, page: u32) {
        self.tell(self.evicted.as_ref(), "evicted", page);
    }

    fn insert(&mut self, page: u32) {
        self.tell(self.insert.as_ref(), "insert", page);
    }

    fn forget(&mut self, page: u32) {
        self.tell(self.forget.as_ref(), "forget", page);
    }

    fn flushed(&mut self) {
        let Some(flushed) = &self.flushed else { return };
        Python::attach(|py| {
            self.policy.call(py, (flushed, "flushed"), (), String::new);
        });
    }

    fn refuse(&mut self, page: u32) -> ! {
        self.policy.wrong(&format!("victim() returned {page}: this page is not there"))
    }
}

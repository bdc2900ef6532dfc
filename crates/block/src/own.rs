//! Policies that somebody else wrote: how an experiment names one, and how one ends a run.
//!
//! The program that hosts such policies, such as the Python package, makes them by their names. Without one, no experiment
//! with such a policy runs, so a file never runs code by itself.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The name of somebody's policy: `module:Class`, or `module:Class(option=1)` with options.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Own(&'static str);

/// All names so far. There are few, and options with one are copied like numbers.
static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

impl From<String> for Own {
    fn from(name: String) -> Self {
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = names.get(name.as_str()) {
            return Self(known);
        }
        let name: &'static str = name.leak();
        names.insert(name);
        Self(name)
    }
}

impl<'de> Deserialize<'de> for Own {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(Self::from)
    }
}

impl Own {
    /// The name.
    pub fn name(self) -> &'static str {
        self.0
    }
}

impl JsonSchema for Own {
    fn schema_name() -> Cow<'static, str> {
        "Own".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "`module:Class`, or `module:Class(option=1)`" })
    }
}

/// Chooses what leaves a full buffer, or a full part of a map in memory; both go by logical page numbers.
pub trait Replaces: std::fmt::Debug + Send {
    /// A page that is there is used again.
    fn hit(&mut self, page: u32);

    /// A page that is not there is used; it is inserted next.
    fn miss(&mut self, page: u32);

    /// The page to evict.
    fn victim(&mut self) -> u32;

    /// The victim has left.
    fn evicted(&mut self, page: u32);

    /// The page of the last miss is there.
    fn insert(&mut self, page: u32);

    /// A trimmed page has left.
    fn forget(&mut self, page: u32);

    /// Every page of the buffer is clean.
    fn flushed(&mut self);

    /// Ends the run, since the victim `page` is not there.
    fn refuse(&mut self, page: u32) -> !;
}

/// The reason a policy ended the run, as its host knows it.
pub struct Stopped(pub Box<dyn Any + Send>);

/// Ends the run from inside a policy: whoever started the run catches the unwinding and finds a [`Stopped`].
pub fn stop(reason: impl Any + Send) -> ! {
    std::panic::resume_unwind(Box::new(Stopped(Box::new(reason))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once() {
        let own = |name: &str| Own::from(name.to_owned());
        assert_eq!((own("a:B"), own("a:B").name()), (own("a:B"), "a:B"));
        assert!(std::ptr::eq(own("a:B").name(), own("a:B").name()));
        assert_ne!(own("a:B"), own("a:B(1)"));
    }

    #[test]
    fn a_policy_ends_the_run_with_its_reason() {
        let ended = std::panic::catch_unwind(|| stop(7_u8)).unwrap_err();
        assert_eq!(ended.downcast::<Stopped>().unwrap().0.downcast_ref(), Some(&7_u8));
    }
}

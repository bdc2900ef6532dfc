//! The replacement policy trait, and the policy list.

/// Chooses the frame whose page leaves the pool.
///
/// Frames are numbered from 0 up to the budget. The pool fills empty frames first, in order, and asks for a victim
/// only when all are in use.
pub trait Policy: std::fmt::Debug + Send {
    /// The page in `frame` was asked for again.
    fn hit(&mut self, frame: u32);

    /// `page` came into `frame`, empty before or just given up as the victim.
    fn enter(&mut self, frame: u32, page: u32);

    /// Gives up the frame with the page to replace; it stays out until the next [`Policy::enter`].
    fn victim(&mut self) -> u32;
}

/// An entry in the policy list.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in `policy = "<name>"`.
    pub name: &'static str,
    /// The source file, whose head comment is the docs page.
    pub source: &'static str,
}

/// Makes the configuration and the list from one line per policy.
macro_rules! policies {
    ($($(#[$doc:meta])* $variant:ident($module:ident), $name:literal, $file:literal;)*) => {
        /// Which page leaves the pool when room is needed.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[derive(schemars::JsonSchema)]
        pub enum Replacement {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl Replacement {
            /// Every policy, in [`LIST`] order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in a configuration.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The policy in its first state, for a pool with `frames` frames.
            pub fn policy(self, frames: u32) -> Box<dyn Policy> {
                match self { $(Self::$variant => Box::new(super::$module::$variant::new(frames)),)* }
            }
        }

        /// Every replacement policy.
        pub const LIST: &[Entry] = &[$(Entry { name: $name, source: include_str!($file) },)*];
    };
}

policies! {
    /// The page that was not used for the longest time.
    #[default]
    Lru(lru), "lru", "lru.rs";
    /// The first page, in the order of a circle, that was not used since the hand passed it.
    Clock(clock), "clock", "clock.rs";
    /// Pages used once leave first, in their order; pages that come back soon are kept by recency.
    TwoQ(two_q), "2q", "two_q.rs";
}

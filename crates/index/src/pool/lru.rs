//! LRU: the page that was not used for the longest time leaves.
//!
//! ## Idea
//! All pages are ordered by last use; a use moves a page to the front, the page at the back leaves.
//!
//! ## References
//! P. Denning: The working set model for program behavior. Communications of the ACM 11(5), 1968.

use super::list::FrameList;
use super::Policy;

/// Frames by last use.
#[derive(Debug)]
pub struct Lru(FrameList);

impl Lru {
    /// For a pool with `frames` frames.
    pub fn new(frames: u32) -> Self {
        Self(FrameList::new(frames))
    }
}

impl Policy for Lru {
    #[inline]
    fn hit(&mut self, frame: u32) {
        self.0.move_to_front(frame);
    }

    fn enter(&mut self, frame: u32, _page: u32) {
        self.0.push_front(frame);
    }

    fn victim(&mut self) -> u32 {
        self.0.pop_back().expect("the pool asks for a victim when all frames are in use")
    }
}

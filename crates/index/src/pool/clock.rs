//! CLOCK: the first page in a circle that was not used since the hand passed it leaves.
//!
//! ## Idea
//! A use sets the mark of its frame. The hand goes round the frames, takes marks away, and stops at the first frame
//! without one. A page comes in with its mark set, behind the hand.
//!
//! ## Differences
//! The literature has new pages start both with and without their mark; set is the original paging experiment's choice,
//! since a page comes in because it is used.
//!
//! ## References
//! F. Corbató: A paging experiment with the Multics system. MIT Project MAC, 1968.

use super::Policy;

/// Frames in a circle.
#[derive(Debug)]
pub struct Clock {
    used: Vec<bool>,
    hand: usize,
}

impl Clock {
    /// For a pool with `frames` frames.
    pub fn new(frames: u32) -> Self {
        Self { used: vec![false; frames as usize], hand: 0 }
    }
}

impl Policy for Clock {
    #[inline]
    fn hit(&mut self, frame: u32) {
        self.used[frame as usize] = true;
    }

    fn enter(&mut self, frame: u32, _page: u32) {
        self.used[frame as usize] = true;
    }

    fn victim(&mut self) -> u32 {
        // At the latest the second round finds a frame without its mark.
        loop {
            let frame = self.hand;
            self.hand = (frame + 1) % self.used.len();
            if !std::mem::take(&mut self.used[frame]) {
                return frame as u32;
            }
        }
    }
}

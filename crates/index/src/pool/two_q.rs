//! 2Q: pages used once leave first; pages that come back soon after they left are kept by recency.
//!
//! ## Idea
//! A page comes in at the end of a queue (A1in) and leaves it in arrival order, used again or not. A second queue
//! (A1out) remembers the numbers for pages that left A1in, without their contents. A page requested while its number is
//! there has been used twice over a longer time: it enters a list kept by recency (Am). A1in gives a page while it
//! holds more than a quarter of the frames, otherwise Am does.
//!
//! ## Differences
//! This is the paper's full version with its recommended sizes: a quarter of the frames for A1in, and half as many
//! numbers as frames for A1out, each at least 1. With Am empty A1in gives the page.
//!
//! ## References
//! T. Johnson, D. Shasha: 2Q: a low overhead high performance buffer management replacement algorithm. VLDB 1994.

use super::list::FrameList;
use super::Policy;
use std::collections::VecDeque;

/// The two queues and the list.
#[derive(Debug)]
pub struct TwoQ {
    first: FrameList,
    kept: FrameList,
    /// Numbers for pages that left `first`, the oldest in front.
    gone: VecDeque<u32>,
    /// By page: whether it is in `gone`.
    is_gone: Vec<bool>,
    /// By frame: its page.
    pages: Vec<u32>,
    first_most: u32,
    gone_most: usize,
}

impl TwoQ {
    /// For a pool with `frames` frames.
    pub fn new(frames: u32) -> Self {
        Self {
            first: FrameList::new(frames),
            kept: FrameList::new(frames),
            gone: VecDeque::new(),
            is_gone: Vec::new(),
            pages: vec![0; frames as usize],
            first_most: (frames / 4).max(1),
            gone_most: (frames as usize / 2).max(1),
        }
    }

    /// Whether `page` left the first queue not long ago; it is forgotten then.
    fn comes_back(&mut self, page: u32) -> bool {
        let comes_back = self.is_gone.get_mut(page as usize).is_some_and(std::mem::take);
        if comes_back {
            self.gone.retain(|&other| other != page);
        }
        comes_back
    }

    fn remember(&mut self, page: u32) {
        if self.is_gone.len() <= page as usize {
            self.is_gone.resize(page as usize + 1, false);
        }
        self.is_gone[page as usize] = true;
        self.gone.push_back(page);
        if self.gone.len() > self.gone_most {
            if let Some(oldest) = self.gone.pop_front() {
                self.is_gone[oldest as usize] = false;
            }
        }
    }
}

impl Policy for TwoQ {
    #[inline]
    fn hit(&mut self, frame: u32) {
        if self.kept.contains(frame) {
            self.kept.move_to_front(frame);
        }
    }

    fn enter(&mut self, frame: u32, page: u32) {
        self.pages[frame as usize] = page;
        if self.comes_back(page) {
            self.kept.push_front(frame);
        } else {
            self.first.push_front(frame);
        }
    }

    fn victim(&mut self) -> u32 {
        if self.first.len() <= self.first_most {
            if let Some(frame) = self.kept.pop_back() {
                return frame;
            }
        }
        let frame = self.first.pop_back().expect("the pool asks for a victim when all frames are in use");
        self.remember(self.pages[frame as usize]);
        frame
    }
}

//! A doubly linked frame list, by number.

/// No frame.
const NONE: u32 = u32::MAX;

/// A frame order; each frame is in the list at most once. One extra entry is the ring's head.
#[derive(Clone, Debug)]
pub(crate) struct FrameList {
    /// By frame: the neighbours towards the back and towards the front; [`NONE`] for a frame outside the list.
    links: Vec<[u32; 2]>,
    head: u32,
    len: u32,
}

const BACK: usize = 0;
const FRONT: usize = 1;

impl FrameList {
    /// An empty list for frames below `frames`.
    pub(crate) fn new(frames: u32) -> Self {
        let mut links = vec![[NONE; 2]; frames as usize + 1];
        links[frames as usize] = [frames; 2];
        Self { links, head: frames, len: 0 }
    }

    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    pub(crate) fn contains(&self, frame: u32) -> bool {
        self.links[frame as usize][BACK] != NONE
    }

    /// Puts a frame outside the list at its front.
    #[inline]
    pub(crate) fn push_front(&mut self, frame: u32) {
        debug_assert!(!self.contains(frame), "frame {frame} is in the list");
        let first = self.links[self.head as usize][BACK];
        self.links[frame as usize] = [first, self.head];
        self.links[first as usize][FRONT] = frame;
        self.links[self.head as usize][BACK] = frame;
        self.len += 1;
    }

    #[inline]
    pub(crate) fn remove(&mut self, frame: u32) {
        debug_assert!(self.contains(frame), "frame {frame} is not in the list");
        let [back, front] = self.links[frame as usize];
        self.links[front as usize][BACK] = back;
        self.links[back as usize][FRONT] = front;
        self.links[frame as usize] = [NONE; 2];
        self.len -= 1;
    }

    #[inline]
    pub(crate) fn move_to_front(&mut self, frame: u32) {
        if self.links[self.head as usize][BACK] != frame {
            self.remove(frame);
            self.push_front(frame);
        }
    }

    /// Takes the frame at the back, if there is one.
    pub(crate) fn pop_back(&mut self) -> Option<u32> {
        let last = self.links[self.head as usize][FRONT];
        if last == self.head {
            return None;
        }
        self.remove(last);
        Some(last)
    }
}

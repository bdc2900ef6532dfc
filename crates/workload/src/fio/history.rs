//! The writes by a job with `verify`, in their order for reading back.
//!
//! iolog.c of fio 3.33, `log_io_piece`; io_u.c, `check_get_verify`. With a map of used places nothing is written twice in a
//! pass, and the first write is read first. Without one the lowest place is read first, and a later write takes the place of
//! earlier ones that it overlaps.

use super::checks::Checks;
use super::job::Job;
use std::collections::{BTreeMap, VecDeque};

/// Pieces to read back, and when.
#[derive(Debug)]
pub(super) struct History {
    pieces: Pieces,
    /// Whether trims are read back as well.
    pub(super) has_trims: bool,
    /// Some are read back after so many writes; 0: none before the pass ends.
    backlog: u64,
    /// How many are read back then, and how many are left.
    batch: u64,
    left: u64,
    was_read: bool,
}

/// A write, by file, with its place in the file's part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) file: usize,
    pub(super) offset: u64,
    pub(super) length: u64,
}

#[derive(Debug)]
enum Pieces {
    InOrder(VecDeque<Piece>),
    /// Lengths, by file and place.
    ByPlace(BTreeMap<(usize, u64), u64>),
}

impl History {
    /// `None` if the job reads nothing back.
    pub(super) fn new(job: &Job) -> Option<Self> {
        let Checks { is_on, repeats_pattern, backlog, batch, .. } = job.checks;
        if !is_on || !job.verifies || !job.writes() {
            return None;
        }
        let pieces = if repeats_pattern || job.has_map() {
            Pieces::InOrder(VecDeque::new())
        } else {
            Pieces::ByPlace(BTreeMap::new())
        };
        let backlog = if repeats_pattern { 0 } else { backlog };
        let batch = if batch == 0 { backlog } else { batch };
        Some(Self { pieces, has_trims: repeats_pattern, backlog, batch, left: 0, was_read: false })
    }

    pub(super) fn has_backlog(&self) -> bool {
        self.backlog > 0
    }

    /// Takes a write down.
    pub(super) fn note(&mut self, piece: Piece) {
        let Piece { file, offset, length } = piece;
        match &mut self.pieces {
            Pieces::InOrder(pieces) => pieces.push_back(piece),
            Pieces::ByPlace(pieces) => {
                let end = offset + length;
                while let Some((&place, &other)) = pieces.range((file, 0)..(file, end)).next_back() {
                    if place.1 + other <= offset {
                        break;
                    }
                    pieces.remove(&place);
                }
                pieces.insert((file, offset), length);
            }
        }
    }

    /// The next one to be read back; `None` if there is none.
    pub(super) fn take(&mut self) -> Option<Piece> {
        match &mut self.pieces {
            Pieces::InOrder(pieces) => pieces.pop_front(),
            Pieces::ByPlace(pieces) => {
                pieces.pop_first().map(|((file, offset), length)| Piece { file, offset, length })
            }
        }
    }

    /// The one to be read back in place of the next request of a pass, if it is time.
    pub(super) fn take_backlog(&mut self) -> Option<Piece> {
        let count = self.count();
        if self.backlog == 0 || count == 0 {
            return None;
        }
        if self.left == 0 {
            if self.was_read || count % self.backlog != 0 {
                return None;
            }
            self.left = self.batch;
        }
        self.left -= 1;
        self.was_read = true;
        self.take()
    }

    /// A request by the pattern comes, a read or another one.
    pub(super) fn pass(&mut self, is_read: bool) {
        self.was_read = is_read;
    }

    /// A pass begins and forgets the rest.
    pub(super) fn clear(&mut self) {
        match &mut self.pieces {
            Pieces::InOrder(pieces) => pieces.clear(),
            Pieces::ByPlace(pieces) => pieces.clear(),
        }
    }

    fn count(&self) -> u64 {
        match &self.pieces {
            Pieces::InOrder(pieces) => pieces.len() as u64,
            Pieces::ByPlace(pieces) => pieces.len() as u64,
        }
    }
}

//! Unit tests. Each module tests the source file that its first line names, with what `nandlab_lab::inside` shows of it: in
//! `src` they would make cargo compile the crate a second time.

mod advice;
mod askers;
mod bench;
mod blocks;
mod buffer;
mod bundled;
mod choices;
mod contents;
mod control;
mod difference;
mod error;
mod footprint;
mod heat;
mod latency;
mod lifetime;
mod lists;
mod memories;
mod notices;
mod oplog;
mod papers;
mod precondition;
mod profiles;
mod recycling;
mod sampled;
mod series;
mod steady;
mod tree;
mod typed;
mod verify;

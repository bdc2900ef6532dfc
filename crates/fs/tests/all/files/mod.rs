//! File systems against a plain model, against other programs, and on FTLs.

mod conformance;
mod cuts;
mod disk;
mod model;
mod names;
mod requests;
mod tools;

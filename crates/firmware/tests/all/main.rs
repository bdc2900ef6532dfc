//! The library as C sees it, compared with what its header promises.

mod calls;
mod hosted;
mod libraries;
mod prove;
mod support;

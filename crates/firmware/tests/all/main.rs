//! The library as C sees it, compared with what its header promises.

mod calls;
mod libraries;
mod prove;
mod support;

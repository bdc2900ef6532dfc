//! What the buffers share: pages and their memories, the request loop, lists, block nodes.

pub(crate) mod blocks;
pub(crate) mod cache;
pub(crate) mod ghost;
pub(crate) mod io;
pub(crate) mod list;
pub(crate) mod paged;
pub(crate) mod pages;
pub(crate) mod places;
pub(crate) mod sizes;
pub(crate) mod table;

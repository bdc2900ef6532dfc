//! Parts shared by the buffers: pages and their memories, the request loop, lists, block nodes.

pub(crate) mod blocks;
pub(crate) mod blockwise;
pub(crate) mod cache;
pub(crate) mod ghost;
pub(crate) mod io;
pub(crate) mod list;
pub(crate) mod nvram_blocks;
pub(crate) mod paged;
pub(crate) mod pages;
pub(crate) mod places;
pub(crate) mod ranked;
pub(crate) mod sizes;
pub(crate) mod table;
pub(crate) mod tournament;

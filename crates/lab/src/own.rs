//! What a host of policies that somebody else wrote needs: their traits, and what they see.

pub use nandlab_block::own::{stop, Own, Replaces, Stopped};
pub use nandlab_buffer::own::{set_host as set_buffer_host, Host as BufferHost};
pub use nandlab_ftl::own::{set_host as set_ftl_host, About, Divided, Host as FtlHost};
pub use nandlab_ftl::parts::blocks::table::{BlockUse, Blocks};
pub use nandlab_ftl::parts::policy::{Move, Moved, PlacementPolicy, VictimPolicy, WearPolicy, Written};
pub use nandlab_nand::{BlockId, Lpn};

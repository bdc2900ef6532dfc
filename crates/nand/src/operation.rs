//! Device operations by name, for logs and power cuts.

use std::fmt;

/// One kind of flash command of [`crate::Nand`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operation {
    /// [`crate::Nand::read`].
    Read,
    /// [`crate::Nand::read_spare`].
    SpareRead,
    /// [`crate::Nand::read_tail`].
    TailRead,
    /// [`crate::Nand::program`].
    Program,
    /// [`crate::Nand::copy`].
    Copy,
    /// [`crate::Nand::program_spare`].
    SpareProgram,
    /// [`crate::Nand::erase`].
    Erase,
    /// [`crate::Nand::retire`].
    Retire,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Self; 8] = [
        Self::Read,
        Self::SpareRead,
        Self::TailRead,
        Self::Program,
        Self::Copy,
        Self::SpareProgram,
        Self::Erase,
        Self::Retire,
    ];

    /// The name in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::SpareRead => "spare_read",
            Self::TailRead => "tail_read",
            Self::Program => "program",
            Self::Copy => "copy",
            Self::SpareProgram => "spare_program",
            Self::Erase => "erase",
            Self::Retire => "retire",
        }
    }

    /// Whether the operation changes the contents of the flash.
    pub const fn changes_flash(self) -> bool {
        !matches!(self, Self::Read | Self::SpareRead | Self::TailRead)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

//! The exceptions of the module.

use pyo3::create_exception;

create_exception!(nandlab._native, NandlabError, pyo3::exceptions::PyException, "Something that nandlab says.");
create_exception!(
    nandlab._native,
    ConfigError,
    NandlabError,
    "An experiment is wrong. Attributes: file, line, column, key; None where they are not known."
);
create_exception!(
    nandlab._native,
    TraceError,
    NandlabError,
    "A trace is wrong or cannot be read. Attributes: file, line, column, key; None where they are not known. proposal: lines \
     of TOML that may read a trace of no known format, and a command with them; None otherwise."
);
create_exception!(
    nandlab._native,
    DeviceFull,
    NandlabError,
    "Too few good blocks are left, or the index or the file system is full. Attribute: result, what was measured until then; \
     None where the device could not even be opened."
);
create_exception!(
    nandlab._native,
    PolicyError,
    NandlabError,
    "A policy in Python raised an exception, which is its cause, or gave a wrong answer."
);
create_exception!(nandlab._native, PowerLost, NandlabError, "The device lost power.");

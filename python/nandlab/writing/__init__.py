"""Numbers, tables of TOML and files, written."""

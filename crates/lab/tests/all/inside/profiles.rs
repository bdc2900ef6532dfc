//! Tests of `src/profiles.rs`.

use super::bundled::assert_complete;
use nandlab_lab::profiles::LIST;

#[test]
fn every_file_is_on_the_list() {
    assert_complete(LIST, "profiles", ".toml");
}

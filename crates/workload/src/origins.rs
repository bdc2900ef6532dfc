//! Origins for parts of a workload that a user names: jobs and tenants.

use nandlab_nand::Origin;

/// Numbers no host part uses: one for each named part.
pub(crate) fn origins() -> impl Iterator<Item = Origin> {
    (Origin::NAMES.len()..Origin::COUNT - 1).map(|number| Origin(number as u8))
}

/// The names for the numbers, in brackets where a host part has the same one.
pub(crate) fn named<'a>(names: impl Iterator<Item = &'a str>) -> Vec<(Origin, String)> {
    let name = |name: &str| if Origin::from_name(name).is_some() { format!("[{name}]") } else { name.to_owned() };
    origins().zip(names.map(name)).collect()
}

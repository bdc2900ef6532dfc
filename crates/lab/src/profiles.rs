//! The device profiles that come with the program.

/// A bundled profile: its name and its TOML.
#[derive(Clone, Copy, Debug)]
pub struct Bundled {
    /// The name in `device.profile`.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

macro_rules! profiles {
    ($($name:literal,)*) => {
        /// Every bundled profile, by name.
        pub const LIST: &[Bundled] = &[
            $(Bundled { name: $name, text: include_str!(concat!("../../../profiles/", $name, ".toml")) },)*
        ];
    };
}

profiles! {
    "btree",
    "generic",
    "generic-8x4",
    "jasmine",
    "k9f5608",
    "k9k4g",
    "k9l8g08u0m",
    "wap",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_on_the_list() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| name.strip_suffix(".toml").map(str::to_owned))
            .collect();
        files.sort();
        assert_eq!(files, LIST.iter().map(|profile| profile.name).collect::<Vec<_>>());
    }
}

//! Files that come with the program.

/// A bundled file.
#[derive(Clone, Copy, Debug)]
pub struct Bundled {
    /// Its name without the extension. Experiments ask for it by this name.
    pub name: &'static str,
    /// Its contents.
    pub text: &'static str,
}

/// The [`Bundled`] files of a project folder, by name; an extension other than `.toml` may be given.
macro_rules! bundled {
    ($folder:literal: $($name:literal,)*) => { $crate::bundled::bundled! { $folder, ".toml": $($name,)* } };
    ($folder:literal, $ending:literal: $($name:literal,)*) => {
        &[$($crate::bundled::Bundled {
            name: $name,
            text: include_str!(concat!("../../../", $folder, "/", $name, $ending)),
        },)*]
    };
}

pub(crate) use bundled;

/// Fails unless `list` has every file of the folder with this extension, in name order.
#[cfg(test)]
pub(crate) fn assert_complete(list: &[Bundled], folder: &str, ending: &str) {
    let folder = format!("{}/../../{folder}", env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder of the sources is there")
        .map(|entry| entry.expect("its entries can be read").file_name().to_string_lossy().into_owned())
        .filter_map(|name| name.strip_suffix(ending).map(str::to_owned))
        .collect();
    files.sort();
    assert_eq!(files, list.iter().map(|file| file.name).collect::<Vec<_>>());
}

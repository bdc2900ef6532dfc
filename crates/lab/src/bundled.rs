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

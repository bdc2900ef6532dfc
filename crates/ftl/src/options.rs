//! Options of one choice: a policy that has some says them in its own file.

/// Declares the options of a choice, each with its default. An experiment that names the choice alone takes the defaults.
macro_rules! options {
    ($name:ident $(#[$about:meta])* { $($(#[$doc:meta])* $option:ident: $type:ty = $default:expr,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $($(#[$doc])* pub $option: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($option: $default,)+ }
            }
        }
    };
}

pub(crate) use options;

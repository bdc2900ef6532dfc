//! When a victim's pages move, in an FTL whose firmware empties victims at once.

/// When a victim's pages move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Collection {
    /// At once, when the die's open block is full, as in the board's firmware: the write waits until the victim is empty.
    #[default]
    AtOnce,
    /// By tokens, as in the page map: each host page moves a part of its die's victim, so the dies work side by side.
    Tokens,
}

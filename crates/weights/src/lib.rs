//! Downloads weights from a hub, for the gateway and for `forebay-engine`: resumed, verified, and only into the folder that
//! is meant for them.
//!
//! Nothing that a hub sends becomes part of a path unchecked: names of files and commits are checked where the hub's
//! description is read ([`Repository::read`]), and files are named after them, never after headers of a response.

mod cache;
mod disk;
mod fetch;
#[cfg(test)]
mod fuzz_tests;
mod hub;
mod proxy;
mod reference;
mod repository;

pub use cache::{HubCache, or_gone};
pub use disk::{DISK_RESERVE, engine_reserve, free_disk, rough};
pub use fetch::{FetchError, Phase, Selection, Watcher, fetch};
pub use hub::{DEFAULT_HUB, HUB_VARIABLE, Hub, HubError, TOKEN_VARIABLE};
pub use proxy::{ProxyError, ProxyRules};
pub use reference::{HUB_PREFIX, HubReference, is_hub_source, may_use, pinned};
pub use repository::{ChoiceError, Repository, RepositoryFile, Variant, VariantKind};

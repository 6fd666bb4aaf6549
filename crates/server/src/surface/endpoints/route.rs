//! Which route a path names, and which methods it takes.

use http::Method;
use percent_encoding::percent_decode_str;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Route {
    Collection,
    Flavors,
    Allotments,
    /// By name or id, as it is written.
    One(String),
    Suspend(String),
    Resume(String),
    Events(String),
    Replicas(String),
    Usage(String),
    Unknown,
}

impl Route {
    pub(super) fn of(path: &str) -> Self {
        let rest = path.strip_prefix("/v1/endpoints").unwrap_or("/?");
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let Some(rest) = rest.strip_prefix('/') else { return Self::Collection };
        let (which, part) = rest.split_once('/').map_or((rest, None), |(which, part)| (which, Some(part)));
        let which = percent_decode_str(which).decode_utf8_lossy().into_owned();
        match (which.as_str(), part) {
            ("", _) => Self::Unknown,
            ("flavors", None) => Self::Flavors,
            ("allotments", None) => Self::Allotments,
            (_, None) => Self::One(which),
            (_, Some("suspend")) => Self::Suspend(which),
            (_, Some("resume")) => Self::Resume(which),
            (_, Some("events")) => Self::Events(which),
            (_, Some("replicas")) => Self::Replicas(which),
            (_, Some("usage")) => Self::Usage(which),
            (_, Some(_)) => Self::Unknown,
        }
    }

    pub(super) const fn allow(&self) -> &'static str {
        match self {
            Self::Collection => "GET, HEAD, POST",
            Self::One(_) => "GET, HEAD, PATCH, DELETE",
            Self::Suspend(_) | Self::Resume(_) => "POST",
            Self::Flavors | Self::Allotments | Self::Events(_) | Self::Replicas(_) | Self::Usage(_) | Self::Unknown => {
                "GET, HEAD"
            }
        }
    }

    pub(super) fn takes(&self, method: &Method) -> bool {
        self.allow().split(", ").any(|name| name == method.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_found_with_and_without_a_slash_at_the_end() {
        let chat = || "chat".to_owned();
        for (path, route) in [
            ("/v1/endpoints", Route::Collection),
            ("/v1/endpoints/", Route::Collection),
            ("/v1/endpoints/flavors", Route::Flavors),
            ("/v1/endpoints/allotments/", Route::Allotments),
            ("/v1/endpoints/chat", Route::One(chat())),
            ("/v1/endpoints/ch%61t", Route::One(chat())),
            ("/v1/endpoints/chat/suspend", Route::Suspend(chat())),
            ("/v1/endpoints/chat/usage/", Route::Usage(chat())),
            ("/v1/endpoints/chat/nothing", Route::Unknown),
            ("/v1/endpoints/chat/events/1", Route::Unknown),
            ("/v1/endpoints//events", Route::Unknown),
            ("/v1/endpoints//", Route::Unknown),
        ] {
            assert_eq!(Route::of(path), route, "{path}");
        }
    }
}

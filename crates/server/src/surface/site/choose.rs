//! Decides which requests are for the console's files.

use http::{Method, StatusCode};

/// The first segment of every path that the console has a page for: those of `web/src/app/routes.tsx`.
const PAGES: [&str; 14] = [
    "models",
    "playground",
    "keys",
    "endpoints",
    "batches",
    "costs",
    "observability",
    "members",
    "audit",
    "settings",
    "help",
    "operator",
    "sign-in",
    "invitation",
];

#[derive(Debug, PartialEq, Eq)]
pub(super) enum SiteRoute<'a> {
    /// Another surface responds.
    Other,
    File(&'a str),
    /// The console's HTML document, which shows the page of its path.
    Page(StatusCode),
}

/// `accept` is the header. A client that accepts only JSON has the wrong address and gets the 404 of an API.
pub(super) fn choose<'a>(
    method: &Method,
    path: &'a str,
    accept: Option<&str>,
    is_file: impl Fn(&str) -> bool,
) -> SiteRoute<'a> {
    let Some(name) = path.strip_prefix('/') else { return SiteRoute::Other };
    let first = name.split('/').next().unwrap_or("");
    if !(method == Method::GET || method == Method::HEAD) || first == "v1" || first == "api" {
        return SiteRoute::Other;
    }
    let is_browser = accept.is_some_and(|accept| accept.contains("text/html"));
    let takes_html = is_browser || accept.is_none_or(|accept| accept.contains("*/*"));
    if (name.is_empty() || PAGES.contains(&first)) && takes_html {
        return SiteRoute::Page(StatusCode::OK);
    }
    if name != "index.html" && is_file(name) {
        return SiteRoute::File(name);
    }
    if is_browser { SiteRoute::Page(StatusCode::NOT_FOUND) } else { SiteRoute::Other }
}

/// The compressions of files; the better one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Brotli,
    Gzip,
}

impl Encoding {
    /// The best that `Accept-Encoding` allows.
    pub(super) fn of(accepted: &str) -> Option<Self> {
        let takes = |name: &str| {
            accepted.split(',').any(|one| {
                let mut pieces = one.split(';').map(str::trim);
                let is_refused = |weight: &str| weight.strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0));
                pieces.next() == Some(name) && !pieces.any(is_refused)
            })
        };
        [Self::Brotli, Self::Gzip].into_iter().find(|encoding| takes(encoding.name()))
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    /// The file name suffix that `web/scripts/compress.mjs` uses.
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gz",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BROWSER: Option<&str> = Some("text/html,application/xhtml+xml,*/*;q=0.8");
    const CURL: Option<&str> = Some("*/*");
    const CLIENT: Option<&str> = Some("application/json");

    fn get(path: &'static str, accept: Option<&str>) -> SiteRoute<'static> {
        choose(&Method::GET, path, accept, |name| ["index.html", "theme.js", "assets/index-1.js"].contains(&name))
    }

    #[test]
    fn paths_of_the_console_get_its_document() {
        for path in ["/", "/models", "/models/acme/tiny", "/endpoints/new", "/sign-in", "/models/v1"] {
            assert_eq!(get(path, BROWSER), SiteRoute::Page(StatusCode::OK), "{path}");
            assert_eq!(get(path, CURL), SiteRoute::Page(StatusCode::OK), "{path}");
            assert_eq!(get(path, None), SiteRoute::Page(StatusCode::OK), "{path}");
        }
    }

    #[test]
    fn every_route_of_the_console_is_one_of_its_pages() {
        let routes = include_str!("../../../../../web/src/app/routes.tsx");
        let quoted = routes.split('\'').skip(1).step_by(2).filter_map(|text| text.strip_prefix('/'));
        let firsts: Vec<&str> =
            quoted.filter_map(|path| path.split('/').next()).filter(|one| !one.is_empty()).collect();
        assert!(firsts.len() > PAGES.len(), "{firsts:?}");
        for first in firsts {
            assert!(PAGES.contains(&first), "{first}");
        }
    }

    #[test]
    fn a_client_that_forgot_v1_gets_the_error_of_the_api() {
        assert_eq!(get("/models", CLIENT), SiteRoute::Other);
        assert_eq!(choose(&Method::POST, "/chat/completions", BROWSER, |_| true), SiteRoute::Other);
    }

    #[test]
    fn files_are_found_and_the_document_has_no_second_path() {
        assert_eq!(get("/assets/index-1.js", CURL), SiteRoute::File("assets/index-1.js"));
        assert_eq!(get("/theme.js", CLIENT), SiteRoute::File("theme.js"));
        assert_eq!(get("/index.html", CURL), SiteRoute::Other);
        assert_eq!(get("/assets/index-2.js", CURL), SiteRoute::Other, "an old file name is not a page");
    }

    #[test]
    fn a_browser_gets_the_consoles_own_404_page() {
        assert_eq!(get("/nowhere", BROWSER), SiteRoute::Page(StatusCode::NOT_FOUND));
        assert_eq!(get("/metrics", CURL), SiteRoute::Other);
    }

    #[test]
    fn paths_of_the_apis_are_left_to_them() {
        for path in ["/v1", "/v1/models", "/v1/nowhere", "/api", "/api/nowhere"] {
            assert_eq!(get(path, BROWSER), SiteRoute::Other, "{path}");
        }
    }

    #[test]
    fn the_best_accepted_encoding_is_chosen() {
        assert_eq!(Encoding::of("gzip, deflate, br, zstd"), Some(Encoding::Brotli));
        assert_eq!(Encoding::of("gzip;q=1.0, br;q=0"), Some(Encoding::Gzip));
        assert_eq!(Encoding::of("br;q=0.000,gzip"), Some(Encoding::Gzip));
        assert_eq!(Encoding::of("identity"), None);
        assert_eq!(Encoding::of(""), None);
    }
}

//! Which requests are the console's.

use http::{Method, StatusCode};

/// The first piece of every address that the console has a page for: those of `web/src/app/routes.tsx`.
const PAGES: [&str; 11] = [
    "models",
    "playground",
    "keys",
    "endpoints",
    "costs",
    "observability",
    "members",
    "audit",
    "settings",
    "sign-in",
    "invitation",
];

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Choice<'a> {
    /// Somebody else answers.
    Leave,
    File(&'a str),
    /// The console's document, which finds its page by the address.
    Page(StatusCode),
}

/// `accept` is the header; a client that asks for JSON alone has taken the wrong address, and is told so elsewhere.
pub(super) fn choose<'a>(
    method: &Method,
    path: &'a str,
    accept: Option<&str>,
    is_file: impl Fn(&str) -> bool,
) -> Choice<'a> {
    let Some(name) = path.strip_prefix('/') else { return Choice::Leave };
    let first = name.split('/').next().unwrap_or("");
    if !(method == Method::GET || method == Method::HEAD) || first == "v1" || first == "api" {
        return Choice::Leave;
    }
    let is_browser = accept.is_some_and(|accept| accept.contains("text/html"));
    let takes_html = is_browser || accept.is_none_or(|accept| accept.contains("*/*"));
    if (name.is_empty() || PAGES.contains(&first)) && takes_html {
        return Choice::Page(StatusCode::OK);
    }
    if name != "index.html" && is_file(name) {
        return Choice::File(name);
    }
    if is_browser { Choice::Page(StatusCode::NOT_FOUND) } else { Choice::Leave }
}

/// How a file may be packed; the better one first.
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

    /// Of the file that `web/scripts/compress.mjs` wrote.
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

    fn get(path: &'static str, accept: Option<&str>) -> Choice<'static> {
        choose(&Method::GET, path, accept, |name| ["index.html", "theme.js", "assets/index-1.js"].contains(&name))
    }

    #[test]
    fn addresses_of_the_console_are_its_page() {
        for path in ["/", "/models", "/models/acme/tiny", "/endpoints/new", "/sign-in", "/models/v1"] {
            assert_eq!(get(path, BROWSER), Choice::Page(StatusCode::OK), "{path}");
            assert_eq!(get(path, CURL), Choice::Page(StatusCode::OK), "{path}");
            assert_eq!(get(path, None), Choice::Page(StatusCode::OK), "{path}");
        }
    }

    #[test]
    fn a_client_that_forgot_v1_is_told_so_in_its_own_words() {
        assert_eq!(get("/models", CLIENT), Choice::Leave);
        assert_eq!(choose(&Method::POST, "/chat/completions", BROWSER, |_| true), Choice::Leave);
    }

    #[test]
    fn files_are_found_and_the_document_has_no_second_address() {
        assert_eq!(get("/assets/index-1.js", CURL), Choice::File("assets/index-1.js"));
        assert_eq!(get("/theme.js", CLIENT), Choice::File("theme.js"));
        assert_eq!(get("/index.html", CURL), Choice::Leave);
        assert_eq!(get("/assets/index-2.js", CURL), Choice::Leave, "an old name is gone, not a page");
    }

    #[test]
    fn a_browser_gets_the_consoles_own_page_for_what_is_not_there() {
        assert_eq!(get("/nowhere", BROWSER), Choice::Page(StatusCode::NOT_FOUND));
        assert_eq!(get("/metrics", CURL), Choice::Leave);
    }

    #[test]
    fn the_api_answers_for_itself() {
        for path in ["/v1", "/v1/models", "/v1/nowhere", "/api", "/api/nowhere"] {
            assert_eq!(get(path, BROWSER), Choice::Leave, "{path}");
        }
    }

    #[test]
    fn the_better_packing_that_is_accepted() {
        assert_eq!(Encoding::of("gzip, deflate, br, zstd"), Some(Encoding::Brotli));
        assert_eq!(Encoding::of("gzip;q=1.0, br;q=0"), Some(Encoding::Gzip));
        assert_eq!(Encoding::of("br;q=0.000,gzip"), Some(Encoding::Gzip));
        assert_eq!(Encoding::of("identity"), None);
        assert_eq!(Encoding::of(""), None);
    }
}

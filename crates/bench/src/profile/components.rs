//! The parts of a call that its costs are attributed to.

/// The source file and the function of some instructions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) file: &'a str,
    pub(super) function: &'a str,
}

/// One part of a call: a row of [`MODULES`], or one of the libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Component(&'static str);

const ALLOCATION: Component = Component("memory allocation");
const COPIES: Component = Component("copies of memory");
const RUNTIME: Component = Component("runtime (tokio)");
const DATABASE: Component = Component("database (sqlx, SQLite)");
const HASHES: Component = Component("SHA-256");
const OTHER: Component = Component("other libraries");
/// The component of the threads that serve calls has this.
pub(super) const SERVING: Component = Component("client connections");

/// Our modules. The first that fits counts.
const MODULES: [(&str, Component); 44] = [
    ("http1::request_head", Component("request head")),
    ("http1::headers", Component("request head")),
    ("http1::server", SERVING),
    ("http1::client", Component("engine connections")),
    ("http1::response_head", Component("engine connections")),
    ("http1::framing", Component("engine connections")),
    ("http1", Component("timers")),
    ("edge::request_body", Component("request body")),
    ("edge::memory_budget", Component("request body")),
    ("edge::throttle", Component("limits and quota")),
    ("edge", SERVING),
    ("dataplane::keys", Component("keys")),
    ("dataplane::admission", Component("limits and quota")),
    ("dataplane::admit", Component("limits and quota")),
    ("dataplane::quarantine", Component("limits and quota")),
    ("dataplane::resolve", Component("routing")),
    ("dataplane::hold", Component("routing")),
    ("dataplane::request::fingerprint", Component("routing")),
    ("dataplane::request", Component("request scan")),
    ("dataplane::response", Component("response scan")),
    ("dataplane::relay::whole", Component("response scan")),
    ("dataplane::relay::send", Component("engine connections")),
    ("dataplane::upstream", Component("engine connections")),
    ("dataplane::usage_tap", Component("metering")),
    ("dataplane::record", Component("metering")),
    ("dataplane", Component("relay")),
    ("dialects", Component("relay")),
    ("outbound", Component("engine connections")),
    ("fleet", Component("routing")),
    ("json_line", Component("log and journal lines")),
    ("json", Component("JSON scanner")),
    ("telemetry::access_log", Component("log and journal lines")),
    ("telemetry::recorder", Component("metering")),
    ("telemetry", Component("metrics")),
    ("store::usage::journal::line", Component("log and journal lines")),
    ("store::usage::journal", Component("journal")),
    ("store", DATABASE),
    ("background", Component("loops")),
    ("control", Component("loops")),
    ("domain::limits", Component("limits and quota")),
    ("domain::usage", Component("metering")),
    ("domain", Component("ids, prices, times")),
    ("server::credential", Component("keys")),
    ("server", Component("surface")),
];

/// Libraries with a task of their own, by a part of the path of their sources.
const LIBRARIES: [(&str, Component); 6] = [
    ("/tokio-", RUNTIME),
    ("/mio-", RUNTIME),
    ("/sqlx-", DATABASE),
    ("/libsqlite3-sys-", DATABASE),
    ("sqlite3.c", DATABASE),
    ("/sha2-", HASHES),
];

/// Libraries that serve any part of a call. Only functions whose names do not say whom they serve are attributed to them.
const TOOLS: [(&str, Component); 19] = [
    ("/httparse-", Component("HTTP heads")),
    ("/http-", Component("HTTP heads")),
    ("/bytes-", Component("buffers (bytes)")),
    ("/hashbrown-", Component("hash maps")),
    ("/foldhash-", Component("hash maps")),
    ("/ahash-", Component("hash maps")),
    ("library/std/src/collections/hash", Component("hash maps")),
    ("library/core/src/hash", Component("hash maps")),
    ("/crc32fast-", Component("checksums")),
    ("/memchr-", Component("string search and UTF-8")),
    ("/simdutf8-", Component("string search and UTF-8")),
    ("library/core/src/str", Component("string search and UTF-8")),
    ("/itoa-", Component("numbers as text")),
    ("library/core/src/num", Component("numbers as text")),
    ("library/core/src/fmt", Component("numbers as text")),
    ("/parking_lot", Component("locks")),
    ("/arc-swap-", Component("locks")),
    ("library/std/src/sync", Component("locks")),
    ("library/alloc/src", Component("vectors and strings")),
];

impl Component {
    pub(super) fn name(self) -> &'static str {
        self.0
    }

    /// Code of a library that was inlined into one of our functions belongs to that function.
    pub(super) fn of(place: Place<'_>) -> Self {
        let Place { file, function } = place;
        if let Some(component) = of_symbol(function) {
            return component;
        }
        if let Some(component) = module_of_file(file).as_deref().and_then(of_module) {
            return component;
        }
        let by_file = |libraries: &[(&str, Self)]| {
            libraries.iter().find(|(part, _)| file.contains(part)).map(|(_, component)| *component)
        };
        by_file(&LIBRARIES).or_else(|| of_function(function)).or_else(|| by_file(&TOOLS)).unwrap_or(OTHER)
    }
}

/// The C library's functions, and those that call the allocator.
fn of_symbol(function: &str) -> Option<Component> {
    let is_copy = |name: &str| function.contains(name);
    if ["malloc", "_int_free", "free", "realloc", "calloc", "cfree"].contains(&function)
        || ["_int_malloc", "_int_realloc", "malloc_consolidate", "unlink_chunk", "tcache_", "mi_", "_mi_"]
            .iter()
            .any(|start| function.starts_with(start))
    {
        return Some(ALLOCATION);
    }
    ["memcpy", "memmove", "memset", "memcmp"].into_iter().any(is_copy).then_some(COPIES)
}

/// The module of a file in `crates/`, such as `dataplane::keys::cache`.
fn module_of_file(file: &str) -> Option<String> {
    let (_, inside) = file.rsplit_once("crates/").filter(|_| file.contains("/src/"))?;
    let module = inside.strip_suffix(".rs").unwrap_or(inside).replacen("/src", "", 1).replace('/', "::");
    Some(module.strip_suffix("::mod").unwrap_or(&module).to_owned())
}

fn of_module(module: &str) -> Option<Component> {
    let fits = |start: &str| module.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
    MODULES.iter().find(|(start, _)| fits(start)).map(|(_, component)| *component)
}

/// The component of the module that is named first in a function such as `<edge::body::Body as http_body::Body>::poll_frame`.
fn of_function(function: &str) -> Option<Component> {
    let is_boundary = |byte: u8| !(byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':');
    let starts = |at: &usize| *at == 0 || is_boundary(function.as_bytes()[*at - 1]);
    let found = (0..function.len()).filter(|at| function.is_char_boundary(*at)).filter(starts).find_map(|at| {
        let end = function[at..].bytes().position(is_boundary).map_or(function.len(), |length| at + length);
        of_module(&function[at..end])
    });
    found.or_else(|| function.contains("tokio::").then_some(RUNTIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_belongs_to_its_module_also_where_it_was_inlined() {
        let cases = [
            ("/b/crates/dataplane/src/keys/mod.rs", "edge::connection::serve", "keys"),
            ("crates/json/src/scan.rs", "dataplane::request::chat::parse", "JSON scanner"),
            ("/rustc/1/library/core/src/option.rs", "<fleet::pool::Pool>::pick", "routing"),
            ("/registry/tokio-1.40/src/runtime/mod.rs", "edge::workers::Core::serve", "runtime (tokio)"),
            ("/registry/bytes-1.1/src/bytes.rs", "bytes::Bytes::split_to", "buffers (bytes)"),
            ("/registry/bytes-1.1/src/bytes.rs", "http1::server::serve", "client connections"),
            ("/registry/json_lines/src/lib.rs", "json_lines::go", "other libraries"),
            ("???", "malloc", "memory allocation"),
            ("./string/../memmove-vec-unaligned-erms.S", "__memcpy_avx_unaligned_erms", "copies of memory"),
        ];
        for (file, function, expected) in cases {
            assert_eq!(Component::of(Place { file, function }).name(), expected, "{file} {function}");
        }
    }
}

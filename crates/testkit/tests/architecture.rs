//! Checks the map of ARCHITECTURE.md against the sources: which crate and which module may use which.
//!
//! It reads manifests, `use` items and paths that start with `crate::`. Tests and comments are left out. Paths are
//! followed to top-level modules: a file `crates/fleet/src/drivers/process/mod.rs` belongs to `drivers`, and names that
//! `lib.rs` exports again belong to the module they come from.

#![expect(clippy::unwrap_used, reason = "a file that cannot be read fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Our crates, and which of our crates each may use.
const CRATES: &[(&str, &[&str])] = &[
    ("background", &[]),
    ("domain", &[]),
    ("fuzz", &[]),
    ("http1", &[]),
    ("json", &[]),
    ("json_line", &[]),
    ("dialects", &["domain", "json"]),
    ("xtask", &[]),
    ("engine", &["background", "outbound", "weights"]),
    ("test_kubelet", &[]),
    ("testkit", &["http1"]),
    ("bench", &["testkit"]),
    ("campaign", &["testkit"]),
    ("testbed", &["testkit"]),
    ("edge", &["background", "domain", "http1"]),
    ("outbound", &["http1"]),
    ("bucket", &["domain", "http1", "outbound"]),
    ("weights", &["background", "http1", "outbound"]),
    ("store", &["background", "domain", "json_line"]),
    ("fleet", &["background", "domain", "http1", "outbound", "weights"]),
    ("dataplane", &["background", "dialects", "domain", "fleet", "http1", "json", "json_line", "outbound", "store"]),
    ("control", &["background", "bucket", "domain", "fleet", "store"]),
    ("telemetry", &["dataplane", "domain", "fleet", "http1", "json_line", "outbound", "store"]),
    ("config", &["bucket", "control", "domain", "edge", "fleet", "store", "telemetry", "weights"]),
    (
        "node",
        &[
            "background",
            "bucket",
            "config",
            "control",
            "dataplane",
            "domain",
            "edge",
            "fleet",
            "outbound",
            "store",
            "telemetry",
            "weights",
        ],
    ),
    ("view", &["control", "domain", "store"]),
    ("admin", &["config", "control", "domain", "node", "store", "view"]),
    (
        "server",
        &[
            "admin",
            "background",
            "bucket",
            "config",
            "control",
            "dataplane",
            "dialects",
            "domain",
            "edge",
            "fleet",
            "http1",
            "node",
            "outbound",
            "store",
            "telemetry",
            "view",
            "weights",
        ],
    ),
];

type Graph = BTreeMap<String, BTreeSet<String>>;

#[test]
fn a_crate_uses_only_the_crates_above_it() {
    let ours: BTreeSet<&str> = CRATES.iter().map(|(name, _)| *name).collect();
    for name in crates() {
        let allowed = CRATES.iter().find(|(known, _)| *known == name);
        let (_, allowed) = allowed.unwrap_or_else(|| panic!("the crate {name} is missing in CRATES"));
        for used in dependencies(&name).iter().filter(|used| ours.contains(used.as_str())) {
            assert!(allowed.contains(&used.as_str()), "{name} must not depend on {used}");
        }
    }
}

#[test]
fn domain_does_no_io_or_json_and_only_store_speaks_sql() {
    for banned in ["tokio", "http", "hyper", "sqlx", "axum", "serde_json"] {
        assert!(!dependencies("domain").contains(banned), "domain must not depend on {banned}");
    }
    for name in crates().iter().filter(|name| *name != "store") {
        assert!(!dependencies(name).contains("sqlx"), "{name} must not depend on sqlx: SQL is in store only");
    }
    for (file, text) in sources("domain") {
        for banned in ["std::fs", "std::net", "SystemTime::now", "Instant::now"] {
            assert!(!text.contains(banned), "{} must not use {banned}", file.display());
        }
    }
}

#[test]
fn a_surface_does_not_use_another_surface() {
    let surfaces = ["anthropic", "console", "endpoints", "openai", "site"];
    for (file, text) in sources("server") {
        let shown = file.display().to_string();
        let Some(own) = surfaces.iter().find(|name| shown.contains(&format!("/surface/{name}/"))) else { continue };
        for path in paths(&text) {
            let segments: Vec<&str> = path.split("::").collect();
            if let ["crate", "surface", used, ..] = segments[..]
                && surfaces.contains(&used)
            {
                assert_eq!(used, *own, "{shown} uses {path}");
            }
        }
    }
}

#[test]
fn the_modules_of_a_crate_form_no_cycle() {
    for name in crates() {
        let found = cycles(&modules(&name));
        assert!(found.is_empty(), "modules of {name} use each other: {found:?}");
    }
}

#[test]
fn paths_are_read_from_nested_use_items() {
    let text = "use crate::{a::{self, B}, c};\nuse super::d;\nfn f() { crate::e::g(); }\n// use crate::z;\n";
    let found: Vec<String> = paths(&without_tests_and_comments(text)).into_iter().collect();
    assert_eq!(found, ["crate::a::B", "crate::a::self", "crate::c", "crate::e::g", "super::d"]);
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates are in one folder").to_owned()
}

fn crates() -> Vec<String> {
    let folders = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    let crates = folders.filter(|folder| folder.join("Cargo.toml").is_file());
    let mut names: Vec<String> = crates.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The names under `[dependencies]`, without those for tests.
fn dependencies(name: &str) -> BTreeSet<String> {
    let manifest = fs::read_to_string(root().join(name).join("Cargo.toml")).unwrap();
    let section = manifest.split("\n[").find(|section| section.starts_with("dependencies]")).unwrap_or_default();
    let lines = section.lines().skip(1).filter(|line| line.contains('='));
    lines.map(|line| line.split(['.', ' ', '=']).next().unwrap_or_default().to_owned()).collect()
}

/// The files of a crate with their texts, without tests and comments.
fn sources(name: &str) -> Vec<(PathBuf, String)> {
    let (mut found, mut folders) = (Vec::new(), vec![root().join(name).join("src")]);
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && !is_compiled_for_tests_only(&path) {
                let text = without_tests_and_comments(&fs::read_to_string(&path).unwrap());
                found.push((path, text));
            }
        }
    }
    found
}

/// Whether the file is a module of tests, by its name or because its parent declares it for tests only.
fn is_compiled_for_tests_only(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let declaration = format!("#[cfg(test)]\nmod {stem};");
    let parent = fs::read_to_string(path.with_file_name("mod.rs")).unwrap_or_default();
    stem == "tests" || stem.ends_with("_tests") || parent.contains(&declaration)
}

fn without_tests_and_comments(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.fold(String::new(), |joined, line| joined + line + "\n")
}

/// Every path of a `use` item, and every other path that starts with `crate::`.
fn paths(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for item in text.split(';') {
        let lines = item.lines().map(str::trim_start);
        let is_use = |line: &&str| line.starts_with("use ") || (line.starts_with("pub") && line.contains(" use "));
        if let Some(start) = lines.clone().position(|line| is_use(&line)) {
            let joined: String = lines.skip(start).collect();
            let tree = joined.split_once("use ").map_or("", |(_, tree)| tree);
            expand("", tree, &mut found);
        }
    }
    for (at, _) in text.match_indices("crate::") {
        let path: String =
            text[at..].chars().take_while(|letter| letter.is_alphanumeric() || "_:".contains(*letter)).collect();
        if !text[..at].ends_with(['$', '_']) && !path.ends_with("::") {
            found.insert(path);
        }
    }
    found
}

/// Adds the paths of a use tree such as `crate::{a, b::{self, C}}`.
fn expand(prefix: &str, tree: &str, found: &mut BTreeSet<String>) {
    let tree = tree.trim();
    match tree.split_once('{') {
        None => {
            let name = tree.split(" as ").next().unwrap_or_default().trim();
            if !name.is_empty() {
                found.insert(format!("{prefix}{name}"));
            }
        }
        Some((start, rest)) => {
            let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
            let prefix = format!("{prefix}{}", start.trim());
            let (mut depth, mut from) = (0, 0);
            for (at, letter) in inner.char_indices() {
                match letter {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 0 => {
                        expand(&prefix, &inner[from..at], found);
                        from = at + 1;
                    }
                    _ => {}
                }
            }
            expand(&prefix, &inner[from..], found);
        }
    }
}

/// Which top-level module of a crate uses which other.
fn modules(name: &str) -> Graph {
    let src = root().join(name).join("src");
    let files = sources(name);
    let exported = exports(&src, &files);
    let mut graph = Graph::new();
    for (file, text) in &files {
        let relative = file.strip_prefix(&src).unwrap();
        let mut place: Vec<String> =
            relative.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
        place.retain(|part| part != "mod");
        let own = place[0].clone();
        if ["lib", "main", "bin"].contains(&own.as_str()) {
            continue;
        }
        for path in paths(text) {
            let Some(used) = top_module(&path, &place) else { continue };
            let used = exported.get(&used).cloned().unwrap_or(used);
            let is_module = src.join(&used).is_dir() || src.join(&used).with_extension("rs").is_file();
            if used != own && is_module {
                graph.entry(own.clone()).or_default().insert(used);
            }
        }
    }
    graph
}

/// The first name below the crate's root in a path that a module at `place` writes.
fn top_module(path: &str, place: &[String]) -> Option<String> {
    let mut segments = path.split("::").peekable();
    if segments.peek() == Some(&"crate") {
        return segments.nth(1).map(ToOwned::to_owned);
    }
    let mut depth = place.len();
    while segments.next_if_eq(&"super").is_some() {
        depth = depth.saturating_sub(1);
    }
    // `super` steps that do not reach the root stay within the own module.
    (depth == 0).then(|| segments.next().map(ToOwned::to_owned)).flatten()
}

/// Names that `lib.rs` exports again, and the modules they come from.
fn exports(src: &Path, files: &[(PathBuf, String)]) -> BTreeMap<String, String> {
    let Some((_, text)) = files.iter().find(|(file, _)| *file == src.join("lib.rs")) else { return BTreeMap::new() };
    let direct: BTreeMap<String, String> = paths(text)
        .iter()
        .filter_map(|path| Some((path.rsplit("::").next()?.to_owned(), path.split("::").next()?.to_owned())))
        .collect();
    let origin = |module: &String| direct.get(module).unwrap_or(module).clone();
    direct.iter().filter(|(name, module)| name != module).map(|(name, module)| (name.clone(), origin(module))).collect()
}

/// The sets of modules that use each other, directly or by way of others.
fn cycles(graph: &Graph) -> BTreeSet<BTreeSet<String>> {
    let reach = |from: &String| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(module) = next.pop() {
            let used = graph.get(&module).into_iter().flatten();
            next.extend(used.filter(|used| seen.insert((*used).clone())).cloned().collect::<Vec<_>>());
        }
        seen
    };
    let reached: BTreeMap<&String, BTreeSet<String>> = graph.keys().map(|module| (module, reach(module))).collect();
    let cyclic = graph.keys().filter(|module| reached[module].contains(*module));
    let mutual = |one: &String| {
        let both = reached.iter().filter(|(other, reach)| reached[one].contains(**other) && reach.contains(one));
        both.map(|(other, _)| (*other).clone()).collect()
    };
    cyclic.map(mutual).collect()
}

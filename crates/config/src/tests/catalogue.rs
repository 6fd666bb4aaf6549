//! Models, their engines, and aliases.

use super::*;
use domain::GpuType;
use domain::model::{EngineKind, Launch, Modality, NativeApi, RequestRules, Serving};
use expect_test::expect;

#[test]
fn options_of_an_engine_are_checked_by_name() {
    let flavor = |members: &str| {
        let text =
            format!("[[models]]\nid = 'acme/x'\n[[models.flavors]]\nname = 'a'\ngpu_type = 'local/cpu'\n{members}\n");
        Config::parse(&text, Path::new("/etc/forebay"), &|_| None)
    };
    let config = flavor("engine = 'vllm'\ntool_parser = 'hermes'\nchat_template = 't.jinja'\nargs = ['--dtype=auto']");
    let config = config.unwrap();
    let options = &config.catalogue.get("acme/x").unwrap().flavors[0].options;
    assert_eq!(options.tool_parser.as_deref(), Some("hermes"));
    assert_eq!(options.chat_template.as_deref(), Some("/etc/forebay/t.jinja"));
    assert_eq!(options.args, ["--dtype=auto"]);
    for (members, problem) in [
        ("engine = 'vllm'\nargs = ['--port', '1']", "`--port` is set by Forebay"),
        ("engine = 'llama-server'\ntool_parser = 'hermes'", "llama-server has no such option"),
        ("engine = 'vllm'\ntool_parser = 'a b'", "a name of letters, digits and -._"),
        ("argv = ['serve']\nargs = ['--x']", "has all arguments of its command"),
    ] {
        let problems = flavor(members).unwrap_err().to_string();
        assert!(problems.contains(problem), "{problems}");
    }
}

#[test]
fn the_catalogue_of_the_example_is_valid_when_uncommented() {
    let (before, catalogue) = EXAMPLE.split_once(CATALOGUE_STARTS).unwrap();
    let lines = catalogue.lines().map(|line| line.strip_prefix("# ").or(line.strip_prefix('#')).unwrap_or(line));
    let text = format!("{before}[[models]]{}", lines.collect::<Vec<_>>().join("\n"));
    let config = parse(&text).unwrap_or_else(|problems| panic!("{problems}"));
    let model = config.catalogue.get("acme/tiny-chat").unwrap();
    let Serving::Upstreams(upstreams) = &model.serving else { panic!("{model:?}") };
    assert_eq!(upstreams[0].api_key.as_deref(), Some("s3cret"));
    assert_eq!(upstreams[0].max_in_flight, Some(64));
    assert_eq!(model.flavors[0].weights.as_deref(), Some("/etc/forebay/models/tiny"));
    assert_eq!(model.flavors[0].launch, Launch::Engine(EngineKind::ForebayEngine));
}

#[test]
fn weights_are_a_path_beside_the_file_or_a_reference_to_the_hub() {
    for (written, read) in [("w.gguf", "/etc/forebay/w.gguf"), ("hf://acme/tiny/t.gguf", "hf://acme/tiny/t.gguf")] {
        let config = parse(&format!("[[models]]\nid = 'acme/x'\nengine = {{ weights = '{written}' }}")).unwrap();
        let Serving::Engine(pool) = &config.catalogue.get("acme/x").unwrap().serving else { panic!("{written}") };
        assert_eq!(pool.weights, read);
    }
}

#[test]
fn the_rules_for_requests_are_read_per_model_and_documented() {
    let start = "[[models]]\nid = 'acme/x'\nupstreams = [{ url = 'http://a/v1' }]\n";
    let rules = |lines: &str| parse(&format!("{start}{lines}")).unwrap().catalogue.get("acme/x").unwrap().rules.clone();
    let usual = rules("");
    assert_eq!(usual, RequestRules::default());
    let docs = include_str!("../../../../docs/api/chat.md");
    let undocumented: Vec<_> = usual.refused().filter(|name| !docs.contains(&format!("`{name}`"))).collect();
    assert_eq!(undocumented, [""; 0]);
    let own = rules("media_urls = true\nrefused_members = ['Top_K']");
    assert_eq!(own, RequestRules { refused_members: Some(vec!["top_k".into()]), media_urls: true });
    let problems = problems(&format!("{start}refused_members = ['a b']"));
    assert!(problems.contains("refused_members: each must be a name"), "{problems}");
}

#[test]
fn calls_are_passed_through_to_engines_that_speak_them() {
    let file = |model: &str, upstream: &str| {
        format!("[[models]]\nid = 'acme/x'\n{model}\nupstreams = [{{ url = 'http://a/v1', {upstream} }}]")
    };
    let native = |model: &str, upstream: &str| {
        let config = parse(&file(model, upstream)).unwrap_or_else(|problems| panic!("{problems}"));
        let Serving::Upstreams(upstreams) = &config.catalogue.get("acme/x").unwrap().serving else { panic!("{model}") };
        upstreams[0].native.clone()
    };
    assert!(native("", "max_in_flight = 3").is_empty());
    assert_eq!(native("", "native = ['messages']"), [NativeApi::Messages]);
    assert_eq!(native("", "engine = 'vllm', native = ['responses']"), [NativeApi::Responses]);
    let both = native("share_prefix_cache = true", "engine = 'vllm', native = ['responses', 'messages']");
    assert_eq!(both, [NativeApi::Responses, NativeApi::Messages]);
    for (model, upstream, problem) in [
        ("", "native = 'messages'", "'messages' is not a list of texts in quotes"),
        ("", "native = ['chat']", "\"chat\" is not \"messages\" or \"responses\""),
        ("", "native = ['messages', 'messages']", "has \"messages\" twice"),
        ("modality = 'embedding'", "native = ['messages']", "only chat models have calls to pass through"),
        ("", "engine = 'forebay-engine', native = ['responses']", "forebay-engine does not speak \"responses\""),
        (
            "",
            "engine = 'vllm', native = ['responses', 'messages']",
            "\"messages\" needs share_prefix_cache = true: vllm has no cache_salt there, so workspaces share its cache",
        ),
    ] {
        let expected = format!("line 4: [[models]] acme/x upstreams[0] native: {problem}");
        assert_eq!(problems(&file(model, upstream)), expected);
    }
}

/// SPEC 2.3: the operator's own prefix marks an optimized build; raw weights are under the author's.
#[test]
fn the_operators_prefix_marks_optimized_builds() {
    for (id, optimized, expected) in [
        ("forebay/a", "", true),
        ("forebay/a", "optimized = true", true),
        ("forebay/a", "optimized = false", false),
        ("acme/a", "", false),
        ("acme/a", "optimized = false", false),
    ] {
        let text = format!("[[models]]\nid = '{id}'\n{optimized}\nupstreams = [{{ url = 'http://[::1]:9001/v1' }}]");
        let config = parse(&text).unwrap();
        assert_eq!(config.catalogue.get(id).unwrap().optimized, expected, "{id} {optimized}");
    }
    let text = "[[models]]\nid = 'acme/a'\noptimized = true\nupstreams = [{ url = 'http://[::1]:9001/v1' }]";
    assert!(problems(text).contains("only ids under the operator's prefix"), "{}", problems(text));
}

#[test]
fn the_quickstart_has_two_models() {
    let config = Config::parse(QUICKSTART, Path::new("config"), &nothing_set).unwrap();
    let ids: Vec<&str> = config.catalogue.ids().map(|id| id.as_str()).collect();
    assert_eq!(ids, ["forebay/smollm2-135m-instruct", "sentence-transformers/all-minilm-l6-v2"]);
    assert!(config.catalogue.get(ids[0]).unwrap().optimized);
    assert_eq!(config.catalogue.get(ids[1]).unwrap().modality, Modality::Embedding);
    assert_eq!(config.allotment_defaults.of(&GpuType::parse("local/cpu").unwrap()), 8);
    assert_eq!(config.drivers.process_slots["local/cpu"], 4);
}

#[test]
fn a_model_needs_an_id_and_one_way_to_serve_it() {
    let config = parse("[[models]]\nid = 'acme/x'\nupstreams = [{ url = 'http://[::1]:9001/v1/' }]").unwrap();
    let model = config.catalogue.get("acme/x").unwrap();
    let Serving::Upstreams(upstreams) = &model.serving else { panic!("{model:?}") };
    let upstream = &upstreams[0];
    assert_eq!((upstream.url.as_str(), upstream.model.as_str()), ("http://[::1]:9001/v1", "acme/x"));
    assert_eq!((upstream.health_path.as_str(), upstream.continuous_usage), ("/health", true));
    assert_eq!((model.name.as_str(), model.context_length, model.modality), ("acme/x", 8192, Modality::Chat));

    let flavors_alone = "[[models]]\nid = 'acme/x'\n[[models.flavors]]\nname = 'a'\ngpu_type = 'local/cpu'";
    let config = parse(flavors_alone).unwrap();
    assert_eq!(config.catalogue.get("acme/x").unwrap().serving, Serving::Upstreams(Vec::new()));

    expect![[r#"
        line 1: [[models]] id: is missing, for instance "acme/tiny-chat"
        line 1: [[models]] upstreams: is missing: a model needs upstreams, an engine or flavors
        line 4: [[models]] acme/y upstreams: is missing: a model needs upstreams, an engine or flavors"#]]
    .assert_eq(&problems("[[models]]\n[[models]]\nid = 'acme/y'\nupstreams = []"));
}

#[test]
fn the_hash_of_the_catalogue_depends_on_models_and_prices_and_not_on_secrets() {
    let hash = |price: &str, key: &str, folder: &str| {
        let text = format!(
            "[[models]]\nid = 'acme/x'\ninput_per_1m = '{price}'\n\
             upstreams = [{{ url = 'http://127.0.0.1:1', api_key_env = 'K' }}]\n\
             [[models.flavors]]\nname = 'a'\ngpu_type = 'local/cpu'\nweights = 'w'"
        );
        Config::parse(&text, Path::new(folder), &|name| (name == "K").then(|| key.to_owned())).unwrap().catalogue.hash
    };
    assert_eq!(hash("0.1", "one", "/a").len(), 16);
    assert_eq!(hash("0.1", "one", "/a"), hash("0.10", "two", "/b"));
    assert_ne!(hash("0.1", "one", "/a"), hash("0.2", "one", "/a"));
}

#[test]
fn only_models_for_rerank_have_a_price_of_searches() {
    let file = |modality: &str, price: &str| {
        format!("[[models]]\nid = 'acme/x'\n{modality}\n{price}\nupstreams = [{{ url = 'http://127.0.0.1:1' }}]")
    };
    let price = |modality, price| {
        let config = parse(&file(modality, price)).unwrap_or_else(|problems| panic!("{problems}"));
        config.catalogue.get("acme/x").unwrap().per_1k_searches.to_string()
    };
    assert_eq!(price("modality = 'rerank'", "per_1k_searches = '2.00'"), "2.00");
    assert_eq!(price("modality = 'rerank'", ""), "0.00");
    assert_eq!(price("", "per_1k_searches = '0'"), "0.00");
    for modality in ["", "modality = 'embedding'"] {
        let problem = problems(&file(modality, "per_1k_searches = '2.00'"));
        assert_eq!(problem, "line 4: [[models]] acme/x per_1k_searches: only models for rerank have searches");
    }
    let problem = problems(&file("modality = 'rerank'", "per_1k_searches = 2"));
    assert!(problem.starts_with("line 4: [[models]] acme/x per_1k_searches: 2 is a number"), "{problem}");
}

const ALIASED: &str = "[[models]]\nid = 'acme/x'\nupstreams = [{ url = 'http://127.0.0.1:1' }]\n";

#[test]
fn aliases_name_models_of_the_file() {
    let aliases = "[[aliases]]\nname = 'claude-*'\nmodel = 'acme/x'\n[[aliases]]\nname = 'gpt'\nmodel = 'acme/x'\n";
    let aliased = parse(&format!("{aliases}{ALIASED}")).unwrap_or_else(|problems| panic!("{problems}")).catalogue;
    let shown = |alias: &domain::alias::Alias| format!("{} {}", alias.name, alias.model);
    assert_eq!(aliased.aliases().iter().map(shown).collect::<Vec<_>>(), ["claude-* acme/x", "gpt acme/x"]);
    assert_ne!(aliased.hash, parse(ALIASED).unwrap_or_else(|problems| panic!("{problems}")).catalogue.hash);
}

#[test]
fn bad_aliases_are_reported() {
    let aliases = r#"
[[aliases]]
name = "acme/x"
model = "acme/y"

[[aliases]]
name = "dedicated/x"
model = "gpt"

[[aliases]]
name = "gpt"
model = "acme/x"

[[aliases]]
name = "gpt"
modle = "acme/x"

[[aliases]]
name = "a*b"
model = "dedicated/y"
"#;
    expect![[r#"
        line 6: [[aliases]] name: is the id of a model
        line 7: [[aliases]] acme/x model: is not the id of a model of this file
        line 10: [[aliases]] name: is under dedicated/, which is reserved for dedicated endpoints
        line 11: [[aliases]] dedicated/x model: is an alias; name the model that it stands for
        line 17: [[aliases]] model: is missing, for instance "acme/tiny-chat"
        line 18: [[aliases]] name: duplicates the name of an alias above
        line 19: [[aliases]] gpt modle: unknown key; known here: name, model
        line 22: [[aliases]] name: must have 1 to 128 letters, digits and ._:/-, with at most one * at the end
        line 23: [[aliases]] a*b model: is not the id of a model of this file"#]]
    .assert_eq(&problems(&format!("{ALIASED}{aliases}")));
}

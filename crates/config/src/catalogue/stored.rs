//! Models outside of the configuration file: the same tables as JSON, read by the same rules.

use super::Source;
use super::entry::{CatalogueEntry, FlavorEntry};
use super::model::Checks;
use super::table::{EntryProblem, Why};
use crate::weights::HUB_REFERENCE;
use crate::{Config, kubernetes};
use domain::Model;
use domain::model::{DriverKind, EngineKind, EngineOptions, Launch, Serving};
use fleet::drivers::kubernetes::Settings;
use fleet::engine::options::stored_problem_of;
use serde_json::{Map, Value};

/// The settings that decide whether a model is valid.
#[derive(Debug, Clone)]
pub struct ModelRules {
    operator_prefix: String,
    cluster: Option<Settings>,
}

impl ModelRules {
    pub fn of(config: &Config) -> Self {
        Self { operator_prefix: config.server.operator_prefix.clone(), cluster: config.drivers.kubernetes.clone() }
    }

    /// The provider of optimized builds.
    pub fn operator_prefix(&self) -> &str {
        &self.operator_prefix
    }

    pub const fn cluster(&self) -> Option<&Settings> {
        self.cluster.as_ref()
    }

    /// The GPU types of the cluster; none without a cluster.
    pub fn cluster_gpu_types(&self) -> impl Iterator<Item = &str> {
        self.cluster.iter().flat_map(|cluster| cluster.gpus.keys().map(String::as_str))
    }

    /// Reads a model from its table, such as `{"id": "acme/x", "upstreams": [{"url": "http://a/v1"}]}`.
    ///
    /// Unlike in the file, no key can be read from the environment, no command or image can be started, engines have
    /// harmless options only, and paths are absolute: they have to be right on every node.
    pub fn read(&self, definition: &Map<String, Value>) -> Result<Model, Vec<EntryProblem>> {
        let source = Source { operator_prefix: &self.operator_prefix, environment: &|_| None, check: &check_stored };
        let (model, mut problems) = source.read(definition.clone());
        for (index, flavor) in model.iter().flat_map(|model| &model.flavors).enumerate() {
            let options_problem = match &flavor.launch {
                Launch::Engine(engine) => stored_problem_of(*engine, &flavor.options),
                Launch::Argv(_) => None,
            };
            for (key, why) in kubernetes::problem_of(flavor, self.cluster.as_ref()).into_iter().chain(options_problem) {
                problems.push(EntryProblem { path: format!("flavors[{index}].{key}"), why: Why::Other(why) });
            }
        }
        if let Some(Serving::Engine(pool)) = model.as_ref().map(|model| &model.serving) {
            let options = EngineOptions { args: pool.args.clone(), ..EngineOptions::default() };
            if let Some((key, why)) = stored_problem_of(EngineKind::ForebayEngine, &options) {
                problems.push(EntryProblem { path: format!("engine.{key}"), why: Why::Other(why) });
            }
        }
        model.filter(|_| problems.is_empty()).ok_or(problems)
    }
}

const ONLY_IN_FILE: &str = "is only allowed in the configuration file";
const RELATIVE_PATH: &str = "is neither an absolute path nor a reference such as hf://owner/model";

fn check_stored(entry: &CatalogueEntry, checks: &Checks<'_>) {
    if let Some(engine) = entry.engine.as_ref().filter(|engine| engine.flavor.is_none())
        && is_relative(engine.weights.as_ref())
    {
        checks.part("engine").report("weights", RELATIVE_PATH);
    }
    for (index, flavor) in entry.flavors.iter().flatten().enumerate() {
        let checks = checks.element("flavors", index);
        for (key, is_set) in [("argv", flavor.argv.is_some()), ("image", flavor.image.is_some())] {
            if is_set {
                checks.report(key, ONLY_IN_FILE);
            }
        }
        let FlavorEntry { driver, weights, .. } = flavor;
        let driver = driver.as_ref().or(entry.driver.as_ref());
        if driver.is_none_or(|driver| driver != DriverKind::Kubernetes.as_str()) && is_relative(weights.as_ref()) {
            checks.report("weights", RELATIVE_PATH);
        }
    }
}

fn is_relative(weights: Option<&String>) -> bool {
    weights
        .is_some_and(|weights| !weights.is_empty() && !weights.starts_with(HUB_REFERENCE) && !weights.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::path::Path;

    fn read(definition: Value) -> Result<Model, String> {
        let config =
            Config::parse("", Path::new("/etc/forebay"), &|name| (name == "HOME").then(|| "secret".to_owned()));
        let config = config.unwrap();
        let Value::Object(definition) = definition else { panic!("{definition}") };
        ModelRules::of(&config)
            .read(&definition)
            .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn a_definition_is_read_like_a_table_of_the_file() {
        let text = r#"
            [[models]]
            id = "acme/x"
            context_length = 4096
            input_per_1m = "0.10"
            refused_members = ["seed"]
            upstreams = [ { url = "http://a/v1", model = "x", max_in_flight = 3 }, { url = "http://b/v1" } ]
            [[models.flavors]]
            name = "cpu"
            gpu_type = "local/cpu"
            weights = "/srv/x.gguf"
        "#;
        let file = Config::parse(text, Path::new("/etc/forebay"), &|_| None).unwrap();
        let stored = read(json!({
            "id": "acme/x", "context_length": 4096, "input_per_1m": "0.10", "refused_members": ["seed"],
            "upstreams": [{"url": "http://a/v1", "model": "x", "max_in_flight": 3}, {"url": "http://b/v1", "model": null}],
            "flavors": [{"name": "cpu", "gpu_type": "local/cpu", "weights": "/srv/x.gguf"}],
        }));
        assert_eq!(stored.as_ref(), Ok(&**file.catalogue.get("acme/x").unwrap()));
    }

    #[test]
    fn engines_of_the_gateway_compute_a_number_of_calls_at_once() {
        let engine = |engine: Value| read(json!({"id": "acme/x", "engine": engine}));
        let model = engine(json!({"weights": "hf://acme/x", "parallel": 2})).unwrap();
        assert!(matches!(&model.serving, Serving::Engine(pool) if pool.parallel == Some(2)), "{model:?}");
        let error = engine(json!({"weights": "hf://acme/x", "parallel": 65})).unwrap_err();
        assert!(error.contains("engine.parallel: the value is not a whole number from 1 to 64"), "{error}");
        let error = engine(json!({"flavor": "a", "parallel": 2})).unwrap_err();
        assert!(error.contains("engine.parallel: is for engines that the gateway runs itself"), "{error}");
    }

    #[test]
    fn a_stored_model_cannot_name_an_image() {
        let cluster = "[drivers.kubernetes]\ngpus = { \"nvidia/h100\" = { resource = \"nvidia.com/gpu\" } }\n\
            [drivers.kubernetes.images]\nvllm = \"vllm:1\"\n";
        let config = Config::parse(cluster, Path::new("/etc/forebay"), &|_| None).unwrap();
        let flavor = json!({"name": "a", "gpu_type": "nvidia/h100", "driver": "kubernetes", "engine": "vllm",
            "weights": "hf://acme/x"});
        let mut definition = Map::new();
        definition.insert("id".to_owned(), "acme/x".into());
        definition.insert("flavors".to_owned(), json!([flavor]));
        assert!(ModelRules::of(&config).read(&definition).is_ok());
        definition["flavors"][0]["image"] = "acme/other:1".into();
        let problems = ModelRules::of(&config).read(&definition).unwrap_err();
        let found: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(found, [format!("flavors[0].image: {ONLY_IN_FILE}")]);
    }

    #[test]
    fn references_to_the_hub_are_safe_in_a_command() {
        for good in ["hf://acme/tiny", "hf://Acme_1/tiny-2.5@v1.0/sub/t.Q4_K_M.gguf", "hf://_a/b"] {
            assert!(read(json!({"id": "acme/x", "engine": {"weights": good}})).is_ok(), "{good}");
        }
        let bad = [
            "hf://",
            "hf://acme",
            "hf://acme/",
            "hf:///x",
            "hf://acme/../x",
            "hf://acme/x;id",
            "hf://acme/$(id)",
            "hf://acme/x y",
            "hf://acme/--help",
            "hf://acme/x\ny",
            "hf://acme/x'",
            "hf://acme/{weights}",
        ];
        for bad in bad {
            let engine = read(json!({"id": "acme/x", "engine": {"weights": bad}})).unwrap_err();
            assert!(engine.starts_with("engine.weights: "), "{bad:?}: {engine}");
            let flavor = json!({"name": "a", "gpu_type": "local/cpu", "weights": bad});
            let flavor = read(json!({"id": "acme/x", "flavors": [flavor]})).unwrap_err();
            assert!(flavor.starts_with("flavors[0].weights: "), "{bad:?}: {flavor}");
        }
    }

    #[test]
    fn every_problem_names_its_key() {
        let upstreams = json!([{"url": "http://a/v1"}]);
        for (definition, expected) in [
            (json!({"upstreams": upstreams}), "id: is missing, for instance \"acme/tiny-chat\""),
            (json!({"id": "acme/x"}), "upstreams: is missing: a model needs upstreams, an engine or flavors"),
            (
                json!({"id": "acme/x", "context_length": 0, "upstreams": upstreams}),
                "context_length: the value is not a whole number from 1 to 1000000000",
            ),
            (
                json!({"id": "acme/x", "upstreams": [{"url": "http://a/v1"}, {"url": "a"}]}),
                "upstreams[1].url: the value is not an http:// or https:// URL with a host and without credentials or query",
            ),
            (
                json!({"id": "acme/x", "upstreams": [{"url": "http://a/v1", "api_key_env": "HOME"}]}),
                "upstreams[0].api_key_env: the environment variable HOME is not set",
            ),
            (
                json!({"id": "acme/x", "flavors": [{"name": "a", "gpu_type": "local/cpu", "argv": ["sh"]}]}),
                "flavors[0].argv: is only allowed in the configuration file",
            ),
            (
                json!({"id": "acme/x", "flavors": [{"name": "a", "gpu_type": "local/cpu", "engine": "vllm",
                    "args": ["--dtype", "auto", "--trust-remote-code"]}]}),
                "flavors[0].args: `--trust-remote-code` is only allowed in the configuration file",
            ),
            (
                json!({"id": "acme/x", "engine": {"weights": "/srv/x.gguf", "args": ["--chat-template=/x"]}}),
                "engine.args: `--chat-template` is only allowed in the configuration file",
            ),
            (
                json!({"id": "acme/x", "engine": {"weights": "x.gguf"}}),
                "engine.weights: is neither an absolute path nor a reference such as hf://owner/model",
            ),
            (
                json!({"id": "acme/x", "flavors": [{"name": "a", "gpu_type": "local/cpu", "driver": "kubernetes"}]}),
                "flavors[0].driver: is \"kubernetes\", but there is no [drivers.kubernetes]",
            ),
        ] {
            assert_eq!(read(definition.clone()).unwrap_err(), expected, "{definition}");
        }
        let unknown = read(json!({"id": "acme/x", "colour": 1, "upstreams": upstreams})).unwrap_err();
        assert!(unknown.starts_with("colour: unknown key"), "{unknown}");
    }
}

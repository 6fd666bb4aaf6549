//! Answers that must be JSON, JSON of a schema, or a call: llguidance forbids every token that would break it.

use crate::refusal::Refusal;
use crate::tools::{Function, Syntax};
use anyhow::Context;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llguidance::api::TopLevelGrammar;
use llguidance::{JsonCompileOptions, Matcher, ParserFactory};
use serde_json::{Value, json};

/// Compiles schemas for one vocabulary. Making it walks over all tokens, so it is made once.
pub(crate) struct Constraints {
    factory: ParserFactory,
}

/// One compiled schema.
pub(crate) struct Constraint {
    matcher: Matcher,
}

impl Constraints {
    pub(crate) fn new(model: &LlamaModel) -> anyhow::Result<Self> {
        let tokens = LlamaSampler::llguidance_tok_env(model);
        let mut factory = ParserFactory::new_simple(&tokens).context("the vocabulary does not suit llguidance")?;
        factory.quiet();
        Ok(Self { factory })
    }

    /// Any JSON object.
    pub(crate) fn object(&self) -> Result<Constraint, Refusal> {
        self.schema(&json!({"type": "object"}), "response_format")
    }

    /// JSON of this schema; `param` is where the caller wrote it.
    pub(crate) fn schema(&self, schema: &Value, param: &str) -> Result<Constraint, Refusal> {
        if !schema.is_object() {
            return Err(Refusal::invalid(param, "must be a JSON schema, an object"));
        }
        let mut schema = schema.clone();
        usual_blanks().apply_to(&mut schema);
        self.compile(TopLevelGrammar::from_json_schema(schema), param)
    }

    /// The JSON of a call of one of these functions.
    pub(crate) fn call(&self, syntax: Syntax, functions: &[Function]) -> Result<Constraint, Refusal> {
        self.compile(TopLevelGrammar::from_lark(syntax.grammar(functions, &usual_blanks())), "tools")
    }

    fn compile(&self, grammar: TopLevelGrammar, param: &str) -> Result<Constraint, Refusal> {
        let parser = self.factory.create_parser(grammar);
        let parser = parser.map_err(|error| Refusal::unsupported(param, first_line(&error.to_string())))?;
        let matcher = Matcher::new(Ok(parser));
        match matcher.get_error() {
            None => Ok(Constraint { matcher }),
            Some(error) => Err(Refusal::unsupported(param, first_line(&error))),
        }
    }
}

impl Constraint {
    /// A sampler with a state of its own.
    pub(crate) fn sampler(&self) -> LlamaSampler {
        self.matcher.deep_clone().into()
    }
}

/// Small models like to write blanks for ever; the usual ones are all they get.
fn usual_blanks() -> JsonCompileOptions {
    JsonCompileOptions {
        item_separator: ", ".to_owned(),
        key_separator: ": ".to_owned(),
        whitespace_flexible: false,
        ..JsonCompileOptions::default()
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

//! Constrained output (JSON, JSON of a schema, or a tool call): llguidance masks every token that would violate it.

use crate::error::RequestError;
use crate::tools::{Function, Syntax};
use anyhow::Context;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llguidance::api::TopLevelGrammar;
use llguidance::{JsonCompileOptions, Matcher, ParserFactory};
use serde_json::{Value, json};

/// Compiles schemas for one vocabulary. Expensive to create, since it iterates over all tokens.
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
        let mut factory = ParserFactory::new_simple(&tokens).context("llguidance does not support the vocabulary")?;
        factory.quiet();
        Ok(Self { factory })
    }

    /// Any JSON object.
    pub(crate) fn object(&self) -> Result<Constraint, RequestError> {
        self.schema(&json!({"type": "object"}), "response_format")
    }

    /// JSON of this schema; `param` is its path in the request.
    pub(crate) fn schema(&self, schema: &Value, param: &str) -> Result<Constraint, RequestError> {
        if !schema.is_object() {
            return Err(RequestError::invalid(param, "must be a JSON schema object"));
        }
        let mut schema = schema.clone();
        fixed_whitespace().apply_to(&mut schema);
        self.compile(TopLevelGrammar::from_json_schema(schema), param)
    }

    /// JSON of a call to one of these functions.
    pub(crate) fn call(&self, syntax: Syntax, functions: &[Function]) -> Result<Constraint, RequestError> {
        self.compile(TopLevelGrammar::from_lark(syntax.grammar(functions, &fixed_whitespace())), "tools")
    }

    fn compile(&self, grammar: TopLevelGrammar, param: &str) -> Result<Constraint, RequestError> {
        let parser = self.factory.create_parser(grammar);
        let parser = parser.map_err(|error| RequestError::unsupported(param, first_line(&error.to_string())))?;
        let matcher = Matcher::new(Ok(parser));
        match matcher.get_error() {
            None => Ok(Constraint { matcher }),
            Some(error) => Err(RequestError::unsupported(param, first_line(&error))),
        }
    }
}

impl Constraint {
    /// A sampler with its own state.
    pub(crate) fn sampler(&self) -> LlamaSampler {
        self.matcher.deep_clone().into()
    }
}

/// Fixed whitespace, since small models tend to write blanks endlessly.
fn fixed_whitespace() -> JsonCompileOptions {
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

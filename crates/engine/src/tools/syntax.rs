//! The ways in which models write that they call a function.

use super::Function;
use llguidance::JsonCompileOptions;
use serde_json::Value;
use std::fmt::Write as _;

/// Learned from the model's chat template, which shows the model the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// `<tool_call>{"name": …, "arguments": …}</tool_call>` beside other text, as Hermes and Qwen do.
    Tagged,
    /// The answer itself is `{"name": …, "parameters": …}`, as with Llama 3.
    Bare,
}

pub(super) const OPEN: &str = "<tool_call>";
pub(super) const CLOSE: &str = "</tool_call>";

impl Syntax {
    /// The one that a template teaches.
    pub(crate) fn of_template(template: &str) -> Self {
        if template.contains(OPEN) { Self::Tagged } else { Self::Bare }
    }

    /// What the model writes before the JSON of a call.
    pub(crate) fn opening(self) -> &'static str {
        match self {
            Self::Tagged => "<tool_call>\n",
            Self::Bare => "",
        }
    }

    /// What follows the JSON of a call, where something does.
    pub(crate) fn closing(self) -> Option<&'static str> {
        match self {
            Self::Tagged => Some(CLOSE),
            Self::Bare => None,
        }
    }

    /// The JSON of a call of one of these functions, as a grammar for llguidance.
    pub(crate) fn grammar(self, functions: &[Function], options: &JsonCompileOptions) -> String {
        let arguments = match self {
            Self::Tagged => "arguments",
            Self::Bare => "parameters",
        };
        let mut grammar = String::from("start: ");
        let names: Vec<String> = (0..functions.len()).map(|index| format!("call_{index}")).collect();
        grammar.push_str(&names.join(" | "));
        for (name, function) in names.iter().zip(functions) {
            let beginning = format!("{{\"name\": \"{}\", \"{arguments}\": ", function.name);
            let mut schema = function.parameters.clone();
            options.apply_to(&mut schema);
            // Text in quotes is written as in JSON; a schema is a grammar of its own.
            let _ = write!(grammar, "\n{name}: {} arguments_{name} \"}}\"", Value::from(beginning));
            let _ = write!(grammar, "\narguments_{name}: %json {schema}");
        }
        grammar
    }
}

#[cfg(test)]
mod tests {
    use super::Syntax;

    #[test]
    fn a_template_tells_how_its_model_writes_calls() {
        assert_eq!(Syntax::of_template("… return <tool_call>\\n{…}"), Syntax::Tagged);
        assert_eq!(Syntax::of_template(r#"{"name": function name, "parameters": …}"#), Syntax::Bare);
    }
}

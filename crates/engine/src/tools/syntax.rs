//! Syntax of tool calls in model output.

use super::Function;
use llguidance::JsonCompileOptions;
use serde_json::Value;
use std::fmt::Write as _;

/// Derived from the model's chat template, which shows the same syntax to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// `<tool_call>{"name": …, "arguments": …}</tool_call>` within text, as with Hermes and Qwen.
    Tagged,
    /// The whole output is `{"name": …, "parameters": …}`, as with Llama 3.
    Bare,
}

pub(super) const OPEN: &str = "<tool_call>";
pub(super) const CLOSE: &str = "</tool_call>";

impl Syntax {
    /// The syntax used by a template.
    pub(crate) fn of_template(template: &str) -> Self {
        if template.contains(OPEN) { Self::Tagged } else { Self::Bare }
    }

    /// Text before the JSON of a call.
    pub(crate) fn opening(self) -> &'static str {
        match self {
            Self::Tagged => "<tool_call>\n",
            Self::Bare => "",
        }
    }

    /// Text after the JSON of a call, if any.
    pub(crate) fn closing(self) -> Option<&'static str> {
        match self {
            Self::Tagged => Some(CLOSE),
            Self::Bare => None,
        }
    }

    /// llguidance grammar of the JSON of a call to one of these functions.
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
            // Quoted strings use JSON escapes; a schema is a separate rule.
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
    fn the_syntax_is_derived_from_the_template() {
        assert_eq!(Syntax::of_template("… return <tool_call>\\n{…}"), Syntax::Tagged);
        assert_eq!(Syntax::of_template(r#"{"name": function name, "parameters": …}"#), Syntax::Bare);
    }
}

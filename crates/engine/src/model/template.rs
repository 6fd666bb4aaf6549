//! Chat templates: Jinja text in the file's metadata that renders messages into a prompt.
//!
//! Templates target Python's Jinja as configured by Hugging Face: blocks are trimmed, methods of Python strings and lists
//! are available, and `raise_exception` rejects a conversation.

use crate::error::RequestError;
use crate::tools::Syntax;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Error, ErrorKind, Value};
use serde_json::{Map, Value as Json};

const NAME: &str = "chat";

/// Fallback for models without a template.
const CHATML: &str = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] \
                      + '<|im_end|>' + '\\n' }}{% endfor %}{{ '<|im_start|>assistant\\n' }}";

/// A parsed template.
pub(crate) struct ChatTemplate {
    environment: Environment<'static>,
    bos: String,
    eos: String,
    supports_tools: bool,
    syntax: Syntax,
}

impl ChatTemplate {
    /// Parses the template, or ChatML if there is none. `bos` and `eos` are the texts of those tokens.
    pub(crate) fn new(source: Option<String>, bos: String, eos: String) -> Result<Self, Error> {
        let mut environment = Environment::new();
        environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_function("raise_exception", |message: String| -> Result<Value, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, message))
        });
        let source = source.unwrap_or_else(|| CHATML.to_owned());
        let syntax = Syntax::of_template(&source);
        environment.add_template_owned(NAME, source)?;
        let supports_tools = environment.get_template(NAME)?.undeclared_variables(false).contains("tools");
        Ok(Self { environment, bos, eos, supports_tools, syntax })
    }

    /// Whether the template includes tool definitions.
    pub(crate) fn supports_tools(&self) -> bool {
        self.supports_tools
    }

    /// How the model writes tool calls.
    pub(crate) fn syntax(&self) -> Syntax {
        self.syntax
    }

    /// Renders the prompt of a conversation, up to the assistant's turn.
    pub(crate) fn render(
        &self,
        messages: &[Json],
        tools: &[Json],
        extras: &Map<String, Json>,
    ) -> Result<String, RequestError> {
        let mut variables = extras.clone();
        variables.insert("messages".to_owned(), Json::Array(messages.to_vec()));
        variables.insert("add_generation_prompt".to_owned(), Json::Bool(true));
        variables.insert("bos_token".to_owned(), Json::String(self.bos.clone()));
        variables.insert("eos_token".to_owned(), Json::String(self.eos.clone()));
        if !tools.is_empty() {
            variables.insert("tools".to_owned(), Json::Array(tools.to_vec()));
        }
        let template = self.environment.get_template(NAME).map_err(|error| template_error(&error))?;
        template.render(Value::from(Serde(&variables))).map_err(|error| template_error(&error))
    }
}

/// The message of `raise_exception`, or a generic reason.
fn template_error(error: &Error) -> RequestError {
    let reason = error.detail().unwrap_or("the template does not support this conversation").to_owned();
    RequestError::invalid("messages", format!("cannot be rendered with the model's chat template: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::ChatTemplate;
    use serde_json::{Map, json};

    fn template(source: &str) -> ChatTemplate {
        ChatTemplate::new(Some(source.to_owned()), "<s>".to_owned(), "</s>".to_owned()).unwrap()
    }

    #[test]
    fn python_methods_and_special_tokens_are_available() {
        let template =
            template("{{ bos_token }}{% for m in messages %}\n{{ m['content'].strip() }}{{ eos_token }}{% endfor %}");
        let prompt = template.render(&[json!({"role": "user", "content": " hi "})], &[], &Map::new()).unwrap();
        assert_eq!(prompt, "<s>hi</s>");
    }

    #[test]
    fn tools_are_rendered_with_their_members_in_order() {
        let template = template("{% if tools %}{{ tools | tojson }}{% endif %}");
        assert!(template.supports_tools());
        let tool: serde_json::Value = serde_json::from_str(r#"{"type":"function","b":1,"a":2}"#).unwrap();
        assert_eq!(template.render(&[], &[tool], &Map::new()).unwrap(), r#"[{"type": "function", "b": 1, "a": 2}]"#);
    }

    #[test]
    fn a_template_can_reject_a_conversation() {
        let template = template("{{ raise_exception('roles must alternate') }}");
        assert!(!template.supports_tools());
        let error = template.render(&[], &[], &Map::new()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`messages` cannot be rendered with the model's chat template: roles must alternate"
        );
    }

    #[test]
    fn chatml_is_used_without_a_template() {
        let template = ChatTemplate::new(None, String::new(), String::new()).unwrap();
        let prompt = template.render(&[json!({"role": "user", "content": "hi"})], &[], &Map::new()).unwrap();
        assert_eq!(prompt, "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
    }
}

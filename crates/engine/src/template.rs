//! The chat template of a model: Jinja text in the file's metadata that turns messages into a prompt.
//!
//! Templates are written for Python's Jinja, as Hugging Face sets it up: blocks are trimmed, methods of Python's
//! strings and lists are there, and `raise_exception` refuses a conversation.

use crate::refusal::Refusal;
use crate::tools::Syntax;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Error, ErrorKind, Value};
use serde_json::{Map, Value as Json};

const NAME: &str = "chat";

/// What models without a template of their own are most often trained on.
const CHATML: &str = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] \
                      + '<|im_end|>' + '\\n' }}{% endfor %}{{ '<|im_start|>assistant\\n' }}";

/// A template that is ready to render.
pub(crate) struct ChatTemplate {
    environment: Environment<'static>,
    bos: String,
    eos: String,
    knows_tools: bool,
    syntax: Syntax,
}

impl ChatTemplate {
    /// Parses the template; without one, ChatML is taken. `bos` and `eos` are the texts of those tokens.
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
        let knows_tools = environment.get_template(NAME)?.undeclared_variables(false).contains("tools");
        Ok(Self { environment, bos, eos, knows_tools, syntax })
    }

    /// Whether tool definitions reach the model.
    pub(crate) fn knows_tools(&self) -> bool {
        self.knows_tools
    }

    /// How the model writes that it calls a tool.
    pub(crate) fn syntax(&self) -> Syntax {
        self.syntax
    }

    /// The prompt for a conversation, up to where the assistant speaks.
    pub(crate) fn render(
        &self,
        messages: &[Json],
        tools: &[Json],
        extras: &Map<String, Json>,
    ) -> Result<String, Refusal> {
        let mut variables = extras.clone();
        variables.insert("messages".to_owned(), Json::Array(messages.to_vec()));
        variables.insert("add_generation_prompt".to_owned(), Json::Bool(true));
        variables.insert("bos_token".to_owned(), Json::String(self.bos.clone()));
        variables.insert("eos_token".to_owned(), Json::String(self.eos.clone()));
        if !tools.is_empty() {
            variables.insert("tools".to_owned(), Json::Array(tools.to_vec()));
        }
        let template = self.environment.get_template(NAME).map_err(|error| refused(&error))?;
        template.render(Value::from(Serde(&variables))).map_err(|error| refused(&error))
    }
}

/// The template's own words where it refused, else that it did not work out.
fn refused(error: &Error) -> Refusal {
    let reason = error.detail().unwrap_or("it does not fit the conversation").to_owned();
    Refusal::invalid("messages", format!("cannot be put into the model's chat template: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::ChatTemplate;
    use serde_json::{Map, json};

    fn template(source: &str) -> ChatTemplate {
        ChatTemplate::new(Some(source.to_owned()), "<s>".to_owned(), "</s>".to_owned()).unwrap()
    }

    #[test]
    fn pythons_methods_and_special_tokens_are_there() {
        let template =
            template("{{ bos_token }}{% for m in messages %}\n{{ m['content'].strip() }}{{ eos_token }}{% endfor %}");
        let prompt = template.render(&[json!({"role": "user", "content": " hi "})], &[], &Map::new()).unwrap();
        assert_eq!(prompt, "<s>hi</s>");
    }

    #[test]
    fn tools_reach_a_template_that_knows_them_in_their_own_order() {
        let template = template("{% if tools %}{{ tools | tojson }}{% endif %}");
        assert!(template.knows_tools());
        let tool: serde_json::Value = serde_json::from_str(r#"{"type":"function","b":1,"a":2}"#).unwrap();
        assert_eq!(template.render(&[], &[tool], &Map::new()).unwrap(), r#"[{"type": "function", "b": 1, "a": 2}]"#);
    }

    #[test]
    fn a_template_refuses_in_its_own_words() {
        let template = template("{{ raise_exception('roles must alternate') }}");
        assert!(!template.knows_tools());
        let refusal = template.render(&[], &[], &Map::new()).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "`messages` cannot be put into the model's chat template: roles must alternate"
        );
    }

    #[test]
    fn without_a_template_chatml_is_taken() {
        let template = ChatTemplate::new(None, String::new(), String::new()).unwrap();
        let prompt = template.render(&[json!({"role": "user", "content": "hi"})], &[], &Map::new()).unwrap();
        assert_eq!(prompt, "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
    }
}

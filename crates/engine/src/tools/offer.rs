//! Tools of a request, and whether the model may or must call them.

use crate::error::RequestError;
use crate::members::Members;
use serde_json::{Map, Value};

const MAX_NAME_LENGTH: usize = 64;

/// Tools of a request.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Tools {
    /// The original definitions, for the model's template.
    pub definitions: Vec<Value>,
    pub functions: Vec<Function>,
    pub choice: ToolChoice,
    /// Allows several calls in one response.
    pub parallel: bool,
}

/// A function that can be called.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Function {
    pub name: String,
    /// The JSON schema of its arguments.
    pub parameters: Value,
}

/// Whether a call is required.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum ToolChoice {
    /// The model decides.
    #[default]
    Free,
    /// The output must be a call to one of `functions`.
    Forced,
}

impl Tools {
    pub(crate) fn read(members: Members<'_>) -> Result<Self, RequestError> {
        let definitions = members.list("tools")?.unwrap_or_default().to_vec();
        let functions: Vec<Function> =
            definitions.iter().enumerate().map(|(index, tool)| function(tool, index)).collect::<Result<_, _>>()?;
        let parallel = members.get("parallel_tool_calls").is_none() || members.flag("parallel_tool_calls")?;
        let with = |functions, choice| Ok(Self { definitions, functions, choice, parallel });
        match members.get("tool_choice") {
            None => with(functions, ToolChoice::Free),
            Some(Value::String(mode)) => match mode.as_str() {
                "auto" => with(functions, ToolChoice::Free),
                "none" => Ok(Self::default()),
                "required" if functions.is_empty() => Err(members.invalid("tool_choice", "requires `tools`")),
                "required" => with(functions, ToolChoice::Forced),
                _ => Err(members.invalid("tool_choice", "must be none, auto, required, or name a function")),
            },
            Some(_) => {
                let name = named(members)?;
                let function = functions.into_iter().find(|function| function.name == name);
                let function = function.ok_or_else(|| {
                    members.invalid("tool_choice.function.name", "is not one of the functions in `tools`")
                });
                with(vec![function?], ToolChoice::Forced)
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }
}

fn function(tool: &Value, index: usize) -> Result<Function, RequestError> {
    let path = format!("tools[{index}]");
    let tool = tool.as_object().ok_or_else(|| RequestError::invalid(&path, "must be an object"))?;
    let members = Members::inside(tool, &path);
    if members.text("type")? != Some("function") {
        return Err(RequestError::unsupported(members.path("type"), "the only supported tool type is `function`"));
    }
    members.required("function")?;
    let path = members.path("function");
    let function = members.object("function")?.cloned().unwrap_or_default();
    let members = Members::inside(&function, &path);
    members.required("name")?;
    let name = members.text("name")?.unwrap_or_default();
    if !is_name(name) {
        let problem = format!("must be 1 to {MAX_NAME_LENGTH} letters, digits, _ or -");
        return Err(members.invalid("name", problem));
    }
    let parameters = members.object("parameters")?.cloned().unwrap_or_default();
    Ok(Function { name: name.to_owned(), parameters: schema_of(parameters) })
}

/// Schema of the arguments, which are always an object.
fn schema_of(mut parameters: Map<String, Value>) -> Value {
    parameters.entry("type").or_insert_with(|| "object".into());
    Value::Object(parameters)
}

fn is_name(name: &str) -> bool {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    (1..=MAX_NAME_LENGTH).contains(&name.len()) && name.chars().all(allowed)
}

/// The function named by `tool_choice`.
fn named(members: Members<'_>) -> Result<String, RequestError> {
    let choice = members.object("tool_choice")?.cloned().unwrap_or_default();
    let inside = Members::inside(&choice, "tool_choice");
    if inside.text("type")? != Some("function") {
        return Err(RequestError::unsupported("tool_choice.type", "the only supported type is `function`"));
    }
    inside.required("function")?;
    let function = inside.object("function")?.cloned().unwrap_or_default();
    let inside = Members::inside(&function, "tool_choice.function");
    inside.required("name")?;
    Ok(inside.text("name")?.unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{ToolChoice, Tools};
    use crate::error::RequestError;
    use crate::members::Members;
    use serde_json::{Value, json};

    fn tool(name: &str) -> Value {
        json!({"type": "function", "function": {"name": name}})
    }

    fn read(body: &Value) -> Result<Tools, RequestError> {
        Tools::read(Members::new(body.as_object().unwrap()))
    }

    #[test]
    fn tool_choice_selects_the_callable_functions() {
        let tools = [tool("a"), tool("b")];
        for (choice, names, expected) in [
            (Value::Null, vec!["a", "b"], ToolChoice::Free),
            (json!("auto"), vec!["a", "b"], ToolChoice::Free),
            (json!("required"), vec!["a", "b"], ToolChoice::Forced),
            (json!({"type": "function", "function": {"name": "b"}}), vec!["b"], ToolChoice::Forced),
            (json!("none"), vec![], ToolChoice::Free),
        ] {
            let read = read(&json!({"tools": tools, "tool_choice": choice})).unwrap();
            let found: Vec<&str> = read.functions.iter().map(|function| function.name.as_str()).collect();
            assert_eq!((found, read.choice), (names, expected), "{choice}");
            assert_eq!(read.definitions.len(), if choice == "none" { 0 } else { 2 });
        }
    }

    #[test]
    fn errors_contain_the_path() {
        let name = |name: &str| json!({"type": "function", "function": {"name": name}});
        for (body, param) in [
            (json!({"tools": [{"type": "custom"}]}), "tools[0].type"),
            (json!({"tools": [tool("a"), {"type": "function"}]}), "tools[1].function"),
            (json!({"tools": [tool("no spaces")]}), "tools[0].function.name"),
            (
                json!({"tools": [{"type": "function", "function": {"name": "a", "parameters": 1}}]}),
                "tools[0].function.parameters",
            ),
            (json!({"tool_choice": "required"}), "tool_choice"),
            (json!({"tools": [tool("a")], "tool_choice": "always"}), "tool_choice"),
            (json!({"tools": [tool("a")], "tool_choice": name("b")}), "tool_choice.function.name"),
            (json!({"tools": [tool("a")], "tool_choice": {"type": "allowed_tools"}}), "tool_choice.type"),
        ] {
            assert_eq!(read(&body).unwrap_err().param(), param, "{body}");
        }
    }
}

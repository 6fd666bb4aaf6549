//! Writes how much a model should think, with the switch that its chat template or its engine knows.

use crate::writer::write_member;
use domain::model::ThinkingSwitch;
use json::quote;

/// What a client wants; `None` leaves it to the model.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Thinking {
    pub(crate) is_on: Option<bool>,
    pub(crate) effort: Option<&'static str>,
    /// The most tokens.
    pub(crate) budget: Option<u64>,
}

impl Thinking {
    /// The most tokens, also by the effort; `None` for any number.
    fn tokens(self) -> Option<u64> {
        match (self.is_on, self.budget, self.effort) {
            (Some(false), _, _) => Some(0),
            (_, Some(budget), _) => Some(budget),
            (_, None, Some("minimal")) => Some(512),
            (_, None, Some("low")) => Some(2_048),
            (_, None, Some("medium")) => Some(8_192),
            (_, None, Some("high")) => Some(24_576),
            (_, None, _) => None,
        }
    }

    /// Writes the member of the chat request.
    pub(crate) fn write(self, switch: ThinkingSwitch, out: &mut Vec<u8>) {
        let template_member = |name: &str, value: String, out: &mut Vec<u8>| {
            write_member("chat_template_kwargs", format!("{{\"{name}\":{value}}}").as_bytes(), out);
        };
        match (switch, self.is_on) {
            (ThinkingSwitch::ReasoningEffort, _) => {
                if let Some(effort) = self.effort {
                    write_member("reasoning_effort", &quote(effort), out);
                }
            }
            (ThinkingSwitch::EnableThinking, Some(is_on)) => {
                template_member("enable_thinking", is_on.to_string(), out);
            }
            (ThinkingSwitch::Thinking, Some(is_on)) => template_member("thinking", is_on.to_string(), out),
            (ThinkingSwitch::ThinkingBudget, Some(_)) => {
                if let Some(tokens) = self.tokens() {
                    template_member("thinking_budget", tokens.to_string(), out);
                }
            }
            (ThinkingSwitch::ThinkingTokenBudget, Some(is_on)) => {
                template_member("enable_thinking", is_on.to_string(), out);
                if let Some(tokens) = self.tokens().filter(|_| is_on) {
                    write_member("thinking_token_budget", tokens.to_string().as_bytes(), out);
                }
            }
            (_, None) | (ThinkingSwitch::None, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(switch: ThinkingSwitch, thinking: Thinking) -> String {
        let mut out = Vec::new();
        thinking.write(switch, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_budget_is_that_of_the_client_or_of_the_effort() {
        let on = |effort, budget| Thinking { is_on: Some(true), effort, budget };
        let off = Thinking { is_on: Some(false), effort: Some("none"), budget: None };
        for (thinking, template, engine) in [
            (on(None, Some(700)), "700", ",\"thinking_token_budget\":700"),
            (on(Some("high"), Some(700)), "700", ",\"thinking_token_budget\":700"),
            (on(Some("low"), None), "2048", ",\"thinking_token_budget\":2048"),
        ] {
            let in_template = format!(",\"chat_template_kwargs\":{{\"thinking_budget\":{template}}}");
            assert_eq!(written(ThinkingSwitch::ThinkingBudget, thinking), in_template);
            let at_engine = format!(",\"chat_template_kwargs\":{{\"enable_thinking\":true}}{engine}");
            assert_eq!(written(ThinkingSwitch::ThinkingTokenBudget, thinking), at_engine);
        }
        assert_eq!(written(ThinkingSwitch::ThinkingBudget, on(Some("max"), None)), "");
        let in_template = ",\"chat_template_kwargs\":{\"thinking_budget\":0}";
        assert_eq!(written(ThinkingSwitch::ThinkingBudget, off), in_template);
        let at_engine = ",\"chat_template_kwargs\":{\"enable_thinking\":false}";
        assert_eq!(written(ThinkingSwitch::ThinkingTokenBudget, off), at_engine);
    }

    #[test]
    fn the_model_decides_if_the_client_does_not() {
        for switch in ThinkingSwitch::ALL {
            assert_eq!(written(switch, Thinking::default()), "");
        }
    }
}

//! What the chats of a model depend on: its chat template, and the parsers of its engine.

use crate::named_enum;

/// The properties of a model that its chats depend on: those of its chat template, and of its engine's parsers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChatTraits {
    /// `None`: by the kind of its engine.
    pub thinking: Option<ThinkingSwitch>,
    /// The template accepts only one system message, the first.
    pub merge_system: bool,
    pub reasoning_names: ReasoningNames,
    /// The engine loses arguments of tool calls in streams, so that it is not asked to stream calls with tools.
    pub gathers_tools: bool,
}

named_enum! {
    /// The member of a chat request that turns thinking on and off.
    #[derive(Default)]
    pub enum ThinkingSwitch {
        ReasoningEffort = "reasoning_effort",
        /// `chat_template_kwargs.enable_thinking`.
        EnableThinking = "enable_thinking",
        /// `chat_template_kwargs.thinking`.
        Thinking = "thinking",
        /// `chat_template_kwargs.thinking_budget`, which is 0 to turn it off.
        ThinkingBudget = "thinking_budget",
        /// [`Self::EnableThinking`] with vLLM's own member for the most tokens of thinking.
        ThinkingTokenBudget = "thinking_token_budget",
        #[default]
        None = "none",
    }
}

named_enum! {
    /// The names of the reasoning in chat requests and responses.
    #[derive(Default)]
    pub enum ReasoningNames {
        /// Responses have it as `reasoning` and as `reasoning_content`; engines get the latter.
        #[default]
        Both = "both",
        /// As the engine or the client writes it.
        AsIs = "as_is",
    }
}

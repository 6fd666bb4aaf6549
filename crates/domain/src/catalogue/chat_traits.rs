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
    pub images: ImageTokens,
}

/// How many tokens an image counts: one for each square of its pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageTokens {
    /// The side of a square, in pixels.
    pub square: u32,
    /// Larger images are scaled down.
    pub most: u64,
}

/// The numbers of the Qwen-VL family; other models differ by a factor of two or so.
impl Default for ImageTokens {
    fn default() -> Self {
        Self { square: 28, most: 16_384 }
    }
}

impl ImageTokens {
    /// The tokens of an image whose dimensions cannot be read, such as one behind a URL.
    const UNREADABLE: u64 = 1_024;

    /// The tokens of an image of this width and height.
    pub fn of(self, size: Option<(u32, u32)>) -> u64 {
        let squares = |side: u32| u64::from(side.div_ceil(self.square.max(1)));
        let tokens = size.map_or(Self::UNREADABLE, |(width, height)| squares(width).saturating_mul(squares(height)));
        tokens.clamp(1, self.most.max(1))
    }
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
        /// Responses have it as `reasoning` and as `reasoning_content`; engines get their own name of it.
        #[default]
        Both = "both",
        /// As the engine or the client writes it.
        AsIs = "as_is",
    }
}

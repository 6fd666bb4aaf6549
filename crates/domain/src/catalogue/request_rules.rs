//! What calls to a serverless model may not contain, because many tenants share its engines.
//!
//! Members that Forebay does not know are forwarded. These are the exceptions.

/// Members that make an engine generate more than the limits that the quota counts: `n_predict` overrides `max_tokens`
/// at llama.cpp, for instance. No serverless model accepts them.
const GENERATION_MEMBERS: [&str; 7] =
    ["n_predict", "num_predict", "n_cmpl", "best_of", "use_beam_search", "num_beams", "max_new_tokens"];

/// Members that replace the prompt with tensors: the gateway cannot count their tokens, and the engine deserializes them. No
/// serverless model accepts them.
const PROMPT_MEMBERS: [&str; 1] = ["prompt_embeds"];

/// Members that control the engine rather than the response: adapters, places in the queue and in caches, addresses of
/// other engines, code, and templates that run in the engine; and those that add far more to a response than its text:
/// log-probabilities of the prompt or of the whole vocabulary, token ids, and the prompt itself.
const ENGINE_MEMBERS: [&str; 39] = [
    "bootstrap_host",
    "bootstrap_port",
    "bootstrap_room",
    "chat_template",
    "custom_logit_processor",
    "custom_params",
    "data_parallel_rank",
    "disagg_prefill_dp_rank",
    "disaggregated_params",
    "ec_transfer_params",
    "echo",
    "extra_key",
    "id_slot",
    "kv_transfer_params",
    "logprob_start_len",
    "logprob_token_ids",
    "logits_processors",
    "lora",
    "lora_path",
    "lora_request",
    "media_io_kwargs",
    "mm_processor_kwargs",
    "n_probs",
    "ngram_corpus_id",
    "post_sampling_probs",
    "priority",
    "prompt_logprobs",
    "request_id",
    "return_hidden_states",
    "return_logprob",
    "return_token_ids",
    "return_tokens",
    "return_tokens_as_token_ids",
    "rid",
    "routed_dp_rank",
    "session_params",
    "slot_id",
    "token_ids_logprob",
    "vllm_xargs",
];

/// The rules of one model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestRules {
    /// The engine members that are rejected, in lower case; `None` for the usual ones.
    pub refused_members: Option<Vec<String>>,
    /// Whether engines may fetch images, audio and video from addresses that the client names. If not, media must be in
    /// the request, as `data:` URLs.
    pub media_urls: bool,
}

impl RequestRules {
    /// All members that calls to the model may not have.
    pub fn refused(&self) -> impl Iterator<Item = &str> {
        let usual: &[&str] = if self.refused_members.is_none() { &ENGINE_MEMBERS } else { &[] };
        let own = self.refused_members.iter().flatten().map(String::as_str);
        GENERATION_MEMBERS.into_iter().chain(PROMPT_MEMBERS).chain(usual.iter().copied()).chain(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_members_are_rejected_whatever_an_operator_allows() {
        let rules = RequestRules { refused_members: Some(Vec::new()), media_urls: false };
        assert_eq!(rules.refused().collect::<Vec<_>>(), [&GENERATION_MEMBERS[..], &PROMPT_MEMBERS].concat());
    }
}

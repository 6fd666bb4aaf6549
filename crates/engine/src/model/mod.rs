//! A loaded model: its weights, vocabulary, chat template and limits, read from the model file.

pub(crate) mod backend;
pub(crate) mod constraint;
pub(crate) mod template;

use crate::long_text::{RunLimit, has_long_run};
use anyhow::{Context, anyhow};
use constraint::Constraints;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::{KvCacheType, LlamaContextParams, LlamaPoolingType};
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::vocab::LlamaVocab;
use llama_cpp_sys_2::LLAMA_FLASH_ATTN_TYPE_DISABLED;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::OnceLock;
use template::ChatTemplate;

/// Metadata key written by our converter: maximum input length, if shorter than the context length.
pub(crate) const MAX_INPUT_KEY: &str = "forebay.max_input_tokens";

/// Concurrency and memory limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capacity {
    /// Concurrent generations.
    pub parallel: usize,
    /// Generations that may wait.
    pub queue: usize,
    /// KV cache size in tokens, shared by all generations.
    pub cache_tokens: usize,
    pub precision: CachePrecision,
    pub threads: usize,
}

/// The numbers of the KV cache.
#[derive(Debug, Default, Clone, Copy, clap::ValueEnum)]
pub(crate) enum CachePrecision {
    #[default]
    F16,
    /// Twice the memory, and slower: for log probabilities that are compared with another implementation.
    F32,
}

/// Purpose of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Chat,
    Embeddings,
}

/// Operator settings that override those of the model file.
#[derive(Debug, Default)]
pub(crate) struct ModelOptions {
    pub context: Option<usize>,
    pub for_embeddings: bool,
    pub chat_template: Option<String>,
}

/// A model in memory.
pub(crate) struct Model {
    backend: LlamaBackend,
    llama: LlamaModel,
    pub purpose: Purpose,
    /// Maximum tokens of prompt and completion together, or of one embedding input.
    pub context_length: usize,
    pub template: ChatTemplate,
    /// `None` if its tokenizer has no limit of its own.
    run_limit: Option<&'static RunLimit>,
    constraints: OnceLock<Option<Constraints>>,
}

impl Model {
    /// Loads the weights; `progress` receives the completed fraction.
    pub(crate) fn load(
        backend: LlamaBackend,
        file: &Path,
        options: ModelOptions,
        mut progress: impl FnMut(f32) + 'static,
    ) -> anyhow::Result<Self> {
        let parameters =
            LlamaModelParams::default().with_n_gpu_layers(u32::MAX >> 1).with_progress_callback(move |fraction| {
                progress(fraction);
                true
            });
        let llama = LlamaModel::load_from_file(&backend, file, &parameters).map_err(|_| unreadable(file))?;
        let pooled = options.for_embeddings || number(&llama, "pooling_type").is_some_and(|pooling| pooling > 0);
        let purpose = if pooled { Purpose::Embeddings } else { Purpose::Chat };
        let trained = llama.n_ctx_train() as usize;
        let own_limit = llama.meta_val_str(MAX_INPUT_KEY).ok().and_then(|text| text.parse().ok()).unwrap_or(trained);
        let context_length = options.context.unwrap_or(usize::MAX).min(own_limit).min(trained);
        let template = template(&llama, options.chat_template);
        let template = template.with_context(|| format!("the chat template for {} is invalid", file.display()))?;
        let run_limit = llama.meta_val_str("tokenizer.ggml.pre").ok().and_then(|name| RunLimit::of(&name));
        Ok(Self { backend, llama, purpose, context_length, template, run_limit, constraints: OnceLock::new() })
    }

    pub(crate) fn llama(&self) -> &LlamaModel {
        &self.llama
    }

    pub(crate) fn vocabulary(&self) -> LlamaVocab<'_> {
        self.llama.vocab()
    }

    /// A token that exists in every vocabulary.
    pub(crate) fn any_token(&self) -> LlamaToken {
        LlamaToken(0)
    }

    /// Whether the text has a run that is too long for its tokenizer.
    pub(crate) fn has_long_run(&self, text: &str) -> bool {
        has_long_run(text) || self.run_limit.is_some_and(|limit| limit.is_exceeded(text))
    }

    /// Tokenizes a rendered prompt. The BOS token occurs once, whether or not the template contains it.
    pub(crate) fn tokenize_prompt(&self, prompt: &str) -> Vec<LlamaToken> {
        let vocabulary = self.vocabulary();
        let mut tokens = vocabulary.tokenize(prompt.as_bytes(), true, true);
        if vocabulary.should_add_bos() && tokens.len() > 1 && tokens[..2] == [vocabulary.bos(); 2] {
            tokens.remove(0);
        }
        tokens
    }

    /// Tokenizes an embedding input, with the special tokens that the model expects.
    pub(crate) fn tokenize_input(&self, input: &str) -> Vec<LlamaToken> {
        self.vocabulary().tokenize(input.as_bytes(), true, false)
    }

    /// Dimensions of an embedding.
    pub(crate) fn dimensions(&self) -> usize {
        usize::try_from(self.llama.n_embd_out()).unwrap_or(0)
    }

    /// The JSON schema compiler, created on first use; `None` if the vocabulary does not support it.
    pub(crate) fn constraints(&self) -> Option<&Constraints> {
        self.constraints.get_or_init(|| Constraints::new(&self.llama).ok()).as_ref()
    }

    /// Allocates the KV cache and working memory for chat.
    pub(crate) fn chat_context(
        &self,
        capacity: Capacity,
        max_tokens_per_batch: usize,
    ) -> anyhow::Result<LlamaContext<'_>> {
        let parameters = shared_parameters(capacity.threads, max_tokens_per_batch)
            .with_n_ctx(NonZeroU32::new(capacity.cache_tokens as u32))
            .with_n_seq_max(capacity.parallel as u32)
            .with_kv_unified(true);
        let parameters = match capacity.precision {
            CachePrecision::F16 => parameters,
            // Flash attention rounds keys and values to 16 bits.
            CachePrecision::F32 => parameters
                .with_type_k(KvCacheType::F32)
                .with_type_v(KvCacheType::F32)
                .with_flash_attention_policy(LLAMA_FLASH_ATTN_TYPE_DISABLED),
        };
        let context = self.llama.new_context(&self.backend, parameters);
        context.with_context(|| {
            format!("cannot allocate a KV cache of {} tokens: reduce it with --kv-cache-tokens", capacity.cache_tokens)
        })
    }

    /// Allocates working memory for embeddings: `sequences` inputs and `max_tokens_per_batch` tokens per batch.
    pub(crate) fn embedding_context(
        &self,
        threads: usize,
        sequences: usize,
        max_tokens_per_batch: usize,
    ) -> anyhow::Result<LlamaContext<'_>> {
        let pooling = match number(&self.llama, "pooling_type") {
            Some(pooling) => LlamaPoolingType::from(i32::try_from(pooling).unwrap_or(1)),
            None => LlamaPoolingType::Mean,
        };
        let parameters = shared_parameters(threads, max_tokens_per_batch)
            .with_n_ctx(NonZeroU32::new((max_tokens_per_batch.max(self.context_length)) as u32))
            .with_n_seq_max(sequences as u32)
            .with_kv_unified(true)
            .with_embeddings(true)
            // Flash attention rounds keys and values to 16 bits, which saves nothing here.
            .with_flash_attention_policy(LLAMA_FLASH_ATTN_TYPE_DISABLED)
            .with_pooling_type(pooling);
        self.llama.new_context(&self.backend, parameters).context("cannot allocate the batches for embeddings")
    }
}

fn shared_parameters(threads: usize, max_tokens_per_batch: usize) -> LlamaContextParams {
    let threads = i32::try_from(threads).unwrap_or(i32::MAX);
    LlamaContextParams::default()
        .with_n_batch(max_tokens_per_batch as u32)
        .with_n_ubatch(max_tokens_per_batch as u32)
        .with_n_threads(threads)
        .with_n_threads_batch(threads)
}

/// A number from the file's metadata, under the prefix of its architecture.
fn number(llama: &LlamaModel, name: &str) -> Option<u64> {
    let architecture = llama.meta_val_str("general.architecture").ok()?;
    llama.meta_val_str(&format!("{architecture}.{name}")).ok()?.parse().ok()
}

fn template(llama: &LlamaModel, options: Option<String>) -> anyhow::Result<ChatTemplate> {
    let own = || llama.chat_template(None).ok().and_then(|template| template.to_string().ok());
    let source = options.or_else(own);
    let vocabulary = llama.vocab();
    let text = |token: LlamaToken| {
        let bytes = if token.0 < 0 { Vec::new() } else { vocabulary.token_to_piece(token, true, None) };
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok(ChatTemplate::new(source, text(vocabulary.bos()), text(vocabulary.eos()))?)
}

fn unreadable(file: &Path) -> anyhow::Error {
    anyhow!(
        "llama.cpp cannot load {}: the file is damaged, incomplete or of an unknown type; download it again (`make models` \
         for the starter models), or set RUST_LOG=llama-cpp-2=debug for details",
        file.display()
    )
}

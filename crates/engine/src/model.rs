//! One loaded model: its weights, its words and its limits, all from the file.

use crate::constraint::Constraints;
use crate::decode::Capacity;
use crate::template::ChatTemplate;
use anyhow::{Context, anyhow};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::{LlamaContextParams, LlamaPoolingType};
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::vocab::LlamaVocab;
use llama_cpp_sys_2::LLAMA_FLASH_ATTN_TYPE_DISABLED;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::OnceLock;

/// Written by our converter: how much of an input the model was trained on, where that is less than it can take.
pub(crate) const MAX_INPUT_KEY: &str = "forebay.max_input_tokens";

/// What the model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Chat,
    Embeddings,
}

/// What the operator wants in place of what the file says.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub context: Option<usize>,
    pub for_embeddings: bool,
    pub chat_template: Option<String>,
}

/// A model in memory.
pub(crate) struct Model {
    backend: LlamaBackend,
    llama: LlamaModel,
    pub purpose: Purpose,
    /// Tokens of a prompt and its answer together, or of one input.
    pub context_length: usize,
    pub template: ChatTemplate,
    constraints: OnceLock<Option<Constraints>>,
}

impl Model {
    /// Maps the weights; `progress` is told the part that is done.
    pub(crate) fn load(
        backend: LlamaBackend,
        file: &Path,
        asked: Asked,
        mut progress: impl FnMut(f32) + 'static,
    ) -> anyhow::Result<Self> {
        let parameters =
            LlamaModelParams::default().with_n_gpu_layers(u32::MAX >> 1).with_progress_callback(move |part| {
                progress(part);
                true
            });
        let llama = LlamaModel::load_from_file(&backend, file, &parameters).map_err(|_| unreadable(file))?;
        let pooled = asked.for_embeddings || number(&llama, "pooling_type").is_some_and(|pooling| pooling > 0);
        let purpose = if pooled { Purpose::Embeddings } else { Purpose::Chat };
        let trained = llama.n_ctx_train() as usize;
        let own_limit = llama.meta_val_str(MAX_INPUT_KEY).ok().and_then(|text| text.parse().ok()).unwrap_or(trained);
        let context_length = asked.context.unwrap_or(usize::MAX).min(own_limit).min(trained);
        let template = template(&llama, asked.chat_template);
        let template = template.with_context(|| format!("the chat template for {} is broken", file.display()))?;
        Ok(Self { backend, llama, purpose, context_length, template, constraints: OnceLock::new() })
    }

    pub(crate) fn llama(&self) -> &LlamaModel {
        &self.llama
    }

    pub(crate) fn vocabulary(&self) -> LlamaVocab<'_> {
        self.llama.vocab()
    }

    /// Some token that every vocabulary has.
    pub(crate) fn any_token(&self) -> LlamaToken {
        LlamaToken(0)
    }

    /// The tokens of a rendered prompt; what begins a text comes once, whether or not the template wrote it.
    pub(crate) fn tokenize_prompt(&self, prompt: &str) -> Vec<LlamaToken> {
        let vocabulary = self.vocabulary();
        let mut tokens = vocabulary.tokenize(prompt.as_bytes(), true, true);
        if vocabulary.should_add_bos() && tokens.len() > 1 && tokens[..2] == [vocabulary.bos(); 2] {
            tokens.remove(0);
        }
        tokens
    }

    /// The tokens of an input to embed, with what the model wants around it.
    pub(crate) fn tokenize_input(&self, input: &str) -> Vec<LlamaToken> {
        self.vocabulary().tokenize(input.as_bytes(), true, false)
    }

    /// The width of an embedding.
    pub(crate) fn dimensions(&self) -> usize {
        usize::try_from(self.llama.n_embd_out()).unwrap_or(0)
    }

    /// The compiler of JSON schemas, made at the first use; `None` when the vocabulary does not allow it.
    pub(crate) fn constraints(&self) -> Option<&Constraints> {
        self.constraints.get_or_init(|| Constraints::new(&self.llama).ok()).as_ref()
    }

    /// The KV cache and the working memory for chat, allocated here once.
    pub(crate) fn chat_context(&self, capacity: Capacity, most_tokens: usize) -> anyhow::Result<LlamaContext<'_>> {
        let parameters = shared_parameters(capacity.threads, most_tokens)
            .with_n_ctx(NonZeroU32::new(capacity.cache_tokens as u32))
            .with_n_seq_max(capacity.parallel as u32)
            .with_kv_unified(true);
        let context = self.llama.new_context(&self.backend, parameters);
        context.with_context(|| {
            format!("no memory for a KV cache of {} tokens: choose fewer with --kv-cache-tokens", capacity.cache_tokens)
        })
    }

    /// The working memory for embeddings: `sequences` inputs and `most_tokens` tokens at once.
    pub(crate) fn embedding_context(
        &self,
        threads: usize,
        sequences: usize,
        most_tokens: usize,
    ) -> anyhow::Result<LlamaContext<'_>> {
        let pooling = match number(&self.llama, "pooling_type") {
            Some(pooling) => LlamaPoolingType::from(i32::try_from(pooling).unwrap_or(1)),
            None => LlamaPoolingType::Mean,
        };
        let parameters = shared_parameters(threads, most_tokens)
            .with_n_ctx(NonZeroU32::new((most_tokens.max(self.context_length)) as u32))
            .with_n_seq_max(sequences as u32)
            .with_kv_unified(true)
            .with_embeddings(true)
            // It would round keys and values to 16 bits; there is no cache whose size that could save.
            .with_flash_attention_policy(LLAMA_FLASH_ATTN_TYPE_DISABLED)
            .with_pooling_type(pooling);
        self.llama.new_context(&self.backend, parameters).context("no memory for the batches of embeddings")
    }
}

fn shared_parameters(threads: usize, most_tokens: usize) -> LlamaContextParams {
    let threads = i32::try_from(threads).unwrap_or(i32::MAX);
    LlamaContextParams::default()
        .with_n_batch(most_tokens as u32)
        .with_n_ubatch(most_tokens as u32)
        .with_n_threads(threads)
        .with_n_threads_batch(threads)
}

/// A number of the file's metadata, under the name of its architecture.
fn number(llama: &LlamaModel, name: &str) -> Option<u64> {
    let architecture = llama.meta_val_str("general.architecture").ok()?;
    llama.meta_val_str(&format!("{architecture}.{name}")).ok()?.parse().ok()
}

fn template(llama: &LlamaModel, asked: Option<String>) -> anyhow::Result<ChatTemplate> {
    let own = || llama.chat_template(None).ok().and_then(|template| template.to_string().ok());
    let source = asked.or_else(own);
    let vocabulary = llama.vocab();
    let text = |token: LlamaToken| {
        let bytes = if token.0 < 0 { Vec::new() } else { vocabulary.token_to_piece(token, true, None) };
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok(ChatTemplate::new(source, text(vocabulary.bos()), text(vocabulary.eos()))?)
}

fn unreadable(file: &Path) -> anyhow::Error {
    anyhow!(
        "llama.cpp cannot load {}: the file is damaged, not whole, or of a kind that it does not know; fetch it again \
         (`make models` for the starter models), or look at RUST_LOG=llama-cpp-2=debug",
        file.display()
    )
}

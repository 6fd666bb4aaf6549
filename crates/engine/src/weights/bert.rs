//! Converts BERT sentence models: a folder with `model.safetensors`, configuration and vocabulary becomes a GGUF file.
//!
//! Weights stay 32-bit floats, so that the embeddings equal those of the published pipeline. The name of the cached file
//! contains a fingerprint of its inputs and of the converter's version.

use super::WeightsError;
use super::gguf::{GgufFile, Meta};
use super::safetensors::Safetensors;
use crate::model::MAX_INPUT_KEY;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// Increased whenever the converter's output changes.
const CONVERTER_VERSION: u32 = 1;
const WEIGHTS: &str = "model.safetensors";
/// llama.cpp marks the first piece of a word with this, whereas BERT marks the other pieces with `##`.
const WORD_BEGIN: char = '\u{2581}';

#[derive(Deserialize)]
struct Config {
    model_type: String,
    hidden_size: u32,
    intermediate_size: u32,
    num_attention_heads: u32,
    num_hidden_layers: u32,
    max_position_embeddings: u32,
    layer_norm_eps: f32,
    type_vocab_size: u32,
}

#[derive(Deserialize)]
struct Pooling {
    #[serde(default)]
    pooling_mode_cls_token: bool,
    #[serde(default)]
    pooling_mode_mean_tokens: bool,
}

#[derive(Deserialize)]
struct SentenceConfig {
    max_seq_length: u32,
}

#[derive(Deserialize)]
struct Tokenizer {
    model: TokenizerModel,
}

#[derive(Deserialize)]
struct TokenizerModel {
    vocab: HashMap<String, u32>,
}

/// The GGUF file of a folder, converted if it is not cached.
pub(super) fn converted(folder: &Path, cache_dir: &Path) -> Result<PathBuf, WeightsError> {
    let config: Config = read(folder, "config.json").map_err(|error| unknown_folder(folder, error))?;
    if config.model_type != "bert" {
        return Err(unknown_folder(folder, format!("its model_type is {}", config.model_type)));
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let target = cache_dir.join(format!("{name}-{}.gguf", fingerprint(folder)?));
    if target.is_file() {
        return Ok(target);
    }
    let file = convert(folder, &name, &config)?;
    let unwritable = |cause| WeightsError::Unreadable { path: target.clone(), cause };
    fs::create_dir_all(cache_dir).map_err(unwritable)?;
    // Two engines may convert concurrently: each writes its own part file, and the last rename wins with the same bytes.
    let part = target.with_extension(format!("{}.part", std::process::id()));
    let mut output = BufWriter::new(File::create(&part).map_err(unwritable)?);
    file.write(&mut output).and_then(|()| output.flush()).map_err(unwritable)?;
    fs::rename(&part, &target).map_err(unwritable)?;
    Ok(target)
}

fn convert(folder: &Path, name: &str, config: &Config) -> Result<GgufFile, WeightsError> {
    let weights = Safetensors::open(&folder.join(WEIGHTS))?;
    let mut file = GgufFile::default();
    describe(&mut file, folder, name, config);
    vocabulary(&mut file, folder, config).map_err(|reason| unknown_folder(folder, reason))?;
    for source in weights.names() {
        let Some(target) = gguf_name(source) else { continue };
        let damaged = |reason| WeightsError::Damaged { path: folder.join(WEIGHTS), reason };
        let tensor = weights.tensor(source).map_err(damaged)?;
        file.add_tensor(target, &tensor.shape, tensor.floats);
    }
    Ok(file)
}

fn describe(file: &mut GgufFile, folder: &Path, name: &str, config: &Config) {
    file.set("general.architecture", Meta::Text("bert".to_owned()));
    file.set("general.name", Meta::Text(name.to_owned()));
    file.set("general.file_type", Meta::Number(0));
    file.set("bert.block_count", Meta::Number(config.num_hidden_layers));
    file.set("bert.context_length", Meta::Number(config.max_position_embeddings));
    file.set("bert.embedding_length", Meta::Number(config.hidden_size));
    file.set("bert.feed_forward_length", Meta::Number(config.intermediate_size));
    file.set("bert.attention.head_count", Meta::Number(config.num_attention_heads));
    file.set("bert.attention.layer_norm_epsilon", Meta::Float(config.layer_norm_eps));
    file.set("bert.attention.causal", Meta::Flag(false));
    let pooling: Option<Pooling> = read(folder, "1_Pooling/config.json").ok();
    let takes_first =
        pooling.is_some_and(|pooling| pooling.pooling_mode_cls_token && !pooling.pooling_mode_mean_tokens);
    file.set("bert.pooling_type", Meta::Number(if takes_first { 2 } else { 1 }));
    let sentence: Option<SentenceConfig> = read(folder, "sentence_bert_config.json").ok();
    if let Some(sentence) = sentence {
        file.set(MAX_INPUT_KEY, Meta::Number(sentence.max_seq_length));
    }
}

/// WordPiece vocabulary in llama.cpp's form: word beginnings are marked instead of continuations.
fn vocabulary(file: &mut GgufFile, folder: &Path, config: &Config) -> Result<(), String> {
    let tokenizer: Tokenizer = read(folder, "tokenizer.json")?;
    let words = tokenizer.model.vocab;
    let mut tokens = vec![String::new(); words.len()];
    for (word, id) in &words {
        *tokens.get_mut(*id as usize).ok_or("the ids in tokenizer.json have gaps")? = marked(word);
    }
    let special = |word: &str| words.get(word).copied().ok_or_else(|| format!("tokenizer.json has no {word}"));
    let (unknown, first, separator) = (special("[UNK]")?, special("[CLS]")?, special("[SEP]")?);
    let (padding, mask) = (special("[PAD]")?, special("[MASK]")?);
    let kinds = tokens.iter().enumerate().map(|(id, _)| match id as u32 {
        // 2: unknown, 3: control, 1: normal.
        id if id == unknown => 2,
        id if [first, separator, padding, mask].contains(&id) => 3,
        _ => 1,
    });
    let kinds = kinds.collect();
    file.set("tokenizer.ggml.model", Meta::Text("bert".to_owned()));
    file.set("tokenizer.ggml.pre", Meta::Text("default".to_owned()));
    file.set("tokenizer.ggml.token_type_count", Meta::Number(config.type_vocab_size));
    file.set("tokenizer.ggml.scores", Meta::Floats(vec![-1000.0; tokens.len()]));
    file.set("tokenizer.ggml.tokens", Meta::Texts(tokens));
    file.set("tokenizer.ggml.token_type", Meta::Numbers(kinds));
    file.set("tokenizer.ggml.bos_token_id", Meta::Number(first));
    file.set("tokenizer.ggml.eos_token_id", Meta::Number(separator));
    file.set("tokenizer.ggml.unknown_token_id", Meta::Number(unknown));
    file.set("tokenizer.ggml.seperator_token_id", Meta::Number(separator));
    file.set("tokenizer.ggml.padding_token_id", Meta::Number(padding));
    file.set("tokenizer.ggml.cls_token_id", Meta::Number(first));
    file.set("tokenizer.ggml.mask_token_id", Meta::Number(mask));
    Ok(())
}

fn marked(word: &str) -> String {
    match word.strip_prefix("##") {
        Some(piece) => piece.to_owned(),
        None if word.starts_with('[') && word.ends_with(']') => word.to_owned(),
        None => format!("{WORD_BEGIN}{word}"),
    }
}

/// llama.cpp's name of a tensor; `None` if it does not need the tensor.
fn gguf_name(name: &str) -> Option<String> {
    let name = name.strip_prefix("bert.").unwrap_or(name);
    let renamed = match name {
        "embeddings.word_embeddings.weight" => "token_embd.weight",
        "embeddings.position_embeddings.weight" => "position_embd.weight",
        "embeddings.token_type_embeddings.weight" => "token_types.weight",
        "embeddings.LayerNorm.weight" => "token_embd_norm.weight",
        "embeddings.LayerNorm.bias" => "token_embd_norm.bias",
        _ => {
            let (layer, part) = name.strip_prefix("encoder.layer.")?.split_once('.')?;
            let (part, kind) = part.rsplit_once('.')?;
            return Some(format!("blk.{layer}.{}.{kind}", layer_part(part)?));
        }
    };
    Some(renamed.to_owned())
}

fn layer_part(part: &str) -> Option<&'static str> {
    Some(match part {
        "attention.self.query" => "attn_q",
        "attention.self.key" => "attn_k",
        "attention.self.value" => "attn_v",
        "attention.output.dense" => "attn_output",
        "attention.output.LayerNorm" => "attn_output_norm",
        "intermediate.dense" => "ffn_up",
        "output.dense" => "ffn_down",
        "output.LayerNorm" => "layer_output_norm",
        _ => return None,
    })
}

/// Fingerprint of the inputs: small files by content, weights by size and modification time.
fn fingerprint(folder: &Path) -> Result<String, WeightsError> {
    let path = folder.join(WEIGHTS);
    let weights = fs::metadata(&path).map_err(|_| unknown_folder(folder, format!("{WEIGHTS} is missing")))?;
    let mut digest = Sha256::new();
    digest.update(CONVERTER_VERSION.to_le_bytes());
    digest.update(weights.len().to_le_bytes());
    let modified = weights.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    digest.update(modified.unwrap_or_default().as_nanos().to_le_bytes());
    for name in ["config.json", "tokenizer.json", "1_Pooling/config.json", "sentence_bert_config.json"] {
        digest.update(fs::read(folder.join(name)).unwrap_or_default());
    }
    Ok(digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}

fn read<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<T, String> {
    let bytes = fs::read(folder.join(name)).map_err(|_| format!("{name} is missing"))?;
    serde_json::from_slice(&bytes).map_err(|error| format!("{name}: {error}"))
}

fn unknown_folder(folder: &Path, reason: String) -> WeightsError {
    WeightsError::UnknownFolder { path: folder.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::{gguf_name, marked};

    #[test]
    fn tensors_are_renamed_for_llama_cpp() {
        let cases = [
            ("embeddings.LayerNorm.bias", Some("token_embd_norm.bias")),
            ("bert.encoder.layer.11.attention.self.query.weight", Some("blk.11.attn_q.weight")),
            ("encoder.layer.0.output.LayerNorm.bias", Some("blk.0.layer_output_norm.bias")),
            ("pooler.dense.weight", None),
            ("embeddings.position_ids", None),
        ];
        for (name, expected) in cases {
            assert_eq!(gguf_name(name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn word_beginnings_are_marked() {
        assert_eq!([marked("##ing"), marked("sing"), marked("[CLS]")], ["ing", "\u{2581}sing", "[CLS]"]);
    }
}

//! Bare llama.cpp loop without HTTP or scheduling, as the baseline of the benchmark.

use crate::model::backend;
use crate::model::{CachePrecision, Capacity, Model, ModelOptions};
use crate::sampling::{Sampler, Sampling};
use crate::weights;
use anyhow::Context;
use llama_cpp_2::llama_batch::LlamaBatch;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

/// Tokens per second of one greedy completion of `tokens` tokens.
pub fn decode_speed(file: &Path, threads: usize, tokens: usize) -> anyhow::Result<f64> {
    // llama.cpp is initialized once per process.
    static MODEL: OnceLock<Model> = OnceLock::new();
    if MODEL.get().is_none() {
        let file = weights::locate(file, Path::new("data/cache"))?;
        let _ = MODEL.set(Model::load(backend::start()?, &file, ModelOptions::default(), |_| ())?);
    }
    let model = MODEL.get().context("the model was just loaded")?;
    let capacity =
        Capacity { parallel: 8, queue: 0, cache_tokens: 16 << 10, precision: CachePrecision::default(), threads };
    let mut context = model.chat_context(capacity, 512)?;
    let mut batch = LlamaBatch::new(512, 1);
    let prompt = model.tokenize_prompt("<|im_start|>user\nTell a story.<|im_end|>\n<|im_start|>assistant\n");
    let settings = Sampling { temperature: 0.0, ignore_eos: true, ..Sampling::default() };
    let mut sampler = Sampler::new(&settings, model.llama(), &prompt, None, 0);
    batch.add_sequence(&prompt, 0, false)?;
    context.decode(&mut batch)?;
    let mut token = sampler.sample(&context, batch.n_tokens() - 1);
    let started = Instant::now();
    for position in prompt.len()..prompt.len() + tokens - 1 {
        batch.clear();
        batch.add(token, position as i32, &[0], true)?;
        context.decode(&mut batch)?;
        token = sampler.sample(&context, 0);
    }
    Ok((tokens - 1) as f64 / started.elapsed().as_secs_f64())
}

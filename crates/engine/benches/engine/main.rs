//! `make bench-engine`: prefill and decode speed for 1, 4 and 8 streams with the starter model.
//!
//! The engine runs as a process behind HTTP. The overhead of HTTP is measured as CPU time of its threads. As a baseline, a
//! bare llama.cpp loop runs in this process with the same weights, threads and cache.

mod cpu;
mod load;
mod table;

use clap::Parser;
use engine::bare;
use load::Engine;
use std::path::PathBuf;
use table::Row;

const STREAMS: [usize; 3] = [1, 4, 8];

/// Measures forebay-engine on this machine, which should be idle.
#[derive(Parser)]
struct Arguments {
    /// A chat model.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf"))]
    model: PathBuf,
    /// Measurements per figure; the median is shown.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Tokens per prompt.
    #[arg(long, default_value_t = 512)]
    prompt: usize,
    /// Tokens per completion.
    #[arg(long, default_value_t = 128)]
    answer: usize,
    /// Compute threads; default: one per core.
    #[arg(long)]
    threads: Option<usize>,
    /// Cargo passes this to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let threads = arguments.threads.unwrap_or(std::thread::available_parallelism()?.get());
    let mut rows: Vec<Row> = STREAMS.iter().map(|streams| Row::new(*streams)).collect();
    let mut bare_rounds = Vec::new();
    for _ in 0..arguments.rounds {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            for row in &mut rows {
                // A new engine each time, and decode first, because cached prompts slow down each step.
                let engine = Engine::start(&arguments.model, threads).await?;
                let before = engine.cpu_time()?;
                row.decode.push(engine.decode(row.streams, arguments.answer).await?);
                row.added_by_http.push((engine.cpu_time()? - before).added_by_http());
                row.prefill.push(engine.prefill(row.streams, arguments.prompt).await?);
                row.decode_with_full_cache.push(engine.decode(row.streams, arguments.answer).await?);
            }
            anyhow::Ok(())
        })?;
        bare_rounds.push(bare::decode_speed(&arguments.model, threads, arguments.answer)?);
    }
    table::print(&rows, &bare_rounds, threads);
    Ok(())
}

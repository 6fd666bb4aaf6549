//! The command line of `forebay-engine`.

use crate::http::{self, EngineKey, Identity};
use crate::loading::{self, LoadPlan, LoadState};
use crate::long_text::STACK_BYTES;
use crate::metrics::Metrics;
use crate::model::CachePrecision;
use crate::signals::Signals;
use crate::weights::{self, Source};
use anyhow::Context;
use clap::Parser;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tracing::{info, warn};
use tracing_subscriber::EnvFilter;

/// Threads for HTTP. They mostly wait; the compute threads need the cores.
const HTTP_THREADS: usize = 2;
/// GNU OpenMP's spin count before a waiting thread sleeps; a few microseconds.
const SPIN_COUNT: (&str, &str) = ("GOMP_SPINCOUNT", "3000");
/// Grace period for the last compute step at shutdown.
const LAST_STEP_TIMEOUT: Duration = Duration::from_secs(3);
/// Default log filter if `RUST_LOG` is unset. llama.cpp is verbose, so it is off.
const DEFAULT_LOG: &str = "info,llama-cpp-2=off,llama_cpp_2=off";

/// A model behind an OpenAI-compatible HTTP interface.
#[derive(Parser)]
#[command(name = "forebay-engine", version)]
struct Arguments {
    /// A GGUF file, or a Hugging Face model folder with a GGUF file or a BERT sentence model; or either of them on the
    /// hub: hf://owner/name/file.gguf, hf://owner/name.
    #[arg(long, value_name = "PATH")]
    model: Source,
    /// Model name used in calls; default: the name of the file or folder.
    #[arg(long, value_name = "NAME")]
    model_name: Option<String>,
    /// Listen address; port 0 picks a free port. The address is printed to standard output.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Also write the address to this file once connections are accepted.
    #[arg(long, value_name = "FILE")]
    listen_file: Option<PathBuf>,
    /// Context length: tokens of prompt and completion together; default and maximum: the trained context length.
    #[arg(long, value_name = "TOKENS")]
    ctx: Option<usize>,
    /// Completions generated concurrently.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=64))]
    parallel: u16,
    /// Completions that may wait in the queue; further calls are rejected with 503.
    #[arg(long, value_name = "N", default_value_t = 64)]
    queue: u16,
    /// KV cache size in tokens, shared by all completions and allocated once; default: 16384, or one context.
    #[arg(long, value_name = "TOKENS")]
    kv_cache_tokens: Option<usize>,
    /// Precision of the KV cache.
    #[arg(long, value_name = "TYPE", default_value = "f16")]
    kv_cache_type: CachePrecision,
    /// Compute threads; default: one per core.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Serve embeddings even if the model file does not declare it.
    #[arg(long)]
    embeddings: bool,
    /// File with a chat template that replaces the model's own.
    #[arg(long, value_name = "FILE")]
    chat_template: Option<PathBuf>,
    /// Grace period for running completions at shutdown.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    drain_timeout: u16,
    /// Also stop at the end of standard input, so that the engine does not outlive its parent.
    #[arg(long)]
    stop_with_stdin: bool,
    /// Folder for downloaded and converted weights.
    #[arg(long, value_name = "FOLDER", default_value = "data/cache")]
    cache_dir: PathBuf,
}

/// Serves until SIGTERM or SIGINT.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    restart_with_short_spins();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(DEFAULT_LOG));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_target(false);
    log.with_ansi(io::stderr().is_terminal()).init();
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("forebay-engine: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Re-executes this program with a short OpenMP spin time.
///
/// Compute threads wait for each other a few hundred times per step. By default OpenMP spins for milliseconds, which on
/// a busy machine starves the thread being waited for: 900 ms instead of 8 ms per step. OpenMP reads its settings from
/// the environment when it is loaded, hence the re-execution. Settings made by the user are kept.
fn restart_with_short_spins() {
    if std::env::var_os(SPIN_COUNT.0).is_some() || std::env::var_os("OMP_WAIT_POLICY").is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    // Returns only on failure; the engine then works, but is slow on a busy machine.
    let _ = Command::new(program).args(std::env::args_os().skip(1)).env(SPIN_COUNT.0, SPIN_COUNT.1).exec();
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    // Report a missing file immediately, before listening.
    if let Source::Path(path) = &arguments.model
        && !path.exists()
    {
        return Err(weights::WeightsError::Missing { path: path.clone() }.into());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(HTTP_THREADS)
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()?;
    let result = runtime.block_on(serve(arguments));
    // The compute thread ends with the process.
    runtime.shutdown_background();
    result
}

async fn serve(arguments: Arguments) -> anyhow::Result<()> {
    let listener = TcpListener::bind(arguments.listen).await;
    let listener = listener.with_context(|| format!("cannot listen on {}", arguments.listen))?;
    let address = listener.local_addr()?;
    let (state, metrics) = (Arc::new(LoadState::default()), Arc::new(Metrics::default()));
    let identity = Identity::new(model_name(&arguments));
    let server = http::Server::new(identity, Arc::clone(&state), Arc::clone(&metrics), EngineKey::from_environment());
    announce(address, arguments.listen_file.as_deref())?;
    let (stop_with_stdin, drain) = (arguments.stop_with_stdin, Duration::from_secs(arguments.drain_timeout.into()));
    let plan = plan(arguments)?;
    let loaded = async {
        let weights = loading::obtain(&plan, &state).await?;
        let loading = load_in_thread(plan, weights, Arc::clone(&state), metrics)?;
        loading.await.context("the loading thread died")??;
        // Loaded: from now on only a signal ends the server.
        std::future::pending().await
    };
    let (stop, stopping) = watch::channel(false);
    let mut serving = Box::pin(server.run(listener, stopping));
    let mut signals = Signals::listen(stop_with_stdin)?;
    tokio::select! {
        () = &mut serving => {}
        failed = loaded => return failed,
        () = signals.next() => {}
    }
    info!("stopping: running completions have {} s to finish", drain.as_secs());
    stop.send_replace(true);
    tokio::select! {
        () = &mut serving => {}
        () = tokio::time::sleep(drain) => warn!("running completions were aborted: the drain timeout has passed"),
        () = signals.next() => warn!("second stop signal: running completions are aborted"),
    }
    drop(serving);
    until_idle(&state).await;
    Ok(())
}

/// Loads the model in a thread that ends afterwards.
///
/// OpenMP keeps a thread pool per thread that has computed, including the loading thread. While there are more pool
/// threads than cores, compute threads sleep immediately instead of spinning, which doubles the time of a step.
fn load_in_thread(
    plan: LoadPlan,
    weights: PathBuf,
    state: Arc<LoadState>,
    metrics: Arc<Metrics>,
) -> io::Result<oneshot::Receiver<anyhow::Result<()>>> {
    let (done, loading) = oneshot::channel();
    let load = move || drop(done.send(loading::load(&plan, &weights, &state, &metrics)));
    thread::Builder::new().name("load".to_owned()).spawn(load)?;
    Ok(loading)
}

/// Waits for the last compute step. No calls are left, so no other step follows.
async fn until_idle(state: &LoadState) {
    let deadline = Instant::now() + LAST_STEP_TIMEOUT;
    while !state.idle() && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn plan(arguments: Arguments) -> anyhow::Result<LoadPlan> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let read = |file: PathBuf| fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()));
    Ok(LoadPlan {
        chat_template: arguments.chat_template.map(read).transpose()?,
        weights: arguments.model,
        cache_dir: arguments.cache_dir,
        context: arguments.ctx,
        for_embeddings: arguments.embeddings,
        parallel: arguments.parallel.into(),
        queue: arguments.queue.into(),
        cache_tokens: arguments.kv_cache_tokens,
        cache_precision: arguments.kv_cache_type,
        threads: arguments.threads.unwrap_or(cores).max(1),
        started: Instant::now(),
    })
}

fn model_name(arguments: &Arguments) -> String {
    arguments.model_name.clone().unwrap_or_else(|| arguments.model.short_name())
}

/// Announces the address on standard output and in a file that is written atomically.
fn announce(address: SocketAddr, file: Option<&Path>) -> anyhow::Result<()> {
    println!("listening on {address}");
    let Some(file) = file else { return Ok(()) };
    let part = file.with_extension("part");
    let written = fs::write(&part, format!("{address}\n")).and_then(|()| fs::rename(&part, file));
    written.with_context(|| format!("cannot write {}", file.display()))
}

//! The command line of `forebay-engine`.

use crate::http::{self, Identity};
use crate::loading::{self, Plan, Stage};
use crate::metrics::Metrics;
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

/// Threads that speak HTTP: they wait most of the time, the computing ones need the cores.
const HTTP_THREADS: usize = 2;
/// How often a waiting thread looks again before it sleeps, in the words of GNU OpenMP; some microseconds.
const SPIN_COUNT: (&str, &str) = ("GOMP_SPINCOUNT", "3000");
/// How long a step that is being computed may take when nobody waits for it any more.
const LAST_STEP: Duration = Duration::from_secs(3);
/// What is logged unless `RUST_LOG` says otherwise; llama.cpp is talkative.
const USUAL_LOG: &str = "info,llama-cpp-2=off,llama_cpp_2=off";

/// A model behind an OpenAI-compatible HTTP interface.
#[derive(Parser)]
#[command(name = "forebay-engine", version)]
struct Arguments {
    /// A GGUF file, or a folder in the layout of Hugging Face with one, or with a BERT sentence model; or either of them
    /// on the hub: hf://owner/name/file.gguf, hf://owner/name.
    #[arg(long, value_name = "PATH")]
    model: Source,
    /// The name that calls use; default: the name of the file or folder.
    #[arg(long, value_name = "NAME")]
    model_name: Option<String>,
    /// Where to listen; port 0 takes a free one. The address is printed on standard output.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Also write the address into this file, once it accepts connections.
    #[arg(long, value_name = "FILE")]
    listen_file: Option<PathBuf>,
    /// Tokens of a prompt and its answer together; default and upper limit: what the model was trained on.
    #[arg(long, value_name = "TOKENS")]
    ctx: Option<usize>,
    /// Answers that are made at the same time.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=64))]
    parallel: u16,
    /// Answers that may wait beside them; past that calls are refused with 503.
    #[arg(long, value_name = "N", default_value_t = 64)]
    queue: u16,
    /// Tokens that the KV cache holds for all answers together, allocated once; default: 16384, or one context.
    #[arg(long, value_name = "TOKENS")]
    kv_cache_tokens: Option<usize>,
    /// Threads that compute; default: one for each core.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Serve embeddings, also if the file does not say that it is for that.
    #[arg(long)]
    embeddings: bool,
    /// A file with the chat template to use in place of the model's own.
    #[arg(long, value_name = "FILE")]
    chat_template: Option<PathBuf>,
    /// How long running answers may take to end when the engine is to stop.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    drain_timeout: u16,
    /// Also stop when standard input ends: for a parent that may die without a word.
    #[arg(long)]
    stop_with_stdin: bool,
    /// Where fetched and converted weights are kept.
    #[arg(long, value_name = "FOLDER", default_value = "data/cache")]
    cache_dir: PathBuf,
}

/// Serves until SIGTERM or SIGINT.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    wait_politely();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(USUAL_LOG));
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

/// Starts this program again, in its own place, with short spins of the computing threads.
///
/// They wait for each other some hundred times in a step. OpenMP lets them spin for milliseconds, which on a machine
/// with other work keeps away the very thread that they wait for: 900 ms for a step of 8 ms. It reads its settings from
/// the environment when it is loaded; whoever has set them keeps them.
fn wait_politely() {
    if std::env::var_os(SPIN_COUNT.0).is_some() || std::env::var_os("OMP_WAIT_POLICY").is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    // It returns only if it failed; then the engine is slow beside others, but works.
    let _ = Command::new(program).args(std::env::args_os().skip(1)).env(SPIN_COUNT.0, SPIN_COUNT.1).exec();
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    // What can be seen at once is told at once, before anything listens.
    if let Source::Path(path) = &arguments.model
        && !path.exists()
    {
        return Err(weights::Problem::Missing { path: path.clone() }.into());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(HTTP_THREADS).enable_all().build()?;
    let result = runtime.block_on(serve(arguments));
    // The computing thread ends with the process; nobody waits for its last step.
    runtime.shutdown_background();
    result
}

async fn serve(arguments: Arguments) -> anyhow::Result<()> {
    let listener = TcpListener::bind(arguments.listen).await;
    let listener = listener.with_context(|| format!("cannot listen on {}", arguments.listen))?;
    let address = listener.local_addr()?;
    let (stage, metrics) = (Arc::new(Stage::default()), Arc::new(Metrics::default()));
    let identity = Identity::new(model_name(&arguments));
    let server = http::Server::new(identity, Arc::clone(&stage), Arc::clone(&metrics));
    announce(address, arguments.listen_file.as_deref())?;
    let (stop_with_stdin, drain) = (arguments.stop_with_stdin, Duration::from_secs(arguments.drain_timeout.into()));
    let plan = plan(arguments)?;
    let loading = load_apart(plan, Arc::clone(&stage), metrics)?;
    let loaded = async {
        loading.await.context("the loading thread died")??;
        // Loaded: from now on only a signal ends it.
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
    info!("stopping: running answers may take {} s to end", drain.as_secs());
    stop.send_replace(true);
    tokio::select! {
        () = &mut serving => {}
        () = tokio::time::sleep(drain) => warn!("answers were cut: they took too long to end"),
        () = signals.next() => warn!("told again to stop: running answers are cut"),
    }
    drop(serving);
    until_idle(&stage).await;
    Ok(())
}

/// Loads in a thread that ends with that.
///
/// OpenMP counts the threads it keeps for whoever has computed, loading included. While there are more of them than
/// cores, computing threads sleep at once instead of spinning for their next part, which makes a step twice as long.
fn load_apart(
    plan: Plan,
    stage: Arc<Stage>,
    metrics: Arc<Metrics>,
) -> io::Result<oneshot::Receiver<anyhow::Result<()>>> {
    let (done, loading) = oneshot::channel();
    let load = move || drop(done.send(loading::load(&plan, &stage, &metrics)));
    thread::Builder::new().name("load".to_owned()).spawn(load)?;
    Ok(loading)
}

/// Lets the last step end: nobody waits for an answer by now, so no other one follows.
async fn until_idle(stage: &Stage) {
    let deadline = Instant::now() + LAST_STEP;
    while !stage.idle() && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn plan(arguments: Arguments) -> anyhow::Result<Plan> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let read = |file: PathBuf| fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()));
    Ok(Plan {
        chat_template: arguments.chat_template.map(read).transpose()?,
        weights: arguments.model,
        cache_dir: arguments.cache_dir,
        context: arguments.ctx,
        for_embeddings: arguments.embeddings,
        parallel: arguments.parallel.into(),
        queue: arguments.queue.into(),
        cache_tokens: arguments.kv_cache_tokens,
        threads: arguments.threads.unwrap_or(cores).max(1),
    })
}

fn model_name(arguments: &Arguments) -> String {
    arguments.model_name.clone().unwrap_or_else(|| arguments.model.short_name())
}

/// Tells where it listens: on standard output, and in a file that appears whole.
fn announce(address: SocketAddr, file: Option<&Path>) -> anyhow::Result<()> {
    println!("listening on {address}");
    let Some(file) = file else { return Ok(()) };
    let part = file.with_extension("part");
    let written = fs::write(&part, format!("{address}\n")).and_then(|()| fs::rename(&part, file));
    written.with_context(|| format!("cannot write {}", file.display()))
}

//! An engine that takes its time: prompts are computed one after another, except for the part that is in its cache.
//!
//! The cache is an LRU of blocks of text. A prompt takes an overhead and its uncached tokens at a fixed rate; then tokens
//! follow at a fixed pace, in two events. A speed factor shortens all times, so that an hour takes minutes.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;
use tokio::time::sleep_until;

/// A token is this many bytes of text.
pub const BYTES_PER_TOKEN: usize = 4;

/// The figures of a simulated engine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Simulation {
    /// Blocks in the cache.
    pub cache_blocks: usize,
    pub block_tokens: usize,
    pub prefill_tokens_per_second: f64,
    /// Time per prompt besides its tokens.
    pub prefill_overhead: Duration,
    pub time_per_output_token: Duration,
    /// All times are divided by it.
    pub speed: f64,
}

impl Default for Simulation {
    fn default() -> Self {
        Self {
            cache_blocks: 3_000,
            block_tokens: 512,
            prefill_tokens_per_second: 6_500.0,
            prefill_overhead: Duration::from_millis(20),
            time_per_output_token: Duration::from_millis(25),
            speed: 1.0,
        }
    }
}

/// The work of an engine since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SimulatedWork {
    pub prompts: u64,
    pub prompt_tokens: u64,
    pub cached_tokens: u64,
}

/// A prompt as the cache sees it.
pub(super) struct Prompt {
    tokens: u64,
    /// One hash per complete block, each of everything up to its end.
    blocks: Vec<u64>,
}

/// The tokens of a prompt that was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prefilled {
    pub(super) prompt_tokens: u64,
    pub(super) cached_tokens: u64,
}

pub(super) struct SimulatedEngine {
    settings: Simulation,
    queue: Mutex<PrefillQueue>,
    waiting: AtomicUsize,
    prompts: AtomicU64,
    prompt_tokens: AtomicU64,
    cached_tokens: AtomicU64,
}

/// The prompts in order of arrival, which is also the order in which they enter the cache.
struct PrefillQueue {
    cache: BlockCache,
    /// When the last prompt will be ready.
    ready: Option<Instant>,
}

/// When a prompt is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PrefillPlan {
    start: Instant,
    ready: Instant,
    prefilled: Prefilled,
}

impl PrefillQueue {
    fn new(cache_blocks: usize) -> Self {
        Self { cache: BlockCache::new(cache_blocks), ready: None }
    }

    fn plan(&mut self, settings: &Simulation, prompt: &Prompt, arrived: Instant) -> PrefillPlan {
        let cached_blocks = self.cache.enter(&prompt.blocks);
        let cached_tokens = (cached_blocks * settings.block_tokens) as u64;
        let start = self.ready.map_or(arrived, |ready| ready.max(arrived));
        let ready = start + settings.prefill_time(prompt.tokens - cached_tokens);
        self.ready = Some(ready);
        PrefillPlan { start, ready, prefilled: Prefilled { prompt_tokens: prompt.tokens, cached_tokens } }
    }
}

impl SimulatedEngine {
    pub(super) fn new(settings: Simulation) -> Self {
        Self {
            settings,
            queue: Mutex::new(PrefillQueue::new(settings.cache_blocks)),
            waiting: AtomicUsize::new(0),
            prompts: AtomicU64::new(0),
            prompt_tokens: AtomicU64::new(0),
            cached_tokens: AtomicU64::new(0),
        }
    }

    pub(super) fn work(&self) -> SimulatedWork {
        SimulatedWork {
            prompts: self.prompts.load(Relaxed),
            prompt_tokens: self.prompt_tokens.load(Relaxed),
            cached_tokens: self.cached_tokens.load(Relaxed),
        }
    }

    pub(super) fn prompt(&self, body: &[u8]) -> Result<Prompt, String> {
        Prompt::parse(body, self.settings.block_tokens)
    }

    /// Waits until the prompt has been computed. A client that leaves does not make others wait less.
    pub(super) async fn prefill(&self, prompt: &Prompt) -> Prefilled {
        let waiting = WaitingPrompt::new(&self.waiting);
        let PrefillPlan { start, ready, prefilled } = {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.plan(&self.settings, prompt, Instant::now())
        };
        self.prompts.fetch_add(1, Relaxed);
        self.prompt_tokens.fetch_add(prefilled.prompt_tokens, Relaxed);
        self.cached_tokens.fetch_add(prefilled.cached_tokens, Relaxed);
        sleep_until(start.into()).await;
        drop(waiting);
        sleep_until(ready.into()).await;
        prefilled
    }

    /// How long the engine takes to generate tokens.
    pub(super) fn decode_time(&self, tokens: u64) -> Duration {
        let seconds = self.settings.time_per_output_token.as_secs_f64() * tokens as f64;
        Duration::from_secs_f64(seconds / self.settings.speed)
    }

    /// Metrics under the names of vLLM.
    pub(super) fn metrics(&self, in_flight: usize) -> String {
        let waiting = self.waiting.load(Relaxed).min(in_flight);
        let work = self.work();
        let label = "{model_name=\"fake-model\"}";
        format!(
            "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{label} {}\n\
             # TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{label} {waiting}\n\
             # TYPE vllm:kv_cache_usage_perc gauge\nvllm:kv_cache_usage_perc{label} 0.0\n\
             # TYPE vllm:prefix_cache_queries counter\nvllm:prefix_cache_queries_total{label} {}\n\
             # TYPE vllm:prefix_cache_hits counter\nvllm:prefix_cache_hits_total{label} {}\n\
             # TYPE vllm:prompt_tokens counter\nvllm:prompt_tokens_total{label} {}\n",
            in_flight - waiting,
            work.prompt_tokens,
            work.cached_tokens,
            work.prompt_tokens,
        )
    }
}

impl Simulation {
    fn prefill_time(&self, uncached_tokens: u64) -> Duration {
        let seconds =
            self.prefill_overhead.as_secs_f64() + uncached_tokens as f64 / self.prefill_tokens_per_second.max(1.0);
        Duration::from_secs_f64(seconds / self.speed.max(f64::MIN_POSITIVE))
    }
}

/// Counts a prompt that waits for its turn, also if its client leaves.
struct WaitingPrompt<'a>(&'a AtomicUsize);

impl<'a> WaitingPrompt<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Relaxed);
        Self(count)
    }
}

impl Drop for WaitingPrompt<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[derive(Deserialize)]
struct PromptMembers {
    #[serde(default)]
    messages: Vec<Message>,
    cache_salt: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Value,
}

impl Prompt {
    /// The texts of all messages, in blocks. Another salt makes other blocks.
    fn parse(body: &[u8], block_tokens: usize) -> Result<Self, String> {
        let members: PromptMembers = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let mut text = String::new();
        for Message { content } in &members.messages {
            match content {
                Value::String(content) => text.push_str(content),
                Value::Array(parts) => {
                    parts.iter().filter_map(|part| part["text"].as_str()).for_each(|part| text.push_str(part));
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
            }
        }
        let mut hasher = DefaultHasher::new();
        members.cache_salt.hash(&mut hasher);
        let blocks = text.as_bytes().chunks_exact((block_tokens * BYTES_PER_TOKEN).max(1)).map(|block| {
            block.hash(&mut hasher);
            hasher.finish()
        });
        Ok(Self { tokens: (text.len() / BYTES_PER_TOKEN).max(1) as u64, blocks: blocks.collect() })
    }
}

/// The most recently used blocks.
struct BlockCache {
    capacity: usize,
    /// Each block with its last use, and the other way round.
    last_use: HashMap<u64, u64>,
    by_use: BTreeMap<u64, u64>,
    uses: u64,
}

impl BlockCache {
    fn new(capacity: usize) -> Self {
        Self { capacity, last_use: HashMap::new(), by_use: BTreeMap::new(), uses: 0 }
    }

    /// Adds a prompt and returns how many of its first blocks were there. The last blocks are forgotten first.
    fn enter(&mut self, blocks: &[u64]) -> usize {
        let cached = blocks.iter().take_while(|block| self.last_use.contains_key(block)).count();
        for block in blocks.iter().rev() {
            self.uses += 1;
            if let Some(before) = self.last_use.insert(*block, self.uses) {
                self.by_use.remove(&before);
            }
            self.by_use.insert(self.uses, *block);
        }
        while self.last_use.len() > self.capacity {
            let Some((_, oldest)) = self.by_use.pop_first() else { break };
            self.last_use.remove(&oldest);
        }
        cached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn settings() -> Simulation {
        Simulation {
            block_tokens: 50,
            prefill_tokens_per_second: 100.0,
            prefill_overhead: SECOND,
            speed: 2.0,
            ..Simulation::default()
        }
    }

    /// A prompt of blocks of 50 tokens.
    fn prompt(letters: &str) -> Prompt {
        let text: String = letters.chars().map(|letter| letter.to_string().repeat(200)).collect();
        let body = serde_json::json!({"messages": [{"role": "user", "content": text}]});
        Prompt::parse(body.to_string().as_bytes(), 50).unwrap()
    }

    #[test]
    fn prompts_are_computed_one_after_another_without_what_is_cached() {
        let (mut queue, now) = (PrefillQueue::new(100), Instant::now());
        let mut plan = |letters: &str, arrived: Instant| {
            let PrefillPlan { start, ready, prefilled } = queue.plan(&settings(), &prompt(letters), arrived);
            (start - now, ready - now, prefilled.cached_tokens)
        };
        assert_eq!(plan("abcd", now), (Duration::ZERO, SECOND * 3 / 2, 0));
        assert_eq!(plan("abxy", now + SECOND), (SECOND * 3 / 2, SECOND * 5 / 2, 100));
        assert_eq!(plan("abxy", now + SECOND * 9), (SECOND * 9, SECOND * 19 / 2, 200));
        assert_eq!(SimulatedEngine::new(settings()).decode_time(40), SECOND / 2);
    }

    #[test]
    fn the_cache_forgets_the_blocks_that_were_not_used_for_longest() {
        let mut queue = PrefillQueue::new(4);
        for (letters, cached) in [("abcd", 0), ("abcd", 200), ("xy", 0), ("abcd", 100), ("x", 0)] {
            let plan = queue.plan(&settings(), &prompt(letters), Instant::now());
            assert_eq!(plan.prefilled.cached_tokens, cached, "{letters}");
        }
    }

    #[test]
    fn parts_are_text_and_salts_keep_prompts_apart() {
        let of = |body: Value| Prompt::parse(body.to_string().as_bytes(), 1).unwrap().blocks;
        let text = of(serde_json::json!({"messages": [{"content": "abcdefgh"}]}));
        assert_eq!(text.len(), 2);
        assert_eq!(text, of(serde_json::json!({"messages": [{"content": [{"text": "abcd"}]}, {"content": "efgh"}]})));
        assert_ne!(text, of(serde_json::json!({"cache_salt": "x", "messages": [{"content": "abcdefgh"}]})));
    }
}

//! `/v1` as OpenAI's clients see it.

mod cancellation;
mod chat;
mod credentials;
mod embeddings;
mod errors;
mod http;
mod models;
mod pools;
mod stream;
mod validation;

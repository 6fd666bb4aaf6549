//! Makes one call after another, and judges the responses.

use super::calls::{ProbeCall, ProbedModel};
use super::judge::{self, Evidence};
use super::server::{ModelServer, SendError};
use domain::capabilities::{Capabilities, Capability, Support};
use std::collections::BTreeMap;

/// What a probe has found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Learned {
    pub capabilities: Capabilities,
    /// Whether all calls were made. If not, the server did not respond or rejected further calls for now.
    pub is_complete: bool,
    /// The name of the call that probably ended the server.
    pub ended_by: Option<&'static str>,
}

/// Why no further calls are made.
enum Stop {
    /// The server wants no more calls now, or there is no time left.
    Paused,
    /// The server is gone. The call may have ended it.
    Gone(Option<ProbeCall>),
}

/// Probes what a server can do with a model. The server's deadline bounds all calls together.
pub async fn learn(server: &ModelServer, model: ProbedModel<'_>) -> Learned {
    let mut evidence = Evidence { replies: BTreeMap::new(), context_length: model.context_length };
    let stop = collect(server, model, &mut evidence).await.err();
    let ended_by = match stop {
        Some(Stop::Gone(call)) => call.map(ProbeCall::as_str),
        Some(Stop::Paused) | None => None,
    };
    Learned { capabilities: judge::judge(&evidence), is_complete: stop.is_none(), ended_by }
}

async fn collect(server: &ModelServer, model: ProbedModel<'_>, evidence: &mut Evidence) -> Result<(), Stop> {
    let mut before = None;
    for call in ProbeCall::ALL {
        if !model.takes(call) || !is_worthwhile(call, evidence) {
            continue;
        }
        match server.ask(&call.route(), &model.body(call)).await {
            Ok(reply) if reply.ends_the_probe(call) => return Err(Stop::Paused),
            Ok(reply) => drop(evidence.replies.insert(call, reply)),
            // One slow or long response says nothing about the other calls.
            Err(SendError::Unreadable(_)) => {}
            Err(SendError::Deadline) => return Err(Stop::Paused),
            Err(SendError::Broken(_)) => return Err(Stop::Gone(Some(call))),
            // Some engines end only after their response.
            Err(SendError::Unreachable(_)) => return Err(Stop::Gone(before)),
        }
        before = Some(call);
    }
    Ok(())
}

/// Whether the response would say something that is not known so far. Everything about chats needs one that works.
fn is_worthwhile(call: ProbeCall, evidence: &Evidence) -> bool {
    let shows = |capability| judge::judge(evidence).get(capability) == Support::Yes;
    match call {
        ProbeCall::Chat
        | ProbeCall::Completion
        | ProbeCall::Embedding
        | ProbeCall::Rerank
        | ProbeCall::TeiRerank
        | ProbeCall::Score
        | ProbeCall::Tokenize => true,
        ProbeCall::PlainSchema | ProbeCall::WithReasoning | ProbeCall::WithoutReasoning => shows(Capability::Reasoning),
        ProbeCall::Stream
        | ProbeCall::Tools
        | ProbeCall::ForcedTool
        | ProbeCall::StreamedTool
        | ProbeCall::Schema
        | ProbeCall::Logprobs
        | ProbeCall::Image
        | ProbeCall::Prompt
        | ProbeCall::RepeatedPrompt
        | ProbeCall::Overflow
        | ProbeCall::Messages
        | ProbeCall::Responses
        | ProbeCall::InvalidStream => shows(Capability::Chat),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::model::{EngineKind, Upstream};
    use outbound::{Address, Connector};
    use std::time::Duration;
    use testkit::fake_engine::{FakeEngine, Script};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream, UnixListener};

    fn upstream(engine: &FakeEngine) -> Upstream {
        Upstream { engine: Some(EngineKind::LlamaServer), ..Upstream::plain(engine.url(), "tiny") }
    }

    fn server(upstream: &Upstream) -> ModelServer {
        ModelServer::new(Connector::default(), Address::parse(&upstream.url).unwrap(), None)
    }

    /// A probe whose single calls have little time.
    async fn probe(engine: &FakeEngine, fatal_calls: &[String]) -> Learned {
        let upstream = upstream(engine);
        let server = server(&upstream).with_call_timeout(Duration::from_secs(1));
        let model = ProbedModel { upstream: &upstream, context_length: 2_048, version: None, fatal_calls };
        learn(&server, model).await
    }

    #[test]
    fn without_a_chat_nothing_is_asked_about_chats() {
        use ProbeCall::{Chat, Completion, Embedding, Rerank, Score, TeiRerank, Tokenize};
        let nothing = Evidence { replies: BTreeMap::new(), context_length: 512 };
        let calls = ProbeCall::ALL.into_iter().filter(|call| is_worthwhile(*call, &nothing));
        let expected = [Chat, Completion, Embedding, Rerank, TeiRerank, Score, Tokenize];
        assert_eq!(calls.collect::<Vec<_>>(), expected);
    }

    #[tokio::test]
    async fn one_stalled_or_endless_response_does_not_end_the_probe() {
        let engine = FakeEngine::start().await;
        engine.push(Script::default());
        engine.push(Script { stall_after: Some(0), ..Script::default() });
        engine.push(Script::default());
        engine.push(Script { raw_body: Some("x".repeat(2 << 20)), ..Script::default() });
        let learned = probe(&engine, &[]).await;
        assert!(learned.is_complete, "{learned:?}");
        let known = [Capability::Completions, Capability::Embeddings, Capability::Rerank]
            .map(|one| learned.capabilities.get(one));
        assert_eq!(known, [Support::Unknown, Support::Yes, Support::Unknown], "no response, one, and an endless one");
        assert_eq!(learned.capabilities.get(Capability::StreamUsage), Support::Yes, "later calls were made");
        assert_eq!(learned.ended_by, None);
    }

    #[tokio::test]
    async fn a_rejected_operation_does_not_end_the_probe_and_a_wrong_key_does() {
        let engine = FakeEngine::start().await;
        let forbidden = Script { status: Some(403), ..Script::default() };
        engine.push(Script::default());
        engine.push(forbidden.clone());
        let learned = probe(&engine, &[]).await;
        assert!(learned.is_complete, "{learned:?}");
        assert_eq!(learned.capabilities.get(Capability::Completions), Support::Unknown);
        engine.forget_calls();
        engine.push(forbidden);
        assert!(!probe(&engine, &[]).await.is_complete);
        assert_eq!(engine.calls().len(), 1, "the key works for no call");
        engine.push(Script::default());
        engine.push(Script { status: Some(429), ..Script::default() });
        assert!(!probe(&engine, &[]).await.is_complete);
        assert_eq!(engine.calls().len(), 3, "a limit concerns all calls");
    }

    #[tokio::test]
    async fn the_call_that_ends_an_engine_is_not_made_again() {
        let engine = FakeEngine::start().await;
        engine.push(Script::default());
        engine.push(Script { hang_up: true, ..Script::default() });
        let learned = probe(&engine, &[]).await;
        assert_eq!((learned.is_complete, learned.ended_by), (false, Some("completion")));
        engine.forget_calls();
        let learned = probe(&engine, &["completion".to_owned()]).await;
        assert_eq!((learned.is_complete, learned.ended_by), (true, None));
        assert!(engine.calls().iter().all(|call| call.path != "/v1/completions"));
        assert!(engine.calls().iter().any(|call| call.path == "/v1/responses"), "the others are made");
    }

    #[tokio::test]
    async fn an_engine_at_a_socket_of_this_machine_is_probed() {
        let engine = FakeEngine::start().await;
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("engine.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let forward = async {
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                let mut server = TcpStream::connect(engine.address()).await.unwrap();
                // A client that has its response closes its connection.
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            }
        };
        let upstream = Upstream { url: format!("unix:{}:20010/v1", socket.display()), ..upstream(&engine) };
        let model = ProbedModel { upstream: &upstream, context_length: 2_048, version: None, fatal_calls: &[] };
        let server = server(&upstream);
        let learned = tokio::select! {
            learned = learn(&server, model) => learned,
            () = forward => unreachable!(),
        };
        assert!(learned.is_complete, "{learned:?}");
        assert_eq!(learned.capabilities.get(Capability::Chat), Support::Yes);
        let paths: Vec<String> = engine.calls().into_iter().map(|call| call.path).collect();
        assert!(paths.contains(&"/v1/chat/completions".to_owned()), "{paths:?}");
    }

    /// A server that responds once and is gone.
    async fn short_lived() -> Upstream {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        #[expect(clippy::disallowed_methods, reason = "it ends with the test")]
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            drop(listener);
            let _ = stream.read(&mut [0; 4096]).await.unwrap();
            stream.write_all(b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        });
        Upstream::plain(url, "tiny")
    }

    #[tokio::test]
    async fn an_engine_that_is_gone_after_a_response_was_ended_by_that_call() {
        let upstream = short_lived().await;
        let server = server(&upstream);
        let model = ProbedModel { upstream: &upstream, context_length: 2_048, version: None, fatal_calls: &[] };
        assert_eq!(learn(&server, model).await.ended_by, Some("chat"));
        let learned = learn(&server, model).await;
        assert_eq!((learned.is_complete, learned.ended_by), (false, None), "it was gone before");
    }
}

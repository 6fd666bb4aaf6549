//! Prompts that end engines, and innocent ones that are lost with them.

use std::time::Duration;

use testkit::fake_engine::{FakeEngine, Personality, Script};
use tokio::task::JoinSet;

use super::pools::{call_counts, chats_served, second_workspace};
use crate::app::{CHAT, TIMEOUT, TestApp, chat, error_line, stream, wait_until};
use crate::wire::{Wire, post};

fn breaks_the_connection() -> [Script; 2] {
    let in_stream = Script { cut_after: Some(0), no_role: true, ..Script::default() };
    [Script { hang_up: true, ..Script::default() }, in_stream]
}

#[tokio::test]
async fn a_request_that_ends_engines_reaches_two_of_them_and_is_then_rejected() {
    for script in breaks_the_connection() {
        let app = TestApp::setup().engines(3).start().await;
        // Connections that were used before are replaced by fresh ones, which must not add to the tries.
        assert_eq!(chats_served(&app, 20).await, 20);
        app.engines.iter().for_each(|engine| engine.forget_calls());
        app.engines.iter().for_each(|engine| engine.script(script.clone()));
        let response = app.client().post_json("/chat/completions", stream("poison")).await;
        assert_eq!(error_line(&response), "502 bad_gateway");
        assert_eq!(call_counts(&app).iter().sum::<usize>(), 2, "{script:?}");

        let mut again = stream("poison");
        again["temperature"] = 1.into();
        let response = app.client().post_json("/chat/completions", again).await;
        assert_eq!(error_line(&response), "503 request_quarantined");
        assert_eq!(response.header("x-should-retry"), Some("false"));
        let seconds: u64 = response.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&seconds), "{seconds}");
        assert_eq!(call_counts(&app).iter().sum::<usize>(), 2, "{script:?}");

        app.engines.iter().for_each(|engine| engine.script(Script::default()));
        assert_eq!(app.chat("harmless").await.status, 200);
    }
}

/// As in an update: replicas end while they serve the monitor, alone or with the one that the call was moved to.
#[tokio::test]
async fn a_monitor_is_never_quarantined_while_replicas_are_replaced_in_turn() {
    const PERIOD: Duration = Duration::from_millis(50);
    let mut app = TestApp::setup().engines(2).start().await;
    let client = app.client();
    let ping = async || {
        tokio::time::sleep(PERIOD).await;
        let response = client.post_json("/chat/completions", chat("ping")).await;
        assert!(!response.text().contains("request_quarantined"), "{}", response.text());
        response.status.as_u16()
    };
    for round in 0..6 {
        let both_end = round % 2 == 1;
        assert_eq!(ping().await, 200, "{round}");
        let never = Script { delay_ms: 600_000, ..Script::default() };
        app.engines.iter().for_each(|engine| engine.script(never.clone()));
        let replacement = async {
            let busy = |engines: &[FakeEngine]| engines.iter().position(|engine| engine.in_flight() > 0);
            wait_until("a replica has the call", TIMEOUT, async || busy(&app.engines).is_some()).await;
            let first = busy(&app.engines).unwrap();
            let second = 1 - first;
            if !both_end {
                app.engines[second].script(Script::default());
            }
            app.engines[first].stop();
            if both_end {
                wait_until("the other one has it", TIMEOUT, async || app.engines[second].in_flight() > 0).await;
                app.engines[second].stop();
                app.engines[second].script(Script::default());
                app.engines[second].restart();
            }
            app.engines[first].script(Script::default());
            app.engines[first].restart();
        };
        let (status, ()) = tokio::join!(ping(), replacement);
        assert_eq!(status, if both_end { 502 } else { 200 }, "{round}");
        let is_back = async || ping().await == 200 && app.model_status(CHAT).await == "available";
        wait_until("both are back", TIMEOUT, is_back).await;
    }
}

#[tokio::test]
async fn a_request_that_ends_the_only_engine_twice_is_rejected() {
    for script in breaks_the_connection() {
        let app = TestApp::start().await;
        app.engine().script(script);
        for expected in ["502 bad_gateway", "502 bad_gateway", "503 request_quarantined"] {
            let response = app.client().post_json("/chat/completions", stream("poison")).await;
            assert_eq!(error_line(&response), expected);
        }
        assert_eq!(app.engine().calls().len(), 2);
    }
}

#[tokio::test]
async fn bodies_that_arrive_slowly_do_not_hide_that_a_prompt_ends_engines() {
    let app = TestApp::start().await;
    app.engine().script(Script { hang_up: true, ..Script::default() });
    let request = post(&app, "", stream("poison").to_string());
    let (last, beginning) = request.split_last().unwrap();
    let mut wires = Vec::new();
    for _ in 0..3 {
        let mut wire = Wire::open(app.forebay.public).await;
        wire.send(beginning).await;
        wires.push(wire);
    }
    assert!(wires[2].is_silent().await, "all heads have arrived before the first call is lost");
    let mut errors = Vec::new();
    for wire in &mut wires {
        wire.send([*last]).await;
        errors.push(wire.response().await.error_line());
    }
    assert_eq!(errors, ["502 bad_gateway", "502 bad_gateway", "503 request_quarantined"]);
}

#[tokio::test]
async fn a_prompt_whose_client_leaves_before_its_engine_ends_is_rejected_too() {
    let mut app = TestApp::start().await;
    app.engine().script(Script { delay_ms: 600_000, ..Script::default() });
    for round in 0..3 {
        let client = app.client();
        tokio::select! {
            response = client.post_json("/chat/completions", stream("poison")) => panic!("{}", response.text()),
            arrived = app.engine().wait_for_calls(round + 1, TIMEOUT) => assert!(arrived),
        }
        assert!(app.engine().wait_until_idle(TIMEOUT).await, "the gateway has noticed that its client left");
        app.engines[0].stop();
        // The first call finds that the engine is down, so that the second one counts the loss. A node looks ten times a second.
        for pause_millis in [0, 200] {
            tokio::time::sleep(Duration::from_millis(pause_millis)).await;
            assert_eq!(error_line(&app.chat("other").await), "503 model_not_serving");
        }
        app.engines[0].restart();
        wait_until("the engine is back", TIMEOUT, async || app.model_status(CHAT).await == "available").await;
    }
    assert_eq!(error_line(&app.ask(stream("poison")).await), "503 request_quarantined");
}

/// As vLLM: its server responds with 500 to the calls of an engine that has ended, and ends then.
#[tokio::test]
async fn a_prompt_whose_engine_responds_with_an_error_before_it_ends_is_rejected_too() {
    let mut app = TestApp::start().await;
    // It closes the connection after an error, so that the next call opens one.
    app.engine().script(Script { status: Some(500), engine: Personality::LlamaServer, ..Script::default() });
    for _ in 0..3 {
        assert_eq!(error_line(&app.ask(stream("poison")).await), "502 bad_gateway");
        app.engines[0].stop();
        for pause_millis in [0, 200] {
            tokio::time::sleep(Duration::from_millis(pause_millis)).await;
            assert_eq!(error_line(&app.chat("other").await), "503 model_not_serving");
        }
        app.engines[0].restart();
        wait_until("the engine is back", TIMEOUT, async || app.model_status(CHAT).await == "available").await;
    }
    assert_eq!(error_line(&app.ask(stream("poison")).await), "503 request_quarantined");
}

#[tokio::test]
async fn a_workspace_that_keeps_ending_engines_gets_no_second_attempt() {
    let app = TestApp::setup().engines(3).start().await;
    app.engines.iter().for_each(|engine| engine.script(Script { hang_up: true, ..Script::default() }));
    for (number, calls) in [2, 4, 6, 7, 8].into_iter().enumerate() {
        assert_eq!(error_line(&app.chat(&format!("{number}")).await), "502 bad_gateway");
        assert_eq!(call_counts(&app).iter().sum::<usize>(), calls, "{number}");
    }
    let other = second_workspace(&app).post_json("/chat/completions", chat("hi")).await;
    assert_eq!(error_line(&other), "502 bad_gateway");
    assert_eq!(call_counts(&app).iter().sum::<usize>(), 10, "other workspaces do");
}

#[tokio::test]
async fn a_prompt_that_is_served_between_lost_calls_is_never_quarantined() {
    let app = TestApp::start().await;
    for round in 0..4 {
        // A call on a connection that was used before is lost twice, because it is sent again on a fresh one.
        app.engine().script(Script { hang_up: true, ..Script::default() });
        assert_eq!(error_line(&app.ask(stream("ping")).await), "502 bad_gateway", "{round}");
        app.engine().script(Script::default());
        assert_eq!(app.ask(stream("ping")).await.status_line(), "200 OK", "{round}");
    }
}

#[tokio::test]
async fn calls_that_were_lost_together_at_two_engines_are_served_afterwards() {
    let mut app = TestApp::setup().engines(2).start().await;
    app.engines.iter().for_each(|engine| engine.script(Script { delay_ms: 600_000, ..Script::default() }));
    let mut calls = JoinSet::new();
    for number in 0..6 {
        let client = app.client();
        calls.spawn(async move { client.post_json("/chat/completions", chat(&format!("{number}"))).await.status });
    }
    wait_until("each engine has some", TIMEOUT, async || call_counts(&app) == [3, 3]).await;
    app.engines[0].stop();
    wait_until("the second engine has all", TIMEOUT, async || call_counts(&app)[1] == 6).await;
    app.engines[1].stop();
    while let Some(status) = calls.join_next().await {
        assert!(status.unwrap().is_server_error());
    }
    app.engines.iter_mut().for_each(FakeEngine::restart);
    app.engines.iter().for_each(|engine| engine.script(Script::default()));
    wait_until("an engine is back", TIMEOUT, async || app.model_status(CHAT).await != "unavailable").await;
    for number in 0..6 {
        assert_eq!(app.chat(&format!("{number}")).await.status_line(), "200 OK", "{number}");
    }
}

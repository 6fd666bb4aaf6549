//! Commands of third-party engines: stand-ins on the PATH record their arguments.

use crate::helpers::{self, Machine, spec, wait_for};
use domain::model::{EngineKind, Launch};
use fleet::drivers::Driver;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

const ROOT: &str = "TEST_ENGINES_ROOT";
/// Records one argument per line, then its variables for GPUs and keys; then runs on like an engine.
const STAND_IN: &str = r#"#!/bin/sh
{ for argument in "$0" "$@"; do echo "$argument"; done; env | grep -E '^(CUDA|VLLM|LLAMA)_' | sed -E 's/=[0-9a-f]{64}$/=KEY/' | sort; echo end; } > "$GW_REPLICA_DIR/recorded"
exec sleep 100000
"#;
/// vLLM's part of a stand-in: a server at its socket.
const AT_SOCKET: &str = r#"
import http.server, socketserver, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass
socketserver.UnixStreamServer(sys.argv[sys.argv.index("--uds") + 1], Handler).serve_forever()
"#;
const ENGINES: [(&str, EngineKind, &str); 3] = [
    ("rep_vllm", EngineKind::Vllm, "vllm"),
    ("rep_sglang", EngineKind::Sglang, "python"),
    ("rep_llama", EngineKind::LlamaServer, "llama-server"),
];

/// PATH belongs to a process, so the test below starts this one.
#[tokio::test]
#[ignore = "a program that another test starts"]
async fn a_control_plane_of_three_engines() {
    let Ok(root) = std::env::var(ROOT) else { return };
    let driver = helpers::driver(Path::new(&root), fleet::drivers::process::ShimPolicy::default());
    for (name, kind, _) in ENGINES {
        let spec = spec(name, Launch::Engine(kind));
        let binding = driver.bind(&spec, &fleet::drivers::TakenResources::default()).await.unwrap();
        driver.start(&spec, &binding).await.unwrap();
    }
}

#[tokio::test]
async fn each_engine_gets_its_own_flags_and_sees_only_its_gpus() {
    let machine = Machine::new();
    let bin = machine.root.with_file_name("bin");
    std::fs::create_dir(&bin).unwrap();
    for (_, _, program) in ENGINES {
        let script = match program {
            "vllm" => STAND_IN.replace("sleep 100000", "python3 \"$0.py\" \"$@\""),
            _ => STAND_IN.to_owned(),
        };
        std::fs::write(bin.join(program), script).unwrap();
        std::fs::set_permissions(bin.join(program), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    std::fs::write(bin.join("vllm.py"), AT_SOCKET).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let started = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "engines::a_control_plane_of_three_engines"])
        .env("PATH", path)
        .env(ROOT, &machine.root)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(started.success());
    let found = machine.driver.list().await.unwrap();
    for (name, _, program) in ENGINES {
        let file = machine.file(name, "recorded");
        let read = || std::fs::read_to_string(&file).ok().filter(|text| text.ends_with("end\n"));
        let recorded = wait_for("the recorded arguments", async || read()).await;
        let binding = found.iter().find(|one| one.replica.as_str() == name).unwrap().binding.as_ref().unwrap();
        let expected = match program {
            "vllm" => {
                "serve /nowhere/weights.gguf --served-model-name dedicated/tiny --host 127.0.0.1 --port PORT \
                 --tensor-parallel-size 1 --max-model-len 2048 --gpu-memory-utilization 0.90 --shutdown-timeout 25 \
                 --enable-prompt-tokens-details --uds SOCKET"
            }
            "python" => {
                "-m sglang.launch_server --model-path /nowhere/weights.gguf --served-model-name dedicated/tiny \
                 --host 127.0.0.1 --port PORT --tp-size 1 --context-length 2048 --enable-metrics \
                 --enable-cache-report --config KEY_FILE"
            }
            _ => {
                "-m /nowhere/weights.gguf --alias dedicated/tiny --host 127.0.0.1 --port PORT -ngl all -c 8192 \
                 --parallel 4 --metrics"
            }
        };
        let key_file = machine.file(name, "key.yaml");
        let arguments = expected.replace("PORT", &binding.port.to_string()).replace(' ', "\n");
        let arguments = arguments.replace("KEY_FILE", key_file.to_str().unwrap());
        let socket = machine.file(name, "socket/http");
        let arguments = arguments.replace("SOCKET", socket.to_str().unwrap());
        let key = match program {
            "vllm" => {
                let mode = std::fs::metadata(socket.parent().unwrap()).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o700, "others cannot reach the socket");
                let replica = fleet::drivers::ReplicaName::parse(name).unwrap();
                let healthy = async || machine.driver.probe(&replica).await == fleet::engine::ProbeResult::Healthy;
                wait_for("it is called at its socket", async || healthy().await.then_some(())).await;
                let address = machine.driver.address(&replica).unwrap();
                assert_eq!(address, format!("unix:{}:{}", socket.display(), binding.port));
                "\nVLLM_API_KEY=KEY"
            }
            "llama-server" => "\nLLAMA_API_KEY=KEY",
            _ => {
                let mode = std::fs::metadata(&key_file).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600, "others cannot read the key");
                ""
            }
        };
        let variables = format!("CUDA_DEVICE_ORDER=PCI_BUS_ID\nCUDA_VISIBLE_DEVICES={key}");
        assert_eq!(recorded, format!("{}\n{arguments}\n{variables}\nend\n", bin.join(program).display()));
    }
}

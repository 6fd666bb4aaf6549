//! `make run` with scripts in place of cargo and forebay.

use std::fs;
use std::process::Command;

use crate::engine_script::write_script;
use crate::quickstart::root;

/// Builds the gateway below as every program; the engine not before that serves.
const CARGO: &str = r#"#!/bin/sh
for argument; do
    if [ "$argument" = --bin=forebay-engine ]; then
        while [ ! -e "$CARGO_TARGET_DIR/serves" ]; do sleep 0.05; done
    fi
    case $argument in
    --bin=*) cp "$CARGO_TARGET_DIR/gateway" "$CARGO_TARGET_DIR/start/${argument#--bin=}" ;;
    esac
done
"#;

/// Serves until the engine is built.
const GATEWAY: &str = r#"#!/bin/sh
touch "$CARGO_TARGET_DIR/serves"
while [ ! -e "$CARGO_TARGET_DIR/start/forebay-engine" ]; do sleep 0.05; done
exit 3
"#;

#[test]
fn the_first_make_run_serves_before_the_engine_is_built() {
    let folder = tempfile::tempdir().unwrap();
    let (programs, target) = (folder.path().join("bin"), folder.path().join("target"));
    fs::create_dir_all(target.join("start")).unwrap();
    fs::create_dir(&programs).unwrap();
    write_script(&programs.join("cargo"), CARGO);
    write_script(&target.join("gateway"), GATEWAY);
    let output = Command::new(root().join("scripts/run"))
        .arg("config/quickstart.toml")
        .arg(folder.path())
        .env("PATH", format!("{}:{}", programs.display(), std::env::var("PATH").unwrap()))
        .env("CARGO_TARGET_DIR", &target)
        .env("MAKE", "true")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("while forebay-engine is built"), "{output:?}");
    assert_eq!(output.status.code(), Some(3), "the gateway's exit status: {output:?}");
}

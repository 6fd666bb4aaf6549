//! Programs that stand in for `forebay-engine`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::app::BINARY;

/// The command line of `forebay-engine` around the scripted engine. It ends with its standard input, or with the server
/// inside.
const ENGINE: &str = r#"#!/usr/bin/env bash
while [ $# -gt 0 ]; do
    case $1 in
    --model) weights=$2; shift 2 ;;
    --cache-dir) cache=$2; shift 2 ;;
    --listen-file) file=$2; shift 2 ;;
    --stop-with-stdin) shift ;;
    *) shift 2 ;;
    esac
done
FIND_WEIGHTS
[ -e "$weights" ] || { echo "there are no weights at $weights" >&2; exit 1; }
exec 3<&0
"FAKE_ENGINE" --listen 127.0.0.1:0 >"$file.out" &
server=$!
cat <&3 >/dev/null &
trap 'kill $(jobs -p) 2>/dev/null' EXIT
until grep -q 'listening on' "$file.out"; do kill -0 $server 2>/dev/null || exit 1; sleep 0.02; done
sed -n 's/^listening on //p' "$file.out" >"$file.new" && mv "$file.new" "$file"
wait -n
"#;

/// Writes an engine that listens if its weights are there. `find_weights` may change `$weights` to a path, with the
/// help of `$cache`; empty if it is one.
pub(crate) fn write_engine(folder: &Path, find_weights: &str) -> PathBuf {
    let fake_engine = Path::new(BINARY).with_file_name("fake-engine");
    let text = ENGINE.replace("FAKE_ENGINE", fake_engine.to_str().unwrap()).replace("FIND_WEIGHTS", find_weights);
    write_script(&folder.join("engine"), &text)
}

/// Writes a program.
pub(crate) fn write_script(path: &Path, text: &str) -> PathBuf {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_owned()
}

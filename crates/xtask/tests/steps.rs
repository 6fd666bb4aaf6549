//! `xtask run-steps` with a program in the place of make.

#![expect(clippy::unwrap_used, reason = "a step that cannot run fails the test")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// `fail` fails, `sleep` writes a line and sleeps, others write their name.
const MAKE: &str =
    "#!/bin/sh\ncase $2 in fail) exit 3 ;; sleep) echo asleep; sleep 60 ;; *) echo \"made $2\" ;; esac\n";

fn run_steps(steps: &[&str]) -> (TempDir, Command) {
    let folder = tempfile::tempdir().unwrap();
    let make = folder.path().join("make");
    fs::write(&make, MAKE).unwrap();
    fs::set_permissions(&make, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.env("MAKE", make).arg("run-steps").args(steps);
    (folder, command)
}

fn output(steps: &[&str]) -> (Output, String) {
    let (_folder, mut command) = run_steps(steps);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    (output, text)
}

#[test]
fn lanes_run_beside_each_other_with_their_names_in_front() {
    let (output, text) = output(&["one", "two+three,four"]);
    assert!(output.status.success());
    for line in ["made one\n", "[two] made two\n", "[three] made three\n", "[four] made four\n", "  four  (lane 2)\n"] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
}

#[test]
fn a_failed_target_ends_its_lane_and_the_run() {
    let (output, text) = output(&["one", "two+fail,three", "four"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("made two") && !text.contains("made three") && !text.contains("made four"), "{text}");
    assert!(text.contains("fail  (lane 2)  FAILED"), "{text}");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "==> fail failed\n");
}

#[test]
fn a_signal_ends_all_processes_of_all_lanes() {
    let (_folder, mut command) = run_steps(&["sleep+sleep", "one"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..2 {
        assert_eq!(lines.next().unwrap().unwrap(), "[sleep] asleep");
    }
    Command::new("kill").arg(child.id().to_string()).status().unwrap();
    // The pipe of a lane ends with its last process.
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
}

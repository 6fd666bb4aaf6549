//! `make bench-profile` and `make instructions-check`: counts the instructions of calls, and shows where their time goes.

fn main() -> std::process::ExitCode {
    bench::execute(bench::profile::run)
}

//! Fuzz target for whole connections: this server against hyper's, and against itself with the input in pieces.

use super::differential_tests::{assert_hyper_agrees, run, with_hyper, with_ours};
use fuzz::Fuzz;

#[test]
fn connections() {
    Fuzz::new("http1-server").words(crate::fuzz_tests::WORDS).executions(10_000).run(|bytes| {
        // A head without a line end is not parsed again for every byte, so its rejection may come with the next line.
        let bytes = [bytes, b"\r\n\r\n"].concat();
        run(async {
            let ours = with_ours(&[&bytes]).await;
            assert_hyper_agrees(&ours, &with_hyper(&[&bytes]).await);
            let in_pieces = with_ours(&fuzz::pieces(&bytes)).await;
            assert_eq!(in_pieces.text(), ours.text(), "in pieces");
        });
    });
}

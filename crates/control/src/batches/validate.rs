//! Reads the input file of a batch and stores its lines. All of it is read before any line runs.

use super::claim::Claim;
use super::file_reader::FileReader;
use super::line_parser::{FindModality, LineParser, Models};
use super::{BatchError, BatchStorage};
use domain::batches::{Batch, BatchProblem, MAX_PROBLEMS};
use store::batches;

/// Lines that one transaction inserts, and their bytes.
const MAX_LINES: usize = 256;
const MAX_BYTES: usize = 2 << 20;
const TOO_MANY_LINES: &str = "too_many_lines";

/// An input without problems, whose lines are stored.
#[derive(Debug)]
pub struct ValidInput {
    /// The model of all lines; `None` if they name several.
    pub model: Option<String>,
    lines: u64,
}

impl BatchStorage {
    /// Reads the input. One with problems fails the batch.
    pub async fn read_input(
        &self,
        batch: &Batch,
        claim: &Claim,
        find_modality: FindModality,
    ) -> Result<Option<ValidInput>, BatchError> {
        self.own(&batch.id, claim).await?;
        let problems = match self.store_lines(batch, claim, find_modality).await {
            Ok(LineParser { problems, lines, models, .. }) if problems.is_empty() => {
                let model = match models {
                    Models::One(model) => Some(model),
                    Models::None | Models::Several => None,
                };
                return Ok(Some(ValidInput { model, lines }));
            }
            Ok(LineParser { problems, .. }) => problems,
            Err(error) => {
                self.repeat_soon(&batch.id, claim, &error).await;
                return Err(error);
            }
        };
        self.fail(batch, claim, problems).await.map(|()| None)
    }

    /// Reads the input and stores its lines.
    async fn store_lines(
        &self,
        batch: &Batch,
        claim: &Claim,
        find_modality: FindModality,
    ) -> Result<LineParser, BatchError> {
        // Another node may have begun.
        self.clear_lines(batch, claim).await?;
        let mut parser =
            LineParser::new(batch.id.clone(), batch.endpoint, self.bounds, self.content.clone(), find_modality);
        let found = match &batch.input_file {
            Some(file) => batches::files::find(&self.store, &batch.workspace, file, (claim.now)()).await?,
            None => None,
        };
        let Some(file) = found else {
            let message = "the input file was deleted, or has expired";
            parser.problem(None, "file_not_found", message, "input_file_id");
            return Ok(parser);
        };
        let mut tx = self.begin_owned(&batch.id, claim).await?;
        // No more than the file has.
        let full = batches::lines_exceed(&mut tx, batch, file.bytes, self.bounds.max_bytes).await?;
        tx.commit().await?;
        if let Some(full) = full {
            parser.problem(None, TOO_MANY_LINES, &BatchError::TooLargeQueue(full).to_string(), "");
            return Ok(parser);
        }
        let mut reader = FileReader::new(self, file.id);
        let mut is_over = false;
        while !is_over && parser.problems.len() < MAX_PROBLEMS {
            let chunk = reader.next().await?;
            is_over = chunk.is_none();
            parser = self.threads.run(move || parser.parsed(chunk)).await;
            let mut lines = std::mem::take(&mut parser.valid).into_iter().peekable();
            while lines.peek().is_some() && parser.problems.is_empty() {
                let mut bytes = 0;
                let mut part = Vec::new();
                while let Some(line) = lines.next_if(|line| {
                    part.len() < MAX_LINES && (bytes == 0 || bytes + line.content.bytes.len() < MAX_BYTES)
                }) {
                    bytes += line.content.bytes.len();
                    part.push(line);
                }
                let mut tx = self.begin_owned(&batch.id, claim).await?;
                batches::insert_lines(&mut tx, &batch.id, &part).await?;
                tx.commit().await?;
            }
        }
        if parser.lines == 0 && parser.problems.is_empty() {
            parser.problem(None, "empty_file", "the input file has no lines", "input_file_id");
        }
        Ok(parser)
    }

    /// Fails a batch whose lines cannot run.
    pub async fn fail(&self, batch: &Batch, claim: &Claim, problems: Vec<BatchProblem>) -> Result<(), BatchError> {
        self.clear_lines(batch, claim).await?;
        let mut tx = self.begin_owned(&batch.id, claim).await?;
        batches::fail(&mut tx, &batch.id, &problems, (claim.now)()).await?;
        Ok(tx.commit().await?)
    }

    /// Lets the lines of a batch run.
    pub async fn start(&self, batch: &Batch, claim: &Claim, input: ValidInput) -> Result<(), BatchError> {
        let ValidInput { model, lines } = input;
        let mut tx = self.begin_owned(&batch.id, claim).await?;
        let limit = self.bounds.queued_lines;
        let full = if batches::queued(&mut tx, &batch.workspace).await?.0 + lines > limit {
            Some(BatchError::TooManyQueued { limit })
        } else {
            // Other batches may have stored lines while this one did.
            let full = batches::lines_exceed(&mut tx, batch, 0, self.bounds.max_bytes).await?;
            full.map(BatchError::TooLargeQueue)
        };
        if let Some(full) = full {
            drop(tx);
            let message = full.to_string();
            let problem = BatchProblem { code: TOO_MANY_LINES.to_owned(), line: None, message, param: None };
            return self.fail(batch, claim, vec![problem]).await;
        }
        batches::start(&mut tx, &batch.id, model.as_deref(), lines, (claim.now)()).await?;
        tx.commit().await?;
        self.nudge.notify_one();
        Ok(())
    }

    async fn clear_lines(&self, batch: &Batch, claim: &Claim) -> Result<(), BatchError> {
        loop {
            let mut tx = self.begin_owned(&batch.id, claim).await?;
            let is_left = batches::clear_lines(&mut tx, &batch.id).await?;
            tx.commit().await?;
            if !is_left {
                return Ok(());
            }
        }
    }
}

//! Puts many entries into the catalogue of the store, all of them or none.

use super::{FixedPart, MAX_ALIASES, MAX_MODELS, ModelDraft, write_alias, write_model};
use crate::command::Command;
use crate::command_error::CommandError;
use domain::alias::Alias;
use store::StoreError;
use store::catalogue::{self, StoredCatalogue};

/// The entries of a file.
#[derive(Debug, Clone, Copy)]
pub struct Import<'a> {
    pub models: &'a [ModelDraft],
    pub aliases: &'a [Alias],
    /// Whether entries that the store has are replaced. Models that are disabled stay so.
    pub replace: bool,
}

/// Why an entry cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportProblem {
    #[error("the store has the model {0} already; --replace replaces it")]
    ModelExists(String),
    #[error("the store has the alias {0} already; --replace replaces it")]
    AliasExists(String),
    #[error("model {0}: the store has an alias of this name; delete it first")]
    NameOfAlias(String),
    #[error("alias {0}: the store has a model of this name; delete it first")]
    NameOfModel(String),
    #[error(
        "{0} is in the configuration file that the server reads; remove it there, or set `[server] catalogue = \
         \"store\"` first"
    )]
    InFile(String),
    #[error("the store would have {0} models; it has at most 1000")]
    TooManyModels(usize),
    #[error("the store would have {0} aliases; it has at most 1000")]
    TooManyAliases(usize),
}

/// Nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// All problems, in the order of the entries.
    #[error("{}", lines(.0))]
    Rejected(Vec<ImportProblem>),
    #[error(transparent)]
    Failed(#[from] CommandError),
}

fn lines(problems: &[ImportProblem]) -> String {
    let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
    shown.join("\n")
}

impl From<StoreError> for ImportError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

impl Import<'_> {
    /// All problems with the catalogue as it is, in the order of the entries.
    pub fn problems(&self, fixed: FixedPart<'_>, stored: &StoredCatalogue) -> Vec<ImportProblem> {
        let mut problems = Vec::new();
        let (mut new_models, mut new_aliases) = (0, 0);
        for id in self.models.iter().map(|draft| draft.id.as_str()) {
            let exists = stored.model(id).is_some();
            new_models += usize::from(!exists);
            if exists && !self.replace {
                problems.push(ImportProblem::ModelExists(id.to_owned()));
            }
            if stored.alias(id).is_some() {
                problems.push(ImportProblem::NameOfAlias(id.to_owned()));
            }
            if fixed.has_name(id) {
                problems.push(ImportProblem::InFile(id.to_owned()));
            }
        }
        for name in self.aliases.iter().map(|alias| alias.name.as_str()) {
            let exists = stored.alias(name).is_some();
            new_aliases += usize::from(!exists);
            if exists && !self.replace {
                problems.push(ImportProblem::AliasExists(name.to_owned()));
            }
            if stored.model(name).is_some() {
                problems.push(ImportProblem::NameOfModel(name.to_owned()));
            }
            if fixed.has_name(name) {
                problems.push(ImportProblem::InFile(name.to_owned()));
            }
        }
        let (models, aliases) = (stored.models.len() + new_models, stored.aliases.len() + new_aliases);
        if models > MAX_MODELS {
            problems.push(ImportProblem::TooManyModels(models));
        }
        if aliases > MAX_ALIASES {
            problems.push(ImportProblem::TooManyAliases(aliases));
        }
        problems
    }
}

/// Creates and replaces entries in one transaction.
pub async fn import(command: Command<'_>, fixed: FixedPart<'_>, import: Import<'_>) -> Result<(), ImportError> {
    fixed.check_writable().map_err(CommandError::from)?;
    let mut tx = command.store.begin().await?;
    let before = catalogue::lock(&mut tx).await?;
    let problems = import.problems(fixed, &before);
    if !problems.is_empty() {
        return Err(ImportError::Rejected(problems));
    }
    for draft in import.models {
        let enabled = before.model(draft.id.as_str()).map_or(draft.enabled, |current| current.enabled);
        write_model(command, &mut tx, &before, &ModelDraft { enabled, ..draft.clone() }).await?;
    }
    for alias in import.aliases {
        write_alias(command, &mut tx, &before, alias).await?;
    }
    Ok(tx.commit().await?)
}

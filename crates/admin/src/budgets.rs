//! The flags of budgets, of a key or of end users.

use anyhow::{Context, bail};
use domain::budget::{Budget, BudgetRaise, BudgetWindow, Budgets};
use domain::{NanoUsd, Timestamp};

/// Budgets. Each may be given more than once.
#[derive(Debug, clap::Args)]
pub(super) struct BudgetArgs {
    /// The most that calls may cost per day, month or in total, such as month=25.00.
    #[arg(long, value_name = "WINDOW=USD", value_parser = amount)]
    budget: Vec<(BudgetWindow, NanoUsd)>,
    /// Like --budget, but only shows that it was exceeded.
    #[arg(long, value_name = "WINDOW=USD", value_parser = amount)]
    soft_budget: Vec<(BudgetWindow, NanoUsd)>,
    /// A higher amount of a --budget until a time, such as month=40.00@2030-01-31T12:00:00Z.
    #[arg(long, value_name = "WINDOW=USD@TIME", value_parser = raise)]
    raise_budget: Vec<(BudgetWindow, BudgetRaise)>,
}

impl BudgetArgs {
    /// The budgets at `now`, of which there are `existing` ones; `None` if no flag was given. A budget replaces the one of its
    /// window.
    pub(super) fn change(&self, existing: &Budgets, now: Timestamp) -> anyhow::Result<Option<Budgets>> {
        if self.budget.is_empty() && self.soft_budget.is_empty() && self.raise_budget.is_empty() {
            return Ok(None);
        }
        let mut all = existing.all().to_vec();
        let hard = self.budget.iter().map(|given| (given, false));
        for (&(window, usd), soft) in hard.chain(self.soft_budget.iter().map(|given| (given, true))) {
            all.retain(|budget| (budget.window, budget.soft) != (window, soft));
            all.push(Budget { window, usd, soft, raise: None });
        }
        for (window, raise) in &self.raise_budget {
            let Some(raised) = all.iter_mut().find(|budget| budget.window == *window && !budget.soft) else {
                bail!("there is no budget with the window `{}` to raise", window.as_str());
            };
            raised.raise = Some(*raise);
        }
        Ok(Some(Budgets::edited(all, now)?))
    }
}

fn amount(text: &str) -> anyhow::Result<(BudgetWindow, NanoUsd)> {
    let (window, usd) = text.split_once('=').context("a budget is written as WINDOW=USD")?;
    let window = BudgetWindow::parse(window).context("the window of a budget is one of day, month and total")?;
    Ok((window, NanoUsd::parse(usd)?))
}

fn raise(text: &str) -> anyhow::Result<(BudgetWindow, BudgetRaise)> {
    let (budget, until) = text.split_once('@').context("a raise is written as WINDOW=USD@TIME")?;
    let (window, usd) = amount(budget)?;
    Ok((window, BudgetRaise { usd, until: Timestamp::parse(until)? }))
}

//! Records as JSON: the same in responses of `/api` and in the output of `forebay admin --json`.

mod allotments;
mod batches;
mod bill_check;
mod budgets;
mod costs;
pub(crate) mod csv;
mod end_users;
mod gpu_costs;
mod invoices;
mod key_limits;
mod keys;
mod nodes;
mod people;
mod prices;
mod requests;
mod series;
mod usage;
mod workspaces;

pub(crate) use allotments::AllotmentView;
pub(crate) use batches::{BatchView, FileView};
pub(crate) use bill_check::BillCheckView;
pub(crate) use budgets::{BudgetView, OnBudgetView, budgets};
pub(crate) use costs::CostsView;
pub(crate) use end_users::{EndUserSettingsView, EndUserSpendingView, EndUserView};
pub(crate) use gpu_costs::GpuCostsView;
pub(crate) use invoices::InvoiceView;
pub(crate) use key_limits::KeyLimitsView;
pub(crate) use keys::{KeySpendingView, KeyView, OrganizationKeyView};
pub(crate) use nodes::NodeView;
pub(crate) use people::{InvitationView, MemberView, OrganizationView, RoleView, SessionView, UserView};
pub(crate) use prices::PriceVersionView;
pub(crate) use requests::RequestView;
pub(crate) use series::SeriesView;
pub(crate) use usage::UsageReportView;
pub(crate) use workspaces::WorkspaceView;

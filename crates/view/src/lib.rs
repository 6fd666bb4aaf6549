//! Records as JSON: the same in responses of `/api` and in the output of `forebay admin --json`.

mod allotments;
mod batches;
mod bill_check;
mod budgets;
mod costs;
pub mod csv;
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

pub use allotments::AllotmentView;
pub use batches::{BatchView, FileView};
pub use bill_check::BillCheckView;
pub use budgets::{BudgetView, OnBudgetView, budgets};
pub use costs::CostsView;
pub use end_users::{EndUserSettingsView, EndUserSpendingView, EndUserView};
pub use gpu_costs::GpuCostsView;
pub use invoices::InvoiceView;
pub use key_limits::KeyLimitsView;
pub use keys::{KeySpendingView, KeyView, OrganizationKeyView};
pub use nodes::NodeView;
pub use people::{InvitationView, MemberView, OrganizationDefaults, OrganizationView, RoleView, SessionView, UserView};
pub use prices::PriceVersionView;
pub use requests::RequestView;
pub use series::SeriesView;
pub use usage::UsageReportView;
pub use workspaces::WorkspaceView;

//! `forebay admin users …`

use super::context::{AdminContext, whole_list};
use super::output::Shown;
use anyhow::Context as _;
use control::users::{self, Edit, NewUser};
use domain::user::Role;
use domain::{OrganizationId, User, UserId, WorkspaceId};
use serde::Serialize;
use std::io::BufRead;

#[derive(Debug, clap::Subcommand)]
pub(super) enum UserCommand {
    /// Create a user. A generated password is printed once.
    Create(NewUserArgs),
    /// List all users.
    List,
    /// Show one user.
    Show(UserSelector),
    /// Change roles and memberships of a user.
    Set(SetUserArgs),
    /// Delete a user.
    Delete(UserSelector),
    /// Set a new password. A generated one is printed once.
    ResetPassword {
        #[command(flatten)]
        selector: UserSelector,
        /// New password; visible to other users of this machine while the command runs. `-` reads it from standard input.
        #[arg(long)]
        password: Option<String>,
    },
}

#[derive(Debug, clap::Args)]
pub(super) struct NewUserArgs {
    #[arg(long)]
    email: String,
    #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
    organization: OrganizationId,
    /// Role: admin or member.
    #[arg(long, default_value = "member", value_parser = parse_role)]
    role: Role,
    /// Workspace to add the user to; may be repeated.
    #[arg(long = "workspace", value_name = "ID", value_parser = WorkspaceId::parse)]
    workspaces: Vec<WorkspaceId>,
    /// Make the user an operator of the platform.
    #[arg(long)]
    operator: bool,
    /// Password; visible to other users of this machine while the command runs. `-` reads it from standard input. Default:
    /// generated.
    #[arg(long)]
    password: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct SetUserArgs {
    #[command(flatten)]
    selector: UserSelector,
    /// Organization for --role.
    #[arg(long, value_name = "ID", requires = "role", value_parser = OrganizationId::parse)]
    organization: Option<OrganizationId>,
    /// Role: admin or member.
    #[arg(long, requires = "organization", value_parser = parse_role)]
    role: Option<Role>,
    /// Whether the user is an operator of the platform.
    #[arg(long, value_name = "true|false")]
    operator: Option<bool>,
    /// Whether you vouch that the address belongs to the user; false lets the next single sign-on take over the account.
    #[arg(long, value_name = "true|false")]
    email_proven: Option<bool>,
    /// Remove the user from an organization and its workspaces.
    #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
    leave_organization: Option<OrganizationId>,
    /// Add the user to a workspace; may be repeated.
    #[arg(long = "add-workspace", value_name = "ID", value_parser = WorkspaceId::parse)]
    add_workspaces: Vec<WorkspaceId>,
    /// Remove the user from a workspace; may be repeated.
    #[arg(long = "remove-workspace", value_name = "ID", value_parser = WorkspaceId::parse)]
    remove_workspaces: Vec<WorkspaceId>,
}

/// Selects a user.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct UserSelector {
    /// Id of the user, `usr_…`.
    #[arg(value_name = "ID", value_parser = UserId::parse)]
    positional: Option<UserId>,
    /// The id as an option.
    #[arg(long, visible_alias = "id", value_name = "ID", value_parser = UserId::parse)]
    user: Option<UserId>,
    /// E-mail address of the user.
    #[arg(long)]
    email: Option<String>,
}

impl UserSelector {
    async fn find(self, context: &AdminContext<'_>) -> anyhow::Result<User> {
        if let Some(email) = self.email {
            return Ok(users::show_by_email(context.store, &email).await?);
        }
        let id = self.positional.or(self.user).ok_or_else(|| anyhow::anyhow!("name a user by id or by --email"))?;
        Ok(users::show(context.store, &id).await?)
    }
}

fn parse_role(text: &str) -> Result<Role, &'static str> {
    Role::parse(text).ok_or("neither `admin` nor `member`")
}

/// A user, with the generated password, which is shown once.
#[derive(Serialize)]
struct UserRow {
    #[serde(flatten)]
    user: User,
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<String>,
}

impl Shown for UserRow {
    const COLUMNS: &'static [&'static str] =
        &["id", "email", "emailProven", "operator", "memberships", "createdAt", "password"];
}

impl Shown for User {
    const COLUMNS: &'static [&'static str] = &["id", "email", "emailProven", "operator", "memberships", "createdAt"];
}

pub(super) async fn run(context: &AdminContext<'_>, command: UserCommand) -> anyhow::Result<String> {
    let store = context.store;
    match command {
        UserCommand::Create(flags) => create(context, &flags).await,
        UserCommand::List => {
            let read = async |page: store::Page<'_>| users::list(store, page).await;
            context.show_list(&whole_list(read, |user| user.id.as_str()).await?)
        }
        UserCommand::Show(selector) => context.show(&selector.find(context).await?),
        UserCommand::Set(flags) => set(context, flags).await,
        UserCommand::Delete(selector) => {
            let user = selector.find(context).await?;
            users::delete(context.command(), &user.id).await?;
            context.show_deleted(user.id.as_str())
        }
        UserCommand::ResetPassword { selector, password } => {
            let user = selector.find(context).await?;
            let password = read_password(password, std::io::stdin().lock())?;
            let password = users::reset_password(context.command(), &user.id, password.as_deref()).await?;
            context.show(&UserRow { user: User { email_proven: true, ..user }, password })
        }
    }
}

/// A password that was given, or the first line of the input in the place of `-`.
fn read_password(given: Option<String>, mut input: impl BufRead) -> anyhow::Result<Option<String>> {
    if given.as_deref() != Some("-") {
        return Ok(given);
    }
    let mut line = String::new();
    input.read_line(&mut line).context("cannot read the password from standard input")?;
    Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned()))
}

async fn create(context: &AdminContext<'_>, flags: &NewUserArgs) -> anyhow::Result<String> {
    let password = read_password(flags.password.clone(), std::io::stdin().lock())?;
    let new = NewUser {
        email: &flags.email,
        password: password.as_deref(),
        organization: &flags.organization,
        role: flags.role,
        workspaces: &flags.workspaces,
        operator: flags.operator,
    };
    let created = users::create(context.command(), new).await?;
    context.show(&UserRow { user: created.user, password: created.generated_password })
}

async fn set(context: &AdminContext<'_>, flags: SetUserArgs) -> anyhow::Result<String> {
    let id = flags.selector.find(context).await?.id;
    let edit = Edit {
        role: flags.organization.as_ref().zip(flags.role),
        operator: flags.operator,
        email_proven: flags.email_proven,
    };
    users::set(context.command(), &id, edit).await?;
    if let Some(organization) = &flags.leave_organization {
        users::leave(context.command(), &id, organization).await?;
    }
    for workspace in &flags.add_workspaces {
        control::workspaces::add_member(context.command(), workspace, &id).await?;
    }
    for workspace in &flags.remove_workspaces {
        control::workspaces::remove_member(context.command(), workspace, &id).await?;
    }
    context.show(&users::show(context.store, &id).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_can_come_from_standard_input() {
        let read = |given: Option<&str>| read_password(given.map(str::to_owned), &b"from input\r\nmore"[..]).unwrap();
        assert_eq!(read(Some("-")).as_deref(), Some("from input"));
        assert_eq!(read(Some("given")).as_deref(), Some("given"));
        assert_eq!(read(None), None);
    }
}

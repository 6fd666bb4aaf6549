//! `[oidc]`: single sign-on with OpenID Connect.

use super::reader::Section;
use super::sections::http_url;
use control::single_sign_on::Mapping;
use domain::OrganizationId;
use std::fmt;

const DEFAULT_NAME: &str = "Single sign-on";
const DEFAULT_SCOPES: [&str; 2] = ["email", "profile"];

/// An identity provider. `Debug` omits the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct OidcConfig {
    pub issuer: String,
    pub client_id: String,
    pub client_secret: Option<String>,
    /// Its name on the sign-in page.
    pub name: String,
    /// In addition to `openid`.
    pub scopes: Vec<String>,
    /// The claim with the user's groups; empty if groups are not used.
    pub groups_claim: String,
    pub mapping: Mapping,
}

impl OidcConfig {
    /// `None` without such a section.
    pub(super) fn read(root: &Section<'_>) -> Option<Self> {
        root.entry("oidc")?;
        let section = root.section("oidc");
        let issuer = section.parsed("issuer", "an http:// or https:// URL without query", issuer_url);
        section.require("issuer", "\"https://login.example.com\"");
        let client_id = section.parsed("client_id", "a text that is not empty", not_empty);
        section.require("client_id", "\"forebay\"");
        let client_secret = section.text("client_secret_env").and_then(|variable| {
            let secret = section.reader.variable(variable);
            if secret.is_none() {
                let what = format_args!("the environment variable {variable} is not set");
                section.report(section.line("client_secret_env"), "client_secret_env", what);
            }
            secret
        });
        let name = section.parsed("name", "a name of 1 to 100 characters on one line", |text| {
            domain::workspace::check_name(text).ok()
        });
        let owned = |texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect::<Vec<_>>();
        let scopes = section.texts("scopes").unwrap_or_else(|| DEFAULT_SCOPES.to_vec());
        let groups_claim = section.text("groups_claim").unwrap_or("");
        let organization = section.parsed("organization", "an organization's id such as \"org_…\"", |text| {
            OrganizationId::parse(text).ok()
        });
        let admin_groups = owned(section.texts("admin_groups").unwrap_or_default());
        let member_groups = owned(section.texts("member_groups").unwrap_or_default());
        for (key, groups) in [("admin_groups", &admin_groups), ("member_groups", &member_groups)] {
            if !groups.is_empty() && groups_claim.is_empty() {
                section.report(section.line(key), key, "is set without groups_claim");
            }
            if !groups.is_empty() && section.entry("organization").is_none() {
                section.report(section.line(key), key, "is set without organization");
            }
        }
        Some(Self {
            issuer: issuer?,
            client_id: client_id?.to_owned(),
            client_secret,
            name: name.unwrap_or(DEFAULT_NAME).to_owned(),
            scopes: owned(scopes),
            groups_claim: groups_claim.to_owned(),
            mapping: Mapping { organization, admin_groups, member_groups },
        })
    }
}

/// Unchanged: with and without a trailing slash are different issuers.
fn issuer_url(text: &str) -> Option<String> {
    http_url(text).map(|_| text.to_owned())
}

fn not_empty(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

impl fmt::Debug for OidcConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OidcConfig({}, {})", self.issuer, self.client_id)
    }
}

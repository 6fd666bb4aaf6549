//! The configuration file of a gateway under test.

use std::fmt::Display;

/// A gateway on free ports of the loopback interface, unless a port is given.
#[derive(Clone, Debug, Default)]
pub struct GatewayConfig {
    port: u16,
    is_released: bool,
    server: String,
    tables: String,
}

impl GatewayConfig {
    /// Listens for clients on this port.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// For a release that may be older than this version: without settings that it does not know.
    #[must_use]
    pub fn released(mut self) -> Self {
        self.is_released = true;
        self
    }

    /// Adds lines to `[server]`.
    #[must_use]
    pub fn server(mut self, lines: &str) -> Self {
        self.server = format!("{}{lines}\n", self.server);
        self
    }

    /// Adds tables.
    #[must_use]
    pub fn tables(mut self, toml: &str) -> Self {
        self.tables = format!("{}{toml}\n", self.tables);
        self
    }

    /// Adds a model; `lines` are its other members.
    #[must_use]
    pub fn model(self, id: &str, lines: &str) -> Self {
        self.tables(&format!("[[models]]\nid = \"{id}\"\n{lines}"))
    }

    /// The file.
    pub fn render(&self) -> String {
        let Self { port, is_released, server, tables } = self;
        // Tests know the calls of their engines, unless they are about probes.
        let probe = if *is_released || server.contains("probe = ") { "" } else { "probe = false\n" };
        format!("[server]\nlisten = \"127.0.0.1:{port}\"\nops_listen = \"127.0.0.1:0\"\n{probe}{server}{tables}")
    }
}

/// The member `upstreams` of a model that has this name at every URL.
pub fn upstreams(urls: impl IntoIterator<Item = impl Display>, model: &str) -> String {
    let each = urls.into_iter().map(|url| format!("{{ url = \"{url}\", model = \"{model}\" }}"));
    format!("upstreams = [ {} ]", each.collect::<Vec<_>>().join(", "))
}

//! Serves container logs to the API server, like a kubelet.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client, ResourceExt};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// Location of the logs.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) client: Client,
    pub(super) folder: PathBuf,
    pub(super) withheld: Arc<AtomicBool>,
}

/// Listens on a free port and returns it.
pub(super) async fn serve(
    tasks: &mut JoinSet<()>,
    (certificate, key): &(PathBuf, PathBuf),
    source: Source,
) -> anyhow::Result<u16> {
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_file_iter(certificate).context("read the certificate")?.collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_file(key).context("read the key")?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, source) = (acceptor.clone(), source.clone());
            connections.spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let service = service_fn(|request| respond(request, &source));
                let _ =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
            while connections.try_join_next().is_some() {}
        }
    });
    Ok(port)
}

async fn respond(request: Request<Incoming>, source: &Source) -> Result<Response<Full<Bytes>>, http::Error> {
    let found = read(request.uri(), source).await;
    let status = if found.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
    Response::builder().status(status).header("content-type", "text/plain").body(found.unwrap_or_default().into())
}

/// `/containerLogs/<namespace>/<pod>/<container>?tailLines=…`
async fn read(uri: &http::Uri, source: &Source) -> Option<String> {
    if source.withheld.load(Ordering::Relaxed) {
        return None;
    }
    let parts: Vec<&str> = uri.path().trim_start_matches('/').split('/').collect();
    let ["containerLogs", namespace, pod, container] = parts[..] else { return None };
    let found = Api::<Pod>::namespaced(source.client.clone(), namespace).get(pod).await.ok()?;
    let bytes = std::fs::read(source.folder.join(format!("{}.{container}.log", found.uid()?))).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let parameters = uri.query().unwrap_or_default().split('&');
    let max_lines: usize = parameters.filter_map(|one| one.strip_prefix("tailLines=")).next()?.parse().ok()?;
    let lines: Vec<&str> = text.lines().collect();
    Some(lines[lines.len().saturating_sub(max_lines)..].join("\n"))
}

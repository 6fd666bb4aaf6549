//! Public pages that problems link to.

use super::problems;
use crate::surface::Body;
use http::{HeaderValue, Method, Response, StatusCode, header};

const ALLOTMENT: &str = "\
<p>An organization is allotted a number of GPUs of each type. What its dedicated endpoints <em>may</em> use counts against \
it: GPUs of one replica &times; <code>replicas</code> for a fixed endpoint, and &times; <code>maxReplicas</code> for one \
that scales automatically. How many replicas run right now, or whether any is busy, does not matter: an endpoint that is \
scaled to zero, still starting or failed keeps its commitment.</p>
<p>A create, a resume or a change of scaling that would exceed the allotment is rejected with 409 \
<code>GPU_ALLOTMENT_EXCEEDED</code>, and nothing is changed. The response has the numbers: <code>allotment</code>, \
<code>committed</code>, <code>projected</code> and <code>need</code>, the number of missing GPUs.</p>
<h2>What to do</h2>
<ul>
<li>On create: fewer replicas, a lower <code>maxReplicas</code>, or a smaller flavor.</li>
<li>The flavor of an existing endpoint is fixed: lower <code>replicas</code> or <code>maxReplicas</code>. A \
resume accepts them in its body.</li>
<li>Suspend or delete an endpoint: its commitment is released at once.</li>
<li>Ask the operator of this service for a larger allotment.</li>
</ul>
<p>Suspending, deleting and reading are never rejected because of the allotment. <code>GET /v1/endpoints/allotments</code> shows \
the ledger, <code>GET /v1/endpoints/flavors?model=</code> what still fits.</p>";

/// The page at a path, if there is one: `/docs/gpu-allotment` or `/problems/{slug}`.
pub(crate) fn at(path: &str) -> Option<Page> {
    if path == "/docs/gpu-allotment" {
        return Some(Page { status: StatusCode::OK, html: html("GPU allotment", ALLOTMENT) });
    }
    let slug = path.strip_prefix("/problems/")?;
    let found = problems::ALL.iter().find(|problem| problems::slug(problem.code) == slug);
    Some(match found {
        Some(problem) => {
            let link = if problem.code == "GPU_ALLOTMENT_EXCEEDED" {
                "<p><a href=\"/docs/gpu-allotment\">How GPU allotments work</a></p>"
            } else {
                ""
            };
            let text = format!("<p><code>{}</code></p><p>{}</p>{link}", problem.code, problem.help);
            Page { status: StatusCode::OK, html: html(problem.title, &text) }
        }
        None => Page { status: StatusCode::NOT_FOUND, html: html("No such page", "<p>There is no such problem.</p>") },
    })
}

/// A small page that loads nothing else.
pub(crate) struct Page {
    status: StatusCode,
    html: String,
}

impl Page {
    pub(crate) fn into_response(self, method: &Method) -> Response<Body> {
        let reads = method == Method::GET || method == Method::HEAD;
        let mut response = Response::new(if reads { Body::from(self.html) } else { Body::empty() });
        *response.status_mut() = if reads { self.status } else { StatusCode::METHOD_NOT_ALLOWED };
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        let policy = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'");
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        if !reads {
            headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        response
    }
}

fn html(title: &str, text: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title} - Forebay</title>\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <style>body{{font:1rem/1.5 system-ui,sans-serif;max-width:42rem;margin:2rem auto;padding:0 1rem}}</style>\
         </head><body><h1>{title}</h1>{text}</body></html>\n"
    )
}

//! What every request must be like, and what every answer says to the browser.

use crate::commands::serve::app::ServeApp;
use crate::commands::serve::trouble::Trouble;
use crate::pages::page::shell::POLICY;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, REFERRER_POLICY, RETRY_AFTER,
    TRANSFER_ENCODING, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Longest address, bytes.
const ADDRESS: usize = 4096;
/// Longest time until an answer begins.
const LIMIT: Duration = Duration::from_secs(60);

/// Refuses what is no question to this application, and bounds all others.
pub async fn guard(State(app): State<Arc<ServeApp>>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let refusal = refused(&app, &request);
    let mut response = match refusal {
        Some(refusal) => refusal,
        None => match Arc::clone(&app.requests).try_acquire_owned() {
            Ok(_permit) => match timeout(LIMIT, next.run(request)).await {
                Ok(response) => response,
                Err(_) => app.problem(&Trouble::Slow, &path),
            },
            Err(_) => app.problem(&Trouble::Busy, &path),
        },
    };
    protect(&mut response);
    response
}

/// Plain text only: whoever asks like this sees no page of the lab.
fn refused(app: &ServeApp, request: &Request) -> Option<Response> {
    let refusal = |status: StatusCode, text: &'static str| Some((status, text).into_response());
    match host(request.headers(), request.uri()) {
        None => return refusal(StatusCode::BAD_REQUEST, "The request has no Host, or several.\n"),
        Some(host) if !app.hosts.allows(&host) => {
            return refusal(
                StatusCode::MISDIRECTED_REQUEST,
                "This lab is not served under that name. `tare lab serve --host NAME` adds a name.\n",
            );
        }
        Some(_) => {}
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = (StatusCode::METHOD_NOT_ALLOWED, "These pages can only be read.\n").into_response();
        response.headers_mut().insert(axum::http::header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return Some(response);
    }
    let length = request.uri().path_and_query().map_or(0, |p| p.as_str().len());
    if length > ADDRESS {
        return refusal(StatusCode::URI_TOO_LONG, "The address is too long.\n");
    }
    let headers = request.headers();
    if headers.contains_key(TRANSFER_ENCODING) || headers.get(CONTENT_LENGTH).is_some_and(|n| n != "0") {
        return refusal(StatusCode::PAYLOAD_TOO_LARGE, "A request has no content here.\n");
    }
    None
}

/// Which name was asked: that of the address if it has one, else of the only Host header.
fn host(headers: &HeaderMap, uri: &Uri) -> Option<String> {
    let mut all = headers.get_all(HOST).iter();
    let header = all.next().and_then(|host| host.to_str().ok()).map(str::to_owned);
    if all.next().is_some() {
        return None;
    }
    uri.authority().map(|authority| authority.as_str().to_owned()).or(header)
}

fn protect(response: &mut Response) {
    let always: [(HeaderName, &'static str); 6] = [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    let busy = response.status() == StatusCode::SERVICE_UNAVAILABLE;
    let headers = response.headers_mut();
    for (name, value) in always {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !headers.contains_key(CONTENT_SECURITY_POLICY) {
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    }
    if !headers.contains_key(CONTENT_TYPE) {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    }
    if busy {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("3"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_was_asked() {
        let mut headers = HeaderMap::new();
        let uri = |text: &str| text.parse::<Uri>().unwrap();
        assert_eq!(host(&headers, &uri("/")), None);
        headers.append(HOST, HeaderValue::from_static("localhost:8080"));
        assert_eq!(host(&headers, &uri("/")).as_deref(), Some("localhost:8080"));
        // RFC 9112, 3.2.2: the address comes before the header.
        assert_eq!(host(&headers, &uri("http://evil.example/")).as_deref(), Some("evil.example"));
        headers.append(HOST, HeaderValue::from_static("evil.example"));
        assert_eq!(host(&headers, &uri("/")), None);
    }
}

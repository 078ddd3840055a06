//! What all requests share.

use crate::commands::serve::events::LabEvents;
use crate::commands::serve::hosts::AllowedHosts;
use crate::commands::serve::nodes_cache::NodesCache;
use crate::commands::serve::pool::ConnectionPool;
use crate::commands::serve::trouble::Trouble;
use crate::pages::page::problem::problem;
use crate::pages::page::shell::{LabFrame, policy_of, style};
use crate::postgres::{PostgresPlace, PostgresStore};
use crate::server::Lab;
use axum::body::Body;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFRESH};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tarebench_cli::output;
use tokio::sync::Semaphore;

/// Requests in progress at once; pages that listen to events do not count.
const REQUESTS: usize = 64;
/// Connections to the database of each kind: the queue, and the store.
const CONNECTIONS: usize = 2;
/// Longest time for a question to the queue.
const QUEUE: Duration = Duration::from_secs(15);
/// Longest time to read and draw a report: one of a million samples takes seconds.
const STORE: Duration = Duration::from_secs(50);

/// The content type of a page.
pub const HTML: &str = "text/html; charset=utf-8";

/// The application's state.
pub struct ServeApp {
    /// The database, without its password.
    pub place: String,
    pub labs: Arc<ConnectionPool<Lab>>,
    pub stores: Arc<ConnectionPool<PostgresStore>>,
    pub events: LabEvents,
    pub nodes: NodesCache,
    /// One comparison of machines is made at a time.
    pub comparing: Mutex<()>,
    pub hosts: AllowedHosts,
    pub requests: Arc<Semaphore>,
    /// The style sheet.
    pub style: String,
}

impl ServeApp {
    /// # Errors
    /// [`Trouble::Failed`] if there is no style sheet.
    pub fn new(place: &PostgresPlace, hosts: AllowedHosts) -> Result<Arc<ServeApp>, Trouble> {
        let (of_lab, of_store) = (place.clone(), place.clone());
        Ok(Arc::new(ServeApp {
            place: place.to_string(),
            labs: ConnectionPool::new(
                CONNECTIONS,
                QUEUE,
                Box::new(move || Lab::connect(&of_lab).map_err(Trouble::from)),
            ),
            stores: ConnectionPool::new(
                CONNECTIONS,
                STORE,
                Box::new(move || PostgresStore::open_read_only(&of_store).map_err(Trouble::from)),
            ),
            events: LabEvents::new(),
            nodes: NodesCache::default(),
            comparing: Mutex::new(()),
            hosts,
            requests: Arc::new(Semaphore::new(REQUESTS)),
            style: style().map_err(|e| Trouble::Failed(e.to_string()))?,
        }))
    }

    /// The option that names the database in a command that a page proposes.
    pub fn db_option(&self) -> String {
        format!(" --db {}", shell_words::quote(&self.place))
    }

    /// Makes a page of this application; `version` is that of a page that changes.
    pub fn page(&self, version: Option<i64>, draw: impl FnOnce(&LabFrame<'_>) -> String) -> Response {
        let foot = output::foot();
        let text = draw(&LabFrame { place: &self.place, version, foot: &foot });
        answer(StatusCode::OK, HTML, text)
    }

    /// The page that says why there is none.
    pub fn problem(&self, trouble: &Trouble, here: &str) -> Response {
        let (status, title, text) = trouble.said();
        let mut response = self.page(None, |frame| problem(frame, title, &text, here));
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if trouble.may_pass() {
            // The browser asks again by itself, also without a script.
            response.headers_mut().insert(REFRESH, HeaderValue::from_static("10"));
        }
        response
    }
}

/// An answer of this type.
pub fn answer(status: StatusCode, content_type: &'static str, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A self-contained page, which may do what it says that it does.
pub fn self_contained(page: String) -> Response {
    let policy = HeaderValue::from_str(&policy_of(&page));
    let mut response = answer(StatusCode::OK, HTML, page);
    // A policy that cannot be sent is replaced by that of the other pages, which allows less.
    if let Ok(policy) = policy {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

//! The addresses of the application, and what is behind each.

use crate::commands::serve::app::{ServeApp, answer, self_contained};
use crate::commands::serve::guard::guard;
use crate::commands::serve::trouble::Trouble;
use crate::commands::serve::{data, reports};
use crate::pages::metrics;
use crate::pages::metrics::{LabGauges, metrics as exposition};
use crate::pages::page::campaign::{CampaignView, campaign as campaign_page, state_of_key};
use crate::pages::page::machine::{MachineView, machine as machine_page};
use crate::pages::page::nodes::{NodesView, nodes as nodes_page};
use crate::pages::page::overview::{LabOverview, overview};
use crate::pages::page::results::{ResultsView, results as results_page};
use crate::pages::page::shell::SCRIPT;
use crate::work::nodes::compare_nodes;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::sync::Arc;
use tarebench::store::Store;
use tarebench::sys::clock;

type App = State<Arc<ServeApp>>;

/// The whole application.
pub fn router(app: &Arc<ServeApp>) -> Router {
    Router::new()
        .route("/", get(board))
        .route("/campaign/{id}", get(campaign))
        .route("/campaign/{id}/nodes", get(nodes))
        .route("/machine/{name}", get(machine))
        .route("/run/{id}", get(result))
        .route("/document/{id}", get(result))
        .route("/results", get(results))
        .route("/compare", get(compare))
        .route("/history", get(history))
        .route("/events", get(events))
        .route("/metrics", get(metrics))
        .route("/healthz", get(healthz))
        .route("/app.js", get(script))
        .route("/style.css", get(style))
        .route("/favicon.ico", get(no_icon))
        .fallback(nowhere)
        .layer(from_fn_with_state(Arc::clone(app), guard))
        .with_state(Arc::clone(app))
}

/// The page, or the one that says why there is none.
fn shown(app: &ServeApp, uri: &Uri, made: Result<Response, Trouble>) -> Response {
    made.unwrap_or_else(|trouble| app.problem(&trouble, uri.path()))
}

/// The values of a question of an address, in their order.
fn asked(uri: &Uri, name: &str) -> Vec<String> {
    let questions = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    questions.filter(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.into_owned()).collect()
}

async fn board(State(app): App, uri: Uri) -> Response {
    let all = asked(&uri, "campaigns").iter().any(|v| v == "all");
    let made = app.labs.with(move |lab| data::board(lab, all)).await.map(|found| {
        let zone = clock::zone();
        let lab = LabOverview {
            now: found.now,
            zone: &zone,
            campaigns: &found.campaigns,
            more_campaigns: found.more_campaigns,
            machines: &found.machines,
            failures: &found.failures,
        };
        app.page(Some(found.version), |frame| overview(frame, &lab))
    });
    shown(&app, &uri, made)
}

async fn campaign(State(app): App, Path(id): Path<String>, uri: Uri) -> Response {
    let only = asked(&uri, "state").first().and_then(|key| state_of_key(key));
    let page = asked(&uri, "page").first().and_then(|n| n.parse().ok()).unwrap_or(1);
    let made = app.labs.with(move |lab| data::campaign(lab, &id)).await.map(|found| {
        let zone = clock::zone();
        let view = CampaignView {
            now: found.now,
            zone: &zone,
            summary: &found.summary,
            campaign: &found.campaign,
            toml: &found.toml,
            folder: found.folder.as_deref(),
            tasks: &found.tasks,
            left: found.left,
            only,
            page,
        };
        app.page(Some(found.version), |frame| campaign_page(frame, &view))
    });
    shown(&app, &uri, made)
}

async fn nodes(State(app): App, Path(id): Path<String>, uri: Uri) -> Response {
    let made = compared(&app, id).await;
    shown(&app, &uri, made)
}

async fn compared(app: &Arc<ServeApp>, id: String) -> Result<Response, Trouble> {
    let found = app.labs.with(move |lab| data::campaign(lab, &id)).await?;
    let (campaign, tasks) = (found.summary.id, Arc::new(found.tasks));
    let report = match app.nodes.get(campaign, &tasks) {
        Some(known) => known,
        None => {
            let shared = Arc::clone(app);
            // What takes longer than a request may is there for the next one.
            let made = app.stores.with(move |store| {
                let Ok(_alone) = shared.comparing.try_lock() else { return Err(Trouble::Busy) };
                let report = Arc::new(compare_nodes(store, &tasks)?);
                shared.nodes.keep(campaign, &tasks, &report);
                Ok(report)
            });
            made.await?
        }
    };
    let zone = clock::zone();
    let view = NodesView { zone: &zone, summary: &found.summary, report: &report };
    Ok(app.page(Some(found.version), |frame| nodes_page(frame, &view)))
}

async fn machine(State(app): App, Path(name): Path<String>, uri: Uri) -> Response {
    let made = app.labs.with(move |lab| data::machine(lab, &name)).await.map(|found| {
        let (zone, alike) = (clock::zone(), found.alike.iter().map(String::as_str).collect::<Vec<_>>());
        let view =
            MachineView { now: found.now, zone: &zone, machine: &found.machine, tasks: &found.tasks, alike: &alike };
        app.page(Some(found.version), |frame| machine_page(frame, &view))
    });
    shown(&app, &uri, made)
}

/// The page of a stored result of any kind.
async fn result(State(app): App, Path(id): Path<String>, uri: Uri) -> Response {
    let db = app.db_option();
    let made = app.stores.with(move |store| {
        let id = store.find(&id)?;
        reports::report(store, id, &db)
    });
    shown(&app, &uri, made.await.map(self_contained))
}

async fn results(State(app): App, uri: Uri) -> Response {
    let made = listed(&app, asked(&uri, "tag").into_iter().next(), false).await;
    shown(&app, &uri, made)
}

async fn compare(State(app): App, uri: Uri) -> Response {
    let runs = asked(&uri, "run");
    let made = match runs.len() {
        0 => listed(&app, asked(&uri, "tag").into_iter().next(), true).await,
        _ => app.stores.with(move |store| reports::comparison(store, &runs)).await.map(self_contained),
    };
    shown(&app, &uri, made)
}

/// The list of results, or of the runs that can be compared.
async fn listed(app: &Arc<ServeApp>, tag: Option<String>, to_compare: bool) -> Result<Response, Trouble> {
    // The pages of results change when tasks end, which the queue's counter says.
    let version = app.labs.with(data::version).await?;
    let asked = tag.clone();
    let (rows, more) = app.stores.with(move |store| data::results(store, asked.as_deref(), to_compare)).await?;
    let view = ResultsView { rows: &rows, tag: tag.as_deref(), more, to_compare };
    Ok(app.page(Some(version), |frame| results_page(frame, &view)))
}

async fn history(State(app): App, uri: Uri) -> Response {
    let (benchmarks, suite) = (asked(&uri, "benchmark"), asked(&uri, "suite").into_iter().next());
    let made = app.stores.with(move |store| reports::history(store, benchmarks.clone(), suite.clone()));
    shown(&app, &uri, made.await.map(self_contained))
}

async fn events(State(app): App) -> Response {
    match app.events.listen() {
        Some(stream) => answer(StatusCode::OK, "text/event-stream", Body::new(stream)),
        None => (StatusCode::SERVICE_UNAVAILABLE, "Too many pages listen already.\n").into_response(),
    }
}

async fn metrics(State(app): App) -> Response {
    let read = app.labs.with(|lab| Ok((lab.now()?, lab.metrics()?, lab.campaigns()?, lab.machines()?))).await;
    let text = match &read {
        Ok((now, figures, campaigns, machines)) => exposition(Some(&LabGauges {
            now: *now,
            campaigns,
            machines,
            queue: figures.queue,
            samples_per_minute: figures.samples_per_minute,
            failures: figures.failures,
            changes: figures.changes,
        })),
        // A scrape that fails says nothing of why: `tare_lab_up` does.
        Err(_) => exposition(None),
    };
    answer(StatusCode::OK, metrics::CONTENT_TYPE, text)
}

async fn healthz(State(app): App) -> Response {
    match app.labs.with(data::version).await {
        Ok(_) => (StatusCode::OK, "ok\n").into_response(),
        Err(trouble) => {
            let (_, title, _) = trouble.said();
            (StatusCode::SERVICE_UNAVAILABLE, format!("{title}\n")).into_response()
        }
    }
}

async fn script() -> Response {
    answer(StatusCode::OK, "text/javascript; charset=utf-8", SCRIPT)
}

async fn style(State(app): App) -> Response {
    answer(StatusCode::OK, "text/css; charset=utf-8", app.style.clone())
}

/// The pages name an icon without content; the report of a run as well.
async fn no_icon() -> StatusCode {
    StatusCode::NO_CONTENT
}

async fn nowhere(State(app): App, uri: Uri) -> Response {
    shown(&app, &uri, Err(Trouble::NoSuch("there is no page under this address".to_owned())))
}

/// Polls the lab for changes while anyone listens.
pub async fn watch(app: Arc<ServeApp>) {
    use crate::commands::serve::events::LabVersion;
    loop {
        app.events.wanted().await;
        let version = app.labs.with(data::version).await;
        app.events.tell(match version {
            Ok(version) => LabVersion::Known(version),
            Err(_) => LabVersion::Away,
        });
        tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    }
}

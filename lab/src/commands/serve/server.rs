//! Connections: accepted, bounded, and ended in order.

use crate::commands::serve::app::ServeApp;
use crate::commands::serve::events::LabVersion;
use crate::commands::serve::listen::ServeSocket;
use crate::commands::serve::routes::{router, watch};
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tarebench_cli::exit::{Exit, Failure};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

/// Connections at once; more wait in the system's queue.
const CONNECTIONS: usize = 512;
/// Longest time for the head of a request, and for a connection without one.
const HEAD: Duration = Duration::from_secs(20);
/// Most bytes of the head of a request.
const HEAD_BYTES: usize = 32 * 1024;
/// Most headers of a request.
const HEADERS: usize = 64;
/// A connection is cut after this time, whatever it does: whoever reads slowly does not hold a page for ever.
const LIFETIME: Duration = Duration::from_secs(600);
/// At the end, requests in progress have this time.
const END: Duration = Duration::from_secs(5);
/// Between looks for connections to the database that nobody uses.
const CLOSE_IDLE: Duration = Duration::from_secs(30);

/// Serves until a signal; returns the exit code.
///
/// # Errors
/// The system's, if signals cannot be handled.
pub async fn serve_until_signal(socket: ServeSocket, app: Arc<ServeApp>) -> Result<Exit, Failure> {
    let handled = |e: io::Error| Failure::system(format!("handle signals: {e}"));
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt()).map_err(handled)?, signal(SignalKind::terminate()).map_err(handled)?);
    let ending = Arc::new(GracefulShutdown::new());
    let accepting = tokio::spawn(accept(socket, router(&app), Arc::clone(&ending)));
    let watching = tokio::spawn(watch(Arc::clone(&app)));
    let closing = tokio::spawn(close_idle(Arc::clone(&app)));
    let exit = signalled(&mut interrupt, &mut terminate).await;
    for task in [accepting, watching, closing] {
        task.abort();
        let _ = task.await;
    }
    // Streams of events never end by themselves.
    app.events.tell(LabVersion::Ended);
    if let Some(ending) = Arc::into_inner(ending) {
        let _ = timeout(END, ending.shutdown()).await;
    }
    Ok(exit)
}

async fn signalled(interrupt: &mut Signal, terminate: &mut Signal) -> Exit {
    poll_fn(|cx| match (interrupt.poll_recv(cx), terminate.poll_recv(cx)) {
        (Poll::Ready(_), _) => Poll::Ready(Exit::Interrupted),
        (_, Poll::Ready(_)) => Poll::Ready(Exit::Done),
        _ => Poll::Pending,
    })
    .await
}

async fn close_idle(app: Arc<ServeApp>) {
    loop {
        sleep(CLOSE_IDLE).await;
        let app = Arc::clone(&app);
        let _ = spawn_blocking(move || {
            app.labs.close_idle();
            app.stores.close_idle();
        })
        .await;
    }
}

async fn accept(socket: ServeSocket, router: Router, ending: Arc<GracefulShutdown>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let accepted = match &socket {
            ServeSocket::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
                // Events are short, and wanted at once.
                let _ = stream.set_nodelay(true);
                drop(tokio::spawn(converse(stream, router.clone(), &ending, permit)));
            }),
            ServeSocket::Unix { listener, .. } => {
                let accepted = listener.accept().await;
                accepted.map(|(stream, _)| drop(tokio::spawn(converse(stream, router.clone(), &ending, permit))))
            }
        };
        if accepted.is_err() {
            // The client has gone, or the process has too many files open.
            sleep(Duration::from_millis(100)).await;
        }
    }
}

/// Answers the requests of a connection; it ends in order when `ending` says so. The permit is held until then.
fn converse<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    router: Router,
    ending: &GracefulShutdown,
    permit: OwnedSemaphorePermit,
) -> impl Future<Output = ()> + Send + use<S> {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(HEAD_BYTES).max_headers(HEADERS);
    let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let watched = ending.watch(connection);
    async move {
        // What goes wrong here, the other side has done: it is of no interest to this one.
        let _ = timeout(LIFETIME, watched).await;
        drop(permit);
    }
}

//! What tells open pages that the lab has changed: server-sent events.
//!
//! <https://html.spec.whatwg.org/multipage/server-sent-events.html>

use hyper::body::{Body, Bytes, Frame};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio::time::{Instant, timeout};

/// Pages that may listen at once; others read again from time to time.
const LISTENERS: usize = 200;
/// Something is sent at least as often, so that proxies keep the connection and a listener that left is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// After this time the browser connects again by itself.
const LIFETIME: Duration = Duration::from_secs(300);

/// What is known of the lab's counter of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabVersion {
    /// Nothing yet.
    Unknown,
    Known(i64),
    /// The database does not answer.
    Away,
    /// The application ends.
    Ended,
}

impl LabVersion {
    fn event(self) -> Option<String> {
        match self {
            LabVersion::Unknown | LabVersion::Ended => None,
            LabVersion::Known(n) => Some(format!("event: version\ndata: {n}\n\n")),
            LabVersion::Away => Some("event: away\ndata: 1\n\n".to_owned()),
        }
    }
}

/// Who listens, and what they are told.
pub struct LabEvents {
    version: watch::Sender<LabVersion>,
    listeners: Arc<Semaphore>,
    /// Somebody has begun to listen.
    begun: Notify,
}

impl LabEvents {
    pub fn new() -> LabEvents {
        let (version, _) = watch::channel(LabVersion::Unknown);
        LabEvents { version, listeners: Arc::new(Semaphore::new(LISTENERS)), begun: Notify::new() }
    }

    /// Waits until somebody listens.
    pub async fn wanted(&self) {
        while self.version.receiver_count() == 0 {
            // What was known is out of date when the next one comes.
            self.tell(LabVersion::Unknown);
            self.begun.notified().await;
        }
    }

    /// Tells all listeners, if it is new.
    pub fn tell(&self, version: LabVersion) {
        self.version.send_if_modified(|old| {
            let new = *old != version && *old != LabVersion::Ended;
            if new {
                *old = version;
            }
            new
        });
    }

    /// The events from now on; `None` if too many listen already.
    pub fn listen(&self) -> Option<EventStream> {
        let permit = Arc::clone(&self.listeners).try_acquire_owned().ok()?;
        let (sender, receiver) = mpsc::channel(4);
        let versions = self.version.subscribe();
        self.begun.notify_one();
        tokio::spawn(async move {
            feed(versions, sender).await;
            drop(permit);
        });
        Some(EventStream { receiver })
    }
}

async fn feed(mut versions: watch::Receiver<LabVersion>, sender: mpsc::Sender<Bytes>) {
    let begun = Instant::now();
    // The first words let a browser know at once that the stream is open.
    let mut text = "retry: 3000\n\n".to_owned();
    let mut told = None;
    while begun.elapsed() < LIFETIME {
        let version = *versions.borrow_and_update();
        if version == LabVersion::Ended {
            return;
        }
        if told != Some(version) {
            text += &version.event().unwrap_or_default();
            told = Some(version);
        }
        if !text.is_empty() && sender.send(Bytes::from(std::mem::take(&mut text))).await.is_err() {
            return;
        }
        match timeout(KEEP_ALIVE, versions.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            // A comment.
            Err(_) => text += ":\n\n",
        }
    }
}

/// The body of an answer that lasts.
pub struct EventStream {
    receiver: mpsc::Receiver<Bytes>,
}

impl Body for EventStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.receiver.poll_recv(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn next(stream: &mut EventStream) -> String {
        let bytes = timeout(Duration::from_secs(30), stream.receiver.recv()).await.unwrap();
        String::from_utf8(bytes.unwrap_or_default().to_vec()).unwrap()
    }

    #[test]
    fn listeners_are_told_of_changes() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let events = LabEvents::new();
            events.tell(LabVersion::Known(1));
            let mut stream = events.listen().unwrap();
            assert_eq!(next(&mut stream).await, "retry: 3000\n\nevent: version\ndata: 1\n\n");
            events.tell(LabVersion::Known(2));
            assert_eq!(next(&mut stream).await, "event: version\ndata: 2\n\n");
            events.tell(LabVersion::Known(2));
            events.tell(LabVersion::Away);
            assert_eq!(next(&mut stream).await, "event: away\ndata: 1\n\n");
            events.tell(LabVersion::Ended);
            assert_eq!(next(&mut stream).await, "");
            // Nothing begins after the end.
            events.tell(LabVersion::Known(3));
            let mut late = events.listen().unwrap();
            assert_eq!(next(&mut late).await, "");
        });
    }

    #[test]
    fn listeners_are_bounded() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let events = LabEvents::new();
            let all: Vec<_> = (0..LISTENERS).map(|_| events.listen().unwrap()).collect();
            assert!(events.listen().is_none());
            drop(all);
            events.tell(LabVersion::Known(1));
            timeout(Duration::from_secs(30), async {
                while events.listen().is_none() {
                    tokio::task::yield_now().await;
                }
            })
            .await
            .unwrap();
        });
    }
}

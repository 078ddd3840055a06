//! A few connections to the database, opened when they are needed.

use crate::commands::serve::trouble::Trouble;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// Longest time that a request waits for a connection.
const WAIT: Duration = Duration::from_secs(5);
/// An idle connection is closed after this time.
const IDLE: Duration = Duration::from_secs(60);

type OpenConnection<T> = Box<dyn Fn() -> Result<T, Trouble> + Send + Sync>;

/// Connections of one kind. They block, so that they are used, opened and dropped in threads for blocking work only.
pub struct ConnectionPool<T> {
    open: OpenConnection<T>,
    /// Open and unused, each since when.
    idle: Mutex<Vec<(T, Instant)>>,
    permits: Arc<Semaphore>,
    /// Longest time that work may take.
    limit: Duration,
}

impl<T: Send + 'static> ConnectionPool<T> {
    /// At most `most` connections at once.
    pub fn new(most: usize, limit: Duration, open: OpenConnection<T>) -> Arc<ConnectionPool<T>> {
        let (idle, permits) = (Mutex::new(Vec::new()), Arc::new(Semaphore::new(most)));
        Arc::new(ConnectionPool { open, idle, permits, limit })
    }

    /// Does blocking work with a connection. The work is done a second time, with a new connection, if the one that
    /// it was done with was open before and turns out to be lost.
    ///
    /// # Errors
    /// Those of the work; [`Trouble::Slow`] if it takes too long, in which case its thread and its connection stay in
    /// use until the database or the network gives up; [`Trouble::Busy`] if no connection is free.
    pub async fn with<R: Send + 'static>(
        self: &Arc<Self>,
        work: impl Fn(&mut T) -> Result<R, Trouble> + Send + 'static,
    ) -> Result<R, Trouble> {
        let waited = timeout(WAIT, Arc::clone(&self.permits).acquire_owned()).await;
        let permit = waited.map_err(|_| Trouble::Busy)?.map_err(|_| Trouble::Busy)?;
        let pool = Arc::clone(self);
        let working = spawn_blocking(move || {
            let result = pool.run(&work);
            drop(permit);
            result
        });
        match timeout(self.limit, working).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(Trouble::Failed("the page could not be made: an error in tare".to_owned())),
            Err(_) => Err(Trouble::Slow),
        }
    }

    fn run<R>(&self, work: &dyn Fn(&mut T) -> Result<R, Trouble>) -> Result<R, Trouble> {
        if let Some(mut used) = self.take() {
            match work(&mut used) {
                Err(Trouble::Away(_)) => {}
                result => {
                    self.put(used);
                    return result;
                }
            }
        }
        let mut fresh = (self.open)()?;
        let result = work(&mut fresh);
        if !matches!(result, Err(Trouble::Away(_))) {
            self.put(fresh);
        }
        result
    }

    fn take(&self) -> Option<T> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop().map(|(connection, _)| connection)
    }

    fn put(&self, connection: T) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push((connection, Instant::now()));
    }

    /// Closes what has been idle for long. Blocks.
    pub fn close_idle(&self) {
        let old: Vec<(T, Instant)> = {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.extract_if(.., |(_, since)| since.elapsed() > IDLE).collect()
        };
        // Outside of the lock, as closing may wait for the network.
        drop(old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    /// Connections that are numbers, counted.
    fn pool(opened: &Arc<AtomicU32>, limit: Duration) -> Arc<ConnectionPool<u32>> {
        let opened = Arc::clone(opened);
        ConnectionPool::new(1, limit, Box::new(move || Ok(opened.fetch_add(1, Ordering::SeqCst) + 1)))
    }

    #[test]
    fn a_lost_connection_is_replaced_once() {
        let opened = Arc::new(AtomicU32::new(0));
        let pool = pool(&opened, Duration::from_secs(60));
        runtime().block_on(async {
            assert_eq!(pool.with(|n| Ok(*n)).await, Ok(1));
            assert_eq!(pool.with(|n| Ok(*n)).await, Ok(1), "it is kept");
            let lost = |n: &mut u32| if *n == 1 { Err(Trouble::Away("lost".to_owned())) } else { Ok(*n) };
            assert_eq!(pool.with(lost).await, Ok(2));
            // A new one that does not work either is not tried for ever, and not kept.
            assert_eq!(
                pool.with(|_| Err::<(), _>(Trouble::Away("gone".to_owned()))).await,
                Err(Trouble::Away("gone".to_owned()))
            );
            assert_eq!(opened.load(Ordering::SeqCst), 3);
            assert_eq!(pool.with(|n| Ok(*n)).await, Ok(4));
            // That something does not exist says nothing about the connection.
            assert!(pool.with(|_| Err::<(), _>(Trouble::NoSuch(String::new()))).await.is_err());
            assert_eq!(pool.with(|n| Ok(*n)).await, Ok(4));
        });
    }

    #[test]
    fn work_that_takes_too_long_is_left() {
        let pool = pool(&Arc::new(AtomicU32::new(0)), Duration::from_millis(20));
        runtime().block_on(async {
            let (release, held) = std::sync::mpsc::channel::<()>();
            let held = Mutex::new(held);
            let wait = move |_: &mut u32| {
                let _ = held.lock().map(|held| held.recv());
                Ok(())
            };
            assert_eq!(pool.with(wait).await, Err(Trouble::Slow));
            drop(release);
            // Its connection comes back. On a busy machine, this too may take longer than the limit.
            let mut again = Err(Trouble::Slow);
            for _ in 0..1_000 {
                again = pool.with(|n| Ok(*n)).await;
                if again.is_ok() {
                    break;
                }
            }
            assert_eq!(again, Ok(1));
        });
    }
}

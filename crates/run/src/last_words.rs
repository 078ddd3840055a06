//! What a program writes to its standard error before it fails.
//!
//! A sample's standard error goes to /dev/null, which costs the program least. A warm-up is not counted, so its standard error
//! can be a pipe: a program that fails because of its arguments or files fails there, too. tail(1) empties the pipe: it keeps the
//! end only, however much is written, and the program neither waits for tare nor meets a limit. A file would grow without bound.

use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;
use tarebench_sys::spawn::Child;
use tarebench_sys::{pidfd, wait};

pub(crate) const KEPT: u64 = 600;
const LINES: usize = 3;
/// How long the pipe may stay open after the program's end: a leftover process that cannot be ended keeps it.
const PATIENCE: u32 = 200;

/// Keeps the end of what is written to a pipe.
pub(crate) struct Listener {
    /// It may be reaped with the program's orphans; its pid may then belong to another process.
    tail: Child,
    kept: Option<ChildStdout>,
    pipe: OwnedFd,
}

impl Listener {
    pub(crate) fn start() -> std::io::Result<Listener> {
        let (reader, writer) = std::io::pipe()?;
        let mut command = Command::new("/usr/bin/tail");
        command.args(["-c", &KEPT.to_string()]).stdin(reader).stdout(Stdio::piped()).stderr(Stdio::null());
        // Not in the terminal's foreground group: a Ctrl-C must not end it before the program.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut started = command.spawn()?;
        let pid = started.id() as i32;
        let pidfd = pidfd::open(pid).map_err(std::io::Error::other)?;
        Ok(Listener { tail: Child { pid, pidfd }, kept: started.stdout.take(), pipe: writer.into() })
    }

    pub(crate) fn pid(&self) -> i32 {
        self.tail.pid
    }

    /// Another end for the program.
    pub(crate) fn pipe(&self) -> std::io::Result<OwnedFd> {
        self.pipe.try_clone()
    }

    /// The last lines, once nobody can write any more; `None` if there are none.
    pub(crate) fn finish(self) -> Option<String> {
        let Listener { tail, kept, pipe } = self;
        drop(pipe);
        for _ in 0..PATIENCE {
            if wait::has_ended(&tail) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // tail writes at the end of its input only, and no more than the pipe holds.
        end(&tail);
        let mut text = Vec::new();
        kept?.take(KEPT).read_to_end(&mut text).ok()?;
        last_lines(&text)
    }

    /// Ends it where nothing is to be said.
    pub(crate) fn dismiss(self) {
        end(&self.tail);
    }
}

fn end(tail: &Child) {
    let _ = pidfd::signal(tail.pidfd.as_fd(), 9);
    pidfd::reap(tail.pidfd.as_fd());
}

/// The last lines of the end of a text, joined; a line whose beginning is missing is left out if there are others.
pub(crate) fn last_lines(text: &[u8]) -> Option<String> {
    let whole = text.len() < KEPT as usize;
    let text = String::from_utf8_lossy(text);
    let mut lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    if !whole && lines.len() > 1 {
        lines.remove(0);
    }
    let from = lines.len().saturating_sub(LINES);
    let last = lines.get(from..).unwrap_or_default().join(" / ");
    (!last.is_empty()).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn heard(parts: &[&[u8]]) -> Option<String> {
        let listener = Listener::start().unwrap();
        let mut pipe = std::fs::File::from(listener.pipe().unwrap());
        parts.iter().for_each(|p| pipe.write_all(p).unwrap());
        drop(pipe);
        listener.finish()
    }

    #[test]
    fn the_last_lines_are_kept() {
        assert_eq!(heard(&[b"a\n", b"b\n\n", b"  c\n", b"d"]).as_deref(), Some("b / c / d"));
        assert_eq!(heard(&[]), None);
        assert_eq!(heard(&[b"\n \n"]), None);
    }

    /// Far more than a pipe holds: the writer does not wait for anybody who reads at the end only.
    #[test]
    fn much_text_neither_blocks_nor_fills_memory() {
        let line = [b"x".repeat(99), b"\n".to_vec()].concat();
        let mut all: Vec<&[u8]> = vec![&line; 50_000];
        all.push(b"the end\n");
        let heard = heard(&all).unwrap();
        assert!(heard.ends_with(" / the end") && heard.len() < KEPT as usize, "{heard}");
    }

    #[test]
    fn a_pipe_that_stays_open_does_not_block() {
        let listener = Listener::start().unwrap();
        let pipe = listener.pipe().unwrap();
        assert_eq!(listener.finish(), None);
        drop(pipe);
    }

    /// A process that got the number of a tail(1) which was reaped; only root can ask for a number.
    fn in_place_of(listener: &Listener) -> Option<std::process::Child> {
        let pid = listener.pid();
        pidfd::signal(listener.tail.pidfd.as_fd(), 9).unwrap();
        wait::reap(pid, true).unwrap();
        (0..100).find_map(|_| {
            std::fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).ok()?;
            let mut other = Command::new("sleep").arg("60").spawn().unwrap();
            if other.id() as i32 == pid {
                return Some(other);
            }
            other.kill().unwrap();
            other.wait().unwrap();
            None
        })
    }

    #[test]
    fn another_process_with_its_number_lives() {
        let ends: [fn(Listener); 2] = [Listener::dismiss, |l| assert_eq!(l.finish(), None)];
        for end in ends {
            let listener = Listener::start().unwrap();
            let Some(mut other) = in_place_of(&listener) else { return };
            end(listener);
            std::thread::sleep(Duration::from_millis(50));
            assert!(other.try_wait().unwrap().is_none(), "it was killed");
            other.kill().unwrap();
            other.wait().unwrap();
        }
    }

    #[test]
    fn a_cut_line_is_left_out() {
        let text = format!("{}\nwhole", "x".repeat(KEPT as usize));
        assert_eq!(last_lines(&text.as_bytes()[6..]).as_deref(), Some("whole"));
        assert!(last_lines(&b"y".repeat(KEPT as usize)).is_some());
    }
}

//! `burner`: a program that burns a known CPU time, or behaves badly in a known way.
//!
//! The truth is what the kernel's CPU clock of the burning process says when the work is done: a line
//! `ROLE PID NANOSECONDS` is appended to the file that the variable BURNER_TRUTH names. What comes after that reading (the
//! line itself, the exit) is some tens of microseconds. Reading the clock makes the kernel account the running slice,
//! which real programs do not do: `loop COUNT` and the helper's `loop` burn without a look at any clock.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a program for tests: a panic is the right answer to a failed call"
)]

mod algorithms;
mod counted;
mod slow_ticks;

use std::io::{BufRead, Write};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

fn clock(id: libc::clockid_t) -> u64 {
    // SAFETY: a valid timespec to write to.
    unsafe {
        let mut t: libc::timespec = std::mem::zeroed();
        assert_eq!(libc::clock_gettime(id, &mut t), 0, "clock_gettime({id})");
        t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
    }
}

/// CPU time of this process so far, in nanoseconds.
fn own_cpu() -> u64 {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// A fixed amount of work that the compiler cannot shorten, each step waiting for the one before it. In registers: what a loop over
/// the stack takes depends on where the stack is, which the kernel chooses for each process.
fn work(count: u64) -> u64 {
    let mut x: u64 = std::hint::black_box(0x9e37_79b9_7f4a_7c15);
    for i in 0..count {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i);
    }
    std::hint::black_box(x)
}

/// Burns until a CPU clock has advanced by so much.
fn burn(id: libc::clockid_t, ms: u64) {
    let until = clock(id) + ms * 1_000_000;
    while clock(id) < until {
        work(2_000);
    }
}

fn burn_self(ms: u64) {
    burn(libc::CLOCK_PROCESS_CPUTIME_ID, ms);
}

/// How many rounds of [`work`] take `ms` milliseconds of CPU time here.
fn calibrate(ms: u64) -> u64 {
    let began = own_cpu();
    let mut done = 0;
    while own_cpu() - began < 50_000_000 {
        work(100_000);
        done += 100_000;
    }
    done * ms * 1_000_000 / (own_cpu() - began)
}

/// Appends the true times of this process.
fn tell(role: &str) {
    let Some(path) = std::env::var_os("BURNER_TRUTH") else { return };
    let mut file = std::fs::File::options().append(true).create(true).open(path).expect("open BURNER_TRUTH");
    let line = format!("{role} {} {}\n", std::process::id(), own_cpu());
    file.write_all(line.as_bytes()).expect("write BURNER_TRUTH");
}

/// Forks; the child does its part and exits. Returns its pid.
fn fork(child: impl FnOnce()) -> i32 {
    // SAFETY: this process has one thread, so the child may do anything.
    match unsafe { libc::fork() } {
        -1 => panic!("fork: {}", std::io::Error::last_os_error()),
        0 => {
            child();
            exit(0)
        }
        pid => pid,
    }
}

/// Ends without running anything else.
fn exit(code: i32) -> ! {
    // SAFETY: does not return.
    unsafe { libc::_exit(code) }
}

/// Reaps a child (-1: any); its wait status.
fn wait_for(pid: i32) -> i32 {
    let mut status = 0;
    // SAFETY: a valid int to write to.
    unsafe { libc::waitpid(pid, &mut status, 0) };
    status
}

fn forever() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

fn setsid() {
    // SAFETY: no memory involved.
    unsafe { libc::setsid() };
}

fn raise(signal: i32) {
    // SAFETY: no memory involved.
    unsafe { libc::raise(signal) };
}

fn kill(pid: i32, signal: i32) {
    // SAFETY: no memory involved.
    unsafe { libc::kill(pid, signal) };
}

fn ignore(signal: i32) {
    // SAFETY: SIG_IGN is a valid disposition.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

fn die_with_parent() {
    // SAFETY: no memory involved.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) };
}

/// A pipe whose end is seen when every writer has closed it; the child keeps the writer.
fn pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    std::io::pipe().expect("pipe")
}

fn until_end(mut reader: std::io::PipeReader) {
    let _ = std::io::copy(&mut reader, &mut std::io::sink());
}

fn set_name(name: &[u8]) {
    let mut bytes = [0u8; 16];
    let len = name.len().min(15);
    bytes[..len].copy_from_slice(&name[..len]);
    // SAFETY: 16 bytes, NUL-terminated.
    unsafe { libc::prctl(libc::PR_SET_NAME, bytes.as_ptr(), 0, 0, 0) };
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().map(|c| c.to_digit(16).expect("a hex digit")).collect();
    digits.chunks(2).map(|d| (d[0] * 16 + d[1]) as u8).collect()
}

fn threads(n: u64, ms: u64) {
    let all: Vec<_> = (0..n).map(|_| std::thread::spawn(move || burn(libc::CLOCK_THREAD_CPUTIME_ID, ms))).collect();
    for t in all {
        t.join().expect("a thread");
    }
}

/// Threads that do so much work each, without a look at any clock.
fn loop_threads(n: u64, count: u64) {
    let all: Vec<_> = (0..n).map(|_| std::thread::spawn(move || work(count))).collect();
    for t in all {
        t.join().expect("a thread");
    }
}

/// The same by processes, which are waited for.
fn loop_forks(n: u64, count: u64) {
    let work_once = || {
        work(count);
    };
    let all: Vec<i32> = (0..n).map(|_| fork(work_once)).collect();
    for pid in all {
        wait_for(pid);
    }
}

/// Computes for `ms` milliseconds of elapsed time while a timer fires `hz` times a second; each expiry is an interrupt.
fn timer(hz: u64, ms: u64) {
    extern "C" fn fired(_: i32) {}
    tell("timer");
    let until = clock(libc::CLOCK_MONOTONIC) + ms * 1_000_000;
    // SAFETY: a handler that does nothing, and a valid interval.
    unsafe {
        libc::signal(libc::SIGALRM, fired as extern "C" fn(i32) as usize);
        let every = libc::timeval { tv_sec: 0, tv_usec: (1_000_000 / hz) as _ };
        let value = libc::itimerval { it_interval: every, it_value: every };
        assert_eq!(libc::setitimer(libc::ITIMER_REAL, &value, std::ptr::null_mut()), 0, "setitimer");
    }
    while clock(libc::CLOCK_MONOTONIC) < until {
        work(2_000);
    }
}

/// Sends `n` datagrams to itself over the loopback interface; each is received in a softirq.
fn loopback(n: u64) {
    tell("loopback");
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("bind");
    let own = socket.local_addr().expect("address");
    let mut buffer = [0; 64];
    for _ in 0..n {
        socket.send_to(&buffer.clone(), own).expect("send");
        socket.recv_from(&mut buffer).expect("receive");
    }
}

/// So many threads that are there at once, idle for a moment.
fn crowd(n: u64) {
    let all: Vec<_> = (0..n).map(|_| std::thread::spawn(|| std::thread::sleep(Duration::from_millis(50)))).collect();
    for t in all {
        t.join().expect("a thread");
    }
}

/// System calls that filters of containers refuse, by name.
const REFUSED: &[(&str, libc::c_long)] = &[
    ("bpf", libc::SYS_bpf),
    ("clone3", libc::SYS_clone3),
    ("close_range", libc::SYS_close_range),
    ("memfd_create", libc::SYS_memfd_create),
    ("openat2", libc::SYS_openat2),
    ("perf_event_open", libc::SYS_perf_event_open),
    ("pidfd_open", libc::SYS_pidfd_open),
    ("pidfd_send_signal", libc::SYS_pidfd_send_signal),
    ("prctl", libc::SYS_prctl),
    ("sched_setaffinity", libc::SYS_sched_setaffinity),
    ("statx", libc::SYS_statx),
];

/// Becomes another program, for which the kernel refuses a system call with this error, as filters of containers do.
fn refusing(call: &str, errno: i32, words: &[std::ffi::OsString]) {
    const LOAD_NUMBER: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
    const JUMP_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let number = REFUSED.iter().find(|c| c.0 == call).unwrap_or_else(|| panic!("unknown system call {call}")).1;
    let statement = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut filter = [
        statement(LOAD_NUMBER, 0, 0, 0),
        statement(JUMP_EQUAL, 0, 1, number as u32),
        statement(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32),
        statement(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: a valid program, which outlives the calls.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0, "no new privileges");
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program), 0, "filter");
    }
    let mut c = std::process::Command::new(&words[0]);
    panic!("exec: {}", std::os::unix::process::CommandExt::exec(c.args(&words[1..])));
}

/// Another thread than the first one calls exec, while the first one waits for it: `burner loop COUNT`.
fn exec_by_a_thread(count: u64) {
    let thread = std::thread::spawn(move || {
        burn(libc::CLOCK_THREAD_CPUTIME_ID, 20);
        let own = std::env::current_exe().expect("own name");
        let mut c = std::process::Command::new(own);
        let error = std::os::unix::process::CommandExt::exec(c.args(["loop", &count.to_string()]));
        panic!("exec: {error}");
    });
    thread.join().expect("never");
}

/// The first thread ends; another one computes for `ms` milliseconds more and ends the process.
fn first_thread_ends(ms: u64) {
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        burn(libc::CLOCK_THREAD_CPUTIME_ID, ms);
        tell("thread");
        exit(0);
    });
    // SAFETY: ends this thread only, whose stack no other thread uses.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
}

/// Says that it runs (a file), then computes without looking at a clock.
fn announced_loop(file: &std::path::Path, count: u64) {
    std::fs::write(file, "").expect("write the file");
    work(count);
}

/// A daemon that has left session and parent behind, burns, and lives on; the main process ends when it has burned.
fn daemon(ms: u64) {
    let (reader, writer) = pipe();
    let middle = fork(|| {
        setsid();
        let inner = writer.try_clone().expect("dup");
        fork(move || {
            burn_self(ms);
            tell("daemon");
            drop(inner);
            // Its own copy of the writer, from before the fork, is closed by hand: `forever` never drops it.
            close_from(3);
            forever()
        });
        tell("middle");
    });
    drop(writer);
    wait_for(middle);
    until_end(reader);
}

fn close_from(first: u32) {
    // SAFETY: closes descriptors that nothing uses any more.
    unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
}

/// Children that come, do nothing and go, at most 64 at a time.
fn short(n: u64) {
    let mut open = 0;
    for _ in 0..n {
        fork(|| {});
        open += 1;
        if open == 64 {
            wait_for(-1);
            open -= 1;
        }
    }
    while open > 0 {
        wait_for(-1);
        open -= 1;
    }
}

/// Idle children, until standard input ends.
fn idle(n: u64) {
    let parent = std::process::id() as i32;
    let children: Vec<i32> = (0..n)
        .map(|_| {
            fork(|| {
                die_with_parent();
                // SAFETY: no memory involved.
                if unsafe { libc::getppid() } == parent {
                    forever()
                }
            })
        })
        .collect();
    println!("ready");
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    for pid in &children {
        kill(*pid, libc::SIGKILL);
    }
    for pid in children {
        wait_for(pid);
    }
}

/// A process of a given name that reads commands from standard input: `burn MS`, `loop COUNT`, `exit`.
/// Answers each but the last with a line; `loop` makes no clock reading.
fn helper(name: &str) {
    set_name(&from_hex(name));
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a command");
        match line.split_once(' ') {
            Some(("burn", ms)) => burn_self(number(ms)),
            Some(("loop", count)) => {
                work(number(count));
            }
            _ => exit(0),
        }
        println!("done");
    }
}

/// This process, and what it forks, on one CPU only.
fn pin(cpu: u64) {
    // SAFETY: a valid set of one CPU.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu as usize, &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &set), 0, "sched_setaffinity");
    }
}

/// A daemon of a given name on a CPU: burns `burst_ms` every `period_ms`, by the clock, and 1 ms every `hum_ms` (0: never).
/// With `born`, each burst is a separate process, which ends with it.
fn pulse(name: &[u8], cpu: u64, period_ms: u64, burst_ms: u64, hum_ms: u64, born: bool) {
    die_with_parent();
    pin(cpu);
    if !born {
        set_name(name);
    }
    let mut burst_at = Duration::from_millis(period_ms);
    let mut hum_at = Duration::from_millis(hum_ms);
    let began = std::time::Instant::now();
    loop {
        let next = if hum_ms > 0 { burst_at.min(hum_at) } else { burst_at };
        std::thread::sleep(next.saturating_sub(began.elapsed()));
        if next == burst_at {
            burst_at += Duration::from_millis(period_ms);
            let burst = || {
                set_name(name);
                burn_self(burst_ms);
            };
            if born {
                wait_for(fork(burst));
            } else {
                burn(libc::CLOCK_PROCESS_CPUTIME_ID, burst_ms);
            }
        } else {
            hum_at += Duration::from_millis(hum_ms);
            burn(libc::CLOCK_PROCESS_CPUTIME_ID, 1);
        }
    }
}

static TERMINATED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// SIGTERM does not end this process, but is seen.
fn until_terminated() {
    extern "C" fn terminated(_: i32) {
        TERMINATED.store(true, std::sync::atomic::Ordering::Relaxed);
    }
    // SAFETY: a handler that stores only.
    unsafe { libc::signal(libc::SIGTERM, terminated as extern "C" fn(i32) as usize) };
}

fn terminated() -> bool {
    TERMINATED.load(std::sync::atomic::Ordering::Relaxed)
}

/// A real-time task of a given name (SCHED_FIFO) on a CPU that takes it for `length_us` every `period_us`, by the clock, until SIGTERM.
/// Then it prints what it did, a line each: begin and end in ns of CLOCK_MONOTONIC. `number` periods at most.
fn inject(name: &[u8], cpu: u64, priority: u64, period_us: u64, length_us: u64, number: u64) {
    die_with_parent();
    until_terminated();
    pin(cpu);
    set_name(name);
    let mut did: Vec<(u64, u64)> = vec![(1, 1); number as usize];
    // SAFETY: valid arguments.
    unsafe {
        libc::mlockall(libc::MCL_CURRENT);
        // musl's has more fields.
        let mut param: libc::sched_param = std::mem::zeroed();
        param.sched_priority = priority as i32;
        assert_eq!(libc::sched_setscheduler(0, libc::SCHED_FIFO, &param), 0, "sched_setscheduler");
    }
    println!("ready");
    let mut next = clock(libc::CLOCK_MONOTONIC);
    let mut done = 0;
    while done < did.len() && !terminated() {
        next += period_us * 1_000;
        let at =
            libc::timespec { tv_sec: (next / 1_000_000_000) as i64, tv_nsec: (next % 1_000_000_000) as libc::c_long };
        // SAFETY: a valid time; the rest is not asked for.
        if unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &at, std::ptr::null_mut()) } != 0
        {
            break;
        }
        let began = clock(libc::CLOCK_MONOTONIC);
        let mut now = began;
        while now < began + length_us * 1_000 {
            now = clock(libc::CLOCK_MONOTONIC);
        }
        did[done] = (began, now);
        done += 1;
    }
    let lines: Vec<String> = did[..done].iter().map(|(began, ended)| format!("{began} {ended}\n")).collect();
    print!("{}", lines.concat());
}

/// Creates a file `in` when it runs, and runs until there is a file `out`.
fn gate(folder: &std::path::Path) {
    std::fs::write(folder.join("in"), "").expect("write the file `in`");
    while !folder.join("out").exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn number(text: &str) -> u64 {
    text.trim().parse().unwrap_or_else(|_| panic!("`{text}` is not a number"))
}

/// The words of the command line, without the first one.
struct ArgumentWords(Vec<std::ffi::OsString>);

impl ArgumentWords {
    fn text(&self, i: usize) -> &str {
        self.0.get(i).and_then(|w| w.to_str()).unwrap_or_default()
    }

    fn n(&self, i: usize) -> u64 {
        number(self.text(i))
    }
}

type ProgramRole = fn(&ArgumentWords);

/// What the first word says, given the others.
const ROLES: &[(&str, ProgramRole)] = &[
    ("burn-self", |w| {
        burn_self(w.n(1));
        tell("self");
    }),
    ("calibrate", |w| println!("{}", calibrate(w.n(1)))),
    ("loop", |w| {
        work(w.n(1));
    }),
    ("instructions", |w| counted::instructions(w.n(1))),
    ("page-faults", |w| counted::page_faults(usize::try_from(w.n(1)).expect("a number of pages"))),
    ("sleeps", |w| counted::sleeps(w.n(1))),
    // What it takes does not depend on its size.
    ("constant", |_| {
        work(10_000_000);
    }),
    ("insertion-sort", |w| algorithms::insertion_sort(w.n(1))),
    ("heap-sort", |w| algorithms::heap_sort(w.n(1))),
    ("matrix-product", |w| algorithms::matrix_product(w.n(1))),
    ("binary-search", |w| algorithms::binary_search(w.n(1))),
    ("fibonacci", |w| {
        algorithms::fibonacci(w.n(1));
    }),
    ("loop-threads", |w| loop_threads(w.n(1), w.n(2))),
    ("loop-forks", |w| loop_forks(w.n(1), w.n(2))),
    ("child-waited", |w| {
        wait_for(fork(|| {
            burn_self(w.n(1));
            tell("child");
        }));
        tell("parent");
    }),
    ("child-unwaited", |w| {
        let (reader, writer) = pipe();
        fork(|| {
            burn_self(w.n(1));
            tell("child");
        });
        drop(writer);
        until_end(reader);
        tell("parent");
    }),
    // The kernel reaps it: its rusage goes nowhere.
    ("child-ignored", |w| {
        ignore(libc::SIGCHLD);
        let child = fork(|| {
            burn_self(w.n(1));
            tell("child");
        });
        // SAFETY: signal 0 only asks whether it is there.
        while unsafe { libc::kill(child, 0) } == 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
        tell("parent");
    }),
    ("daemon", |w| {
        daemon(w.n(1));
        tell("parent");
    }),
    ("threads", |w| {
        threads(w.n(1), w.n(2));
        tell("threads");
    }),
    ("setsid", |w| {
        wait_for(fork(|| {
            setsid();
            burn_self(w.n(1));
            tell("child");
        }));
        tell("parent");
    }),
    ("setuid", |w| {
        wait_for(fork(|| {
            // SAFETY: no memory involved.
            assert_eq!(unsafe { libc::setuid(65_534) }, 0, "setuid");
            burn_self(w.n(1));
            tell("child");
        }));
        tell("parent");
    }),
    ("pulse", |w| pulse(w.text(1).as_bytes(), w.n(2), w.n(3), w.n(4), w.n(5), false)),
    ("inject", |w| inject(w.text(1).as_bytes(), w.n(2), w.n(3), w.n(4), w.n(5), w.n(6))),
    ("slow-ticks", |w| slow_ticks::slow_ticks(w.n(1), w.n(2), w.n(3))),
    ("born", |w| pulse(w.text(1).as_bytes(), w.n(2), w.n(3), w.n(4), 0, true)),
    ("timer", |w| timer(w.n(1), w.n(2))),
    ("loopback", |w| loopback(w.n(1))),
    ("refusing", |w| refusing(w.text(1), if w.text(2) == "EPERM" { libc::EPERM } else { libc::ENOSYS }, &w.0[3..])),
    // The first process of a name space, which reaps nobody: it starts a program and waits until a file is there.
    ("reaps-nobody", |w| {
        let child = std::process::Command::new(&w.0[2]).args(&w.0[3..]).spawn().expect("start");
        std::mem::forget(child);
        while !std::path::Path::new(&w.0[1]).exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
    }),
    ("crowd", |w| crowd(w.n(1))),
    ("exec-by-thread", |w| exec_by_a_thread(w.n(1))),
    ("first-ends", |w| first_thread_ends(w.n(1))),
    // Leaves a process that computes for the given time.
    ("leave-spinning", |w| {
        fork(|| burn_self(w.n(1)));
        std::thread::sleep(Duration::from_millis(w.n(2)));
    }),
    ("announced-loop", |w| announced_loop(std::path::Path::new(&w.0[1]), w.n(2))),
    ("helper", |w| helper(w.text(1))),
    ("idle", |w| idle(w.n(1))),
    ("short", |w| short(w.n(1))),
    ("gate", |w| gate(std::path::Path::new(&w.0[1]))),
    ("sleep", |w| std::thread::sleep(Duration::from_millis(w.n(1)))),
    ("stop", |_| raise(libc::SIGSTOP)),
    // Stopped and continued by another process, the given number of times.
    ("stop-continue", |w| {
        let own = std::process::id() as i32;
        for _ in 0..w.n(1) {
            let other = fork(|| {
                std::thread::sleep(Duration::from_millis(200));
                kill(own, libc::SIGCONT);
            });
            raise(libc::SIGSTOP);
            wait_for(other);
        }
    }),
    ("ignore-term", |_| {
        ignore(libc::SIGTERM);
        tell("started");
        forever()
    }),
    ("never", |_| {
        tell("started");
        forever()
    }),
    // Leaves the given number of sleeping processes behind.
    ("leave", |w| {
        for _ in 0..w.n(1) {
            fork(|| forever());
        }
    }),
    // Leaves processes that keep forking for a while: each forks and ends, 200 generations at most.
    ("leave-forking", |_| {
        fork(|| {
            for _ in 0..200 {
                std::thread::sleep(Duration::from_millis(1));
                // SAFETY: this process has one thread.
                if unsafe { libc::fork() } != 0 {
                    exit(0);
                }
            }
        });
    }),
    // An orphan at a fixed interval: its end is a SIGCHLD for the process that adopts it.
    ("orphans", |w| {
        for _ in 0..w.n(1) {
            let middle = fork(|| {
                fork(|| std::thread::sleep(Duration::from_millis(20)));
            });
            assert_eq!(wait_for(middle), 0, "an orphan could not be made");
            std::thread::sleep(Duration::from_millis(w.n(2)));
        }
    }),
    ("close-all", |w| {
        close_from(0);
        burn_self(w.n(1));
        tell("self");
    }),
    ("exit", |w| exit(w.n(1) as i32)),
    ("raise", |w| {
        // The standard library handles SIGSEGV.
        // SAFETY: SIG_DFL is a valid disposition.
        unsafe { libc::signal(w.n(1) as i32, libc::SIG_DFL) };
        raise(w.n(1) as i32);
    }),
    ("args", |w| {
        // What was received, as hex, for comparison byte by byte.
        let mut file = std::fs::File::create(&w.0[1]).expect("create");
        for word in &w.0[2..] {
            let hex: String = word.as_bytes().iter().map(|b| format!("{b:02x}")).collect();
            writeln!(file, "{hex}").expect("write");
        }
    }),
];

fn main() {
    let words = ArgumentWords(std::env::args_os().skip(1).collect());
    let role = ROLES.iter().find(|r| r.0 == words.text(0));
    role.unwrap_or_else(|| panic!("unknown subcommand `{}`", words.text(0))).1(&words);
}

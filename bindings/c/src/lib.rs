//! tare's K-best measurement for C. The header, `include/tare.h`, documents each function; this file only converts between the
//! two languages.

#![warn(missing_docs)]

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::{Mutex, PoisonError};
use tarebench_kbest::{Clock, ClockMethod, Kbest, KbestError, Parameters, Repetitions, Timing, TimingStanding};

/// The function to measure.
pub type Function = extern "C" fn(*mut c_void);
/// The same, as declared in the book.
pub type TestFunc = extern "C" fn(*mut c_int);

/// `struct tare_settings`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Settings {
    k: u32,
    most: u32,
    least: u32,
    clock: c_int,
    epsilon: f64,
    repetitions: u64,
    apart_ns: u64,
    cache_bytes: u64,
    clear_cache: c_int,
    compensate: c_int,
    less_overhead: c_int,
}

/// TARE_SETTINGS_DEFAULT.
const DEFAULT: Settings = Settings {
    k: 3,
    most: 30,
    least: 0,
    clock: 0,
    epsilon: 0.001,
    repetitions: 0,
    apart_ns: 0,
    cache_bytes: 0,
    clear_cache: 0,
    compensate: 0,
    less_overhead: 0,
};

/// `struct tare_outcome`.
#[repr(C)]
pub struct Outcome {
    ns: f64,
    cycles: f64,
    fastest_ns: f64,
    spread: f64,
    lacking: f64,
    overhead_ns: f64,
    interrupts_ns: f64,
    core_cycles: f64,
    clock_hz: f64,
    repetitions: u64,
    preemptions: u64,
    best_ns: *const f64,
    times_ns: *const f64,
    kept: u32,
    trials: u32,
    standing: c_int,
    clock: c_int,
    method: c_int,
    load: u32,
}

/// An outcome with the data that it points to. The outcome is the first field, so that both have the same address.
#[repr(C)]
struct Held {
    outcome: Outcome,
    best: Vec<f64>,
    times: Vec<f64>,
}

// As the header's test has them.
const _: () = assert!(size_of::<Settings>() == 64 && size_of::<Outcome>() == 128);

const CLOCKS: [Clock; 7] = [
    Clock::Counter,
    Clock::MonotonicRaw,
    Clock::Monotonic,
    Clock::Gettimeofday,
    Clock::ThreadCpu,
    Clock::ProcessCpu,
    Clock::Times,
];

static SETTINGS: Mutex<Settings> = Mutex::new(DEFAULT);

thread_local! {
    static ERROR: RefCell<CString> = RefCell::new(CString::default());
}

fn failed(why: &str) {
    // None of tare's messages contains a zero byte.
    let text = CString::new(why).unwrap_or_default();
    ERROR.with_borrow_mut(|e| *e = text);
}

impl Settings {
    fn kbest(&self) -> Result<Kbest, String> {
        let parameters = Parameters::new(self.k, self.epsilon, self.most, self.least).map_err(|e| e.to_string())?;
        let mut kbest = Kbest::new()
            .parameters(parameters)
            .compensated(self.compensate != 0)
            .less_overhead(self.less_overhead != 0)
            .apart(tarebench_kbest::Nanos(i64::try_from(self.apart_ns).unwrap_or(i64::MAX)))
            .repetitions(match self.repetitions {
                0 => Repetitions::Auto,
                n => Repetitions::Fixed(n),
            });
        if self.clear_cache != 0 {
            kbest = if self.cache_bytes == 0 { kbest.cold() } else { kbest.cold_by(self.cache_bytes) };
        }
        if self.clock != 0 {
            let clock = usize::try_from(self.clock - 1).ok().and_then(|i| CLOCKS.get(i));
            let unknown = || format!("{} is not a clock, expected 0 to {} (enum tare_clock)", self.clock, CLOCKS.len());
            kbest = kbest.clock(*clock.ok_or_else(unknown)?);
        }
        Ok(kbest)
    }
}

extern "C" fn nothing(_: *mut c_void) {}

/// Measures calls of the function; an empty measurement calls one that does nothing.
fn measured(kbest: &Kbest, f: Function, params: *mut c_void) -> Result<Timing, KbestError> {
    // Unknown to the compiler, so that it is called.
    let empty: Function = std::hint::black_box(nothing);
    kbest.measure_beside(&mut || f(params), &mut || empty(params), &mut || ())
}

fn held(timing: &Timing, method: c_int, load: u32) -> Option<Box<Held>> {
    let best = timing.outcome()?;
    let times: Vec<f64> = timing.trials.iter().map(|t| timing.time(t)).collect();
    let fastest = timing.trials.iter().min_by_key(|t| t.count)?;
    let each = timing.repetitions as f64;
    let ns_of = |units: f64| units / timing.hz * 1e9;
    let ns = timing.value().value().copied().unwrap_or(f64::NAN);
    let counter_hz = tarebench_kbest::counter::hz().unwrap_or(f64::NAN);
    let (standing, lacking) = match timing.standing() {
        TimingStanding::Converged => (0, 0.0),
        TimingStanding::NotConverged => (1, 0.0),
        TimingStanding::SliceTooShort { lacking } => (2, lacking),
        TimingStanding::TooShort => (3, 0.0),
    };
    let asked_in_vain =
        matches!(timing.compensation.absent(), Some(why) if !matches!(why, tarebench_kbest::Absent::NotAsked(_)));
    let interrupts = if asked_in_vain { f64::NAN } else { ns_of(timing.interrupts(fastest)) / each };
    let clock = CLOCKS.iter().position(|c| *c == timing.clock).map_or(0, |i| i as c_int + 1);
    let mut held = Box::new(Held {
        outcome: Outcome {
            ns,
            cycles: ns * 1e-9 * counter_hz,
            fastest_ns: best.value,
            spread: best.spread,
            lacking,
            overhead_ns: ns_of(timing.overhead as f64),
            interrupts_ns: interrupts,
            core_cycles: fastest.core_cycles.map_or(f64::NAN, |c| c as f64 / each),
            clock_hz: timing.hz,
            repetitions: timing.repetitions,
            preemptions: fastest.preemptions.unwrap_or(0),
            best_ns: std::ptr::null(),
            times_ns: std::ptr::null(),
            kept: best.best.len() as u32,
            trials: times.len() as u32,
            standing,
            clock,
            method,
            load,
        },
        best: best.best,
        times,
    });
    held.outcome.best_ns = held.best.as_ptr();
    held.outcome.times_ns = held.times.as_ptr();
    Some(held)
}

fn returned(held: Option<Box<Held>>) -> *mut Outcome {
    match held {
        Some(held) => Box::into_raw(held).cast(),
        None => {
            failed("no trial was made");
            std::ptr::null_mut()
        }
    }
}

fn fcyc(f: Function, params: *mut c_void) -> f64 {
    let settings = *SETTINGS.lock().unwrap_or_else(PoisonError::into_inner);
    let done = settings.kbest().and_then(|kbest| measured(&kbest, f, params).map_err(|e| e.to_string()));
    let value = done.and_then(|timing| match timing.value() {
        tarebench_kbest::Reading::Value(ns) => {
            Ok(ns * 1e-9 * tarebench_kbest::counter::hz().map_err(|e| e.to_string())?)
        }
        tarebench_kbest::Reading::Absent(why) => Err(why.to_string()),
    });
    value.unwrap_or_else(|why| {
        failed(&why);
        f64::NAN
    })
}

#[unsafe(no_mangle)]
extern "C" fn tare_fcyc(f: Option<Function>, params: *mut c_void) -> f64 {
    match f {
        Some(f) => fcyc(f, params),
        None => {
            failed("tare_fcyc: no function to measure, expected one");
            f64::NAN
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn tare_fcyc_int(f: Option<TestFunc>, params: *mut c_int) -> f64 {
    // SAFETY: a pointer to data is passed in the same way whatever it points to, on every system that Linux runs on.
    tare_fcyc(f.map(|f| unsafe { std::mem::transmute::<TestFunc, Function>(f) }), params.cast())
}

/// # Safety
/// `settings` is NULL or points to settings.
#[unsafe(no_mangle)]
unsafe extern "C" fn tare_fcyc_full(
    f: Option<Function>,
    params: *mut c_void,
    settings: *const Settings,
) -> *mut Outcome {
    // SAFETY: guaranteed by the caller.
    let settings = unsafe { settings.as_ref() }.copied().unwrap_or(DEFAULT);
    let done = f.ok_or_else(|| "tare_fcyc_full: no function to measure, expected one".to_owned()).and_then(|f| {
        let kbest = settings.kbest()?;
        measured(&kbest, f, params).map_err(|e| e.to_string())
    });
    match done {
        Ok(timing) => returned(held(&timing, 0, 0)),
        Err(why) => {
            failed(&why);
            std::ptr::null_mut()
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn tare_auto(f: Option<Function>, params: *mut c_void, load: u32) -> *mut Outcome {
    let Some(f) = f else {
        failed("tare_auto: no function to measure, expected one");
        return std::ptr::null_mut();
    };
    match tarebench_kbest::auto((load > 0).then_some(load), || f(params)) {
        Ok(chosen) => {
            let method = match chosen.choice.method {
                ClockMethod::RepeatedKBest => 1,
                ClockMethod::KBest => 2,
                ClockMethod::CompensatedKBest => 3,
                ClockMethod::CpuKBest => 4,
                ClockMethod::Runs => 5,
            };
            returned(held(&chosen.timing, method, chosen.load))
        }
        Err(why) => {
            failed(&why.to_string());
            std::ptr::null_mut()
        }
    }
}

/// # Safety
/// `outcome` is NULL or was returned by a function above and not freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn tare_outcome_free(outcome: *mut Outcome) {
    if !outcome.is_null() {
        // SAFETY: made by Box::into_raw of a Held in `returned`.
        drop(unsafe { Box::from_raw(outcome.cast::<Held>()) });
    }
}

#[unsafe(no_mangle)]
extern "C" fn tare_error() -> *const c_char {
    ERROR.with_borrow(|e| e.as_ptr())
}

fn set(change: impl FnOnce(&mut Settings)) {
    change(&mut SETTINGS.lock().unwrap_or_else(PoisonError::into_inner));
}

#[unsafe(no_mangle)]
extern "C" fn tare_set_fcyc_k(k: c_int) {
    set(|s| s.k = u32::try_from(k).unwrap_or(0));
}

#[unsafe(no_mangle)]
extern "C" fn tare_set_fcyc_epsilon(epsilon: f64) {
    set(|s| s.epsilon = epsilon);
}

#[unsafe(no_mangle)]
extern "C" fn tare_set_fcyc_maxsamples(most: c_int) {
    set(|s| s.most = u32::try_from(most).unwrap_or(0));
}

#[unsafe(no_mangle)]
extern "C" fn tare_set_fcyc_clear_cache(clear: c_int) {
    set(|s| s.clear_cache = clear);
}

#[unsafe(no_mangle)]
extern "C" fn tare_set_fcyc_cache_size(bytes: c_int) {
    set(|s| s.cache_bytes = u64::try_from(bytes).unwrap_or(0));
}

#[unsafe(no_mangle)]
extern "C" fn tare_set_fcyc_compensate(compensate: c_int) {
    set(|s| s.compensate = compensate);
}

#[unsafe(no_mangle)]
extern "C" fn tare_start_counter() {
    tarebench_kbest::counter::start_counter();
}

#[unsafe(no_mangle)]
extern "C" fn tare_get_counter() -> f64 {
    tarebench_kbest::counter::get_counter()
}

/// # Safety
/// Both point to where an unsigned can be written.
#[unsafe(no_mangle)]
unsafe extern "C" fn tare_access_counter(hi: *mut c_uint, lo: *mut c_uint) {
    let count = tarebench_kbest::counter::read();
    // SAFETY: guaranteed by the caller.
    unsafe {
        hi.write((count >> 32) as c_uint);
        lo.write(count as c_uint);
    }
}

#[unsafe(no_mangle)]
extern "C" fn tare_mhz(verbose: c_int, sleeptime: c_int) -> f64 {
    let span = i64::from(sleeptime.max(0)).saturating_mul(1_000_000_000).max(50_000_000);
    match tarebench_kbest::counter::measured_hz(tarebench_kbest::Nanos(span)) {
        Ok(hz) => {
            if verbose != 0 {
                println!("cycle counter: {:.1} MHz", hz / 1e6);
            }
            hz / 1e6
        }
        Err(why) => {
            failed(&why.to_string());
            f64::NAN
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn tare_start_timer() {
    tarebench_kbest::counter::start_timer();
}

#[unsafe(no_mangle)]
extern "C" fn tare_get_timer() -> f64 {
    tarebench_kbest::counter::get_timer()
}

#[unsafe(no_mangle)]
extern "C" fn tare_inactiveduration(thresh: c_int) -> c_int {
    c_int::try_from(tarebench_kbest::inactive_duration(u64::try_from(thresh).unwrap_or(0))).unwrap_or(c_int::MAX)
}

/// # Safety
/// `bytes` bytes can be read at `data`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tare_flush(data: *const c_void, bytes: u64) {
    if let Ok(bytes) = usize::try_from(bytes)
        && !data.is_null()
    {
        // SAFETY: guaranteed by the caller; a slice of bytes has no other requirement.
        tarebench_kbest::flush(unsafe { std::slice::from_raw_parts(data.cast::<u8>(), bytes) });
    }
}

#[unsafe(no_mangle)]
extern "C" fn tare_overhead() -> f64 {
    let once = Kbest::new().repetitions(Repetitions::Fixed(1));
    match measured(&once, nothing, std::ptr::null_mut()) {
        Ok(timing) => timing.overhead as f64,
        Err(why) => {
            failed(&why.to_string());
            f64::NAN
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn tare_noise_work(iterations: u64) {
    tarebench_sys::noise::work(iterations);
}

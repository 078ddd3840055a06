//! The other commands: that they say what they are asked for, in figures that can be.

use crate::report::{CheckReport, Found, Instead, Works, absent, folder, json, said, tare};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use tarebench_kbest::Kbest;

pub fn check(report: &mut CheckReport) {
    report.check("doctor", doctor);
    report.check("clocks", clocks);
    trace_alone(report);
    report.check("noise", noise);
    report.check("kbest", kbest);
    report.check("gate", gate);
    if report.is_root() {
        report.check("profile --watch", watch);
    }
}

/// The one of these commands that the kernel's programs are for.
pub fn trace_alone(report: &mut CheckReport) {
    report.check("trace", trace);
}

fn doctor() -> Found {
    // 1 is a machine with something to mend.
    let mut c = tare(&["doctor", "--json"]);
    let text = said(&mut c, 1).or_else(|_| said(&mut c, 0))?;
    let factors: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let list = factors["factors"].as_array().ok_or("no factors")?;
    Ok(Works(format!("{} factors", list.len())))
}

fn clocks() -> Found {
    let document = json(&mut tare(&["clocks", "--json"]))?;
    let list = document.pointer("/clocks/mechanisms").and_then(Value::as_array).ok_or("no mechanisms")?;
    let measured = list.iter().filter(|m| m.pointer("/measured/value").is_some()).count();
    match absent(&document["clocks"]["counter_hz"]) {
        Some(why) => Ok(Instead(format!("{measured} mechanisms; cycle counter: {why}"))),
        None => Ok(Works(format!("{measured} mechanisms, {}", document["clocks"]["source"]["value"]))),
    }
}

fn trace() -> Found {
    let document = json(&mut tare(&["trace", "--json", "--for", "200ms"]))?;
    let gaps = document["trace"]["gaps"].as_array().ok_or("no gaps")?.len();
    match absent(&document["explained"]) {
        Some(why) => Ok(Instead(format!("{gaps} gaps without causes; {why}"))),
        // A tick at the latest every 10 ms.
        None if gaps >= 10 => Ok(Works(format!("{gaps} gaps with causes"))),
        None => Err(format!("{gaps} gaps in 200 ms")),
    }
}

fn noise() -> Found {
    let words = ["noise", "--json", "--calibrations", "30", "--grain", "1ms", "--phases", "500", "--style", "none"];
    let document = json(&mut tare(&words))?;
    let series = document["series"].as_array().ok_or("no series")?;
    let phases: f64 = series.iter().filter_map(|s| s["phases"].as_f64()).sum();
    Ok(Works(format!("{} series, {phases:.0} phases", series.len())))
}

/// Twice the work takes twice the time.
fn kbest() -> Found {
    let time = |n: u64| {
        let work = || (0..n).fold(1_u64, |x, i| std::hint::black_box(x).wrapping_mul(6_364_136_223_846_793_005) ^ i);
        // The least of several, as what runs beside it only adds.
        let mut least = f64::INFINITY;
        for _ in 0..5 {
            let timing = Kbest::new().measure(work).map_err(|e| e.to_string())?;
            least = timing.value().value().map_or(least, |time| least.min(*time));
        }
        if least.is_finite() { Ok(least) } else { Err("no value".to_owned()) }
    };
    let (once, twice) = (time(20_000)?, time(40_000)?);
    let ratio = twice / once;
    match (ratio - 2.0).abs() < 0.1 {
        true => Ok(Works(format!("twice the work takes {ratio:.2} times as long"))),
        false => Err(format!("twice the work takes {ratio:.2} times as long")),
    }
}

/// Two builds, of which one does 20% more.
fn gate() -> Found {
    let place = folder().join("gate");
    for (build, rounds) in [("base", 3_000_000), ("head", 3_600_000)] {
        let program = place.join(build).join("program");
        std::fs::create_dir_all(place.join(build)).map_err(|e| e.to_string())?;
        std::fs::write(&program, format!("#!/bin/sh\nexec burner loop {rounds}\n")).map_err(|e| e.to_string())?;
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).map_err(|e| e.to_string())?;
    }
    let words = ["gate", "--base-dir", "../base", "--threshold", "5%", "--max-blocks", "20", "./program"];
    let text = said(tare(&words).current_dir(place.join("head")), 5)?;
    Ok(Works(text.lines().find(|l| l.contains("slower")).unwrap_or("regression").to_owned()))
}

fn watch() -> Found {
    let words = ["profile", "--watch", "--for", "24s", "--interval", "100ms", "--short", "200ms", "--name", "truth"];
    said(&mut tare(&words), 0)?;
    let listed = json(&mut tare(&["list", "--json"]))?;
    match listed.to_string().contains("truth") {
        true => Ok(Works("24 s".to_owned())),
        false => Err("the profile is not listed".to_owned()),
    }
}

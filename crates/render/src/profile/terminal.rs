//! A profile's tables, as EMP and SEDONA print them, and remarks on them.

use crate::profile::account;
use crate::profile::doubts::sentence;
use serde::Serialize;
use std::collections::BTreeSet;
use tarebench_core::base::date::{TimeZone, date};
use tarebench_core::base::units::Nanos;
use tarebench_core::profile::clusters::{ClusterPlace, Clusters};
use tarebench_core::profile::cutoffs::{Basis, CutoffRow};
use tarebench_core::profile::data::{Doubt, Profile, ProfileMethod, ProfilePart};
use tarebench_core::profile::lacking::Lacking;
use tarebench_core::profile::long_running::{BYSTANDER, Infrequent};
use tarebench_core::profile::profiling::{LSample, Learned, Lesson, Reach};
use tarebench_core::statistics::periods::{NoPeriod, Periodicity};
use tarebench_report::error::RenderError;
use tarebench_report::number;
use tarebench_report::number::long_time;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::{Paint, Style};
use tarebench_report::table::Table;
use tarebench_report::terminal_table::draw;

/// Shown if there are no cutoffs.
pub(crate) const NO_CUTOFFS: &str = "No infrequent, long-running daemon disturbed a sample, so there are no cutoffs.";

fn time(ns: f64, unicode: bool) -> String {
    number::time(ns, None, unicode).unwrap_or_default()
}

/// A period with its spread, or why there is none.
pub fn periodicity(p: &Periodicity, unicode: bool) -> String {
    let sign = if unicode { "±" } else { "+-" };
    match p {
        Periodicity::Period { period, spread, missed } => {
            let missed = if *missed > 0 { format!(", {missed} missed") } else { String::new() };
            format!("{} {sign} {}{missed}", long_time(*period, unicode), long_time(Nanos(*spread as i64), unicode))
        }
        Periodicity::Perhaps { period } => format!("{} (?)", long_time(*period, unicode)),
        Periodicity::Unknown { why } => match why {
            NoPeriod::Once => "ran once",
            NoPeriod::Irregular => "irregular",
            NoPeriod::TooShort => "too frequent",
        }
        .to_owned(),
    }
}

fn basis(b: &Option<Basis>, unicode: bool) -> String {
    match b {
        None => String::new(),
        Some(Basis::Midpoint { max, min }) => {
            let max = max.map_or("0".to_owned(), |m| time(m.as_f64(), unicode));
            format!("between {max} and {}", time(min.as_f64(), unicode))
        }
        Some(Basis::Normal { max, std_dev }) => {
            let sd = std_dev.map_or(String::new(), |sd| format!(" + 2 s.d. of {}", time(sd, unicode)));
            format!("maximum {}{sd}", time(max.as_f64(), unicode))
        }
    }
}

/// The cutoffs (EMP table XVI, SEDONA table 1).
pub fn cutoffs(rows: &[CutoffRow], unicode: bool) -> Table {
    let mut t = Table::new(
        "Cutoffs",
        "A sample is discarded if an execution of the daemon in it used more CPU time. EMP table XVI, SEDONA table 1.",
        &["daemon", ">cutoff", ">from task time", ">cutoff then", ">period", "short part", "long part"],
    );
    for r in rows.iter().filter(|r| !r.bystander) {
        let limit = r.cutoff.task_time_limit;
        let long = match (limit, r.cutoff.long) {
            (None, _) => String::new(),
            (Some(_), Some(long)) => time(long, unicode),
            (Some(_), None) => "none".to_owned(),
        };
        let cells = vec![
            r.daemon.clone(),
            time(r.cutoff.short, unicode),
            limit.map_or(String::new(), |l| long_time(l, unicode)),
            long,
            periodicity(&r.periodicity, unicode),
            basis(&r.short, unicode),
            basis(&r.long, unicode),
        ];
        t.row(cells, Vec::new());
        let limit = limit.map(|l| l.as_f64());
        t.values(vec![None, Some(r.cutoff.short), limit, r.cutoff.long, None, None, None]);
    }
    t
}

/// Positions of the samples with these numbers in the halves of the plot.
fn positions(c: &Clusters, numbers: &[u32]) -> Vec<usize> {
    let all: Vec<u32> = c.halves().map(|h| h.number).collect();
    numbers.iter().filter_map(|n| all.iter().position(|h| h == n)).collect()
}

/// The daemons of an L-sample, the longest first.
fn listed(s: &LSample, unicode: bool) -> String {
    let mut all: Vec<(&str, Nanos)> =
        s.executions.iter().flat_map(|(name, times)| times.iter().map(move |t| (name.as_str(), *t))).collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let shown = all.iter().take(6).map(|(name, t)| format!("{name} {}", time(t.as_f64(), unicode)));
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if all.len() > 6 {
        text.push_str(&format!(" and {} more", all.len() - 6));
    }
    text
}

/// Every table of one part, in the order of the protocol's steps.
pub fn lesson(l: &Lesson, part: &str, zone: &TimeZone, unicode: bool) -> Vec<Table> {
    let emp = if part == "long" { ["XII", "XIII", "XIV", "XV"] } else { ["VIII", "IX", "X", "XI"] };
    let at = |numbers: &[u32]| positions(&l.clusters, numbers);
    let title = |what: &str| format!("{what}, {part} part");
    let mut normal = Table::new(
        title("Daemons of the central cluster"),
        format!("Normal CPU times. Longer executions in an L-sample are long-running. EMP table {}.", emp[0]),
        &["daemon", ">executions", ">maximum", ">s.d.", ">long-running from"],
    );
    for n in &l.normal {
        let sd = n.std_dev.map_or(String::new(), |sd| time(sd, unicode));
        let cells = vec![
            n.daemon.clone(),
            n.executions.to_string(),
            time(n.max.as_f64(), unicode),
            sd,
            time(n.limit(), unicode),
        ];
        normal.row(cells, Vec::new());
        let executions = f64::from(n.executions);
        normal.values(vec![None, Some(executions), Some(n.max.as_f64()), n.std_dev, Some(n.limit())]);
    }
    let mut samples = Table::new(
        title("L-samples"),
        format!("Samples in the arms of the scatter plot, with all daemons that ran. EMP table {}.", emp[1]),
        &[">sample", "began", ">ET", "daemons"],
    );
    for s in &l.l_samples {
        let cells =
            vec![s.number.to_string(), date(s.start, zone), time(s.elapsed.as_f64(), unicode), listed(s, unicode)];
        samples.row(cells, at(&[s.number]));
        samples.values(vec![Some(f64::from(s.number)), Some(s.start.0 as f64), Some(s.elapsed.as_f64()), None]);
    }
    let mut long = Table::new(
        title("Long-running executions"),
        format!("Long-running executions of daemons that also occur in the central cluster. EMP table {}.", emp[2]),
        &["daemon", ">sample", "began", ">CPU time"],
    );
    for e in &l.long_running {
        let cells = vec![e.daemon.clone(), e.number.to_string(), date(e.at, zone), time(e.cpu.as_f64(), unicode)];
        long.row(cells, at(&[e.number]));
        long.values(vec![None, Some(f64::from(e.number)), Some(e.at.0 as f64), Some(e.cpu.as_f64())]);
    }
    let mut rare = Table::new(
        title("Infrequent daemons"),
        format!(
            "Long-running, or only in L-samples. p: probability that a daemon which runs as often occurs only in L-samples. One \
             that explains less than 5% of every L-sample's excess occurred by coincidence and gets no cutoff. EMP table {}.",
            emp[3]
        ),
        &["daemon", ">cluster max", ">L-samples min", ">times", "samples", "period", ">p", ">explains"],
    );
    for i in &l.infrequent {
        rare.row(infrequent(i, unicode), at(&i.samples));
        let (max, min) = (i.max.map(|m| m.as_f64()), Some(i.min.as_f64()));
        rare.values(vec![None, max, min, Some(i.samples.len() as f64), None, None, i.chance, i.explains]);
    }
    let waits = l.account.as_ref().map(|a| account::waits(a, part, &at, unicode));
    waits.into_iter().chain([samples, long, rare, normal]).collect()
}

fn infrequent(i: &Infrequent, unicode: bool) -> Vec<String> {
    let numbers: Vec<String> = i.samples.iter().map(u32::to_string).collect();
    vec![
        i.daemon.clone(),
        i.max.map_or("none".to_owned(), |m| time(m.as_f64(), unicode)),
        time(i.min.as_f64(), unicode),
        i.samples.len().to_string(),
        numbers.join(", "),
        periodicity(&i.periodicity, unicode),
        i.chance.and_then(number::percent).unwrap_or_default(),
        i.explains.map_or(String::new(), |e| {
            let share = number::percent(e).unwrap_or_default();
            if e < BYSTANDER { format!("{share}, bystander") } else { share }
        }),
    ]
}

/// L-samples in the arms of neither plot, and the daemons that make them L-samples.
fn by_name_only(l: &Lesson) -> (usize, Vec<&str>) {
    let plots = [Some(&l.clusters), l.waiting.as_ref()].into_iter().flatten();
    let arms: BTreeSet<u32> =
        plots.flat_map(Clusters::halves).filter(|h| h.place == ClusterPlace::Arm).map(|h| h.number).collect();
    let (mut samples, mut names) = (BTreeSet::new(), Vec::new());
    for n in &l.named {
        let more: Vec<u32> = n.samples.iter().copied().filter(|s| !arms.contains(s)).collect();
        if !more.is_empty() {
            names.push(n.daemon.as_str());
        }
        samples.extend(more);
    }
    (samples.len(), names)
}

/// What the plot of a part looks like, in sentences.
pub fn shape(l: &Lesson, unicode: bool) -> Vec<String> {
    let c = &l.clusters;
    let places = l.places();
    let count = |place: ClusterPlace| places.values().filter(|p| **p == place).count();
    let spread = |c: &Clusters| time(c.spread, unicode);
    let which = match &l.waiting {
        None => String::new(),
        Some(w) => format!(
            ", {} of them by elapsed time and {} at equal CPU times (s.d. {})",
            c.shape.arms,
            w.shape.arms,
            spread(w)
        ),
    };
    let by_account = l.account.as_ref().map(|a| account::sentence(a, unicode));
    let (more, names) = by_name_only(l);
    let mut said = vec![format!(
        "{} of {} samples are in the central cluster (s.d. {}), {} are L-samples{which}.",
        count(ClusterPlace::Central),
        places.len(),
        spread(c),
        count(ClusterPlace::Arm),
    )];
    said.extend(by_account);
    if !names.is_empty() {
        said.push(format!(
            "{more} of the L-samples do not stand out alone; they were found by comparing all samples with the daemon ({}) \
             together.",
            names.join(", ")
        ));
    }
    if let Some(f) = c.shape.frequent {
        said.push(format!(
            "A frequent daemon takes {} in {} of the samples: it belongs to the machine's normal state and gets no cutoff.",
            time(f.excess, unicode),
            number::percent(f.share).unwrap_or_default()
        ));
    }
    if let Some(d) = c.shape.drift {
        said.push(format!(
            "The machine's speed drifted by {} (correlation of the pairs {}); no daemon caused this.",
            time(d.range, unicode),
            number::fixed(d.correlation, 2).unwrap_or_default()
        ));
    }
    match count(ClusterPlace::Stretch) {
        0 => {}
        n => said.push(format!("{n} samples are ignored, because most of their neighbours were slow as well.")),
    }
    if c.shape.l_remains {
        said.push("The central cluster still shows an L: some L-samples may have been missed.".to_owned());
    }
    if l.incomplete > 0 {
        said.push(format!(
            "In {} the list of daemons is incomplete; daemons may be missing from the tables.",
            if l.incomplete == 1 { "1 sample".to_owned() } else { format!("{} samples", l.incomplete) }
        ));
    }
    said
}

/// What a part can find and what not: a sentence without its subject and period.
pub fn reach(r: &Reach, unicode: bool) -> String {
    let long = |t| long_time(t, unicode);
    let often = "daemons that run more often count as normal";
    let (shortest, total) = (long(r.shortest), long(r.longest_once));
    if r.occurrences < 3 {
        return format!(
            "finds daemons that run less often than every {shortest}, if they run within {total}, but no periods; {often}"
        );
    }
    format!(
        "finds daemons that run every {shortest} ({} times) to every {} (3 times), with their periods; up to every {} (twice), \
         with a doubtful period; up to every {total} (once), without a period; {often}, those that run less often may be missed",
        r.occurrences,
        long(r.longest),
        long(r.longest_perhaps),
    )
}

/// What a part was made of.
pub fn part(p: &ProfilePart, method: ProfileMethod, unicode: bool) -> String {
    let what = match method {
        ProfileMethod::Active => "samples of INC of",
        ProfileMethod::Watched => "virtual samples of",
    };
    format!("{} {what} {}", p.observations.len(), long_time(p.length, unicode))
}

#[derive(Serialize)]
struct ProfileJson<'a> {
    format: &'static str,
    version: u32,
    profile: &'a Profile,
    learned: &'a Learned,
}

/// A profile with every table: `{"format":"tare-profile-report","version":1,"profile":…,"learned":…}`.
pub fn json(profile: &Profile, learned: &Learned) -> Result<String, RenderError> {
    tarebench_report::json::pretty(&ProfileJson { format: "tare-profile-report", version: 1, profile, learned })
}

/// Stored profiles, the newest first.
pub fn list(profiles: &[Profile], style: &Style) -> String {
    let columns = ["profile", "made", "machine", "short part", "long part", ">cutoffs"];
    let mut t = Table::new("Profiles", "", &columns);
    let u = style.unicode;
    for p in profiles {
        let long = p.long.as_ref().map_or(String::new(), |l| part(l, p.method, u));
        let short = part(&p.short, p.method, u);
        let cutoffs = p.cutoffs.len().to_string();
        t.row(vec![p.label(), date(p.created, &style.zone), p.host.clone(), short, long, cutoffs], Vec::new());
    }
    all_of(&t, style)
}

/// Daemons that are not in a profile.
pub fn lacking(profile: &Profile, found: &[Lacking], style: &Style) -> String {
    let note = format!("They ran in later samples, but not while {} was learned.", profile.label());
    let columns = ["daemon", ">in samples", ">longest", ">share of ET", "matters"];
    let mut t = Table::new("Daemons that are not in the profile", note, &columns);
    for l in found {
        let cells = vec![
            l.daemon.clone(),
            l.samples.to_string(),
            time(l.max.as_f64(), style.unicode),
            number::percent(l.share).unwrap_or_default(),
            if l.matters() { "yes" } else { "no" }.to_owned(),
        ];
        t.row(cells, Vec::new());
    }
    all_of(&t, style)
}

fn all_of(table: &Table, style: &Style) -> String {
    let style = Style { full: true, ..style.clone() };
    let mut page = ScreenText::new(&style);
    draw(&mut page, table);
    page.finish()
}

/// A profile for a terminal: what it is, its cutoffs, then each part's tables.
pub fn terminal(profile: &Profile, learned: &Learned, doubts: &[Doubt], more: &str, style: &Style) -> String {
    let mut page = ScreenText::new(style);
    let u = style.unicode;
    page.title(&style.show(&format!("Profile {}", profile.label())));
    page.field("machine", &style.show(&format!("{}, Linux {}, {} CPUs", profile.host, profile.kernel, profile.cpus)));
    page.field("made", &style.show(&format!("{} by tare {}", date(profile.created, &style.zone), profile.tool)));
    let parts =
        [("short", Some(&profile.short), Some(&learned.short)), ("long", profile.long.as_ref(), learned.long.as_ref())];
    for (name, part_of, lesson) in parts {
        let Some(p) = part_of else { continue };
        let mut said = vec![format!("{}.", part(p, profile.method, u))];
        match lesson {
            Some(l) => said.extend(shape(l, u)),
            None => said.push("Too few samples to find a cluster; this part is not used.".to_owned()),
        }
        page.field(name, &style.prose(&said.join(" ")));
    }
    let table = cutoffs(&learned.cutoffs, u);
    let mut complete = draw(&mut page, &table);
    if table.rows.is_empty() {
        page.gap();
        page.hang(&[], Paint::Plain, NO_CUTOFFS);
    }
    let guarded = account::effects(&learned.cutoffs, u);
    if !guarded.rows.is_empty() {
        complete &= draw(&mut page, &guarded);
    }
    for (name, _, lesson_of) in parts {
        let Some(l) = lesson_of else { continue };
        for table in lesson(l, name, &style.zone, u) {
            // The normal daemons are many, and of interest only beside the others.
            let aside = table.title.plain().starts_with("Daemons of the central cluster") && !style.full;
            complete &= if aside { table.rows.is_empty() } else { draw(&mut page, &table) };
        }
    }
    if !doubts.is_empty() {
        page.gap();
    }
    for doubt in doubts {
        let text = style.prose(&sentence(&profile.label(), doubt, &style.hints));
        page.hang(&[(Paint::Warn, format!("{} ", page.g.warning))], Paint::Warn, &text);
    }
    if !complete {
        page.gap();
        page.hang(&[], Paint::Dim, &format!("Details: {}", style.prose(more)));
    }
    page.finish()
}

//! The machine's factors: for the terminal, as JSON, and as the manual's table.

use crate::run::hints::speed_may_vary;
use serde::Serialize;
use tarebench_core::base::hint::Hint;
use tarebench_core::machine::data::{Factor, Standing};
use tarebench_report::error::RenderError;
use tarebench_report::hints::Hints;
use tarebench_report::json;
use tarebench_report::screen::{ScreenText, StyledSpan};
use tarebench_report::style::{Paint, Style};
use tarebench_report::text;

/// Name of the format of [`json()`].
pub const FORMAT: &str = "tare-doctor";

/// Version of the format of [`json()`].
pub const VERSION: u32 = 1;

/// What is wanted of a factor, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FactorRule {
    /// The heading that it stands below.
    pub group: String,
    pub name: String,
    /// The EMP step that it decides, 1 to 4; 0 if none.
    pub step: u8,
    /// Advice rather than a demand.
    pub optional: bool,
    pub wanted: String,
    pub reason: String,
    /// Where that is stated.
    pub source: String,
    /// What is needed to change it.
    pub privilege: String,
    /// `tare tune` can set it.
    pub settable: bool,
}

/// A rule, and what was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FactorRow {
    #[serde(flatten)]
    pub rule: FactorRule,
    /// Whether it is as wanted.
    pub standing: Standing,
    /// What was read, in words.
    pub finding: String,
    /// What was read, for comparing.
    pub value: Option<String>,
    /// What to do if it is not as recommended; alternatives on further lines.
    pub fix: Option<String>,
    /// tare can set it on this machine, and it is not as recommended.
    #[serde(skip)]
    pub settable_here: bool,
}

impl FactorRow {
    /// Joins a rule and the reading of it.
    pub fn new(rule: FactorRule, factor: Factor) -> FactorRow {
        let Factor { standing, finding, value, fix, settable, .. } = factor;
        FactorRow { rule, standing, finding, value, fix, settable_here: settable }
    }

    /// With the command that sets it, if there is one, as the first way.
    #[must_use]
    pub fn with_hints(mut self, hints: &Hints) -> FactorRow {
        let set = hints.phrase(&Hint::SetFactor(self.rule.name.clone())).filter(|_| self.settable_here);
        let ways: Vec<String> = set.into_iter().chain(self.fix.take()).collect();
        self.fix = (!ways.is_empty()).then(|| ways.join("\n"));
        self
    }

    /// Whether it counts as wrong; with `strict`, also if it is unknown or advice.
    pub fn is_wrong(&self, strict: bool) -> bool {
        match self.standing {
            Standing::Held => false,
            Standing::NotHeld => strict || !self.rule.optional,
            Standing::Unknown => strict,
        }
    }
}

/// How many rows have each standing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StandingCounts {
    pub held: usize,
    pub wrong: usize,
    pub advised: usize,
    pub unknown: usize,
}

pub fn count(rows: &[FactorRow]) -> StandingCounts {
    let mut c = StandingCounts::default();
    for r in rows {
        match r.standing {
            Standing::Held => c.held += 1,
            Standing::NotHeld if r.rule.optional => c.advised += 1,
            Standing::NotHeld => c.wrong += 1,
            Standing::Unknown => c.unknown += 1,
        }
    }
    c
}

#[derive(Serialize)]
struct DoctorDocument<'a> {
    format: &'static str,
    version: u32,
    machine: &'a str,
    counts: StandingCounts,
    factors: &'a [FactorRow],
}

/// `{"format":"tare-doctor","version":1,"machine":…,"counts":…,"factors":[…]}`, indented.
pub fn json(machine: &str, rows: &[FactorRow]) -> Result<String, RenderError> {
    let document = DoctorDocument { format: FORMAT, version: VERSION, machine, counts: count(rows), factors: rows };
    Ok(json::pretty(&document)? + "\n")
}

/// Draws the rows below their headings; with `explain`, also what is wanted, why, and the source.
pub fn terminal(machine: &str, rows: &[FactorRow], explain: bool, style: &Style) -> String {
    let mut page = ScreenText::new(style);
    page.line(&[(Paint::Plain, style.prose(machine))]);
    let wide = rows.iter().map(|r| text::columns(&r.rule.name)).max().unwrap_or(0);
    let mut group = "";
    for (i, r) in rows.iter().enumerate() {
        if r.rule.group != group {
            group = &r.rule.group;
            page.gap();
            page.title(&style.prose(group));
        }
        // Rows with the same reason share one line.
        let same = |b: &&FactorRow| b.rule.group == r.rule.group && b.standing == r.standing && b.finding == r.finding;
        let first = rows.iter().take(i).find(same).filter(|_| r.finding.len() > 40);
        row(&mut page, r, first, wide, explain);
    }
    page.gap();
    summary(&mut page, rows, explain);
    page.finish()
}

fn row(page: &mut ScreenText<'_>, r: &FactorRow, same: Option<&FactorRow>, wide: usize, explain: bool) {
    let (mark, paint) = match r.standing {
        Standing::Held => (page.g.held, Paint::Good),
        Standing::NotHeld if r.rule.optional => (page.g.warning, Paint::Warn),
        Standing::NotHeld => (page.g.not_held, Paint::Bad),
        Standing::Unknown => (page.g.unknown, Paint::Warn),
    };
    let name = page.style.show(&r.rule.name);
    let pad = " ".repeat(wide.saturating_sub(text::columns(&name)) + 2);
    let mark: StyledSpan = (paint, format!("  {mark} "));
    let (indent, body) = (
        4 + wide + 2,
        same.map_or_else(|| page.style.prose(&r.finding), |f| format!("as {}", page.style.show(&f.rule.name))),
    );
    let narrow = page.narrow();
    if narrow {
        page.line(&[mark, (Paint::Plain, name)]);
        page.hang(&[(Paint::Plain, " ".repeat(6))], Paint::Plain, &body);
    } else {
        page.hang(&[mark, (Paint::Plain, name + &pad)], Paint::Plain, &body);
    }
    let indent = " ".repeat(if narrow { 6 } else { indent });
    let mut more = |label: &str, text: &str| {
        let head = [(Paint::Plain, indent.clone()), (Paint::Dim, label.to_owned())];
        let body = page.style.prose(text);
        page.hang(&head, Paint::Plain, &body);
    };
    if explain {
        more("wanted: ", &r.rule.wanted);
        more("reason: ", &r.rule.reason);
        more("source: ", &r.rule.source);
    }
    // Advice would fill the page of a machine that is in order; --explain shows it.
    if let Some(fix) = r.fix.as_ref().filter(|_| !r.rule.optional || explain) {
        for (i, way) in fix.lines().enumerate() {
            more(if i == 0 { "fix: " } else { "or:  " }, way);
        }
    }
}

fn summary(page: &mut ScreenText<'_>, rows: &[FactorRow], explain: bool) {
    let c = count(rows);
    let g = page.g;
    let parts = [
        (c.held, g.held, "as recommended", Paint::Good),
        (c.wrong, g.not_held, "not as recommended", Paint::Bad),
        (c.advised, g.warning, "could be better", Paint::Warn),
        (c.unknown, g.unknown, "unknown", Paint::Warn),
    ];
    let mut spans: Vec<StyledSpan> = Vec::new();
    for (n, mark, words, paint) in parts.into_iter().filter(|p| p.0 > 0) {
        if !spans.is_empty() && page.narrow() {
            page.line(&std::mem::take(&mut spans));
        } else if !spans.is_empty() {
            spans.push((Paint::Plain, g.between.to_owned()));
        }
        spans.push((paint, mark.to_owned()));
        spans.push((Paint::Plain, format!(" {n} {words}")));
    }
    page.line(&spans);
    let can_tune = rows.iter().any(|r| r.is_wrong(false) && r.rule.settable);
    if can_tune {
        hint(page, &Hint::SetFactors);
    }
    if rows.iter().any(|r| speed_may_vary(&r.rule.name, r.standing)) {
        hint(page, &Hint::GateRun);
    }
    if !explain {
        hint(page, &Hint::ExplainFactors);
    }
}

fn hint(page: &mut ScreenText<'_>, hint: &Hint) {
    if let Some(text) = page.style.hints.phrase(hint) {
        let text = page.style.prose(&text);
        page.hang(&[], Paint::Dim, &text);
    }
}

/// The table of factors for the manual.
pub fn markdown(rules: &[FactorRule]) -> String {
    let mut out = String::new();
    let mut group = "";
    for r in rules {
        if r.group != group {
            group = &r.group;
            out.push_str(&format!("\n### {group}\n\n"));
            out.push_str("| factor | recommended | why | source | to change | set by tune |\n");
            out.push_str("| --- | --- | --- | --- | --- | --- |\n");
        }
        let set = match (r.settable, r.optional) {
            (true, false) => "yes",
            (true, true) => "when named",
            (false, _) => "–",
        };
        let step = if r.step > 0 { format!("{} (decides EMPv{})", r.name, r.step) } else { r.name.clone() };
        let name = if r.optional { format!("{step}, advice") } else { step };
        let cells = [name.as_str(), &r.wanted, &r.reason, &r.source, &r.privilege, set].map(cell);
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    out
}

fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|").replace('<', "&lt;").replace('*', "\\*")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(group: &str, name: &str, standing: Standing, finding: &str, fix: Option<&str>, optional: bool) -> FactorRow {
        FactorRow {
            rule: FactorRule {
                group: group.into(),
                name: name.into(),
                step: u8::from(name == "turbo") * 3,
                optional,
                wanted: "off".into(),
                reason: "It takes another time | every time.".into(),
                source: "EMP 4.3".into(),
                privilege: "root".into(),
                settable: fix.is_some(),
            },
            standing,
            finding: finding.into(),
            value: None,
            fix: fix.map(str::to_owned),
            settable_here: false,
        }
    }

    /// What the command would say.
    fn hints() -> Hints {
        Hints::new(|hint| match hint {
            Hint::SetFactor(name) => format!("set {name}"),
            Hint::SetFactors => "`set all`".to_owned(),
            _ => "`explain`".to_owned(),
        })
    }

    fn rows() -> Vec<FactorRow> {
        let long =
            "running: cron, a daemon with a name that is so long that it does not fit, and yet another one of them";
        let guest = "not available: a virtual machine cannot see it; its host decides";
        vec![
            row("v1 daemons", "daemons", Standing::NotHeld, long, Some("stop them \u{1b}[31m"), false),
            row("v3 clock speed", "turbo", Standing::Unknown, guest, None, false),
            row("v3 clock speed", "governor", Standing::Unknown, guest, None, false),
            row(
                "v3 clock speed",
                "idle-states",
                Standing::NotHeld,
                "C6 (85 µs)",
                Some("set /dev/cpu_dma_latency"),
                true,
            ),
            row("load", "load-average", Standing::Held, "0.01", None, false),
        ]
        .into_iter()
        .map(|r| FactorRow { settable_here: r.rule.name == "daemons", ..r }.with_hints(&hints()))
        .collect()
    }

    #[test]
    fn a_shared_machine_or_a_free_clock_names_the_gate() {
        let hints = Hints::new(|hint| if *hint == Hint::GateRun { "gate it".to_owned() } else { "other".to_owned() });
        let style = Style { hints, ..Style::default() };
        for (name, standing, named) in [
            ("hypervisor", Standing::NotHeld, true),
            ("steal", Standing::NotHeld, true),
            ("turbo", Standing::NotHeld, true),
            ("hypervisor", Standing::Held, false),
            ("governor", Standing::Unknown, false),
            ("swap", Standing::NotHeld, false),
        ] {
            let rows = [row("group", name, standing, "found", None, true)];
            assert_eq!(terminal("pc", &rows, false, &style).contains("gate it"), named, "{name}");
        }
    }

    #[test]
    fn pages() {
        for (name, width, explain, unicode, color) in [
            ("doctor_100", 100, false, true, false),
            ("doctor_explain", 100, true, true, false),
            ("doctor_40_ascii", 40, false, false, false),
            ("doctor_color", 72, false, true, true),
        ] {
            let style = Style { width, unicode, color, hints: hints(), ..Style::default() };
            let page = terminal("pc: 4 × CPU, Linux 6.1", &rows(), explain, &style);
            if !color {
                assert!(page.lines().all(|l| text::columns(l) <= width), "{page}");
                assert!(!page.contains('\u{1b}'));
            }
            insta::assert_snapshot!(name, page);
        }
    }

    #[test]
    fn documents() {
        insta::assert_snapshot!("doctor_json", json("pc", &rows()[..2]).unwrap());
        let rules: Vec<FactorRule> = rows().into_iter().map(|r| r.rule).collect();
        insta::assert_snapshot!("doctor_markdown", markdown(&rules));
    }

    #[test]
    fn advice_and_ignorance_are_wrong_only_when_strict() {
        let wrong = |strict| rows().iter().map(|r| r.is_wrong(strict)).collect::<Vec<_>>();
        assert_eq!(wrong(false), [true, false, false, false, false]);
        assert_eq!(wrong(true), [true, true, true, true, false]);
        assert_eq!(count(&rows()), StandingCounts { held: 1, wrong: 1, advised: 1, unknown: 2 });
    }
}

//! What all pages of the lab have in common: head, navigation, style, script and foot.

use crate::pages::page::html::Html;
use tarebench_report::error::RenderError;
use tarebench_report::web::html as web;
use tarebench_report::web::page::{Page, PageKind};

/// What the pages add to the style of the report.
const STYLE: &str = include_str!("lab.css");
/// Replaces live parts when the lab changes, and switches between light and dark.
pub const SCRIPT: &str = include_str!("lab.js");
/// Content-Security-Policy of the pages of this module: script and style come from the application itself, nothing
/// from elsewhere.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                          form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// Begins the dark colours in the report's style.
const DARK: &str = ":root[data-theme=dark]{";

/// What every page says of the lab.
#[derive(Clone, Copy, Debug)]
pub struct LabFrame<'a> {
    /// The lab's database, without its password.
    pub place: &'a str,
    /// The lab's counter of changes when the page was made; `None` for pages that do not change, which are not live.
    pub version: Option<i64>,
    /// Last line: version and time.
    pub foot: &'a str,
}

/// A page; `here` is its path, for the link that reads it again.
pub(crate) fn shell(frame: &LabFrame<'_>, title: &str, here: &str, content: impl FnOnce(&mut Html)) -> String {
    let mut html = Html::new();
    html.raw("<!doctype html>\n");
    html.element("html", &[("lang", "en")], |h| {
        h.element("head", &[], |h| head(h, title));
        let version = frame.version.map(|v| v.to_string()).unwrap_or_default();
        h.element("body", &[("class", "lab"), ("data-version", &version)], |h| {
            h.raw("<a class=\"skip\" href=\"#content\">To the content</a>\n");
            h.element("header", &[("class", "bar")], |h| navigation(h, frame, here));
            h.raw("\n");
            h.element("main", &[("id", "content")], |h| {
                h.line("h1", &[], title);
                h.raw("\n");
                content(h);
            });
            h.raw("\n");
            h.element("footer", &[], |h| {
                h.raw("Lab ");
                h.name(frame.place);
                h.raw(". ");
                h.text(frame.foot);
            });
        });
    });
    html.raw("\n");
    html.finish()
}

fn head(html: &mut Html, title: &str) {
    html.raw(
        "\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"tare\">\n",
    );
    html.line("title", &[], &format!("{title} - tare lab"));
    html.raw(
        "\n<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"/style.css\">\n\
         <script src=\"/app.js\" defer></script>\n",
    );
}

fn navigation(html: &mut Html, frame: &LabFrame<'_>, here: &str) {
    html.element("nav", &[("aria-label", "Lab")], |h| {
        for (path, text) in [("/", "Lab"), ("/results", "Results"), ("/compare", "Compare"), ("/history", "History")] {
            match path == here {
                true => h.element("a", &[("href", path), ("aria-current", "page")], |h| h.text(text)),
                false => h.element("a", &[("href", path)], |h| h.text(text)),
            }
        }
    });
    html.element("div", &[("class", "tools")], |h| {
        if frame.version.is_some() {
            h.raw("<span id=\"live\" role=\"status\"></span>");
        }
        h.element("a", &[("class", "refresh"), ("href", here)], |h| h.text("Refresh"));
        h.raw("<button type=\"button\" id=\"theme\" hidden>Light or dark</button>");
    });
}

/// A part of a page that the script replaces by itself when the lab changes.
pub(crate) fn live(html: &mut Html, id: &'static str, heading: &str, content: impl FnOnce(&mut Html)) {
    html.element("section", &[("id", id), ("data-live", "")], |h| {
        h.line("h2", &[], heading);
        h.raw("\n");
        content(h);
    });
    html.raw("\n");
}

/// The style sheet of the lab's pages: that of the report, and what a lab adds to it.
///
/// # Errors
/// Those of the report's page.
pub fn style() -> Result<String, RenderError> {
    let page = web::html(&Page {
        format: "tare-page",
        version: 1,
        kind: PageKind::Run,
        title: "".into(),
        subtitle: "".into(),
        facts: Vec::new(),
        remarks: Vec::new(),
        overview: None,
        plots: Vec::new(),
        timeline: None,
        parts: Vec::new(),
        tables: Vec::new(),
        foot: "".into(),
    })?;
    let report = between(&page, "<style>", "</style>").unwrap_or_default();
    // The report's script sets the theme; these pages are dark also where scripts are switched off.
    let dark = between(report, DARK, "}").unwrap_or_default();
    Ok(format!("{report}\n@media (prefers-color-scheme: dark) {{ :root:not([data-theme]) {{ {dark} }} }}\n{STYLE}"))
}

/// The Content-Security-Policy that a self-contained page has of its own, which names the hash of its script, with
/// what only a header can say. A page without one may do nothing.
pub fn policy_of(page: &str) -> String {
    let meta = "<meta http-equiv=\"Content-Security-Policy\" content=\"";
    // Names that someone chose stand after the head.
    let head = page.split("</head>").next().unwrap_or_default();
    let own = between(head, meta, "\"").unwrap_or("default-src 'none'");
    format!("{own}; frame-ancestors 'none'")
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(begin)?;
    rest.split_once(end).map(|(inside, _)| inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_is_the_reports_and_dark_without_a_script() {
        let style = style().unwrap();
        assert!(style.contains("--paper:") && style.contains(".cards"), "{}", &style[..200]);
        let dark = between(&style, ":root:not([data-theme]) {", "}").unwrap();
        assert!(dark.contains("--paper") && dark.contains("color-scheme:dark"), "{dark}");
    }

    #[test]
    fn a_reports_policy_is_kept() {
        let page = "<head><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; x\"></head>";
        assert_eq!(policy_of(page), "default-src 'none'; x; frame-ancestors 'none'");
        let forged = "<head></head><p><meta http-equiv=\"Content-Security-Policy\" content=\"default-src *\">";
        assert_eq!(policy_of(forged), "default-src 'none'; frame-ancestors 'none'");
    }

    #[test]
    fn the_policy_allows_nothing_from_elsewhere() {
        for part in POLICY.split("; ") {
            let sources = part.split_whitespace().skip(1).all(|s| ["'none'", "'self'", "data:"].contains(&s));
            assert!(sources, "{part}");
        }
        let frame = LabFrame { place: "postgresql://<b>", version: Some(7), foot: "tare" };
        let text = shell(&frame, "<title>", "/", |_| {});
        assert!(!text.contains(" style=") && !text.contains(" on") && !text.contains("<b>"), "{text}");
        assert!(text.contains("data-version=\"7\"") && text.contains("aria-current=\"page\">Lab</a>"));
    }
}

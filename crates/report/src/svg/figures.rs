//! The main figures as SVG, for papers, without a browser.
//!
//! The SVG is plain: presentation attributes, no style sheet, no script and no references, so that converters to PDF
//! and PNG draw it as browsers do. The same page gives the same bytes. Points are one path for each class.

use crate::svg::about::About;
use crate::svg::account;
use crate::svg::curves;
use crate::svg::histogram;
use crate::svg::intervals;
use crate::svg::scatter;
use crate::svg::sequence;

use crate::error::RenderError;
use crate::web::page::{DualOrWhy, Page, PageFigure, PageKind, PageScale};
use std::collections::BTreeSet;

/// Figures of a page: file name and text of each.
///
/// Of a gate first `intervals.svg`: the ratios with their intervals and thresholds.
///
/// For each plot that has values, in this order, where ID is the plot's id made safe for a file name:
///
/// - `ID-scatter.svg` and `ID-scatter-zoom1.svg`, …: the dual-execution scatter plot, a file for each zoom level that
///   has pairs. Axes are times of the plot's measure (x: odd half, y: even half), in ns, µs, ms or s.
/// - `ID-sequence.svg`: the first measure that has values, by sample number, with its lines.
/// - `ID-histogram.svg`: the same measure's histogram, stacked by class.
/// - `ID-account.svg`, if there is an account: means of its entries as one bar.
///
/// And for each figure of duets and of each part, where ID is the figure's:
///
/// - `ID.svg`, and `ID-log.svg` if its vertical axis may be logarithmic, too. The horizontal axis shows the range that the page shows first.
///
/// Width and height are in px. Samples that have no class, no number or no value, and pairs whose positions point
/// nowhere, are omitted. Memory and time grow linearly with samples.
///
/// # Errors
/// [`RenderError`] if a figure cannot be drawn; at present all can.
pub fn figures(page: &Page) -> Result<Vec<(String, String)>, RenderError> {
    let title = page.title.plain();
    let mut stems = BTreeSet::new();
    let mut out = Vec::new();
    let overview = page.overview.as_ref().filter(|_| page.kind == PageKind::Gate);
    if let Some(svg) = overview.and_then(|o| intervals::figure(&title, o)) {
        out.push((format!("{}.svg", stem("intervals", &mut stems)), svg));
    }
    for plot in &page.plots {
        let stem = stem(&plot.id, &mut stems);
        let Some(measure) = plot.measures.iter().find(|m| m.values.iter().any(Option::is_some)) else { continue };
        let about = About { page: &title, plot };
        if let DualOrWhy::Dual(dual) = &plot.dual {
            out.extend(scatter::figures(&about, dual).into_iter().map(|(level, svg)| match level {
                0 => (format!("{stem}-scatter.svg"), svg),
                zoom => (format!("{stem}-scatter-zoom{zoom}.svg"), svg),
            }));
        }
        let others = [
            ("sequence", sequence::figure(&about, measure)),
            ("histogram", histogram::figure(&about, measure)),
            ("account", plot.samples.account.as_ref().and_then(|a| account::figure(&about, a))),
        ];
        out.extend(others.into_iter().filter_map(|(what, svg)| Some((format!("{stem}-{what}.svg"), svg?))));
    }
    let duets = page.overview.iter().filter_map(|o| o.duets.as_ref()).flat_map(|d| &d.figures);
    for figure in duets.chain(page.parts.iter().flat_map(|p| &p.figures)) {
        let stem = stem(&figure.id, &mut stems);
        let scales = figure.y.scales.iter().enumerate().filter_map(|(i, scale)| match (i, scale) {
            (0, _) => Some((i, format!("{stem}.svg"))),
            (_, PageScale::Log) => Some((i, format!("{stem}-log.svg"))),
            _ => None,
        });
        out.extend(scales.filter_map(|(i, name)| Some((name, curves::figure(figure, &title, i)?))));
    }
    Ok(out)
}

/// One figure on the first scale of its axes, with what stands below its heading; `None` if there is nothing to draw.
pub fn figure(figure: &PageFigure, below: &str) -> Option<String> {
    curves::figure(figure, below, 0)
}

/// The beginning of a file name, made from an id; no other plot has the same.
fn stem(id: &str, taken: &mut BTreeSet<String>) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let mut stem: String = id.chars().take(80).map(safe).collect();
    // A leading dot hides a file, a leading dash looks like an option.
    if !stem.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        stem.insert_str(0, "plot");
    }
    let mut name = stem.clone();
    for n in 2.. {
        // Some file systems do not distinguish upper and lower case.
        if taken.insert(name.to_ascii_lowercase()) {
            break;
        }
        name = format!("{stem}-{n}");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_become_file_names() {
        let mut taken = BTreeSet::new();
        assert_eq!(stem("program-1", &mut taken), "program-1");
        assert_eq!(stem("../../etc/passwd", &mut taken), "plot..-..-etc-passwd");
        assert_eq!(stem("", &mut taken), "plot");
        assert_eq!(stem("-o", &mut taken), "plot-o");
        assert_eq!(stem("a/b", &mut taken), "a-b");
        assert_eq!(stem("A:b", &mut taken), "A-b-2");
        assert!(stem(&"x".repeat(9_999), &mut taken).len() < 100);
    }
}

//! Tables that are cards on a narrow screen.

use crate::pages::page::html::Html;

/// A column: its heading, and how its cells are set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CardColumn {
    head: &'static str,
    class: &'static str,
}

/// A column of text.
pub(crate) const fn text(head: &'static str) -> CardColumn {
    CardColumn { head, class: "" }
}

/// A column of numbers, which are set to the right.
pub(crate) const fn number(head: &'static str) -> CardColumn {
    CardColumn { head, class: "right" }
}

/// A column of drawings, which takes the room that there is.
pub(crate) const fn plot(head: &'static str) -> CardColumn {
    CardColumn { head, class: "plot" }
}

/// A table; a row has a cell for each column, an empty one is not shown on a card.
pub(crate) fn table(
    html: &mut Html,
    caption: &'static str,
    columns: &[CardColumn],
    rows: impl Iterator<Item = Vec<Html>>,
) {
    html.element("div", &[("class", "frame")], |h| {
        h.element("table", &[("class", "cards")], |h| {
            h.line("caption", &[("class", "hidden-text")], caption);
            h.element("thead", &[], |h| {
                h.element("tr", &[], |h| columns.iter().for_each(|column| head(h, *column)));
            });
            h.element("tbody", &[], |h| {
                for row in rows {
                    h.element("tr", &[], |h| {
                        columns.iter().zip(row).for_each(|(column, content)| cell(h, *column, content));
                    });
                    h.raw("\n");
                }
            });
        });
    });
    html.raw("\n");
}

fn head(html: &mut Html, column: CardColumn) {
    html.line("th", &[("scope", "col"), ("class", column.class)], column.head);
}

fn cell(html: &mut Html, column: CardColumn, content: Html) {
    let class = if content.is_empty() { "empty" } else { column.class };
    html.element("td", &[("data-label", column.head), ("class", class)], |h| {
        // One child, so that a card is a grid of labels and contents.
        h.element("div", &[], |h| h.append(content));
    });
}

/// Label and content of each fact.
pub(crate) fn facts(html: &mut Html, facts: Vec<(&'static str, Html)>) {
    html.element("dl", &[("class", "facts")], |h| {
        for (label, content) in facts {
            h.line("dt", &[], label);
            h.element("dd", &[], |h| h.append(content));
        }
    });
    html.raw("\n");
}

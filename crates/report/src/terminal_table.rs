//! Tables on the terminal. A narrow terminal must not cut a number or a heading: columns that may be left out are, unless everything is
//! asked for, then headings take several lines, then texts do, then the table is drawn in parts below each other, each with the columns
//! that name its rows.

use crate::cell::{Cell, CellContent, CellParts, Figure, Unit};
use crate::form::Form;
use crate::grid::at_point;
use crate::number::TimeUnit;
use crate::screen::{ScreenText, StyledSpan};
use crate::style::{Paint, Style};
use crate::table::{Detail, Table};
use crate::text;
use std::collections::BTreeSet;

/// Rows shown of a table unless all are requested.
pub const ROWS: usize = 20;

const INDENT: usize = 2;
const GAP: usize = 2;
/// Lines of a heading, while it is no wider than half of the terminal.
const HEADING: usize = 3;
/// A text is not made narrower than this before the table is divided, nor narrower than a third of itself or its longest word.
const LEAST: usize = 12;
/// Figures are not divided where half of the terminal has so many columns.
const WHOLE: usize = 23;
/// Lines of one cell. Only a name of many hundred letters has more, and ends with the mark of what is cut.
const LINES: usize = 12;
/// Columns that name a row, at most.
const KEYS: usize = 3;

/// A column as it is written, and the width that it gets.
#[derive(Clone)]
struct WideColumn {
    heading: String,
    right: bool,
    priority: u8,
    /// By cell, whether it is a name, which may be cut in its middle.
    foreign: Vec<bool>,
    /// Width of its widest figure, which is not divided.
    figures: usize,
    cells: Vec<String>,
    paints: Vec<Paint>,
    width: usize,
}

impl WideColumn {
    /// Cuts names to so many columns.
    fn cut_names(&mut self, width: usize, mark: &str) {
        let names = self.cells.iter_mut().zip(&self.foreign).filter(|(_, foreign)| **foreign);
        names.for_each(|(cell, _)| *cell = text::cut_middle(cell, width, mark).into_owned());
    }

    /// Width of the widest cell.
    fn widest(&self) -> usize {
        self.cells.iter().map(|c| text::columns(c)).max().unwrap_or(0)
    }

    /// Narrowest width, up to `most`, that has the heading on so many lines and divides no word.
    fn heading_width(&self, lines: usize, most: usize) -> usize {
        let whole = text::columns(&self.heading).min(most);
        (longest_word(&self.heading)..whole).find(|w| broken(&self.heading, *w).len() <= lines).unwrap_or(whole)
    }

    /// Narrowest width before the table is divided.
    fn least(&self, most: usize) -> usize {
        let cells = self.widest();
        let word = self.cells.iter().map(|c| longest_word(c)).max().unwrap_or(0);
        // On the narrowest terminals intervals stand below their figures.
        let figures = if most >= WHOLE { self.figures } else { 0 };
        let text = if self.right { cells } else { word.max(LEAST).max(cells.div_ceil(3)).min(cells) };
        text.max(figures).max(self.heading_width(HEADING, most))
    }
}

fn longest_word(text: &str) -> usize {
    text.split_whitespace().map(text::columns).max().unwrap_or(0)
}

/// The lines of a text at this width: broken at spaces, and within words that are wider.
fn broken(text: &str, width: usize) -> Vec<String> {
    if text::columns(text) <= width {
        return vec![text.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text::columns(line) + 1 + text::columns(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.extend(text::break_anywhere(word, width)),
        }
    }
    lines
}

/// As [`broken`], with a bound on the lines.
fn bounded(text: &str, width: usize, mark: &str) -> Vec<String> {
    broken(&text::cut(text, LINES * width, mark), width)
}

fn total(columns: &[WideColumn]) -> usize {
    columns.iter().map(|c| c.width).sum::<usize>() + GAP * columns.len().saturating_sub(1)
}

/// Draws a table below its title; one without rows, or without a column that is shown here, is omitted. Returns whether all of it was
/// shown.
pub fn draw(page: &mut ScreenText<'_>, table: &Table) -> bool {
    if table.rows.is_empty() {
        return true;
    }
    let style = page.style;
    let form = Form::terminal(style);
    let rows = if style.full { table.rows.len() } else { table.rows.len().min(ROWS) };
    let mut columns = written(table, style, rows);
    if columns.is_empty() {
        return false;
    }
    page.gap();
    let title = table.title.write(&form);
    if !title.is_empty() {
        page.hang(&[], Paint::Title, &title);
    }
    if !table.note.is_empty() {
        page.hang(&[(Paint::Plain, " ".repeat(INDENT))], Paint::Dim, &table.note.write(&form));
    }
    let room = page.width().saturating_sub(INDENT);
    let mut whole = rows == table.rows.len();
    if !style.full {
        whole &= !narrow(&mut columns, room, page.g.dots);
    }
    let (keys, parts) = parts(columns, room);
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            page.gap();
        }
        draw_part(page, part, if i > 0 { keys } else { 0 });
    }
    if rows < table.rows.len() {
        page.line(&[(Paint::Dim, format!("  and {} more rows", table.rows.len() - rows))]);
    }
    whole
}

/// The columns that have something to show, as they are written.
fn written(table: &Table, style: &Style, rows: usize) -> Vec<WideColumn> {
    let form = Form::terminal(style);
    let column = |place: usize| {
        let cells: Vec<&Cell> = table.rows.iter().take(rows).filter_map(|row| row.cells.get(place)).collect();
        let told = table.columns.get(place)?;
        let hidden = told.detail == Detail::Full && !style.full;
        // An empty column only takes room from the others.
        let written: Vec<String> = match table.holds_figures(place) {
            true => aligned(&cells, &form, table.unit(place, &form)),
            false => cells.iter().map(|cell| cell.write_in(&form, table.unit(place, &form))).collect(),
        };
        let figures = cells.iter().zip(&written).filter(|(cell, _)| cell.as_figure().is_some());
        let figures = figures.map(|(_, text)| text::columns(text)).max().unwrap_or(0);
        (!hidden && cells.iter().any(|cell| !cell.is_empty())).then(|| WideColumn {
            heading: table.heading(place, &form),
            right: table.is_right(place),
            priority: told.priority,
            foreign: cells.iter().map(|cell| is_foreign(cell)).collect(),
            figures,
            paints: cells.iter().map(|cell| cell.paint).collect(),
            cells: written,
            width: 0,
        })
    };
    (0..table.columns.len()).filter_map(column).collect()
}

fn is_foreign(cell: &Cell) -> bool {
    match &cell.content {
        CellContent::Foreign(_) => true,
        // Figures are not cut.
        CellContent::Words(pieces) => {
            pieces.iter().any(is_foreign) && pieces.iter().all(|piece| piece.as_figure().is_none())
        }
        _ => false,
    }
}

/// The cells, with the points of their figures and of their standard deviations below each other, as their intervals begin.
fn aligned(cells: &[&Cell], form: &Form, unit: Option<TimeUnit>) -> Vec<String> {
    let parts: Vec<CellParts> = cells.iter().map(|cell| cell.parts(form, unit)).collect();
    let spread = parts.iter().any(|p| p.spread.is_some());
    let interval = parts.iter().any(|p| p.interval.is_some());
    if !spread && !interval {
        return parts.into_iter().map(|p| p.text).collect();
    }
    let time_unit = |f: &Figure| (f.unit == Unit::Time).then(|| unit.or(form.unit()).unwrap_or(TimeUnit::of(f.value)));
    let units: BTreeSet<Option<TimeUnit>> = cells.iter().filter_map(|cell| cell.as_figure()).map(time_unit).collect();
    if units.len() > 1 {
        return cells.iter().map(|cell| cell.write_in(form, unit)).collect();
    }
    let figure = |(cell, p): (&&Cell, &CellParts)| cell.as_figure().map(|_| p.text.clone());
    let figures = at_point(&cells.iter().zip(&parts).map(figure).collect::<Vec<_>>(), form.glyphs().absent);
    let spreads = at_point(&parts.iter().map(|p| p.spread.clone()).collect::<Vec<_>>(), "");
    let join = |(((figure, spread_of), p), cell): (((String, String), CellParts), &&Cell)| {
        if cell.is_empty() {
            return p.text;
        }
        let all = [Some(figure), spread.then_some(spread_of), p.interval];
        all.into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    let cells = figures.into_iter().zip(spreads).zip(parts).zip(cells).map(join);
    // Without intervals the column is aligned to the right, at its points.
    cells.map(|text| if interval { text.trim_end().to_owned() } else { text }).collect()
}

/// Leaves columns out, and cuts long names, as far as the table is too wide. Returns whether a column was left out.
fn narrow(columns: &mut Vec<WideColumn>, room: usize, mark: &str) -> bool {
    let before = columns.len();
    let is_wide = |columns: &[WideColumn]| {
        let whole: usize = columns.iter().map(|c| c.widest().max(c.heading_width(HEADING, room / 2)) + GAP).sum();
        whole.saturating_sub(GAP) > room
    };
    let most = (room / 3).max(2 * LEAST);
    if is_wide(columns) {
        columns.iter_mut().for_each(|column| column.cut_names(most, mark));
    }
    while is_wide(columns) {
        let last = columns.iter().map(|c| c.priority).max().unwrap_or(0);
        let Some(place) = columns.iter().rposition(|c| c.priority == last && last > 0) else { break };
        let mut column = columns.remove(place);
        let width = |c: &WideColumn| c.widest().max(c.heading_width(HEADING, room / 2)) + GAP;
        let left = room.saturating_sub(columns.iter().map(width).sum());
        // Much of a name says more than none of it.
        if column.foreign.contains(&true) && left >= (2 * LEAST).max(column.heading_width(HEADING, room / 2)) {
            column.cut_names(left, mark);
            columns.insert(place, column);
            break;
        }
    }
    columns.len() < before
}

/// The columns side by side, or in parts of which each fits, and begins with the columns that name the rows; how many these are.
fn parts(mut columns: Vec<WideColumn>, room: usize) -> (usize, Vec<Vec<WideColumn>>) {
    if fit(&mut columns, room) {
        return (0, vec![columns]);
    }
    let mut named_by = keys(&columns);
    if columns.get(..named_by).is_some_and(|keys| total(keys) > room / 2) {
        named_by = 1;
    }
    let others = columns.split_off(named_by);
    let mut keys = columns;
    force(&mut keys, room / 2);
    let mut parts = Vec::new();
    let mut part = keys.clone();
    for column in others {
        let full = part.len() > keys.len() && total(&part) + GAP + column.width > room;
        if full {
            parts.push(std::mem::replace(&mut part, keys.clone()));
        }
        part.push(column);
    }
    parts.push(part);
    for part in &mut parts {
        if !fit(part, room) {
            force(part, room);
        }
    }
    (named_by, parts)
}

/// Number of the first columns that tell all rows apart; 1 if no few do, and 0 of a single column.
fn keys(columns: &[WideColumn]) -> usize {
    let most = KEYS.min(columns.len().saturating_sub(1));
    let rows = columns.first().map_or(0, |c| c.cells.len());
    let name =
        |n: usize, row: usize| -> Vec<Option<&String>> { columns.iter().take(n).map(|c| c.cells.get(row)).collect() };
    let distinct = |n: &usize| (0..rows).map(|row| name(*n, row)).collect::<BTreeSet<_>>().len() == rows;
    (1..=most).find(distinct).unwrap_or(most.min(1))
}

/// Sets the widths, with headings on more lines and then texts too, until all fits. Returns whether it does.
fn fit(columns: &mut [WideColumn], room: usize) -> bool {
    for lines in 1..=HEADING {
        // The first time as wide as the headings are, wherever they fit.
        let most = if lines == 1 { room } else { room / 2 };
        columns.iter_mut().for_each(|c| c.width = c.widest().max(c.heading_width(lines, most)));
        if total(columns) <= room {
            return true;
        }
    }
    loop {
        let over = total(columns).saturating_sub(room);
        let narrower = columns.iter_mut().map(|c| (c.least(room / 2), c)).filter(|(least, c)| c.width > *least);
        match narrower.max_by_key(|(_, c)| c.width) {
            Some((least, column)) if over > 0 => column.width = column.width.saturating_sub(over).max(least),
            _ => return over == 0,
        }
    }
}

/// Makes the widest columns narrower until all fits, whatever they hold.
fn force(columns: &mut [WideColumn], room: usize) {
    loop {
        let over = total(columns).saturating_sub(room);
        match columns.iter_mut().max_by_key(|c| c.width).filter(|c| over > 0 && c.width > 1) {
            Some(column) => column.width = column.width.saturating_sub(over).max(column.width / 2),
            None => return,
        }
    }
}

/// Draws columns side by side, without the rows that have nothing but their first `keys` cells.
fn draw_part(page: &mut ScreenText<'_>, columns: &[WideColumn], keys: usize) {
    let dots = page.g.dots;
    let headings: Vec<Vec<String>> = columns.iter().map(|c| bounded(&c.heading, c.width, dots)).collect();
    let height = headings.iter().map(Vec::len).max().unwrap_or(0);
    // Short headings stand directly over their cells.
    let above = |lines: Vec<String>| {
        let empty = vec![String::new(); height - lines.len().min(height)];
        [empty, lines].concat()
    };
    draw_lines(page, columns, &|_| Paint::Dim, &headings.into_iter().map(above).collect::<Vec<_>>());
    let is_filled =
        |row: &usize| columns.iter().skip(keys).any(|c| c.cells.get(*row).is_some_and(|cell| !cell.is_empty()));
    for row in (0..columns.first().map_or(0, |c| c.cells.len())).filter(is_filled) {
        let cell = |c: &WideColumn| bounded(c.cells.get(row).map_or("", String::as_str), c.width, dots);
        let paint = |c: &WideColumn| c.paints.get(row).copied().unwrap_or_default();
        draw_lines(page, columns, &paint, &columns.iter().map(cell).collect::<Vec<_>>());
    }
}

/// One row, of as many lines as its highest cell.
fn draw_lines(
    page: &mut ScreenText<'_>,
    columns: &[WideColumn],
    paint: &dyn Fn(&WideColumn) -> Paint,
    cells: &[Vec<String>],
) {
    for at in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
        let mut spans: Vec<StyledSpan> = vec![(Paint::Plain, " ".repeat(INDENT))];
        for (i, (column, lines)) in columns.iter().zip(cells).enumerate() {
            let line = lines.get(at).map_or("", String::as_str);
            let space = " ".repeat(column.width.saturating_sub(text::columns(line)));
            let gap = if i == 0 { "" } else { "  " };
            spans.push((Paint::Plain, gap.to_owned()));
            spans.push((paint(column), if column.right { format!("{space}{line}") } else { format!("{line}{space}") }));
        }
        page.line(&spans);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Figure, Unit};
    use crate::table::Column;
    use proptest::prelude::*;
    use tarebench_core::statistics::intervals::Interval;

    fn drawn(table: &Table, width: usize) -> String {
        let style = Style { width, full: true, ..Style::default() };
        let mut page = ScreenText::new(&style);
        draw(&mut page, table);
        page.finish()
    }

    fn table(columns: &[&str], rows: &[&[&str]]) -> Table {
        let mut table = Table::new("Spread", "", columns);
        for row in rows {
            table.row(row.iter().copied(), Vec::new());
        }
        table
    }

    #[test]
    fn what_fits_is_on_one_line() {
        let one = table(&["program", ">mean", ""], &[&["INC1", "1.05 s", ""], &["INC16", "16.2 s", ""]]);
        let expected = "Spread\n  program    mean\n  INC1     1.05 s\n  INC16    16.2 s\n";
        assert_eq!(drawn(&one, 40), expected);
        assert_eq!(drawn(&table(&["program"], &[]), 40), "");
    }

    #[test]
    fn points_of_figures_and_of_their_deviations_stand_below_each_other() {
        let columns = [Column::new("n"), Column::new("t").shared_unit(), Column::new("program").priority(1)];
        let mut times = Table::of("", "", columns);
        for (n, mean, spread) in [("a", 5.76e6, 0.063e6), ("b", 101.3e6, 1.1e6)] {
            let time = Figure::new(Unit::Time, mean).with_spread(Some(spread));
            let cells = [Cell::text(n), time.into(), Cell::foreign("./a/long/path/to/the/program of many words")];
            times.row(cells, Vec::new());
        }
        let style = Style { width: 60, ..Style::default() };
        let mut page = ScreenText::new(&style);
        draw(&mut page, &times);
        let text = page.finish();
        assert!(
            text.contains("  a    5.760 ± 0.063  ./a/long") && text.contains("  b  101.3   ± 1.1    ./a/long"),
            "{text}"
        );
        // A name is cut before its column is left out.
        assert!(text.lines().skip(1).all(|l| l.contains('…') && l.ends_with("words")), "{text}");
    }

    #[test]
    fn headings_take_several_lines_first() {
        let one = table(
            &["program", ">95 % of the samples", ">robust spread", ">low"],
            &[&["INC1", "1.05 s", "2.31 ms", "1.9 ms"]],
        );
        let expected = "Spread\n           95 % of the   robust\n  program      samples   spread     low\n  \
                        INC1          1.05 s  2.31 ms  1.9 ms\n";
        assert_eq!(drawn(&one, 40), expected);
    }

    #[test]
    fn a_wide_table_is_drawn_in_parts_with_the_names_of_the_rows() {
        let numbers = ["1000.25 ms", "2000.25 ms", "3000.25 ms", "4000.25 ms", "5000.25 ms"];
        let row = |key: [&'static str; 2]| [&key[..], &numbers[..]].concat();
        let (first, second) = (row(["10 ms", "1"]), row(["10 ms", "11"]));
        let columns = [">length", ">load", ">a", ">b", ">c", ">d", ">e"];
        let text = drawn(&table(&columns, &[&first, &second]), 60);
        let expected = "Spread\n  \
                        length  load           a           b           c\n  \
                        \u{20}10 ms     1  1000.25 ms  2000.25 ms  3000.25 ms\n  \
                        \u{20}10 ms    11  1000.25 ms  2000.25 ms  3000.25 ms\n\n  \
                        length  load           d           e\n  \
                        \u{20}10 ms     1  4000.25 ms  5000.25 ms\n  \
                        \u{20}10 ms    11  4000.25 ms  5000.25 ms\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_further_part_has_only_rows_with_something_in_it() {
        let wide = "1000.25 ms";
        let columns = ["program", ">a", ">b", ">c", ">d"];
        let text = drawn(&table(&columns, &[&["INC1", wide, wide, wide, ""], &["INC2", wide, wide, "", wide]]), 36);
        let expected = "Spread\n  program           a           b\n  \
                        INC1     1000.25 ms  1000.25 ms\n  \
                        INC2     1000.25 ms  1000.25 ms\n\n  \
                        program           c           d\n  \
                        INC1     1000.25 ms            \n  \
                        INC2                 1000.25 ms\n";
        let trimmed = |t: &str| t.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        assert_eq!(trimmed(&text), trimmed(expected));
        let text = drawn(&table(&columns, &[&["INC1", wide, wide, "", ""], &["INC2", wide, wide, wide, wide]]), 36);
        assert_eq!((text.matches("INC1").count(), text.matches("INC2").count()), (1, 2), "{text}");
    }

    #[test]
    fn a_text_is_broken_at_spaces_and_a_long_name_anywhere() {
        let text = "what the kernel charged to the program though it was not the program's";
        let shown = drawn(&table(&["cause", ">time"], &[&[text, "1.05 s"]]), 40);
        let said: Vec<&str> = shown.split_whitespace().filter(|w| *w != "1.05" && *w != "s").skip(3).collect();
        assert_eq!(said.join(" "), text, "{shown}");
        let name = "x".repeat(90);
        let shown = drawn(&table(&["program", ">time"], &[&[name.as_str(), "1.05 s"]]), 40);
        assert_eq!(shown.matches('x').count(), 90, "{shown}");
        assert!(shown.contains("1.05 s") && !shown.contains('…'), "{shown}");
        // A name without end does not fill the screen, and says that it was cut.
        let endless = "x".repeat(100_000);
        let shown = drawn(&table(&["program", ">time"], &[&[endless.as_str(), "1.05 s"]]), 40);
        assert!(shown.lines().count() <= LINES + 2 && shown.contains('…'), "{shown}");
    }

    #[test]
    fn what_may_be_left_out_is_unless_everything_is_asked_for() {
        use crate::table::Column;
        let mut table = Table::of(
            "",
            "",
            [
                Column::new("benchmark"),
                Column::new("change"),
                Column::new("threshold").priority(1),
                Column::new("blocks").priority(2),
                Column::new("p").full(),
            ],
        );
        let cells = [Cell::foreign("b".repeat(60)), "+4.1 %".into(), "2 %".into(), "24 duets".into(), "0.01".into()];
        table.row(cells, Vec::new());
        let shown = |table: &Table, width, full| {
            let style = Style { width, full, ..Style::default() };
            let mut page = ScreenText::new(&style);
            let whole = draw(&mut page, table);
            (page.finish(), whole)
        };
        let (text, whole) = shown(&table, 100, false);
        assert!(
            whole && text.contains("24 duets") && text.contains(&"b".repeat(60)) && !text.contains("0.01"),
            "{text}"
        );
        let (text, whole) = shown(&table, 50, false);
        assert!(!whole && text.contains("2 %") && !text.contains("blocks") && text.contains("…bb"), "{text}");
        let (text, whole) = shown(&table, 40, false);
        assert!(!whole && text.contains("+4.1 %") && !text.contains("threshold"), "{text}");
        let (text, whole) = shown(&table, 40, true);
        assert!(whole && text.contains("24 duets") && text.contains("0.01") && !text.contains('…'), "{text}");
        table.columns = table.columns.into_iter().map(Column::full).collect();
        let (text, whole) = shown(&table, 100, false);
        assert!(!whole && text.is_empty(), "{text}");
    }

    proptest! {
        /// Whatever the table and the terminal: no line is wider, and every letter of every cell is there.
        #[test]
        fn nothing_is_cut(
            width in 40_usize..120,
            heads in proptest::collection::vec("[>]?[a-z]{1,12}( [a-z]{1,12}){0,5}", 1..14),
            cells in proptest::collection::vec("[A-Z]{1,30}( [A-Z0-9.]{1,9}){0,4}", 14..42),
        ) {
            let columns: Vec<&str> = heads.iter().map(String::as_str).collect();
            let mut table = Table::new("", "", &columns);
            for row in cells.chunks_exact(columns.len()) {
                table.row(row.to_vec(), Vec::new());
            }
            let text = drawn(&table, width);
            prop_assert!(text.lines().all(|l| text::columns(l) <= width), "{}", text);
            prop_assert!(!text.contains('…'), "{}", text);
            let letters = |s: &str, is: fn(char) -> bool| s.chars().filter(|c| is(*c)).count();
            let (big, small) = (|c: char| c.is_ascii_uppercase() || c.is_ascii_digit(), |c: char| c.is_ascii_lowercase());
            let shown: usize = table.rows.iter().flat_map(|r| &r.cells).map(|c| letters(&c.plain(), big)).sum();
            prop_assert!(letters(&text, big) >= shown, "{}", text);
            let headings: usize = table.columns.iter().map(|c| letters(&c.title.plain(), small)).sum();
            prop_assert!(table.rows.is_empty() || letters(&text, small) >= headings, "{}", text);
        }
    }

    #[test]
    fn a_figure_is_not_divided() {
        let interval = |low, high| Ok(Interval { low, high, level: 0.95 });
        let mut table = Table::new("", "", &["program", "correlation", "interval by"]);
        let figure = Figure::new(Unit::Correlation, 0.35).with_interval(&interval(0.2804, 0.4396));
        table.row([Cell::foreign("a program of a long name"), figure.into(), "block bootstrap".into()], Vec::new());
        table.row([Cell::foreign("b"), "none: 3 pairs, 10 needed".into(), Cell::empty()], Vec::new());
        let text = drawn(&table, 48);
        assert!(text.contains("0.35 [0.28, 0.44]"), "{text}");
    }
}

//! Elements of an SVG document, and the width of text.

use crate::text::{columns, cut_middle, escape};

/// Colour of text and axes.
pub const INK: &str = "#222222";
/// Colour of secondary text.
pub const FAINT: &str = "#595959";
/// Between the drawing and its border, px.
pub const EDGE: f64 = 16.0;
/// Size of all text but the title, px.
pub const TEXT: f64 = 12.0;
const HEADING: f64 = 15.0;
/// Where a figure begins, below its heading, px.
pub const TOP: f64 = 62.0;

/// Where a text's position is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn attribute(self) -> &'static str {
        match self {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        }
    }
}

pub struct Drawing {
    body: String,
    pub width: f64,
}

impl Drawing {
    /// A drawing of this width (px) with a heading.
    pub fn new(width: f64, heading: &str, below: &str) -> Drawing {
        let mut d = Drawing { body: String::new(), width };
        let room = width - 2.0 * EDGE;
        let heading = fitted(heading, room, HEADING * 1.1);
        d.put(&format!(
            "<text x=\"{EDGE}\" y=\"27\" font-size=\"{HEADING}\" font-weight=\"bold\">{}</text>\n",
            escaped(&heading)
        ));
        d.text(EDGE, 46.0, Anchor::Start, &fitted(below, room, TEXT), FAINT);
        d
    }

    /// Adds elements as they are.
    pub fn put(&mut self, elements: &str) {
        self.body.push_str(elements);
    }

    /// A line of text at its baseline.
    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, text: &str, colour: &str) {
        let (x, y, anchor) = (px(x), px(y), anchor.attribute());
        let fill = if colour == INK { String::new() } else { format!(" fill=\"{colour}\"") };
        self.put(&format!("<text x=\"{x}\" y=\"{y}\"{anchor}{fill}>{}</text>\n", escaped(text)));
    }

    /// A line of text that runs upwards, centred at a point.
    pub fn upwards(&mut self, x: f64, y: f64, text: &str) {
        let (x, y) = (px(x), px(y));
        self.put(&format!(
            "<text transform=\"translate({x} {y}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
            escaped(text)
        ));
    }

    /// A straight line; `more` are further attributes.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str, more: &str) {
        let (a, b, c, d) = (px(from.0), px(from.1), px(to.0), px(to.1));
        self.put(&format!("<path d=\"M{a} {b}L{c} {d}\" stroke=\"{colour}\" fill=\"none\"{more}/>\n"));
    }

    pub fn rectangle(&mut self, at: (f64, f64), size: (f64, f64), colour: &str) {
        let (x, y, w, h) = (px(at.0), px(at.1), px(size.0), px(size.1));
        self.put(&format!("<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill=\"{colour}\"/>\n"));
    }

    /// The document, of this height (px); title and description are for screen readers.
    pub fn finish(self, height: f64, title: &str, description: &str) -> String {
        let (w, h) = (px(self.width), px(height));
        let (title, description) =
            (escaped(&cut_middle(title, 300, "…")), escaped(&cut_middle(description, 2_000, "…")));
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
             role=\"img\" font-family=\"sans-serif\" font-size=\"{TEXT}\" fill=\"{INK}\">\n\
             <title>{title}</title>\n<desc>{description}</desc>\n\
             <rect width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n{}</svg>\n",
            self.body
        )
    }
}

/// Text that may stand in an element or attribute.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in escape(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Not allowed in XML 1.0, not even as character references.
            '\u{fffe}' => out.push_str("\\u{fffe}"),
            '\u{ffff}' => out.push_str("\\u{ffff}"),
            c => out.push(c),
        }
    }
    out
}

/// A coordinate with at most two decimals; always a number.
pub fn px(value: f64) -> String {
    let mut out = String::new();
    push_px(&mut out, value);
    out
}

/// As [`px`], at the end of a string.
pub fn push_px(out: &mut String, value: f64) {
    // A cast turns NaN into 0; bounded, so that sums of a few cannot overflow a reader's number.
    let hundredths = ((value * 100.0).round() as i64).clamp(-100_000_000, 100_000_000);
    if hundredths < 0 {
        out.push('-');
    }
    let rest = hundredths.unsigned_abs();
    out.push_str(&(rest / 100).to_string());
    let digit = |d: u64| char::from(b'0' + (d % 10) as u8);
    let (tenth, hundredth) = (digit(rest / 10), digit(rest));
    if tenth != '0' || hundredth != '0' {
        out.push('.');
        out.push(tenth);
    }
    if hundredth != '0' {
        out.push(hundredth);
    }
}

/// About how wide a text is in a sans-serif font of this size, rather too much than too little.
pub fn text_width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.36,
        'f' | 'r' | 't' | '(' | ')' | '[' | ']' | '-' | '/' | '\\' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 1.0,
        c if c.is_ascii_uppercase() => 0.76,
        c if c.is_ascii() => 0.635,
        c => 0.65 * columns(c.encode_utf8(&mut [0; 4])) as f64,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// A text from the machine, cut in its middle to fit in `room` px.
pub fn fitted(text: &str, room: f64, size: f64) -> String {
    let mut text = escape(text).into_owned();
    // The first cut bounds what is measured.
    for _ in 0..8 {
        let wide = text_width(&text, size);
        if wide <= room {
            break;
        }
        let kept = (columns(&text) as f64 * room / wide) as usize;
        text = cut_middle(&text, kept.min(columns(&text).saturating_sub(1)), "…").into_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short_and_finite() {
        let all = [0.0, -0.001, 12.0, 12.3, -12.345, 0.05, f64::NAN, 1e300].map(px);
        assert_eq!(all, ["0", "0", "12", "12.3", "-12.35", "0.05", "0", "1000000"]);
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(
            escaped("<b a=\"'\">&\u{1}\u{fffe}\u{202e}"),
            "&lt;b a=&quot;&#39;&quot;&gt;&amp;\\x01\\u{fffe}\\u{202e}"
        );
    }

    #[test]
    fn text_fits() {
        for text in ["short", &"W".repeat(500), &"i".repeat(500), &"数".repeat(500), &"\u{301}".repeat(500)] {
            assert!(text_width(&fitted(text, 300.0, 15.0), 15.0) <= 300.0, "{text}");
        }
        assert_eq!(fitted("short", 300.0, 15.0), "short");
    }
}

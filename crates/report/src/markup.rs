//! Text in documents: Markdown, AsciiDoc, Org mode, LaTeX.

use crate::text::escape;

/// A language of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markup {
    /// GitHub's Markdown.
    Markdown,
    Asciidoc,
    Org,
    Latex,
}

/// tare's own words in a document.
pub(crate) fn own(markup: Markup, words: &str) -> String {
    match markup {
        Markup::Markdown | Markup::Asciidoc | Markup::Org => words.to_owned(),
        Markup::Latex => latex(words),
    }
}

/// Foreign text in a sentence, where nothing of it is markup.
pub(crate) fn code(markup: Markup, text: &str) -> String {
    match markup {
        Markup::Markdown => code_span(text),
        Markup::Asciidoc => asciidoc_code(text),
        Markup::Org => org_code(text),
        Markup::Latex => format!("\\texttt{{{}}}", latex(text)),
    }
}

/// The same in a cell of a table, which it can't end.
pub(crate) fn code_in_table(markup: Markup, text: &str) -> String {
    match markup {
        Markup::Markdown => markdown_code(text),
        Markup::Asciidoc | Markup::Org | Markup::Latex => code(markup, text),
    }
}

/// Plain text of LaTeX.
fn latex(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '|' => out.push_str("\\textbar{}"),
            '±' => out.push_str("$\\pm$"),
            '−' => out.push_str("$-$"),
            'µ' => out.push_str("$\\mu$"),
            '×' => out.push_str("$\\times$"),
            '→' => out.push_str("$\\to$"),
            '–' => out.push_str("--"),
            '…' => out.push_str("\\dots{}"),
            c => out.push(c),
        }
    }
    out
}

/// A code span for a cell of a table in Markdown.
pub fn markdown_code(label: &str) -> String {
    if label.contains("\\|") {
        // In a table, a backslash before a bar cannot be distinguished from one that escapes the bar.
        return format!("<code>{}</code>", references(&escape(label)));
    }
    code_span(&escape(label).replace('|', "\\|"))
}

/// A code span of Markdown whose fence is longer than any run of backticks in it. The text has no hidden characters.
pub fn code_span(text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    let edge = text.is_empty() || text.starts_with('`') || text.ends_with('`');
    let pad = if edge { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Literal monospace; character references where the literal form could end early.
fn asciidoc_code(label: &str) -> String {
    let text = escape(label);
    if !text.contains(['+', '`']) && !text.is_empty() {
        return format!("`+{}+`", text.replace('|', "\\|"));
    }
    format!("`{}`", references(&text))
}

/// Character references for all that could be markup.
fn references(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() || c == ' ' {
            out.push(c);
        } else {
            out.push_str(&format!("&#{};", u32::from(c)));
        }
    }
    out
}

/// Verbatim text; a bar would end the cell even there, so that it is an entity between two verbatim texts.
fn org_code(label: &str) -> String {
    let text = escape(label);
    let verbatim = |part: &str| {
        let part = part.trim();
        let sign = if part.contains('=') && !part.contains('~') { '~' } else { '=' };
        if part.is_empty() { String::new() } else { format!("{sign}{part}{sign}") }
    };
    let parts: Vec<String> = text.split('|').map(verbatim).collect();
    parts.join(" \\vert{} ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_stay_in_their_cell() {
        assert_eq!(markdown_code("a | b"), "`a \\| b`");
        assert_eq!(markdown_code("echo `x`"), "`` echo `x` ``");
        assert_eq!(markdown_code("a\nb"), "`a\\nb`");
        assert_eq!(markdown_code(""), "`  `");
        assert_eq!(markdown_code("sed a\\|b"), "<code>sed a&#92;&#124;b</code>");
        assert_eq!(asciidoc_code("a | b"), "`+a \\| b+`");
        assert_eq!(asciidoc_code("g++"), "`g&#43;&#43;`");
        assert_eq!(org_code("a | b"), "=a= \\vert{} =b=");
        assert_eq!(org_code("A=1 b"), "~A=1 b~");
    }
}

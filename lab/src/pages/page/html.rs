//! HTML in the making: what is text becomes text, whatever is in it.

use tarebench_report::svg::drawing::escaped;

/// Markup. Only literals of this program are put in as they are; texts and attributes' values are escaped, so that a
/// name that someone chose can neither end an element nor begin one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Html(String);

/// The value of an attribute of this name.
pub(crate) type Attribute<'a> = (&'static str, &'a str);

impl Html {
    pub(crate) fn new() -> Html {
        Html::default()
    }

    /// A text, on its own.
    pub(crate) fn of_text(text: &str) -> Html {
        let mut html = Html::new();
        html.text(text);
        html
    }

    /// A name that someone chose: its letters do not change the order of those around it.
    pub(crate) fn of_name(name: &str) -> Html {
        let mut html = Html::new();
        html.name(name);
        html
    }

    pub(crate) fn raw(&mut self, markup: &'static str) {
        self.0.push_str(markup);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.0.push_str(&escaped(text));
    }

    pub(crate) fn name(&mut self, name: &str) {
        self.element("bdi", &[], |h| h.text(name));
    }

    /// An element with its attributes and its content.
    pub(crate) fn element(&mut self, tag: &'static str, attributes: &[Attribute<'_>], content: impl FnOnce(&mut Html)) {
        self.open(tag, attributes);
        content(self);
        self.0.push_str("</");
        self.0.push_str(tag);
        self.0.push('>');
    }

    /// An element of text only.
    pub(crate) fn line(&mut self, tag: &'static str, attributes: &[Attribute<'_>], text: &str) {
        self.element(tag, attributes, |h| h.text(text));
    }

    /// An element that has no end tag.
    pub(crate) fn open(&mut self, tag: &'static str, attributes: &[Attribute<'_>]) {
        self.0.push('<');
        self.0.push_str(tag);
        for (name, value) in attributes.iter().filter(|(name, value)| *name != "class" || !value.is_empty()) {
            self.0.push(' ');
            self.0.push_str(name);
            self.0.push_str("=\"");
            self.0.push_str(&escaped(value));
            self.0.push('"');
        }
        self.0.push('>');
    }

    /// A link within this application; `href` is made by [`href`] and [`query`].
    pub(crate) fn link(&mut self, href: &str, text: &str) {
        self.element("a", &[("href", href)], |h| h.name(text));
    }

    pub(crate) fn append(&mut self, other: Html) {
        self.0.push_str(&other.0);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn finish(self) -> String {
        self.0
    }
}

/// The path `/FIRST/SECOND` of an address; whatever is in the second part stays one part of the path.
pub(crate) fn href(first: &'static str, second: &str) -> String {
    format!("/{first}/{}", encoded(second))
}

/// A path with its questions, each of a name and a value.
pub(crate) fn query(path: &str, questions: &[(&str, &str)]) -> String {
    let questions: Vec<String> = questions.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    if questions.is_empty() { path.to_owned() } else { format!("{path}?{}", questions.join("&")) }
}

/// RFC 3986: unreserved characters as they are, all other bytes as `%XX`.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_values_are_escaped() {
        let mut html = Html::new();
        html.element("p", &[("title", "\"><script>")], |h| h.text("</p><script>\u{202e}"));
        assert_eq!(html.finish(), "<p title=\"&quot;&gt;&lt;script&gt;\">&lt;/p&gt;&lt;script&gt;\\u{202e}</p>");
    }

    #[test]
    fn addresses_hold_any_name() {
        assert_eq!(href("machine", "a/b?c#d é\""), "/machine/a%2Fb%3Fc%23d%20%C3%A9%22");
        assert_eq!(query("/compare", &[("run", "1"), ("run", "2&x=1")]), "/compare?run=1&run=2%26x%3D1");
        assert_eq!(query("/", &[]), "/");
    }
}

//! What is shown instead of a page.

use crate::pages::page::shell::{LabFrame, shell};

/// A page that says what went wrong, and what to do; `here` is the path that was asked for.
pub fn problem(frame: &LabFrame<'_>, title: &str, message: &str, here: &str) -> String {
    shell(frame, title, here, |h| {
        h.element("p", &[("class", "instead"), ("role", "alert"), ("id", "problem")], |h| h.text(message));
        h.raw("\n<p class=\"ways\"><a href=\"/\">Back to the lab</a></p>\n");
    })
}

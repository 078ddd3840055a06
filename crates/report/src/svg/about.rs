//! The page and plot that a figure belongs to.

use crate::web::page::{Class, PageMeasure, Plot, Samples};

/// What a figure belongs to.
pub(crate) struct About<'a> {
    /// The page's title.
    pub(crate) page: &'a str,
    pub(crate) plot: &'a Plot,
}

impl About<'_> {
    /// The class of the sample at a position, and its index.
    pub(crate) fn class(&self, position: usize) -> Option<(usize, &Class)> {
        class(&self.plot.samples, position)
    }

    /// Known values of a measure with their sample's position and class, in order.
    pub(crate) fn known<'m>(&'m self, measure: &'m PageMeasure) -> impl Iterator<Item = (usize, usize, f64)> + 'm {
        let values = measure.values.iter().enumerate();
        values.filter_map(|(i, value)| Some((i, self.class(i)?.0, (*value)? as f64)))
    }
}

pub(crate) fn class(samples: &Samples, position: usize) -> Option<(usize, &Class)> {
    let index = *samples.class.get(position)?;
    Some((index, samples.classes.get(index)?))
}

pub(crate) mod answer;
pub(crate) mod names;
pub(crate) mod overview;
pub(crate) mod page;
pub(crate) mod rows;
pub(crate) mod sentence;
pub(crate) mod several;
pub(crate) mod table;

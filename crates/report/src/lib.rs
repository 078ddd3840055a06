//! The one model of every output of tare, and its writers: terminal, page, CSV, Markdown and its relatives, SVG, JSON.
//!
//! Nothing here knows a subject (runs, gates, noise): those build sheets of cells, which hold values; only a writer makes texts of them.
//! Everything is a pure function: it reads no clock, no environment, no terminal.
//!
//! Strings that come from the machine or the user are shown through [`text::escape`]; no control character of theirs reaches a terminal.
#![forbid(unsafe_code)]

pub mod cell;
pub mod csv;
mod curve_plot;
pub mod document;
pub mod error;
pub mod form;
pub mod grid;
pub mod hints;
pub mod interval_plot;
pub mod json;
pub mod markup;
pub mod number;
pub mod progress;
pub mod screen;
pub mod sheet;
pub mod style;
pub mod svg;
pub mod table;
pub mod terminal;
pub mod terminal_table;
pub mod text;
pub mod web;
pub mod words;

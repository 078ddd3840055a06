//! One program against another.

pub mod blocks;
pub mod change_points;
pub mod duet;
pub mod gang;
pub mod gate;
pub mod gate_check;
mod gate_evidence;
pub mod gate_rule;
pub mod history;
pub mod positions;
pub mod ratio;
pub mod simultaneous;
pub mod start_order;
pub mod stored;
pub mod stored_check;
pub mod stored_floor;
pub mod stored_report;

//! The machine: doctor, tune, restore.

pub mod doctor;
pub mod restore;
pub mod states;
pub mod tune;

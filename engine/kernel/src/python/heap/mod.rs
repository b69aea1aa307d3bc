//! Where values are kept and where loads get them, under each memory model; and how a write is taken back.

pub mod chosen_items;
pub mod chosen_reads;
pub mod place;
pub mod undo;
pub mod weak_memory;

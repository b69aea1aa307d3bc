//! What an operation accesses: which locations, and in which modes.

pub mod behind_iterators;
pub mod container_effects;
pub mod containers;
pub mod content;
pub mod contents;
pub mod drawn_numbers;
pub mod fixed_containers;
pub mod insides;
pub mod look;
pub mod set_order;
pub mod slots;
pub mod whole_reads;

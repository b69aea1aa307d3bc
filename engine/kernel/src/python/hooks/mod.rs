//! What instrumented code calls in the place of its own operations, and the objects that it gets to go on with.

pub mod attributes;
pub mod cells;
pub mod instance_dicts;
pub mod items;
pub mod iteration;
pub mod named_reads;
pub mod operators;
pub mod raising;
pub mod variables;

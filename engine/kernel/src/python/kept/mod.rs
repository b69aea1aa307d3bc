//! What outlives an execution, and how each begins with what there was before the first.

pub mod counters;
pub mod found_state;
pub mod lasting;
pub mod restorable;

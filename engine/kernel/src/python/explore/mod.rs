//! What is explored: the options of a check, the loop over executions, and what is told of them.

pub mod assumptions;
pub mod difference;
pub mod exploring;
pub mod failures;
pub mod learning;
pub mod outcome;
pub mod plan;
pub mod race_search;
pub mod recording;
pub mod refusals;
pub mod settings;
pub mod symbolic;
pub mod untold;

//! What is explored: the options of a check, the loop over executions, and what is told of them.

use assumptions::Assumptions;
use learning::Learning;
use race_search::RaceSearch;
use recording::Recording;
use refusals::Refusals;
use settings::Settings;
use symbolic::Symbolic;

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

/// An exploration of a model: what it is to do, what it learns, what its verdict rests on.
#[derive(Default)]
pub struct Exploration {
    pub settings: Settings,
    pub learning: Learning,
    pub refusals: Refusals,
    /// What the verdict rests on beyond what is explored.
    pub assumptions: Assumptions,
    pub races: RaceSearch,
    pub symbolic: Symbolic,
    pub recording: Recording,
}

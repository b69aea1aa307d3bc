//! The explorers by name, and which memory models each of them supports.

use super::exhaustive::Exhaustive;
use super::graph::Graph;
use super::optimal::Optimal;
use super::parsimonious::Parsimonious;
use super::random::Random;
use super::source::Source;
use super::unfolding::Unfolding;
use super::value_centric::ValueCentric;
use super::Explorer;
use crate::operation::ThreadId;

/// What an explorer can be told.
#[derive(Clone, Copy, Default, Debug)]
pub struct ExplorerOptions {
    pub seed: u64,
    /// How many executions the random explorers draw.
    pub samples: u64,
    /// The bug depth of PCT; 0 draws uniformly.
    pub depth: usize,
    /// The `k` of `unfolding`: how many events an alternative has to conflict with; None for all.
    pub k: Option<usize>,
    /// The root thread of the value-centric search; None for the first thread that `main` spawns.
    pub root: Option<ThreadId>,
    /// Whether `graph` tells graphs apart by what is read from what alone, and not by coherence order.
    pub reads_from: bool,
}

/// The (algorithm, memory model) pair cannot be explored; `instead` names an algorithm that supports the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedPair {
    pub instead: Option<&'static str>,
}

struct Entry {
    name: &'static str,
    memory_models: &'static [&'static str],
    create: fn(&ExplorerOptions) -> Box<dyn Explorer>,
}

/// The memory models that a machine runs step by step, which every explorer of interleavings can explore.
const INTERLEAVED: &[&str] = &["sc", "tso", "pso"];

const ENTRIES: &[Entry] = &[
    Entry { name: "optimal", memory_models: INTERLEAVED, create: |_| Box::<Optimal>::default() },
    Entry { name: "source", memory_models: INTERLEAVED, create: |_| Box::<Source>::default() },
    Entry { name: "parsimonious", memory_models: INTERLEAVED, create: |_| Box::<Parsimonious>::default() },
    Entry { name: "graph", memory_models: &["sc"], create: |options| graph_under("sc", options) },
    Entry { name: "graph", memory_models: &["tso"], create: |options| graph_under("tso", options) },
    Entry { name: "graph", memory_models: &["pso"], create: |options| graph_under("pso", options) },
    Entry { name: "graph", memory_models: &["rc11"], create: |options| graph_under("rc11", options) },
    Entry { name: "unfolding", memory_models: &["sc"], create: |options| Box::new(Unfolding::new(options.k)) },
    // ConDPOR is TruSt with constraint events.
    Entry { name: "concolic", memory_models: &["sc"], create: |options| graph_under("sc", options) },
    Entry { name: "concolic", memory_models: &["tso"], create: |options| graph_under("tso", options) },
    Entry { name: "concolic", memory_models: &["pso"], create: |options| graph_under("pso", options) },
    Entry { name: "concolic", memory_models: &["rc11"], create: |options| graph_under("rc11", options) },
    Entry {
        name: "value-centric",
        memory_models: &["sc"],
        create: |options| Box::new(ValueCentric::new(options.root)),
    },
    Entry { name: "exhaustive", memory_models: INTERLEAVED, create: |_| Box::<Exhaustive>::default() },
    Entry {
        name: "random",
        memory_models: INTERLEAVED,
        create: |options| match options.depth {
            0 => Box::new(Random::uniform(options.seed, options.samples)),
            depth => Box::new(Random::pct(options.seed, options.samples, depth)),
        },
    },
];

fn graph_under(memory_model: &str, options: &ExplorerOptions) -> Box<dyn Explorer> {
    let graph = match memory_model {
        _ if options.reads_from => Graph::by_reads_from(memory_model),
        // Under sequential consistency a graph is a class of interleavings, of which any one will do.
        "sc" => None,
        _ => Graph::under(memory_model),
    };
    Box::new(graph.unwrap_or_default())
}

/// The explorers that decide symbolic branches.
const DECIDE_BRANCHES: &[&str] = &["concolic", "optimal", "source", "exhaustive", "random"];

/// Whether the explorer can treat symbolic values.
pub fn decides_branches(name: &str) -> bool {
    DECIDE_BRANCHES.contains(&name)
}

/// The names of all explorers, the default first.
pub fn names() -> impl Iterator<Item = &'static str> {
    let repeated = |position: usize| position > 0 && ENTRIES[position - 1].name == ENTRIES[position].name;
    ENTRIES.iter().enumerate().filter(move |(position, _)| !repeated(*position)).map(|(_, entry)| entry.name)
}

/// The explorer called `name` for the memory model; None if there is no such explorer.
pub fn create(
    name: &str,
    memory_model: &str,
    options: &ExplorerOptions,
) -> Option<Result<Box<dyn Explorer>, UnsupportedPair>> {
    let mut entries = ENTRIES.iter().filter(|entry| entry.name == name).peekable();
    entries.peek()?;
    if let Some(entry) = entries.find(|entry| entry.memory_models.contains(&memory_model)) {
        return Some(Ok((entry.create)(options)));
    }
    let instead = ENTRIES.iter().find(|entry| entry.memory_models.contains(&memory_model));
    Some(Err(UnsupportedPair { instead: instead.map(|entry| entry.name) }))
}

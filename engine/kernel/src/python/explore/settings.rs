//! What holds for a whole exploration, as its plan says.

/// The settings of an exploration, which nothing changes while it runs.
#[derive(Clone, Copy)]
pub struct Settings {
    /// Whether every access is an event, which it need not be until its location races.
    pub everything_visible: bool,
    /// Whether every location counts as one that threads race for.
    pub everything_races: bool,
    /// Whether the model's modules are loaded afresh in each execution.
    pub fresh_modules: bool,
    pub stop_at_failure: bool,
    pub spurious_wakeups: bool,
    /// Whether `wait_until` is a spinloop in the execution that is run again.
    pub waits_by_spinning: bool,
    /// Whether a thread waits after an iteration that only looked, rather than stopping for good.
    pub spins_wait: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            everything_visible: false,
            everything_races: false,
            fresh_modules: false,
            stop_at_failure: true,
            spurious_wakeups: false,
            waits_by_spinning: false,
            spins_wait: false,
        }
    }
}

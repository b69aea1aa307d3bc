//! What an exploration learns of the model while it runs: that something which it rests on is false, so that it has to
//! begin anew.

/// Why what was explored so far does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// A location turned out to race, or operations turned out to be others than they were taken for.
    Visible,
    /// The model changes objects that exist before it begins: its modules must be loaded for each execution.
    ModuleState,
    /// Variables of modules that were taken for constant are rebound: those that `Learning::rebinding` names.
    Rebound,
    /// Code of the standard library has run that was not instrumented yet.
    Library,
    /// Objects compute in C of which nothing is known: operators with a literal operand read them, too.
    Operands,
    /// Turns of event loops cannot be events: threads take part, or what no access tells.
    Turns,
    /// Critical sections cannot be events: what they do is more than accesses tell.
    Sections,
}

/// The steps of an execution: the path of a thread and the outcome, each.
pub type Schedule = Vec<(String, u32)>;

/// A variable of a module: the names of both.
pub type Variable = (String, String);

/// What is learned, and what follows of it.
#[derive(Default)]
pub struct Learning {
    /// Not while executions of an exploration are searched or run again.
    is_on: bool,
    restart: Option<Restart>,
    /// The executions by which something was learned in this exploration.
    schedules: Vec<Schedule>,
    rebinding: Vec<Variable>,
    /// What the loop decided in an execution in which turns are events and that failed.
    failed_turns: Option<Vec<u32>>,
    /// The schedule of an execution in which critical sections are events and that failed.
    failed_sections: Option<Schedule>,
}

impl Learning {
    /// Begin an exploration, in which what is learned lets it begin anew or does not.
    pub fn begin(&mut self, is_on: bool) {
        *self = Learning { is_on, ..Learning::default() };
    }

    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Why the exploration has to begin anew, if it has to.
    #[inline]
    pub fn restart(&self) -> Option<Restart> {
        self.restart
    }

    /// Something was learned that makes other operations of those that were explored.
    #[cold]
    pub fn learned(&mut self) {
        if self.is_on {
            self.must_begin_anew();
        }
    }

    /// The same of what executions that are run again rest on as well.
    #[cold]
    pub fn must_begin_anew(&mut self) {
        self.restart.get_or_insert(Restart::Visible);
    }

    /// The exploration rests on something else than operations that is false.
    pub fn begin_anew_for(&mut self, reason: Restart) {
        if matches!(self.restart, None | Some(Restart::Visible)) {
            self.restart = Some(reason);
        }
    }

    /// The same, and nothing else that was learned by this execution counts.
    pub fn begin_anew_whatever_else(&mut self, reason: Restart) {
        self.restart = Some(reason);
    }

    /// A variable that was taken for constant is rebound. All of them that an execution finds are learned at once.
    pub fn note_rebinding(&mut self, variable: Variable) {
        if !self.rebinding.contains(&variable) {
            self.rebinding.push(variable);
        }
        self.begin_anew_for(Restart::Rebound);
    }

    /// An execution failed in which turns of event loops are events, after these decisions. It is to be run again with
    /// the decisions drawn, and explained by that.
    pub fn note_failed_turns(&mut self, drawn: Vec<u32>) {
        self.failed_turns = Some(drawn);
        self.restart = Some(Restart::Turns);
    }

    /// An execution failed in which critical sections are events. It is to be run again, and explained by that.
    pub fn note_failed_sections(&mut self, schedule: Schedule) {
        self.failed_sections = Some(schedule);
        self.restart = Some(Restart::Sections);
    }

    pub fn failed_sections(&self) -> Option<&[(String, u32)]> {
        self.failed_sections.as_deref()
    }

    pub fn failed_turns(&self) -> Option<&[u32]> {
        self.failed_turns.as_deref()
    }

    pub fn rebinding(&self) -> &[Variable] {
        &self.rebinding
    }

    /// The exploration begins anew here, knowing what it has learned by this execution; None for one that no other
    /// exploration can follow.
    pub fn go_on_with(&mut self, schedule: Option<Schedule>) {
        self.restart = None;
        self.schedules.extend(schedule);
    }

    /// The execution may have shown what the next exploration has to learn again.
    pub fn note_schedule(&mut self, schedule: Schedule) {
        self.schedules.push(schedule);
    }

    pub fn schedules(&self) -> &[Schedule] {
        &self.schedules
    }
}

//! POP: Abdulla, Atig, Das, Jonsson and Sagonas, "Parsimonious Optimal Dynamic Partial Order Reduction" (CAV'24),
//! Algorithm 1 (`Explore`) with the sleep set characterisation of section 4.3.
//!
//! Every equivalence class is explored exactly once, nothing is ever given up, and memory is polynomial in the length
//! of one execution: explorations share no state, so what is left to explore is a stack of branches, each an
//! execution's prefix E1 with a schedule σ.
//!
//! Where this differs from the paper, and why that is sound:
//!
//! - *Eagerness.* `Explore(E)` of the paper turns to a schedule as soon as the race is seen. Here an execution first
//!   runs to its end, then its schedules are pushed on a stack and explored last first. The races of one execution
//!   are at most quadratic in its length and the nesting of schedules is (Lemma 1), so memory stays polynomial; and as
//!   a schedule and its characterisation depend on nothing but their race, the order in which they are explored is
//!   free.
//! - *The order of schedules.* Section 4.3 wants a total order of the schedules that reverse races with one event ê,
//!   and orders them by where they are found, which takes expressions to tell later. Of the schedules that one
//!   execution contains, the heads are of different threads (two events of one thread are ordered, and what comes
//!   after a conflict with ê needs no reversal of its own), so the order of threads is such an order: see `sleep`.
//! - *Reads and writes.* The paper lets only read schedules be in each other's way. Operations here can access several
//!   locations, so two schedules are apart exactly if one's head happens before the other's.
//! - *Operations that block, or whose accesses depend on the state.* See `schedule`.
//! - *Store buffers.* A flush is a step like any other, told by the store that it carries out. See `sleep`.
//! - *Drawn values.* A draw takes its first alternative; the others are branches of their own, and count as schedules,
//!   so that a race that has nothing to do with the draw is reversed once and not for each alternative.

mod frontier;
mod names;
mod schedule;
mod sleep;

use std::rc::Rc;

pub use self::frontier::FrontierError;

use self::names::{Actor, ThreadTable};
use self::schedule::{is_in_schedule, Reversal, Schedule};
use super::replay::DivergenceReason;
use super::{Decision, Divergence, End, Explorer, Findings, Finished, Requirements, Splitting, State};
use crate::execution::{Event, Execution};
use crate::memory::MemoryModel;
use crate::operation::{Choice, OperationKind, ThreadId};

/// One step of a plan: who takes it, and the alternative that it gets.
type Step = (Actor, u32);

/// An execution that branches leave, as far as the last of them shares it.
struct Trunk {
    steps: Vec<Step>,
    schedules: Vec<Schedule>,
}

/// A call `Explore(E1 . σ)` that is still to be made.
struct Branch {
    trunk: Rc<Trunk>,
    /// The length of E1, a prefix of the trunk.
    base: usize,
    /// σ.
    steps: Vec<Step>,
    /// Whose event ê is whose race is reversed; None if σ is an alternative of a draw.
    reversed: Option<Actor>,
    /// The share of the whole exploration that is estimated to lie here.
    weight: f64,
}

impl Branch {
    /// `Explore(⟨⟩)`, line 2.
    fn root() -> Branch {
        let trunk = Rc::new(Trunk { steps: Vec::new(), schedules: Vec::new() });
        Branch { trunk, base: 0, steps: Vec::new(), reversed: None, weight: 1.0 }
    }

    /// The length of E1 . σ.
    fn planned(&self) -> usize {
        self.base + self.steps.len()
    }

    fn step(&self, position: usize) -> Option<Step> {
        if position < self.base {
            Some(self.trunk.steps[position])
        } else {
            self.steps.get(position - self.base).copied()
        }
    }

    /// The schedules of E1 . σ, in order.
    fn schedules(&self) -> impl Iterator<Item = Schedule> + '_ {
        let own = self.steps.last().map(|(actor, _)| Schedule {
            start: self.base,
            head: self.planned() - 1,
            actor: *actor,
            reversed: self.reversed,
        });
        let shared = self.trunk.schedules.iter().take_while(|schedule| schedule.head < self.base);
        shared.copied().chain(own)
    }
}

pub struct Parsimonious {
    /// What is left to explore, the next last.
    stack: Vec<Branch>,
    current: Branch,
    /// The execution so far, and the schedules in it.
    steps: Vec<Step>,
    schedules: Vec<Schedule>,
    threads: ThreadTable,
    /// The estimated share of the exploration that is done.
    done: f64,
    /// Whether the current branch has yet to be explored (again).
    interrupted: bool,
    divergence: Option<Divergence>,
}

impl Default for Parsimonious {
    fn default() -> Parsimonious {
        Parsimonious::exploring(vec![Branch::root()], ThreadTable::default())
    }
}

impl Parsimonious {
    /// Go on with what is left of explorations of the same program, as `frontier` or `split` wrote it.
    pub fn resume<'a>(frontiers: impl IntoIterator<Item = &'a str>) -> Result<Parsimonious, FrontierError> {
        let mut threads = ThreadTable::default();
        let mut stack = Vec::new();
        for text in frontiers {
            stack.extend(frontier::read(text, &mut threads)?);
        }
        Ok(Parsimonious::exploring(stack, threads))
    }

    fn exploring(stack: Vec<Branch>, threads: ThreadTable) -> Parsimonious {
        let left: f64 = stack.iter().map(|branch| branch.weight).sum();
        Parsimonious {
            stack,
            current: Branch::root(),
            steps: Vec::new(),
            schedules: Vec::new(),
            threads,
            done: 1.0 - left,
            interrupted: false,
            divergence: None,
        }
    }

    /// How many steps of the last execution the branch shares.
    fn shared(&self, branch: &Branch) -> usize {
        let most = branch.planned().min(self.steps.len());
        (0..most).find(|position| branch.step(*position) != Some(self.steps[*position])).unwrap_or(most)
    }

    /// Lines 4 to 12 for each event e' that is new in this execution: the schedules of its parsimonious races
    /// (Definition 7) that are not in the sleep set.
    fn reversals(&self, execution: &Execution, memory: &dyn MemoryModel) -> Vec<Branch> {
        // The events of a schedule but its head were new in another execution.
        let fresh = self.current.planned().saturating_sub(1);
        let mut found = Vec::new();
        let mut last = None;
        for race in execution.races_from(fresh, memory) {
            let base = race.first.index();
            // Several reads between the two can lead to one race with an operation that had to wait.
            if last.replace(race) == Some(race) || is_in_schedule(&self.schedules, base) {
                continue;
            }
            let reversed = self.threads.actor(execution.event(race.first));
            let chain = || sleep::chain(&self.schedules, base, reversed);
            let since = chain().last().map_or(base + 1, |schedule| schedule.start);
            let reversal = Reversal::of(execution, race, since, memory);
            if !reversal.is_fresh(&self.schedules) || sleep::blocks(chain(), &reversal, execution, &self.threads) {
                continue;
            }
            let mut steps: Vec<Step> = reversal.needed().map(|event| self.step_of(event)).collect();
            steps.push(self.step_of(reversal.head()));
            found.push(self.branch(base, steps, Some(reversed)));
        }
        found
    }

    /// The other alternatives of what was drawn in this execution for the first time.
    fn alternatives<'a>(&'a self, execution: &'a Execution) -> impl Iterator<Item = Branch> + 'a {
        let drawn = &execution.events()[self.current.planned().min(execution.len())..];
        drawn.iter().filter(|event| event.alternatives > 1).flat_map(move |event| {
            let actor = self.threads.actor(event);
            (1..event.alternatives).map(move |outcome| self.branch(event.id.index(), vec![(actor, outcome)], None))
        })
    }

    /// A branch off the current execution; `push` gives it its share of it.
    fn branch(&self, base: usize, steps: Vec<Step>, reversed: Option<Actor>) -> Branch {
        Branch { trunk: self.current.trunk.clone(), base, steps, reversed, weight: 0.0 }
    }

    fn step_of(&self, event: &Event) -> Step {
        (self.threads.actor(event), event.outcome)
    }

    /// Push branches so that the one that shares most of the last execution comes next.
    fn push(&mut self, mut branches: Vec<Branch>) {
        let weight = self.current.weight / (branches.len() + 1) as f64;
        self.done += weight;
        branches.sort_by_key(|branch| branch.base);
        let Some(longest) = branches.last().map(|branch| branch.base) else { return };
        let mut schedules = self.schedules.clone();
        schedules.retain(|schedule| schedule.head < longest);
        let trunk = Rc::new(Trunk { steps: self.steps[..longest].to_vec(), schedules });
        for branch in &mut branches {
            branch.trunk = trunk.clone();
            branch.weight = weight;
        }
        self.stack.append(&mut branches);
    }
}

impl Explorer for Parsimonious {
    fn requirements(&self) -> Requirements {
        Requirements::NONE
    }

    fn findings(&self) -> Findings<'_> {
        Findings { divergence: self.divergence.as_ref(), ..Findings::default() }
    }

    fn splitting(&mut self) -> Option<&mut dyn Splitting> {
        Some(self)
    }

    fn begin(&mut self) -> usize {
        if let Some(branch) = self.stack.pop() {
            self.current = branch;
        }
        self.interrupted = false;
        let kept = self.shared(&self.current);
        self.steps.truncate(kept);
        self.schedules.clear();
        self.schedules.extend(self.current.schedules());
        kept
    }

    fn choose(&mut self, state: &State) -> Decision {
        let position = self.steps.len();
        if let Some((actor, outcome)) = self.current.step(position) {
            let thread = self.threads.enabled(actor, state);
            if thread.is_none() {
                let thread = self.threads.thread(actor.thread).unwrap_or(ThreadId::MAIN);
                let reason = DivergenceReason::CannotRun;
                self.divergence.get_or_insert(Divergence { step: position, thread, reason });
            }
            return thread.map_or(Decision::GiveUp, |thread| Decision::Take(state.choice(thread, outcome)));
        }
        // Lines 13 to 15. Taking ê right after σ empties the sleep set, so that nothing is ever blocked.
        let reversed = self.current.reversed.filter(|_| position == self.current.planned());
        let reversed = reversed.and_then(|actor| self.threads.enabled(actor, state));
        let next = reversed.or_else(|| state.preferred(|_| true));
        next.map_or(Decision::GiveUp, |thread| Decision::Take(Choice::step(thread)))
    }

    fn performed(&mut self, execution: &Execution) {
        if let Some(event) = execution.events().last() {
            self.steps.push(self.step_of(event));
            if event.operation.kind == OperationKind::Spawn {
                self.threads.learn(ThreadId(event.operation.detail), execution);
            }
        }
    }

    fn finish(&mut self, execution: &Execution, memory: &dyn MemoryModel, end: End) -> Finished {
        let mut branches = Vec::new();
        if end != End::Redundant {
            branches.extend(self.alternatives(execution));
            branches.extend(self.reversals(execution, memory));
        }
        self.push(branches);
        // A step that was possible and is not any more: nothing that would come now means what it says.
        let more = !self.stack.is_empty() && self.divergence.is_none();
        Finished { more, duplicate: false }
    }

    fn fraction(&self) -> f64 {
        self.done.clamp(0.0, 1.0)
    }
}

impl Splitting for Parsimonious {
    fn frontier(&self) -> Option<String> {
        let left = || self.stack.iter().chain(self.interrupted.then_some(&self.current));
        left().next().map(|_| frontier::write(left(), &self.threads))
    }

    /// Gives the lower half of the stack, whose branches are nearer to the root: they hold more than those above.
    fn split(&mut self) -> Option<String> {
        let most = self.stack.len() / 2;
        if most == 0 {
            return None;
        }
        let given: Vec<Branch> = self.stack.drain(..most).collect();
        self.done += given.iter().map(|branch| branch.weight).sum::<f64>();
        Some(frontier::write(&given, &self.threads))
    }

    fn interrupted(&mut self) {
        self.interrupted = true;
    }
}

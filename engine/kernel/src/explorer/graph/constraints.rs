//! Constraint events: what makes TruSt concolic.
//!
//! Khoshechin Jorshari, Kokologiannakis, Majumdar and Nagendra, "Optimal Concolic Dynamic Partial Order Reduction"
//! (ConDPOR, CONCUR'25), Algorithm 1, lines 8 to 10, and the case of constraint events in the definition of maximal
//! additions (section 4). A constraint event accesses nothing; the graph's `Φ` is the conjunction of all of them, and a
//! graph is consistent only if that is satisfiable.
//!
//! A thread that comes to a constraint event decides it at once, so that built-in code that branches in the middle of
//! one operation, such as a sort, stays as undivided as it is. Where a planned graph has the event, it is moved up in
//! the order in which the graph is re-run, which changes nothing, since nothing but its own thread comes before it.
//! Where it has not, the event is added to the graph as if that had been finished: the formula is taken if it is
//! satisfiable together with all constraints that were planned, and its negation is visited with the whole of the
//! planned graph.

use super::plan::{Entry, Plan};
use super::visit::Visit;
use crate::execution::{Event, PathId};
use crate::operation::{EventId, OperationKind};

impl Visit<'_> {
    /// The negated constraint of a constraint event that was added with its formula, if that is satisfiable too.
    pub fn negate(&mut self, event: &Event, length: usize) {
        let execution = self.execution;
        let path = match event.id.index() + 1 == length {
            true => execution.path_at(event.id.index()),
            false => self.path_of(|id| id.index() < length && self.is_there(id)),
        };
        let sides = execution.conditions().sides(path, event.operation.detail);
        if event.outcome != 0 && sides.when_false {
            let mut plan: Plan = self.plan(length);
            let name = self.name(event.id);
            let place = plan.entries.iter().position(|entry| (entry.thread, entry.index) == name);
            let negated = Entry { outcome: 0, ..self.entry(event.id) };
            match place {
                Some(place) => plan.entries[place] = negated,
                None => {
                    let before = (0..event.id.0).filter(|id| self.is_there(EventId(*id))).count();
                    plan.entries.insert(before, negated);
                }
            }
            // What the memory model allows of the events is allowed with either side of the constraint.
            plan.coherence = self.coherence_of(|id| id.index() < length);
            self.plans.push(plan);
        }
    }

    /// The conjunction of some of the constraints.
    fn path_of(&self, holds: impl Fn(EventId) -> bool) -> PathId {
        let branches = self.execution.branches().filter(|id| holds(*id));
        branches.fold(PathId::TRUE, |path, id| self.with(path, id))
    }

    fn with(&self, path: PathId, id: EventId) -> PathId {
        let literal = self.execution.step(id.index()).literal();
        literal.map_or(path, |literal| self.execution.conditions().extend(path, literal))
    }

    /// Whether the constraint events that a revisit deletes were added as `ST` of the paper adds them: with the formula
    /// wherever it was satisfiable, in the order of `<_G`, on top of all constraints that the revisit keeps.
    ///
    /// Of the graphs that differ in deleted constraints alone exactly one has all of them so.
    pub fn adds_constraints_maximally(&self, limit: EventId, kept: &dyn Fn(EventId) -> bool) -> bool {
        let execution = self.execution;
        let branches = || execution.branches().filter(|id| *id < limit && self.is_there(*id));
        let mut deleted: Vec<EventId> = branches().filter(|id| !kept(*id)).collect();
        if deleted.is_empty() {
            return true;
        }
        deleted.sort_unstable_by_key(|id| self.trace.added[id.index()].first());
        let conditions = execution.conditions();
        let mut path = self.path_of(|id| id < limit && self.is_there(id) && kept(id));
        for id in deleted {
            let event = execution.event(id);
            debug_assert_eq!(event.operation.kind, OperationKind::Branch);
            if event.outcome == 0 && conditions.sides(path, event.operation.detail).when_true {
                return false;
            }
            path = self.with(path, id);
        }
        true
    }
}

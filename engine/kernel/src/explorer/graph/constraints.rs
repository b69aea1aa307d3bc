//! Constraint events: what makes TruSt concolic.
//!
//! Khoshechin Jorshari, Kokologiannakis, Majumdar and Nagendra, "Optimal Concolic Dynamic Partial Order Reduction"
//! (ConDPOR, CONCUR'25), Algorithm 1, lines 8 to 10, and the case of constraint events in the definition of maximal
//! additions (section 4). A constraint event touches nothing; the graph's `Φ` is the conjunction of all of them, and a
//! graph is consistent only if that is satisfiable.

use super::plan::{Entry, Plan};
use super::visit::Visit;
use crate::execution::{Event, PathId};
use crate::operation::{EventId, OperationKind};

impl Visit<'_> {
    /// The negated constraint of a constraint event that was added with its formula, if that is satisfiable too.
    pub fn negate(&mut self, event: &Event) {
        let execution = self.execution;
        let sides = execution.conditions().sides(execution.path_at(event.id.index()), event.operation.detail);
        if event.outcome != 0 && sides.when_false {
            let mut plan: Plan = self.plan(event.id.index());
            plan.entries.push(Entry { outcome: 0, ..self.entry(event.id) });
            // What the memory model allows of the events is allowed with either side of the constraint.
            plan.coherence = self.coherence_of(|id| id < event.id);
            self.plans.push(plan);
        }
    }

    /// Whether the constraint events that a revisit deletes were added as `ST` of the paper adds them: with the formula
    /// wherever it was satisfiable, in the order of `<_G`, on top of all constraints that the revisit keeps.
    ///
    /// Of the graphs that differ in deleted constraints alone exactly one has all of them so.
    pub fn adds_constraints_maximally(&self, limit: EventId, kept: &dyn Fn(EventId) -> bool) -> bool {
        let execution = self.execution;
        let branches = || execution.branches().filter(|id| *id < limit);
        let mut deleted: Vec<EventId> = branches().filter(|id| !kept(*id)).collect();
        if deleted.is_empty() {
            return true;
        }
        deleted.sort_unstable_by_key(|id| self.trace.added[id.index()].first());
        let conditions = execution.conditions();
        let with = |path: PathId, id: EventId| {
            let literal = execution.step(id.index()).literal();
            literal.map_or(path, |literal| conditions.extend(path, literal))
        };
        let mut path = branches().filter(|id| kept(*id)).fold(PathId::TRUE, with);
        for id in deleted {
            let event = execution.event(id);
            debug_assert_eq!(event.operation.kind, OperationKind::Branch);
            if event.outcome == 0 && conditions.sides(path, event.operation.detail).when_true {
                return false;
            }
            path = with(path, id);
        }
        true
    }
}

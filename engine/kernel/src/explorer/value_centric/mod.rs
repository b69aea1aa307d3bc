//! VC-DPOR: Chatterjee, Pavlogiannis, Toman, "Value-centric Dynamic Partial Order Reduction" (OOPSLA'19), algorithms
//! 5 (VC-DPOR), 6 (ExtendRoot) and 7 (ExtendLeaf), on an explicit stack.
//!
//! A node is an annotated partial order with the trace that it was reached by, extended until every thread is before
//! a read (`WExtend`). Its children add one read with one set of good writes. In the paper's order: `events` and
//! `order` hold annotated partial orders, `closure` and `realise` decide whether one has a witness, `extend` says
//! which reads and good writes can be added, and this file explores. `shape` and `classes` say what the events and
//! the equivalence are.
//!
//! Three things differ. The first child of a node goes on with the running execution where that is a witness of the
//! child, so that one execution leads to one leaf. A drawn value needs no other reads beside it. And where the read that was explored first
//! could have observed nothing that came later, whatever the others do, the other reads are not tried in its place;
//! otherwise those are from which such a thing follows (see `race`).

mod classes;
mod closure;
mod events;
mod extend;
mod order;
mod race;
mod realise;
mod shape;

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use self::classes::class_of;
use self::closure::close;
use self::events::{EventIndex, Events, Observations, Vertex, INITIAL};
use self::extend::{extensions, Covered, Extension, Pending};
use self::order::PartialOrder;
use self::realise::realise;
use self::shape::{shape, Condition, Locations};
use super::{depth_first_fraction, Decision, End, Explorer, Finished, Mismatch, State};
use crate::execution::{Event, Execution};
use crate::memory::MemoryModel;
use crate::operation::{AccessMode, Choice, LocationId, Operation, OperationKind, ThreadId};

/// A type 2 node of the paper's tree: an annotated partial order whose reads are being extended.
struct Node {
    /// How many events it has.
    length: usize,
    /// The trace that it was reached by, a linearisation of it.
    trace: Rc<Vec<EventIndex>>,
    /// Its order, closed; made when it is first needed.
    order: Option<PartialOrder>,
    /// `C`
    covered: Covered,
    pending: Vec<Pending>,
    /// Which of `pending` have been explored.
    tried: Vec<bool>,
    /// Which of `pending` have to be explored.
    wanted: Vec<bool>,
    current: Option<Current>,
}

/// The read that extends a node now.
struct Current {
    read: usize,
    /// The extensions that are still to be explored.
    remaining: Vec<Extension>,
    /// Whether it is the one by whose races it is known which other reads have to be explored.
    decides: bool,
}

#[derive(Default)]
pub struct ValueCentric {
    root: Option<ThreadId>,
    events: Events,
    nodes: Vec<Node>,
    /// The schedule that leads to the witness of the current extension.
    plan: Vec<Choice>,
    /// The operation at each step of the plan.
    planned: Vec<Operation>,
    /// The schedule of the last execution.
    last: Vec<Choice>,
    /// The trace of the running execution, as far as it is known.
    trace: Vec<EventIndex>,
    /// The last write of each location in it.
    writes: FxHashMap<LocationId, EventIndex>,
    position: usize,
    /// The events from here on have not been compared with the nodes' reads.
    unseen: usize,
    classes: FxHashSet<u128>,
    refusal: Option<OperationKind>,
    /// Whether the root thread was ever seen.
    root_seen: bool,
}

impl ValueCentric {
    /// `root` is the root thread; None stands for the first thread that `main` spawns, as in the paper.
    pub fn new(root: Option<ThreadId>) -> ValueCentric {
        ValueCentric { root, ..ValueCentric::default() }
    }

    /// Bring the events up to the execution.
    fn absorb(&mut self, execution: &Execution) {
        while self.trace.len() < execution.len() {
            let event = &execution.events()[self.trace.len()];
            let Some(known) = self.events.find(event.thread, event.index) else { return };
            let touched = self.events.get(known).reads.iter().map(|read| read.location);
            let touched: Locations = touched.chain(self.events.get(known).writes.iter().copied()).collect();
            if touched.contains(&event.operation.target) && !self.writes.contains_key(&event.operation.target) {
                if let Some(found) = event.values.found {
                    self.events.set_initial(event.operation.target, found, known as usize + 1);
                }
            }
            if event.operation.kind == OperationKind::CompareExchange {
                let wrote = event.accesses.iter().any(|access| access.mode == AccessMode::Write);
                if wrote != self.events.get(known).writes.contains(&event.operation.target) {
                    // Equal values of different types: what it does is not what their tokens say.
                    self.refusal.get_or_insert(event.operation.kind);
                }
            }
            self.events.set_token(known, event.values.left);
            for location in &self.events.get(known).writes {
                self.writes.insert(*location, known);
            }
            self.trace.push(known);
        }
    }

    /// Add an event that is no read.
    fn push_plain(&mut self, thread: ThreadId, operation: Operation, writes: Locations) {
        let index = self.events.last_of(thread).map_or(0, |last| self.events.get(last).index + 1);
        let (predecessors, past_before) = self.events.before(thread, &operation);
        self.events.push(Vertex {
            thread,
            index,
            operation,
            outcome: 0,
            reads: Observations::new(),
            possible_writes: writes.clone(),
            writes,
            is_read: false,
            token: None,
            predecessors,
            past: past_before.clone(),
            past_before,
        });
    }

    fn push_read(&mut self, read: &Pending, extension: &Extension) {
        self.events.push(Vertex {
            thread: read.thread,
            index: read.index,
            operation: read.operation,
            outcome: extension.outcome,
            reads: extension.reads.clone(),
            writes: extension.writes.clone(),
            possible_writes: read.possible_writes(),
            is_read: true,
            token: None,
            predecessors: read.predecessors.clone(),
            past: read.past_before.clone(),
            past_before: read.past_before.clone(),
        });
    }

    /// A read that can be added.
    fn pending(&mut self, thread: ThreadId, operation: Operation, enabled: bool, shape: shape::Shape) -> Pending {
        let index = self.events.last_of(thread).map_or(0, |last| self.events.get(last).index + 1);
        let (predecessors, past_before) = self.events.before(thread, &operation);
        Pending { thread, index, operation, shape, enabled, predecessors, past_before }
    }

    /// Note what a location holds that no event has touched.
    fn learn_initial(&mut self, location: LocationId, found: Option<u32>) {
        if let Some(found) = found {
            if !self.events.knows_initial(location) && !self.writes.contains_key(&location) {
                self.events.set_initial(location, found, self.events.len());
            }
        }
    }

    /// Make a node of the trace that was reached.
    fn push_node(&mut self, mut pending: Vec<Pending>) {
        // A drawn value depends on nothing: the other reads come after it.
        if let Some(draw) = pending.iter().position(|read| read.shape.reads.is_empty()) {
            pending = vec![pending.swap_remove(draw)];
        }
        let covered = match self.nodes.last() {
            Some(parent) => parent.covered.without_performed(&self.events),
            None => Covered::default(),
        };
        let (tried, wanted) = (vec![false; pending.len()], vec![true; pending.len()]);
        let trace = Rc::new(self.trace.clone());
        let length = self.events.len();
        self.nodes.push(Node { length, trace, order: None, covered, pending, tried, wanted, current: None });
    }

    /// The extensions of the last node with one of its reads.
    fn extensions(&mut self, read: usize) -> Vec<Extension> {
        let Some(node) = self.nodes.last() else { return Vec::new() };
        let program = match &node.order {
            Some(order) => order.clone(),
            None => PartialOrder::of_program(&self.events),
        };
        match extensions(&self.events, &program, &node.covered, &node.pending[read], self.root) {
            Ok(found) => found,
            Err(_) => {
                self.refusal = Some(node.pending[read].operation.kind);
                Vec::new()
            }
        }
    }

    /// Which extension the running execution would take if the read came next.
    fn next_here(&self, read: &Pending, extensions: &[Extension]) -> Option<usize> {
        if !read.enabled {
            return None;
        }
        extensions.iter().position(|extension| {
            extension.reads.iter().all(|observation| {
                let source = self.writes.get(&observation.location).copied().unwrap_or(INITIAL);
                observation.good.contains(&source)
            })
        })
    }

    /// Extend the new node by a read for which the running execution is a witness.
    fn go_on(&mut self) -> Decision {
        let Some(node) = self.nodes.last() else { return Decision::GiveUp };
        let mut order: Vec<usize> = (0..node.pending.len()).collect();
        order.sort_by_key(|read| node.covered.covers_some(&node.pending[*read]));
        for read in order {
            let mut found = self.extensions(read);
            let Some(node) = self.nodes.last() else { break };
            let pending = node.pending[read].clone();
            let Some(position) = self.next_here(&pending, &found) else { continue };
            let extension = found.remove(position);
            self.push_read(&pending, &extension);
            if let Some(node) = self.nodes.last_mut() {
                node.tried[read] = true;
                let decides = !node.covered.covers_some(&pending);
                if decides {
                    // Until a race shows that they have to be.
                    node.wanted.fill(false);
                }
                node.current = Some(Current { read, remaining: found, decides });
            }
            return Decision::Take(Choice::Step { thread: pending.thread, outcome: extension.outcome });
        }
        Decision::GiveUp
    }

    /// Find the next annotated partial order to explore, and plan its witness. Returns whether there is one.
    fn backtrack(&mut self) -> bool {
        loop {
            let Some(node) = self.nodes.last_mut() else { return false };
            self.events.truncate(node.length);
            self.unseen = self.unseen.min(node.length);
            match node.current.as_mut().map(|current| (current.read, current.remaining.pop())) {
                Some((read, Some(extension))) => {
                    let read = node.pending[read].clone();
                    if self.plan_extension(&read, &extension) {
                        return true;
                    }
                }
                Some((_, None)) => self.leave_read(),
                None => {
                    let open = (0..node.pending.len()).find(|&read| node.wanted[read] && !node.tried[read]);
                    let Some(read) = open else {
                        self.nodes.pop();
                        continue;
                    };
                    node.tried[read] = true;
                    let mut remaining = self.extensions(read);
                    remaining.reverse();
                    if self.refusal.is_some() {
                        return false;
                    }
                    if let Some(node) = self.nodes.last_mut() {
                        node.current = Some(Current { read, remaining, decides: false });
                    }
                }
            }
        }
    }

    /// The current read of the last node has been extended in all ways.
    fn leave_read(&mut self) {
        let counts = Rc::new(self.events.counts());
        if let Some(node) = self.nodes.last_mut() {
            if let Some(current) = node.current.take() {
                node.covered.set(&node.pending[current.read], counts);
            }
        }
    }

    /// Extend the last node; if that has a witness, plan it.
    fn plan_extension(&mut self, read: &Pending, extension: &Extension) -> bool {
        let Some(node) = self.nodes.last_mut() else { return false };
        if node.order.is_none() {
            let mut order = PartialOrder::of_program(&self.events);
            if close(&self.events, &mut order).is_err() {
                debug_assert!(false, "a node that was reached has no closure");
                return false;
            }
            node.order = Some(order);
        }
        let Some(mut order) = node.order.clone() else { return false };
        let hint = node.trace.clone();
        self.push_read(read, extension);
        order.grow(&self.events);
        let Some(trace) = realise(&self.events, order, &hint, self.root) else {
            if let Some(node) = self.nodes.last() {
                self.events.truncate(node.length);
            }
            return false;
        };
        let choice = |event: &EventIndex| {
            let vertex = self.events.get(*event);
            (Choice::Step { thread: vertex.thread, outcome: vertex.outcome }, vertex.operation)
        };
        (self.plan, self.planned) = trace.iter().map(choice).unzip();
        true
    }

    /// The reads that wait for ever at the end of an execution.
    fn blocked_reads(&mut self, execution: &Execution, memory: &dyn MemoryModel) -> Vec<Pending> {
        let mut reads = Vec::new();
        for event in execution.blocked() {
            let Event { thread, operation, .. } = *event;
            match shape(thread, &operation, &event.accesses, memory) {
                Ok(shape) if shape.reads() => {
                    self.learn_initial(operation.target, Some(memory.state_token(&operation)));
                    reads.push(self.pending(thread, operation, false, shape));
                }
                Ok(_) => {}
                Err(unsupported) => self.refusal = Some(unsupported.0),
            }
        }
        reads
    }
}

impl Explorer for ValueCentric {
    fn begin(&mut self) -> usize {
        self.position = self.plan.iter().zip(&self.last).take_while(|(planned, last)| planned == last).count();
        self.trace.clear();
        self.writes.clear();
        self.position
    }

    fn choose(&mut self, state: &State) -> Decision {
        self.absorb(state.execution);
        if let Some(choice) = self.plan.get(self.position).copied() {
            let expected = self.planned[self.position];
            let thread = choice.thread();
            if state.pending(thread) != Some(&expected) || !state.is_enabled(thread) {
                return Decision::Differs(Mismatch { thread, expected });
            }
            return Decision::Take(choice);
        }
        let mut reads = Vec::new();
        for &thread in state.threads.alive() {
            self.root_seen |= Some(thread) == self.root;
            let Some(operation) = state.pending(thread).copied() else { continue };
            if operation.kind == OperationKind::Blocked {
                continue;
            }
            let enabled = state.is_enabled(thread);
            let foreseen = state.threads.foreseen(thread);
            let shape = match shape(thread, &operation, &foreseen.accesses, state.memory) {
                Ok(shape) => shape,
                Err(unsupported) => {
                    self.refusal = Some(unsupported.0);
                    return Decision::GiveUp;
                }
            };
            if shape.reads() {
                reads.push((thread, operation, enabled, shape, foreseen.found));
            } else if enabled {
                if operation.kind == OperationKind::Spawn && thread == ThreadId::MAIN {
                    self.root.get_or_insert(ThreadId(operation.detail));
                }
                self.push_plain(thread, operation, shape.writes);
                return Decision::Take(Choice::step(thread));
            }
        }
        let mut pending = Vec::new();
        for (thread, operation, enabled, shape, found) in reads {
            let found = match shape.condition {
                Condition::Nothing => found,
                _ => found.or_else(|| {
                    let is_primitive = state.memory.primitives().get(operation.target).is_some();
                    is_primitive.then(|| state.memory.state_token(&operation))
                }),
            };
            self.learn_initial(operation.target, found);
            pending.push(self.pending(thread, operation, enabled, shape));
        }
        self.push_node(pending);
        self.go_on()
    }

    fn performed(&mut self, _execution: &Execution) {
        self.position += 1;
    }

    fn finish(&mut self, execution: &Execution, memory: &dyn MemoryModel, end: End) -> Finished {
        self.absorb(execution);
        self.last = execution.choices();
        let mut duplicate = false;
        if end == End::Maximal {
            duplicate = !self.classes.insert(class_of(&self.events, &self.trace, self.root));
            let blocked = self.blocked_reads(execution, memory);
            if !blocked.is_empty() {
                self.push_node(blocked);
            }
        }
        self.note_races(end == End::Cut);
        if self.refusal.is_some() {
            return Finished { more: false, duplicate };
        }
        Finished { more: self.backtrack(), duplicate }
    }

    fn fraction(&self) -> f64 {
        depth_first_fraction(self.nodes.iter().map(|node| {
            let remaining = node.current.as_ref().map_or(0, |current| current.remaining.len() + 1);
            (1, 1 + remaining)
        }))
    }

    fn treats(&self, kind: OperationKind) -> bool {
        !matches!(kind, OperationKind::WaitUntil | OperationKind::Branch)
    }

    fn wants_values(&self) -> bool {
        true
    }

    fn classes(&self) -> Option<u64> {
        Some(self.classes.len() as u64)
    }

    fn refusal(&self) -> Option<OperationKind> {
        self.refusal
    }

    fn lacks_root(&self) -> bool {
        !self.root_seen
    }
}

//! VC-DPOR: Chatterjee, Pavlogiannis, Toman, "Value-centric Dynamic Partial Order Reduction" (OOPSLA'19), algorithms
//! 5 (VC-DPOR), 6 (ExtendRoot) and 7 (ExtendLeaf), on an explicit stack.
//!
//! A node is an annotated partial order with the trace that it was reached by, extended until every thread is before
//! a read (`WExtend`). Its children add one read with one set of good writes. In the paper's order: `events` and
//! `order` hold annotated partial orders, `closure` and `realise` decide whether one has a witness, `extend` says
//! which reads and good writes can be added, and this file explores. `shape` and `classes` say what the events and
//! the equivalence are.
//!
//! One thing differs: a node is extended by one read only, which the running execution could take next. The paper
//! tries all reads in turn and keeps in a map C what each may not observe any more, so that a branch can find out late
//! that nothing is left for a read. Here what a later write adds is explored where it is known to be possible (see
//! `postponed`). The first child of a node goes on with the running execution.

mod classes;
mod closure;
mod events;
mod extend;
mod order;
mod postponed;
mod realise;
mod shape;
mod spin_reads;

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use self::classes::class_of;
use self::closure::close;
use self::events::{join_past, EventIndex, Events, Observations, Past, Vertex, INITIAL};
use self::extend::{extensions, Covered, Extension, Pending};
use self::order::PartialOrder;
use self::postponed::{Child, Known, Partition};
use self::realise::realise;
use self::shape::{shape, sleep, Condition, Locations, Sleep};
use self::spin_reads::SpinReads;
use super::{
    depth_first_fraction, Decision, End, Explorer, Findings, Finished, Mismatch, Requirements, SpinRead, Spinning,
    State,
};
use crate::execution::{Event, Execution};
use crate::memory::MemoryModel;
use crate::operation::{AccessMode, Choice, EventId, LocationId, Operation, OperationKind, ThreadId};

/// A type 2 node of the paper's tree: an annotated partial order whose reads are being extended.
struct Node {
    /// How many events it has.
    length: usize,
    /// Its reads.
    past: Past,
    /// The trace that it was reached by, a linearisation of it.
    trace: Rc<Vec<EventIndex>>,
    /// Its order, closed; made when it is first needed.
    order: Option<PartialOrder>,
    /// Reads that must not observe what nodes of earlier branches had.
    covered: Covered,
    pending: Vec<Pending>,
    /// Which of `pending` have been chosen.
    tried: Vec<bool>,
    /// Whether the reads are all to be tried in turn.
    tries_all: bool,
    /// The read by which its children are told apart.
    chosen: Option<usize>,
    partition: Partition,
    /// What is still to be explored.
    children: Vec<Child>,
    /// The children that were found, by their numbers.
    known: FxHashMap<u128, Known>,
    /// Whether the chosen read must not observe what the node has in the child that is being explored.
    covers: bool,
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
    /// The events from here on are new since postponed children were looked for.
    unseen: usize,
    /// A read in the plan of which it is not known what it finds.
    supposed: Option<EventIndex>,
    /// Whether it did not do what the plan needs.
    broken: bool,
    classes: FxHashSet<u128>,
    spin_reads: SpinReads,
    /// Whether the plan is the last execution's class once more, with the spin reads of threads that stopped last.
    repeats_spin_reads: bool,
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
            let accessed = self.events.get(known).reads.iter().map(|read| read.location);
            let accessed: Locations = accessed.chain(self.events.get(known).writes.iter().copied()).collect();
            if accessed.contains(&event.operation.target) && !self.writes.contains_key(&event.operation.target) {
                if let Some(found) = event.values.found {
                    self.events.set_initial(event.operation.target, found, known as usize + 1);
                }
            }
            self.compare_writes(known, event);
            self.events.set_token(known, event.values.left);
            for location in &self.events.get(known).writes {
                self.writes.insert(*location, known);
            }
            self.trace.push(known);
        }
    }

    /// Compare whether an operation wrote with what it was to do.
    fn compare_writes(&mut self, known: EventIndex, event: &Event) {
        let vertex = self.events.get(known);
        let target = event.operation.target;
        let wrote = match vertex.shape.condition {
            Condition::WritesIf(_) if event.operation.kind == OperationKind::CompareExchange => {
                event.accesses.iter().any(|access| access.mode == AccessMode::Write)
            }
            Condition::WritesIf(test) => event.values.found.is_some_and(|found| test.passes(found)),
            _ => return,
        };
        match (wrote, vertex.writes.contains(&target), vertex.supposed) {
            (false, true, true) => self.events.writes_not(known),
            (true, false, true) => self.broken = true,
            (true, false, false) | (false, true, false) => {
                // Equal values of different types: what it does is not what their tokens say.
                self.refusal.get_or_insert(event.operation.kind);
            }
            _ => {}
        }
    }

    /// Add an event that is no read.
    fn push_plain(&mut self, thread: ThreadId, operation: Operation, shape: shape::Shape) {
        let index = self.events.last_of(thread).map_or(0, |last| self.events.get(last).index + 1);
        let (predecessors, past_before) = self.events.before(thread, &operation, None);
        self.events.push(Vertex {
            thread,
            index,
            operation,
            outcome: 0,
            reads: Observations::new(),
            writes: shape.writes.clone(),
            shape,
            is_read: false,
            supposed: false,
            token: None,
            predecessors,
            past: past_before.clone(),
            past_before,
        });
    }

    /// A read that can be added; None while it sleeps.
    fn pending(
        &mut self,
        thread: ThreadId,
        operation: Operation,
        shape: shape::Shape,
        enabled: bool,
        memory: &dyn MemoryModel,
    ) -> Option<Pending> {
        let waker = match sleep(thread, &operation, memory) {
            Sleep::Awake => None,
            Sleep::Asleep => return None,
            Sleep::WokenBy(event) => Some(*self.trace.get(event.index())?),
        };
        let index = self.events.last_of(thread).map_or(0, |last| self.events.get(last).index + 1);
        let (predecessors, past_before) = self.events.before(thread, &operation, waker);
        Some(Pending { thread, index, operation, shape, enabled, predecessors, past_before })
    }

    /// Note what a location holds that no event has accessed.
    fn learn_initial(&mut self, location: LocationId, found: Option<u32>) {
        if let Some(found) = found {
            if !self.events.knows_initial(location) && !self.writes.contains_key(&location) {
                self.events.set_initial(location, found, self.events.len());
            }
        }
    }

    /// Make a node of the trace that was reached.
    fn push_node(&mut self, mut pending: Vec<Pending>, tries_all: bool) {
        // A drawn value depends on nothing: the other reads come after it.
        if let Some(draw) = pending.iter().position(|read| read.shape.reads.is_empty()) {
            pending = vec![pending.swap_remove(draw)];
        }
        let mut covered = Covered::default();
        if let Some(parent) = self.nodes.last() {
            covered = parent.covered.without_performed(&self.events);
            if let (Some(chosen), true) = (parent.chosen, parent.covers) {
                covered.set(&parent.pending[chosen], Rc::new(self.events.counts_before(parent.length)));
            }
        }
        let mut past = Past::new();
        for vertex in self.events.from(0) {
            join_past(&mut past, &vertex.past);
        }
        self.nodes.push(Node {
            length: self.events.len(),
            past,
            trace: Rc::new(self.trace.clone()),
            order: None,
            covered,
            tried: vec![false; pending.len()],
            pending,
            tries_all,
            chosen: None,
            partition: Partition::Past,
            children: Vec::new(),
            known: FxHashMap::default(),
            covers: false,
        });
    }

    /// The extensions of the last node with one of its reads.
    fn extensions(&mut self, read: usize) -> Vec<Extension> {
        let Some(node) = self.nodes.last() else { return Vec::new() };
        // Good writes must be good wherever the read is put with what causally precedes it: the closure has more.
        let program = PartialOrder::of_program(&self.events);
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
            if self.is_chained(&pending) {
                // What comes last in the chain is all that it can observe.
                found.clear();
            }
            let last = self.writes.get(&pending.operation.target).copied().unwrap_or(INITIAL);
            let choice = Choice::Step { thread: pending.thread, outcome: extension.outcome };
            if let Some(node) = self.nodes.last_mut() {
                if pending.waits() {
                    node.partition = Partition::Next { last };
                }
                node.choose(read, found);
            }
            self.events.push(pending.vertex(extension));
            return Decision::Take(choice);
        }
        Decision::GiveUp
    }

    /// Whether the read may write what it reads, and all that write it do.
    fn is_chained(&self, read: &Pending) -> bool {
        let ([location], writes) = (read.shape.reads.as_slice(), &read.shape.writes) else { return false };
        let reads_it = |write: &EventIndex| {
            let mut reads = self.events.get(*write).reads.iter();
            reads.any(|observation| observation.location == *location)
        };
        writes.contains(location) && self.events.writers(*location).iter().all(reads_it)
    }

    /// Find the next annotated partial order to explore, and plan its witness. Returns whether there is one.
    fn backtrack(&mut self) -> bool {
        loop {
            let Some(node) = self.nodes.last_mut() else { return false };
            self.events.truncate(node.length);
            if let Some(child) = node.children.pop() {
                if self.plan_child(child) {
                    return true;
                }
                continue;
            }
            let untried = (0..node.pending.len()).find(|read| node.tries_all && !node.tried[*read]);
            let Some(read) = untried else {
                self.nodes.pop();
                continue;
            };
            if let Some(before) = node.chosen {
                let counts = Rc::new(self.events.counts_before(node.length));
                let before = node.pending[before].clone();
                node.covered.set(&before, counts);
            }
            node.partition = Partition::Past;
            node.known.clear();
            let found = self.extensions(read);
            if self.refusal.is_some() {
                return false;
            }
            if let Some(node) = self.nodes.last_mut() {
                node.choose(read, found);
            }
        }
    }

    /// Extend the last node; if that has a witness, plan it.
    fn plan_child(&mut self, child: Child) -> bool {
        let Some(node) = self.nodes.last_mut() else { return false };
        if node.order.is_none() {
            let mut order = PartialOrder::of_program(&self.events);
            if close(&self.events, &mut order).is_err() {
                debug_assert!(false, "a node that was reached has no closure");
                return false;
            }
            node.order = Some(order);
        }
        let Some(order) = node.order.clone() else { return false };
        let (length, hint) = (node.length, node.trace.clone());
        node.covers = child.covers;
        self.supposed = None;
        for vertex in child.vertices {
            let is_supposed = vertex.supposed;
            let event = self.events.push(vertex);
            if is_supposed {
                self.supposed = Some(event);
            }
        }
        let realised = |events: &Events| {
            let mut order = order.clone();
            order.grow(events);
            realise(events, order, &hint, self.root)
        };
        let mut trace = realised(&self.events);
        if let (None, Some(event)) = (&trace, self.supposed) {
            if matches!(self.events.get(event).shape.condition, Condition::WritesIf(_)) {
                self.events.writes_not(event);
                trace = realised(&self.events);
            }
        }
        if let (Some(_), Some(node)) = (self.supposed, self.nodes.last_mut()) {
            let known = if trace.is_some() { Known::Listed } else { Known::Failed };
            node.known.insert(child.number, known);
        }
        let Some(trace) = trace else {
            self.events.truncate(length);
            self.supposed = None;
            return false;
        };
        self.unseen = length + child.met;
        self.plan_trace(&trace);
        true
    }

    fn plan_trace(&mut self, trace: &[EventIndex]) {
        let choice = |event: &EventIndex| {
            let vertex = self.events.get(*event);
            (Choice::Step { thread: vertex.thread, outcome: vertex.outcome }, vertex.operation)
        };
        (self.plan, self.planned) = trace.iter().map(choice).unzip();
    }

    /// The reads that wait for ever at the end of an execution.
    fn blocked_reads(&mut self, execution: &Execution, memory: &dyn MemoryModel) -> Vec<Pending> {
        let mut reads = Vec::new();
        for event in execution.blocked() {
            let Event { thread, operation, .. } = *event;
            match shape(thread, &operation, &event.accesses, memory) {
                Ok(shape) if shape.reads() => {
                    self.learn_initial(operation.target, Some(memory.state_token(&operation)));
                    reads.extend(self.pending(thread, operation, shape, false, memory));
                }
                Ok(_) => {}
                Err(unsupported) => self.refusal = Some(unsupported.0),
            }
        }
        reads
    }
}

impl Node {
    /// Tell the children apart by a read, and begin with what the node's own writes give.
    fn choose(&mut self, read: usize, found: Vec<Extension>) {
        self.tried[read] = true;
        self.chosen = Some(read);
        let child = |extension| {
            let vertices = vec![self.pending[read].vertex(extension)];
            Child { vertices, met: 0, covers: false, number: 0 }
        };
        self.children = found.into_iter().rev().map(child).collect();
    }
}

impl Explorer for ValueCentric {
    fn requirements(&self) -> Requirements {
        let untreated = &[OperationKind::WaitUntil, OperationKind::Branch];
        Requirements { wants_values: true, waits_by_spinning: true, untreated, ..Requirements::NONE }
    }

    fn findings(&self) -> Findings<'_> {
        Findings {
            all_slept: false,
            divergence: None,
            refusal: self.refusal,
            lacks_root: !self.root_seen,
            classes: Some(self.classes.len() as u64),
        }
    }

    fn spinning(&mut self) -> Option<&mut dyn Spinning> {
        Some(self)
    }

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
        if self.broken {
            return Decision::GiveUp;
        }
        let mut reads = Vec::new();
        for &thread in state.threads.alive() {
            self.root_seen |= Some(thread) == self.root;
            let Some(operation) = state.pending(thread).copied() else { continue };
            if operation.kind == OperationKind::Blocked {
                continue;
            }
            let enabled = state.is_enabled(thread);
            let footprint = state.threads.footprint(thread);
            let shape = match shape(thread, &operation, &footprint.accesses, state.memory) {
                Ok(shape) => shape,
                Err(unsupported) => {
                    self.refusal = Some(unsupported.0);
                    return Decision::GiveUp;
                }
            };
            if shape.reads() {
                reads.push((thread, operation, enabled, shape, footprint.found));
            } else if enabled {
                if operation.kind == OperationKind::Spawn && thread == ThreadId::MAIN {
                    self.root.get_or_insert(ThreadId(operation.detail));
                }
                self.push_plain(thread, operation, shape);
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
            pending.extend(self.pending(thread, operation, shape, enabled, state.memory));
        }
        self.settle();
        self.push_node(pending, false);
        self.go_on()
    }

    fn performed(&mut self, _execution: &Execution) {
        self.position += 1;
    }

    fn finish(&mut self, execution: &Execution, memory: &dyn MemoryModel, end: End) -> Finished {
        self.absorb(execution);
        self.last = execution.choices();
        if std::mem::take(&mut self.repeats_spin_reads) {
            self.spin_reads = SpinReads::default();
            return Finished { more: self.backtrack(), duplicate: true };
        }
        if std::mem::take(&mut self.broken) {
            self.supposed = None;
            return Finished { more: self.refusal.is_none() && self.backtrack(), duplicate: false };
        }
        self.settle();
        let (mut duplicate, mut waiting) = (false, Vec::new());
        if end == End::Maximal {
            duplicate = !self.classes.insert(class_of(&self.events, &self.trace, self.root));
            waiting = self.blocked_reads(execution, memory);
        }
        if let Err(kind) = self.find_postponed(&waiting) {
            self.refusal.get_or_insert(kind);
        }
        if end == End::Cut {
            // What would have followed is not known, so nothing can be left out for it.
            self.nodes.iter_mut().for_each(|node| node.tries_all = true);
        }
        // What does not write may have come before what it waits for was undone.
        waiting.retain(|read| read.possible_writes().is_empty());
        if !waiting.is_empty() {
            self.push_node(waiting, true);
        }
        if self.refusal.is_some() {
            return Finished { more: false, duplicate };
        }
        let is_new = end == End::Maximal && !duplicate;
        if let Some(trace) = is_new.then(|| self.spin_reads_last()).flatten() {
            self.plan_trace(&trace);
            self.repeats_spin_reads = true;
            return Finished { more: true, duplicate };
        }
        Finished { more: self.backtrack(), duplicate }
    }

    fn fraction(&self) -> f64 {
        depth_first_fraction(self.nodes.iter().map(|node| (1, 2 + node.children.len())))
    }
}

impl Spinning for ValueCentric {
    fn found_spin_reads(&mut self, reads: &[SpinRead], silent: &[EventId]) {
        self.spin_reads.note(reads, silent);
    }
}

//! Threads by their spawn paths, so that plans mean the same in another process and threads have one order there.

use rustc_hash::FxHashMap;

use crate::execution::{Event, Execution};
use crate::explorer::State;
use crate::operation::{Buffering, OperationKind, ThreadId};

/// A thread, by its place in the table of an exploration.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ThreadName(pub u32);

impl ThreadName {
    pub const MAIN: ThreadName = ThreadName(0);

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// Who takes a step: a thread, or the agent of a store buffer of it, which is told by the store that it flushes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Actor {
    pub thread: ThreadName,
    /// The number of the store, counted from 1 for each thread; 0 for a step of the thread itself.
    pub store: u32,
}

impl Actor {
    pub const fn of(thread: ThreadName) -> Actor {
        Actor { thread, store: 0 }
    }
}

/// A spawn path: which child of `main`, which child of that, and so on.
pub type Path = Vec<u32>;

/// The threads that an exploration knows.
pub struct ThreadTable {
    paths: Vec<Path>,
    by_path: FxHashMap<Path, ThreadName>,
    /// The number of a thread in this process, once an execution has spawned it.
    threads: Vec<Option<ThreadId>>,
    names: Vec<Option<ThreadName>>,
}

impl Default for ThreadTable {
    fn default() -> ThreadTable {
        let mut table =
            ThreadTable { paths: Vec::new(), by_path: FxHashMap::default(), threads: Vec::new(), names: Vec::new() };
        let main = table.name_at(Path::new());
        table.set(main, ThreadId::MAIN);
        table
    }
}

impl ThreadTable {
    /// The name of the thread at a path.
    pub fn name_at(&mut self, path: Path) -> ThreadName {
        if let Some(name) = self.by_path.get(&path) {
            return *name;
        }
        let name = ThreadName(self.paths.len() as u32);
        self.by_path.insert(path.clone(), name);
        self.paths.push(path);
        self.threads.push(None);
        name
    }

    /// The name of a thread; `main`'s if no execution has spawned it.
    fn name(&self, thread: ThreadId) -> ThreadName {
        self.names.get(thread.index()).copied().flatten().unwrap_or(ThreadName::MAIN)
    }

    /// Who performed an event.
    pub fn actor(&self, event: &Event) -> Actor {
        match event.operation.buffering {
            Buffering::Leaves { owner, number, .. } => Actor { thread: self.name(owner), store: number },
            _ => Actor::of(self.name(event.thread)),
        }
    }

    /// The thread of that name, if an execution has spawned it.
    pub fn thread(&self, name: ThreadName) -> Option<ThreadId> {
        self.threads[name.index()]
    }

    /// The thread or agent that is the actor, if it can take a step.
    pub fn enabled(&self, actor: Actor, state: &State) -> Option<ThreadId> {
        let thread = self.thread(actor.thread)?;
        let flushes = |agent: &ThreadId| match state.pending(*agent).map(|operation| operation.buffering) {
            Some(Buffering::Leaves { owner, number, .. }) => owner == thread && number == actor.store,
            _ => false,
        };
        let found = match actor.store {
            0 => Some(thread),
            _ => state.threads.alive().iter().copied().find(flushes),
        };
        found.filter(|thread| state.is_enabled(*thread))
    }

    fn path(&self, name: ThreadName) -> &[u32] {
        &self.paths[name.index()]
    }

    /// The paths of all threads, in the order of their names.
    pub fn paths(&self) -> impl Iterator<Item = &[u32]> + '_ {
        self.paths.iter().map(Vec::as_slice)
    }

    /// The last event of the execution spawned `child`.
    pub fn learn(&mut self, child: ThreadId, execution: &Execution) {
        let Some(spawn) = execution.events().last() else { return };
        if self.names.get(child.index()).copied().flatten().is_some() {
            return;
        }
        let spawns = |kind: OperationKind| kind == OperationKind::Spawn;
        let siblings = execution.events()[..execution.len() - 1].iter();
        let number = siblings.filter(|event| event.thread == spawn.thread && spawns(event.operation.kind)).count();
        let mut path = self.paths[self.name(spawn.thread).index()].clone();
        path.push(number as u32);
        let name = self.name_at(path);
        self.set(name, child);
    }

    /// The order of schedules: whether a schedule with a head of `first` comes before one with a head of `second`.
    pub fn precedes(&self, first: Actor, second: Actor) -> bool {
        let key = |actor: Actor| (self.path(actor.thread), actor.store);
        key(first) < key(second)
    }

    fn set(&mut self, name: ThreadName, thread: ThreadId) {
        self.threads[name.index()] = Some(thread);
        if self.names.len() <= thread.index() {
            self.names.resize(thread.index() + 1, None);
        }
        self.names[thread.index()] = Some(name);
    }
}

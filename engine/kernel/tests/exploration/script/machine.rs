//! An independent oracle: all final states of a script, by an explicit search through the states of a naive machine
//! that knows nothing of the kernel. It looks like the textbook: program counters, registers, one memory, buffers.

use std::collections::{BTreeMap, BTreeSet};

use super::{Instruction, Machine, Outcome, Script};

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Entry {
    Store(u32, i64),
    /// Nothing behind it leaves the buffers before everything in front of it (PSO).
    Barrier,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ThreadState {
    running: bool,
    ended: bool,
    stopped: bool,
    counter: usize,
    register: i64,
    buffer: Vec<Entry>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct MachineState {
    threads: Vec<ThreadState>,
    memory: BTreeMap<u32, i64>,
    locks: BTreeMap<u32, usize>,
    semaphore: i64,
}

impl MachineState {
    fn value(&self, variable: u32) -> i64 {
        self.memory.get(&variable).copied().unwrap_or(0)
    }

    fn load(&self, thread: usize, variable: u32) -> i64 {
        let own = self.threads[thread].buffer.iter().rev().find_map(|entry| match entry {
            Entry::Store(stored, value) if *stored == variable => Some(*value),
            _ => None,
        });
        own.unwrap_or_else(|| self.value(variable))
    }

    /// Leading barriers order nothing any more.
    fn drop_barriers(&mut self, thread: usize) {
        let buffer = &mut self.threads[thread].buffer;
        let leading = buffer.iter().take_while(|entry| **entry == Entry::Barrier).count();
        buffer.drain(..leading);
    }

    /// The states after one store of the thread has left its buffer.
    fn flushes(&self, thread: usize, machine: Machine) -> Vec<MachineState> {
        let mut seen = BTreeSet::new();
        let mut next = Vec::new();
        for (position, entry) in self.threads[thread].buffer.iter().enumerate() {
            let Entry::Store(variable, value) = entry else { break };
            if machine == Machine::Tso && position > 0 {
                break;
            }
            if seen.insert(*variable) {
                let mut after = self.clone();
                after.threads[thread].buffer.remove(position);
                after.drop_barriers(thread);
                after.memory.insert(*variable, *value);
                next.push(after);
            }
        }
        next
    }
}

/// The final states of the script on its machine.
pub fn outcomes(script: &Script) -> BTreeSet<Outcome> {
    let idle =
        ThreadState { running: false, ended: false, stopped: false, counter: 0, register: 0, buffer: Vec::new() };
    let mut threads = vec![idle; script.threads.len()];
    threads[0].running = true;
    let first = MachineState { threads, memory: BTreeMap::new(), locks: BTreeMap::new(), semaphore: 1 };
    let mut seen = BTreeSet::from([first.clone()]);
    let mut open = vec![first];
    let mut found = BTreeSet::new();
    while let Some(state) = open.pop() {
        let mut next: Vec<MachineState> = Vec::new();
        for thread in 0..state.threads.len() {
            next.extend(steps(script, &state, thread));
            next.extend(state.flushes(thread, script.machine));
        }
        if next.is_empty() {
            let registers = state.threads.iter().map(|thread| thread.register).collect();
            let blocked = state.threads.iter().any(|thread| thread.running);
            found.insert((registers, state.memory.into_iter().collect(), blocked));
            continue;
        }
        for after in next {
            if seen.insert(after.clone()) {
                open.push(after);
            }
        }
    }
    found
}

/// What one instruction of the thread leads to; nothing if it cannot go on.
fn steps(script: &Script, state: &MachineState, thread: usize) -> Vec<MachineState> {
    use Instruction::*;
    let own = &state.threads[thread];
    if !own.running || own.stopped {
        return Vec::new();
    }
    let mut after = state.clone();
    after.threads[thread].counter += 1;
    let drained = own.buffer.is_empty();
    let buffers = script.machine != Machine::Sc;
    let store = |after: &mut MachineState, variable: u32, value: i64| {
        if buffers {
            after.threads[thread].buffer.push(Entry::Store(variable, value));
        } else {
            after.memory.insert(variable, value);
        }
    };
    let Some(instruction) = script.threads[thread].get(own.counter) else {
        after.threads[thread].running = false;
        after.threads[thread].ended = true;
        return vec![after];
    };
    match *instruction {
        Load(variable) => after.threads[thread].register = state.load(thread, variable),
        Store(variable, value) => store(&mut after, variable, value),
        StoreRegister(variable, plus) => store(&mut after, variable, own.register + plus),
        StoreRelease(variable, value) => {
            after.threads[thread].buffer.push(Entry::Barrier);
            store(&mut after, variable, value);
            after.drop_barriers(thread);
        }
        ReleaseFence => {
            after.threads[thread].buffer.push(Entry::Barrier);
            after.drop_barriers(thread);
        }
        SkipUnless(value, skip) => {
            if own.register != value {
                after.threads[thread].counter += skip;
            }
        }
        Assume(value) if own.register != value => {
            after.threads[thread].counter -= 1;
            after.threads[thread].stopped = true;
        }
        Assume(_) => {}
        Choose(count) => {
            let choices = (0..count).map(|value| {
                let mut chosen = after.clone();
                chosen.threads[thread].register = i64::from(value);
                chosen
            });
            return choices.collect();
        }
        // All others are fences.
        _ if !drained => return Vec::new(),
        Fence => {}
        StoreSeqCst(variable, value) => {
            after.memory.insert(variable, value);
        }
        FetchAdd(variable, plus) => {
            after.threads[thread].register = state.value(variable);
            after.memory.insert(variable, state.value(variable) + plus);
        }
        CompareExchange(variable, expected, desired) => {
            let took_place = state.value(variable) == expected;
            after.threads[thread].register = i64::from(took_place);
            if took_place {
                after.memory.insert(variable, desired);
            }
        }
        Lock(lock) => {
            if state.locks.contains_key(&lock) {
                return Vec::new();
            }
            after.locks.insert(lock, thread);
        }
        TryLockOrSkip(lock, skip) => {
            let free = !state.locks.contains_key(&lock);
            after.threads[thread].register = i64::from(free);
            if free {
                after.locks.insert(lock, thread);
            } else {
                after.threads[thread].counter += skip;
            }
        }
        Unlock(lock) => {
            after.locks.remove(&lock);
        }
        Spawn(child) => after.threads[child].running = true,
        Join(child) => {
            if !state.threads[child].ended || !state.threads[child].buffer.is_empty() {
                return Vec::new();
            }
        }
        SemaphoreAcquire => {
            if state.semaphore == 0 {
                return Vec::new();
            }
            after.semaphore -= 1;
        }
        SemaphoreRelease => after.semaphore += 1,
        FlagWait | FlagSet | FlagClear | Branch(_) => unreachable!("left to the explorers' own oracle"),
        LoadBoth(..) | Copy(..) | StoreBoth(..) | LoadCell(_) | StoreCell(..) | LoadCells | StoreCells(_) => {
            unreachable!("left to the explorers' own oracle")
        }
    }
    vec![after]
}

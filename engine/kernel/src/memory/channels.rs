//! First-in, first-out queues: what their operations access, and when they are enabled.
//!
//! The n-th put of a queue fills its n-th slot and the n-th get empties it, whoever performs them. So a queue is two
//! cursors, a row of slots, and for a bounded one a row of rooms:
//!
//! - puts are ordered among themselves by the cursor `back`, gets by the cursor `front`;
//! - the n-th put writes slot n, and the n-th get reads it;
//! - the n-th get writes room n, and the put that needs that room, number n + capacity, reads it;
//! - a thread that tells of no more tasks that are done than it has got (`task_done`) cannot do so too often: that
//!   commutes with all but `join`. Where one does, the tasks are ordered by a cursor of their own, and the n-th reads
//!   slot n, as it needs that as many items have been put;
//! - `join` needs that every task is done: it reads that cursor, and the slot that the next put would fill.
//!
//! A put and a get that do not meet in a slot or a room commute. An operation that cannot take place (a queue that is
//! empty or full, and no time to wait) changes nothing and reads what decided that.
//!
//! Where it is known how many items are taken at most, puts beyond that commute with each other; they read the cursor.
//!
//! The slot of a get or put is fixed by the cursor that it moves: operations that would change it conflict with it
//! there. So what an operation accesses stays the same while others take place that do not conflict with it.
//!
//! A queue whose items are not taken in the order in which they came, and any where an explorer wants one location for
//! a primitive (`Requirements::takes_parts`), is that one location: any two operations that change it conflict.

use smallvec::smallvec;

use super::primitives::{read, write, PrimitiveState, Primitives};
use super::{Effect, Misuse};
use crate::execution::Event;
use crate::operation::{Access, AccessMode, Accesses, LocationId, Operation, OperationKind, ThreadId};

/// The state of a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Channel {
    puts: u32,
    gets: u32,
    /// How many tasks are done, if they are counted.
    done: u32,
    counts_tasks: bool,
    /// Whether threads tell of tasks that others have got.
    hands_on_tasks: bool,
    /// How many items each thread has got of which it has not told that the task is done.
    held: Vec<i32>,
    /// How many items it takes; 0 for any number.
    capacity: u32,
    /// How many items are taken at most, if that is known.
    taken: Option<u32>,
    /// The locations of its parts; None if it is one location.
    cells: Option<Cells>,
}

/// The locations of a queue's parts, beside that of the queue itself, which is the cursor of gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cells {
    /// The cursor of puts.
    pub back: LocationId,
    /// The cursor of `task_done`.
    pub done: LocationId,
    /// What the n-th put fills. There are more than puts can come to before the row is made longer.
    pub slots: Vec<LocationId>,
    /// What the n-th get makes free in a bounded queue.
    pub rooms: Vec<LocationId>,
}

impl Cells {
    fn slot(&self, number: u32) -> LocationId {
        self.slots.get(number as usize).copied().unwrap_or(self.back)
    }

    fn room(&self, number: u32) -> LocationId {
        self.rooms.get(number as usize).copied().unwrap_or(self.back)
    }

    fn has(&self, location: LocationId, home: LocationId) -> bool {
        location == home
            || location == self.back
            || location == self.done
            || self.slots.contains(&location)
            || self.rooms.contains(&location)
    }
}

/// Which cursor an operation moves or looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Back,
    Front,
    Done,
}

fn side(kind: OperationKind) -> Side {
    use OperationKind::*;
    match kind {
        ChannelPut | ChannelPutWithin | ChannelTryPut | ChannelFull => Side::Back,
        ChannelDone | ChannelJoin => Side::Done,
        _ => Side::Front,
    }
}

/// How many items a queue may hold that is one location, before further threads put theirs.
pub const MOST_ITEMS: u32 = 1 << 15;

const ITEMS: u32 = 0xffff;

/// A number of items and of tasks that are not done in one number.
fn pack(items: u32, tasks: u32) -> u32 {
    (items & ITEMS) | tasks << 16
}

/// How many items a queue that is one location held when an operation on it found this token.
pub fn items_in(token: u32) -> u32 {
    token & ITEMS
}

fn tasks_in(token: u32) -> u32 {
    token >> 16
}

/// What an event of a queue with cells found: how far its cursor was, and what was so then.
struct Found {
    number: u32,
    /// For a put that there was room, for a get that there was an item, for `task_done` that there was a task.
    possible: bool,
}

impl Found {
    fn token(&self) -> u32 {
        self.number << 1 | u32::from(self.possible)
    }

    fn of(token: u32) -> Found {
        Found { number: token >> 1, possible: token & 1 != 0 }
    }
}

fn access(location: LocationId, mode: AccessMode) -> Access {
    Access { location, mode }
}

impl Channel {
    /// A queue that takes `capacity` items, any number for 0.
    pub fn new(capacity: u32, counts_tasks: bool, hands_on_tasks: bool, cells: Option<Cells>) -> Channel {
        Channel { capacity, counts_tasks, hands_on_tasks, cells, ..Channel::default() }
    }

    /// The same of which at most so many items are taken.
    pub fn taken_at_most(self, taken: Option<u32>) -> Channel {
        Channel { taken, ..self }
    }

    /// A queue of so many tasks that nobody puts or gets; if they are done `in_order`, somebody looks at that.
    pub fn of_tasks(tasks: u32, in_order: bool, cells: Option<Cells>) -> Channel {
        Channel { puts: tasks, ..Channel::new(0, true, in_order, cells) }
    }

    pub fn tasks_done(&self) -> u32 {
        self.done
    }

    pub fn length(&self) -> u32 {
        self.puts - self.gets
    }

    pub fn puts(&self) -> u32 {
        self.puts
    }

    pub fn gets(&self) -> u32 {
        self.gets
    }

    pub fn cells_mut(&mut self) -> Option<&mut Cells> {
        self.cells.as_mut()
    }

    /// Whether the thread would tell of a task that another one has got, which is not known yet.
    pub fn would_hand_on(&self, thread: ThreadId) -> bool {
        !self.hands_on_tasks && self.held.get(thread.index()).is_none_or(|held| *held <= 0)
    }

    fn hold(&mut self, thread: ThreadId, change: i32) {
        if self.held.len() <= thread.index() {
            self.held.resize(thread.index() + 1, 0);
        }
        self.held[thread.index()] += change;
    }

    pub fn is_bounded(&self) -> bool {
        self.capacity > 0
    }

    /// Whether it has as many items, or tasks that are not done, as one number can tell of.
    pub fn holds_most(&self) -> bool {
        self.cells.is_none() && self.length().max(self.tasks()) >= MOST_ITEMS
    }

    pub fn has_cells(&self) -> bool {
        self.cells.is_some()
    }

    fn tasks(&self) -> u32 {
        if self.counts_tasks {
            self.puts - self.done
        } else {
            0
        }
    }

    fn has_room(&self) -> bool {
        self.capacity == 0 || self.length() < self.capacity
    }

    fn found(&self, side: Side) -> Found {
        let (number, possible) = match side {
            Side::Back => (self.puts, self.has_room()),
            Side::Front => (self.gets, self.length() > 0),
            Side::Done => (self.done, self.tasks() > 0),
        };
        Found { number, possible }
    }

    /// The number that stands for what an operation finds.
    pub fn token(&self, kind: OperationKind) -> u32 {
        match self.cells {
            Some(_) => self.found(side(kind)).token(),
            None => pack(self.length(), self.tasks()),
        }
    }

    /// What an operation accesses that finds this.
    fn accesses(&self, cells: &Cells, home: LocationId, kind: OperationKind, found: &Found) -> Accesses {
        use AccessMode::{Read, Write};
        use OperationKind::*;
        let number = found.number;
        // The room that put number `number` needs.
        let needed = number.checked_sub(self.capacity).filter(|_| self.capacity > 0).map(|room| cells.room(room));
        match kind {
            // Nobody takes it: which of those that nobody takes comes first makes no difference.
            ChannelPut if self.taken.is_some_and(|taken| number >= taken) => smallvec![access(cells.back, Read)],
            ChannelPut | ChannelPutWithin | ChannelTryPut if found.possible || kind != ChannelTryPut => {
                let mut accesses: Accesses = smallvec![access(cells.back, Write), access(cells.slot(number), Write)];
                accesses.extend(needed.map(|room| access(room, Read)));
                accesses
            }
            ChannelTryPut | ChannelFull => {
                let mut accesses: Accesses = smallvec![access(cells.back, Read)];
                accesses.extend(needed.map(|room| access(room, Read)));
                accesses
            }
            ChannelGet | ChannelTryGet if found.possible || kind == ChannelGet => {
                let mut accesses: Accesses = smallvec![access(home, Write), access(cells.slot(number), Read)];
                if self.capacity > 0 {
                    accesses.push(access(cells.room(number), Write));
                }
                accesses
            }
            ChannelTryGet | ChannelEmpty => smallvec![access(home, Read), access(cells.slot(number), Read)],
            ChannelSize => smallvec![access(home, Read), access(cells.back, Read)],
            ChannelDone if !self.hands_on_tasks => smallvec![access(cells.done, AccessMode::IntentWrite)],
            ChannelDone => {
                let mode = if found.possible { Write } else { Read };
                smallvec![access(cells.done, mode), access(cells.slot(number), Read)]
            }
            // Who finds nothing left to do reads that nothing is put; who has to wait reads all that was.
            _ if found.possible => smallvec![access(cells.done, Read), access(cells.back, Read)],
            _ => smallvec![access(cells.done, Read), access(cells.slot(number), Read)],
        }
    }
}

fn home(operation: &Operation) -> LocationId {
    LocationId(operation.detail)
}

impl Primitives {
    pub fn channel(&self, location: LocationId) -> Option<&Channel> {
        match self.get(location) {
            Some(PrimitiveState::Channel(channel)) => Some(channel),
            _ => None,
        }
    }

    pub fn channel_mut(&mut self, location: LocationId) -> Option<&mut Channel> {
        match self.get_mut(location) {
            Some(PrimitiveState::Channel(channel)) => Some(channel),
            _ => None,
        }
    }

    /// The location that an operation on the queue at `home` acts on first.
    pub fn channel_target(&self, home: LocationId, kind: OperationKind) -> LocationId {
        match (self.channel(home).and_then(|channel| channel.cells.as_ref()), side(kind)) {
            (None, _) | (_, Side::Front) => home,
            (Some(cells), Side::Back) => cells.back,
            (Some(cells), Side::Done) => cells.done,
        }
    }

    pub(super) fn channel_enabled(&self, operation: &Operation) -> bool {
        use OperationKind::*;
        let Some(channel) = self.channel(home(operation)) else { return true };
        match operation.kind {
            ChannelGet => channel.length() > 0,
            ChannelPutWithin => channel.has_room(),
            ChannelJoin => channel.tasks() == 0,
            _ => true,
        }
    }

    pub(super) fn channel_token(&self, operation: &Operation) -> u32 {
        self.channel(home(operation)).map_or(0, |channel| channel.token(operation.kind))
    }

    pub(super) fn channel_accesses(&self, operation: &Operation) -> Accesses {
        let Some(channel) = self.channel(home(operation)) else { return Accesses::new() };
        match &channel.cells {
            Some(cells) => {
                let found = channel.found(side(operation.kind));
                channel.accesses(cells, home(operation), operation.kind, &found)
            }
            None => whole_accesses(operation, channel, channel.token(operation.kind)),
        }
    }

    pub(super) fn channel_perform(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        use OperationKind::*;
        let Some(channel) = self.channel_mut(home(operation)) else { return Effect::Done(0) };
        match operation.kind {
            ChannelPut | ChannelPutWithin | ChannelTryPut if channel.has_room() => channel.puts += 1,
            ChannelGet | ChannelTryGet if channel.length() > 0 => {
                channel.gets += 1;
                channel.hold(thread, 1);
            }
            ChannelDone if channel.tasks() > 0 => {
                channel.done += 1;
                channel.hold(thread, -1);
            }
            ChannelDone => return Effect::Misused(Misuse::TaskDoneTooOften),
            ChannelSize => return Effect::Done(channel.length()),
            ChannelEmpty => return Effect::Done(u32::from(channel.length() == 0)),
            ChannelFull => return Effect::Done(u32::from(!channel.has_room())),
            ChannelJoin => {}
            _ => return Effect::Done(0),
        }
        Effect::Done(1)
    }

    /// The cursor of puts and that of tasks of the queue that an operation waits on until no task is left; None for
    /// another operation, and for a queue that is one location.
    pub fn awaited_tasks(&self, operation: &Operation) -> Option<(LocationId, LocationId)> {
        let waits = operation.kind == OperationKind::ChannelJoin;
        let cells = self.channel(home(operation)).and_then(|channel| channel.cells.as_ref()).filter(|_| waits)?;
        Some((cells.back, cells.done))
    }

    /// See [`super::MemoryModel::enabled_before`].
    pub(super) fn channel_enabled_before(&self, event: &Event, earlier: &Event) -> bool {
        use OperationKind::*;
        let Some(channel) = self.channel(home(&event.operation)) else { return true };
        let token = earlier.before;
        if channel.cells.is_none() {
            return match event.operation.kind {
                _ if event.operation.target != earlier.operation.target => true,
                ChannelGet => items_in(token) > 0,
                ChannelPutWithin => channel.capacity == 0 || items_in(token) < channel.capacity,
                ChannelJoin => tasks_in(token) == 0,
                _ => true,
            };
        }
        if !earlier.operation.kind.is_of_channel() || home(&event.operation) != home(&earlier.operation) {
            return true;
        }
        let found = Found::of(token);
        match (event.operation.kind, side(earlier.operation.kind)) {
            (ChannelGet, Side::Front) | (ChannelPutWithin, Side::Back) => found.possible,
            // A put fills the slot, and a get makes room.
            (ChannelGet, Side::Back) | (ChannelPutWithin, Side::Front) if changes(earlier) => false,
            // See `Execution::race_of_join`.
            (ChannelJoin, _) => false,
            // What changes nothing of it finds it as it is found now.
            (ChannelGet | ChannelPutWithin, _) => Found::of(event.before).possible,
            _ => true,
        }
    }

    /// See [`super::MemoryModel::accesses_before`].
    pub(super) fn channel_accesses_before(&self, event: &Event, earlier: &Event) -> Accesses {
        let operation = &event.operation;
        let here = home(operation);
        let Some(channel) = self.channel(here) else { return event.accesses.clone() };
        let Some(cells) = &channel.cells else {
            if operation.target != earlier.operation.target {
                return event.accesses.clone();
            }
            return with_others(whole_accesses(operation, channel, earlier.before), event, |at| at == here);
        };
        if !earlier.operation.kind.is_of_channel() || here != home(&earlier.operation) {
            return event.accesses.clone();
        }
        let (own, other) = (side(operation.kind), side(earlier.operation.kind));
        let mut found = Found::of(event.before);
        if own == other {
            found = Found::of(earlier.before);
        } else if changes(earlier) {
            // Of another side it is what made the operation possible, or what it can prevent.
            match (own, other) {
                (Side::Front | Side::Done, Side::Back) | (Side::Back, Side::Front) => found.possible = false,
                _ => {}
            }
        }
        if operation.kind == OperationKind::ChannelJoin {
            // It is planned only where it can take place: before a put, whose slot it reads then.
            found = Found { number: Found::of(earlier.before).number, possible: false };
        }
        with_others(channel.accesses(cells, here, operation.kind, &found), event, |at| cells.has(at, here))
    }
}

/// What an operation on a queue that is one location accesses if it finds this state.
fn whole_accesses(operation: &Operation, channel: &Channel, token: u32) -> Accesses {
    use OperationKind::*;
    let changes = match operation.kind {
        ChannelPut | ChannelPutWithin | ChannelGet => true,
        ChannelTryPut => channel.capacity == 0 || items_in(token) < channel.capacity,
        ChannelTryGet => items_in(token) > 0,
        ChannelDone => tasks_in(token) > 0,
        _ => false,
    };
    match changes {
        true => write(home(operation)),
        false => read(home(operation)),
    }
}

/// Whether an event changed the queue.
fn changes(event: &Event) -> bool {
    let target = event.accesses.iter().find(|access| access.location == event.operation.target);
    target.is_some_and(|access| access.mode == AccessMode::Write)
}

/// `accesses`, and those of the event that are not of the queue.
fn with_others(mut accesses: Accesses, event: &Event, is_own: impl Fn(LocationId) -> bool) -> Accesses {
    accesses.extend(event.accesses.iter().copied().filter(|access| !is_own(access.location)));
    accesses
}

//! The rules of synchronisation primitives, asked of the memory model directly.

use std::collections::VecDeque;

use _kernel::memory::{
    Cells, Channel, Claim, Effect, HoldersId, MemoryModel, Misuse, Outcome, PrimitiveState, SequentialConsistency,
};
use _kernel::operation::{AccessMode, EventId, LocationId, Operation, OperationKind, ThreadId};
use OperationKind::*;

const ONE: ThreadId = ThreadId(1);
const TWO: ThreadId = ThreadId(2);
const THREE: ThreadId = ThreadId(3);
const LOCK: LocationId = LocationId(0);
const CONDITION: LocationId = LocationId(1);
const OTHER: LocationId = LocationId(2);
const SLOT: LocationId = LocationId(3);

/// A memory in which every operation performed is the next event.
struct Memory {
    model: SequentialConsistency,
    events: u32,
}

impl Memory {
    fn with(primitives: impl IntoIterator<Item = (LocationId, PrimitiveState)>) -> Memory {
        let mut model = SequentialConsistency::default();
        for (location, state) in primitives {
            model.create(location, state);
        }
        Memory { model, events: 0 }
    }

    fn perform(&mut self, thread: ThreadId, kind: OperationKind, target: LocationId, detail: u32) -> Effect {
        let event = EventId(self.events);
        self.events += 1;
        self.model.perform(thread, &Operation::new(kind, target, detail), event)
    }

    fn enabled(&self, thread: ThreadId, kind: OperationKind, target: LocationId, detail: u32) -> bool {
        self.model.enabled(thread, &Operation::new(kind, target, detail))
    }

    /// What an operation of a queue at `home` accesses.
    fn accessed(&self, thread: ThreadId, kind: OperationKind, home: LocationId) -> Vec<(LocationId, AccessMode)> {
        let target = self.model.primitives().channel_target(home, kind);
        let accesses = self.model.accesses(thread, &Operation::new(kind, target, home.0));
        accesses.iter().map(|access| (access.location, access.mode)).collect()
    }

    fn mode(&self, thread: ThreadId, kind: OperationKind, target: LocationId) -> AccessMode {
        self.model.accesses(thread, &Operation::new(kind, target, 1))[0].mode
    }
}

fn mutex(reentrant: bool) -> PrimitiveState {
    PrimitiveState::Mutex { owner: None, depth: 0, reentrant, taken: 0 }
}

fn monitor(reentrant: bool) -> Memory {
    Memory::with([(LOCK, mutex(reentrant)), (CONDITION, PrimitiveState::Condition { waiters: VecDeque::new() })])
}

fn wait(memory: &mut Memory, thread: ThreadId) {
    assert_eq!(memory.perform(thread, Acquire, LOCK, 0), Effect::Done(1));
    assert_eq!(memory.perform(thread, Wait, LOCK, CONDITION.0), Effect::Done(1));
}

#[test]
fn a_plain_lock_is_taken_once_and_may_be_released_by_any_thread() {
    let mut memory = Memory::with([(LOCK, mutex(false))]);
    assert_eq!(memory.perform(ONE, Release, LOCK, 0), Effect::Misused(Misuse::ReleaseUnheld));
    memory.perform(ONE, Acquire, LOCK, 0);
    assert!(!memory.enabled(ONE, Acquire, LOCK, 0));
    assert!(!memory.enabled(TWO, Acquire, LOCK, 0));
    assert_eq!(memory.perform(TWO, TryAcquire, LOCK, 0), Effect::Done(0));
    assert_eq!(memory.perform(TWO, Release, LOCK, 0), Effect::Done(1));
    assert!(memory.enabled(TWO, Acquire, LOCK, 0));
}

#[test]
fn a_try_acquire_that_fails_only_reads() {
    let mut memory = Memory::with([(LOCK, mutex(false))]);
    assert_eq!(memory.mode(TWO, TryAcquire, LOCK), AccessMode::Write);
    memory.perform(ONE, Acquire, LOCK, 0);
    assert_eq!(memory.mode(TWO, TryAcquire, LOCK), AccessMode::Read);
}

#[test]
fn a_reentrant_lock_is_free_once_it_was_released_as_often_as_taken() {
    let mut memory = Memory::with([(LOCK, mutex(true))]);
    memory.perform(ONE, Acquire, LOCK, 0);
    memory.perform(ONE, Acquire, LOCK, 0);
    assert_eq!(memory.perform(TWO, Release, LOCK, 0), Effect::Misused(Misuse::ReleaseByOther));
    memory.perform(ONE, Release, LOCK, 0);
    assert!(!memory.enabled(TWO, Acquire, LOCK, 0));
    memory.perform(ONE, Release, LOCK, 0);
    assert!(memory.enabled(TWO, Acquire, LOCK, 0));
}

#[test]
fn a_wait_gives_a_reentrant_lock_up_wholly_and_a_wakeup_restores_its_depth() {
    let mut memory = monitor(true);
    memory.perform(ONE, Acquire, LOCK, 0);
    wait(&mut memory, ONE);
    assert!(memory.enabled(TWO, Acquire, LOCK, 0));
    memory.perform(TWO, Notify, CONDITION, 1);
    memory.perform(ONE, Wake, LOCK, CONDITION.0);
    memory.perform(ONE, Release, LOCK, 0);
    assert!(!memory.enabled(TWO, Acquire, LOCK, 0), "taken twice before the wait, released once after it");
    memory.perform(ONE, Release, LOCK, 0);
    assert!(memory.enabled(TWO, Acquire, LOCK, 0));
}

#[test]
fn a_condition_wakes_its_waiters_in_the_order_in_which_they_came() {
    let mut memory = monitor(false);
    for thread in [TWO, ONE, THREE] {
        wait(&mut memory, thread);
    }
    assert_eq!(memory.perform(ThreadId::MAIN, Notify, CONDITION, 2), Effect::Done(2));
    assert!(memory.enabled(TWO, Wake, LOCK, CONDITION.0));
    assert!(memory.enabled(ONE, Wake, LOCK, CONDITION.0));
    assert!(!memory.enabled(THREE, Wake, LOCK, CONDITION.0));
    assert_eq!(memory.perform(ThreadId::MAIN, Notify, CONDITION, u32::MAX), Effect::Done(1));
    assert!(memory.enabled(THREE, Wake, LOCK, CONDITION.0));
}

#[test]
fn a_woken_thread_still_has_to_wait_for_the_lock() {
    let mut memory = monitor(false);
    wait(&mut memory, ONE);
    memory.perform(TWO, Acquire, LOCK, 0);
    memory.perform(TWO, Notify, CONDITION, 1);
    assert!(!memory.enabled(ONE, Wake, LOCK, CONDITION.0));
    memory.perform(TWO, Release, LOCK, 0);
    assert!(memory.enabled(ONE, Wake, LOCK, CONDITION.0));
}

#[test]
fn waiting_without_the_lock_is_misuse() {
    let mut memory = monitor(false);
    assert_eq!(memory.perform(ONE, Wait, LOCK, CONDITION.0), Effect::Misused(Misuse::WaitUnheld));
}

#[test]
fn a_timed_waiter_can_take_a_notification_until_it_leaves_the_queue() {
    let mut memory = monitor(false);
    wait(&mut memory, ONE);
    wait(&mut memory, TWO);
    memory.model.primitives_mut().set_slot(CONDITION, ONE, SLOT);
    assert!(memory.model.primitives().has_timed_waiter(CONDITION));
    assert!(memory.enabled(ONE, TimedWake, SLOT, CONDITION.0), "it can time out at any moment");
    assert_eq!(memory.perform(ONE, TimedWake, SLOT, CONDITION.0), Effect::Done(0), "it was not notified");

    let notify = Operation::new(Notify, CONDITION, 1);
    let accessed = memory.model.accesses(THREE, &notify);
    assert_eq!(accessed.iter().map(|access| access.location).collect::<Vec<_>>(), [SLOT]);
    assert_eq!(memory.perform(THREE, Notify, CONDITION, 1), Effect::Done(1));
    assert!(!memory.enabled(TWO, Wake, LOCK, CONDITION.0), "the notification was spent on the first in the queue");

    assert_eq!(memory.model.primitives_mut().leave(CONDITION, ONE), 1);
    memory.perform(THREE, Notify, CONDITION, 1);
    assert!(memory.enabled(TWO, Wake, LOCK, CONDITION.0));
}

#[test]
fn a_bounded_semaphore_refuses_to_grow_beyond_its_first_value() {
    let bounded = PrimitiveState::Semaphore { value: 1, bound: Some(1) };
    let mut memory = Memory::with([(OTHER, bounded)]);
    let refused = Effect::Misused(Misuse::ReleaseTooOften);
    assert_eq!(memory.perform(ONE, SemaphoreRelease, OTHER, 1), refused);
    assert_eq!(memory.perform(ONE, SemaphoreAcquire, OTHER, 1), Effect::Done(1));
    assert!(!memory.enabled(TWO, SemaphoreAcquire, OTHER, 1));
    assert_eq!(memory.perform(TWO, SemaphoreTryAcquire, OTHER, 1), Effect::Done(0));
    assert_eq!(memory.perform(ONE, SemaphoreRelease, OTHER, 2), refused);
    assert_eq!(memory.perform(ONE, SemaphoreRelease, OTHER, 1), Effect::Done(1));
    assert!(memory.enabled(TWO, SemaphoreAcquire, OTHER, 1));
}

#[test]
fn an_unbounded_semaphore_counts_every_release() {
    let mut memory = Memory::with([(OTHER, PrimitiveState::Semaphore { value: 0, bound: None })]);
    memory.perform(ONE, SemaphoreRelease, OTHER, 3);
    for _ in 0..3 {
        assert_eq!(memory.perform(TWO, SemaphoreTryAcquire, OTHER, 1), Effect::Done(1));
    }
    assert!(!memory.enabled(TWO, SemaphoreAcquire, OTHER, 1));
}

#[test]
fn a_thread_asleep_on_a_flag_is_woken_by_a_set_that_is_cleared_before_it_runs() {
    let mut memory = Memory::with([(OTHER, PrimitiveState::Flag { set: false, waiters: Vec::new() })]);
    memory.model.primitives_mut().enqueue(OTHER, ONE, 0, LocationId::NONE);
    assert!(!memory.enabled(ONE, FlagWait, OTHER, 0));
    memory.perform(TWO, FlagSet, OTHER, 0);
    memory.perform(TWO, FlagClear, OTHER, 0);
    assert!(memory.enabled(ONE, FlagWait, OTHER, 0));
    assert!(!memory.enabled(THREE, FlagWait, OTHER, 0), "it was not asleep when the flag was set");
    assert_eq!(memory.perform(THREE, FlagRead, OTHER, 0), Effect::Done(0));
}

#[test]
fn a_channel_gives_no_more_than_was_put() {
    let mut memory = Memory::with([(OTHER, PrimitiveState::Channel(Channel::new(0, false, false, None)))]);
    assert!(!memory.enabled(ONE, ChannelGet, OTHER, OTHER.0));
    assert_eq!(memory.accessed(ONE, ChannelTryGet, OTHER), [(OTHER, AccessMode::Read)]);
    memory.perform(TWO, ChannelPut, OTHER, OTHER.0);
    assert_eq!(memory.accessed(ONE, ChannelTryGet, OTHER), [(OTHER, AccessMode::Write)]);
    assert_eq!(memory.perform(ONE, ChannelGet, OTHER, OTHER.0), Effect::Done(1));
    assert_eq!(memory.perform(ONE, ChannelTryGet, OTHER, OTHER.0), Effect::Done(0));
}

const BACK: LocationId = LocationId(4);
const DONE: LocationId = LocationId(5);

fn slot(number: u32) -> LocationId {
    LocationId(10 + number)
}

fn room(number: u32) -> LocationId {
    LocationId(20 + number)
}

/// A queue with parts, at `OTHER`.
fn queue(capacity: u32, hands_on_tasks: bool) -> Memory {
    let cells =
        Cells { back: BACK, done: DONE, slots: (0..8).map(slot).collect(), rooms: (0..8).map(room).collect() };
    Memory::with([(OTHER, PrimitiveState::Channel(Channel::new(capacity, true, hands_on_tasks, Some(cells))))])
}

#[test]
fn a_put_and_a_get_meet_in_their_slot_alone() {
    let mut memory = queue(0, false);
    memory.perform(ONE, ChannelPut, BACK, OTHER.0);
    assert_eq!(memory.accessed(ONE, ChannelPut, OTHER), [(BACK, AccessMode::Write), (slot(1), AccessMode::Write)]);
    assert_eq!(memory.accessed(TWO, ChannelGet, OTHER), [(OTHER, AccessMode::Write), (slot(0), AccessMode::Read)]);
    memory.perform(TWO, ChannelGet, OTHER, OTHER.0);
    assert_eq!(memory.accessed(TWO, ChannelTryGet, OTHER), [(OTHER, AccessMode::Read), (slot(1), AccessMode::Read)]);
    assert_eq!(memory.accessed(TWO, ChannelEmpty, OTHER), [(OTHER, AccessMode::Read), (slot(1), AccessMode::Read)]);
}

#[test]
fn a_put_into_a_bounded_queue_needs_the_room_that_one_get_makes() {
    let mut memory = queue(2, false);
    for _ in 0..2 {
        assert_eq!(memory.perform(ONE, ChannelTryPut, BACK, OTHER.0), Effect::Done(1));
    }
    assert!(!memory.enabled(ONE, ChannelPutWithin, BACK, OTHER.0));
    assert_eq!(memory.perform(ONE, ChannelTryPut, BACK, OTHER.0), Effect::Done(0));
    assert_eq!(memory.accessed(ONE, ChannelFull, OTHER), [(BACK, AccessMode::Read), (room(0), AccessMode::Read)]);
    assert_eq!(
        memory.accessed(TWO, ChannelGet, OTHER),
        [(OTHER, AccessMode::Write), (slot(0), AccessMode::Read), (room(0), AccessMode::Write)]
    );
    memory.perform(TWO, ChannelGet, OTHER, OTHER.0);
    assert!(memory.enabled(ONE, ChannelPutWithin, BACK, OTHER.0));
    assert_eq!(
        memory.accessed(ONE, ChannelPutWithin, OTHER),
        [(BACK, AccessMode::Write), (slot(2), AccessMode::Write), (room(0), AccessMode::Read)]
    );
}

#[test]
fn tasks_are_ordered_only_where_threads_tell_of_those_of_others() {
    let mut memory = queue(0, false);
    memory.perform(ONE, ChannelPut, BACK, OTHER.0);
    assert!(!memory.enabled(ONE, ChannelJoin, DONE, OTHER.0));
    assert_eq!(memory.accessed(ONE, ChannelJoin, OTHER), [(DONE, AccessMode::Read), (BACK, AccessMode::Read)]);
    memory.perform(TWO, ChannelGet, OTHER, OTHER.0);
    assert_eq!(memory.accessed(TWO, ChannelDone, OTHER), [(DONE, AccessMode::IntentWrite)]);
    assert_eq!(memory.perform(TWO, ChannelDone, DONE, OTHER.0), Effect::Done(1));
    assert!(memory.enabled(ONE, ChannelJoin, DONE, OTHER.0));
    assert_eq!(memory.accessed(ONE, ChannelJoin, OTHER), [(DONE, AccessMode::Read), (slot(1), AccessMode::Read)]);

    let mut memory = queue(0, true);
    assert_eq!(memory.accessed(TWO, ChannelDone, OTHER), [(DONE, AccessMode::Read), (slot(0), AccessMode::Read)]);
    assert_eq!(memory.perform(TWO, ChannelDone, DONE, OTHER.0), Effect::Misused(Misuse::TaskDoneTooOften));
    memory.perform(ONE, ChannelPut, BACK, OTHER.0);
    assert_eq!(memory.accessed(TWO, ChannelDone, OTHER), [(DONE, AccessMode::Write), (slot(0), AccessMode::Read)]);
}

#[test]
fn reset_forgets_every_primitive() {
    let mut memory = Memory::with([(LOCK, mutex(false))]);
    memory.perform(ONE, Acquire, LOCK, 0);
    memory.model.reset();
    assert_eq!(memory.model.holder(LOCK), None);
    assert!(memory.model.primitives().get(LOCK).is_none());
}

const FIRST: u32 = 7;
const SECOND: u32 = 8;

fn owned() -> Memory {
    Memory::with([(LOCK, PrimitiveState::Owned { holders: HoldersId::NOBODY })])
}

fn alone(owner: u32) -> u32 {
    Claim { owner, alone: true }.detail()
}

fn shared(owner: u32) -> u32 {
    Claim { owner, alone: false }.detail()
}

#[test]
fn an_owned_lock_is_held_by_one_owner_alone_or_by_several_that_share() {
    let mut memory = owned();
    assert_eq!(memory.perform(ONE, OwnedAcquire, LOCK, shared(FIRST)), Outcome::Taken.effect());
    assert!(memory.enabled(TWO, OwnedAcquire, LOCK, shared(SECOND)));
    assert!(!memory.enabled(TWO, OwnedAcquire, LOCK, alone(SECOND)));
    assert_eq!(memory.perform(TWO, OwnedTryAcquire, LOCK, alone(SECOND)), Outcome::Refused.effect());
    assert_eq!(memory.perform(TWO, OwnedTryAcquire, LOCK, shared(SECOND)), Outcome::Taken.effect());
    memory.perform(ONE, OwnedRelease, LOCK, shared(FIRST));
    memory.perform(TWO, OwnedRelease, LOCK, shared(SECOND));
    assert_eq!(memory.perform(ONE, OwnedAcquire, LOCK, alone(FIRST)), Outcome::Taken.effect());
    assert!(!memory.enabled(TWO, OwnedAcquire, LOCK, shared(SECOND)));
}

#[test]
fn an_owner_that_holds_a_lock_keeps_it_or_gives_it_up_before_it_takes_it_in_the_other_way() {
    let mut memory = owned();
    memory.perform(ONE, OwnedAcquire, LOCK, shared(FIRST));
    memory.perform(TWO, OwnedAcquire, LOCK, shared(SECOND));
    assert_eq!(memory.perform(THREE, OwnedAcquire, LOCK, shared(FIRST)), Outcome::Kept.effect());
    assert!(memory.enabled(ONE, OwnedAcquire, LOCK, alone(FIRST)));
    assert_eq!(memory.perform(ONE, OwnedAcquire, LOCK, alone(FIRST)), Outcome::Dropped.effect());
    assert!(!memory.enabled(ONE, OwnedAcquire, LOCK, alone(FIRST)));
    memory.perform(TWO, OwnedRelease, LOCK, shared(SECOND));
    assert_eq!(memory.perform(ONE, OwnedAcquire, LOCK, alone(FIRST)), Outcome::Taken.effect());
}

#[test]
fn an_owner_that_holds_nothing_gives_up_nothing() {
    let mut memory = owned();
    memory.perform(ONE, OwnedAcquire, LOCK, shared(FIRST));
    assert_eq!(memory.perform(TWO, OwnedRelease, LOCK, shared(SECOND)), Outcome::Refused.effect());
    assert_eq!(memory.perform(TWO, OwnedRelease, LOCK, shared(FIRST)), Outcome::Taken.effect());
    assert!(memory.enabled(THREE, OwnedAcquire, LOCK, alone(SECOND)));
}

#[test]
fn an_attempt_at_an_owned_lock_that_fails_only_reads() {
    let mut memory = owned();
    assert_eq!(memory.mode(ONE, OwnedTryAcquire, LOCK), AccessMode::Write);
    memory.perform(TWO, OwnedAcquire, LOCK, alone(SECOND));
    assert_eq!(memory.mode(ONE, OwnedTryAcquire, LOCK), AccessMode::Read);
}

//! Who is who, independent of the interleaving: threads by spawn path, objects by who created them as which of their
//! type, keys by value, locations by object and key. Numbers mean the same in every execution of one check.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyString, PyTuple};
use rustc_hash::FxHashMap;

use crate::operation::{LocationId, ThreadId};

/// A tracked Python object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ObjectId(pub u32);

impl ObjectId {
    /// The owner of what is known by name.
    pub const NAMED: ObjectId = ObjectId(u32::MAX);
    /// What writes to locations that one predicate reads have in common.
    pub const JOINT: ObjectId = ObjectId(u32::MAX - 1);
    /// The owner of attributes that come and go in classes.
    pub const CLASSES: ObjectId = ObjectId(u32::MAX - 2);
}

/// An attribute name, item key or pseudo-key of an object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct KeyId(pub u32);

impl KeyId {
    /// The number of items of a container.
    pub const LENGTH: KeyId = KeyId(0);
    /// The object as a whole.
    pub const WHOLE: KeyId = KeyId(1);
    /// The state of a primitive, and of a thread.
    pub const STATE: KeyId = KeyId(2);
    /// All that is inside of an object.
    pub const NESTED: KeyId = KeyId(3);
    const FIRST_FREE: u32 = 8;
    /// Integers from 0 up have keys of their own, since most item keys are list indexes.
    const FIRST_INTEGER: u32 = 1 << 30;
    const INTEGERS: u32 = 1 << 24;
    /// Where a timed wait of a thread ends.
    const FIRST_SLOT: u32 = 1 << 29;
    const FIRST_OBJECT: u32 = 1 << 31;

    pub fn index(index: usize) -> KeyId {
        KeyId(Self::FIRST_INTEGER + (index as u32).min(Self::INTEGERS))
    }

    pub fn slot(thread: ThreadId) -> KeyId {
        KeyId(Self::FIRST_SLOT + thread.0)
    }
}

/// Locations that become visible together when one of them races.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ClassId(pub u32);

struct ThreadInfo {
    path: String,
    /// The thread itself as an object whose life can be asked about.
    object: Option<ObjectId>,
    children: Vec<ThreadId>,
    /// The agents of its store buffers, by what the buffer is for.
    agents: Vec<(LocationId, ThreadId)>,
    /// The objects that the thread created, by type, by order.
    objects: FxHashMap<u32, Vec<ObjectId>>,
    created: Created,
}

/// How many objects of each type a thread has created in the running execution. What is made under a condition moves
/// the numbers of objects of its own type alone: a lock is the same one whether or not a thread was started before it.
#[derive(Clone, Default)]
pub struct Created(FxHashMap<u32, u32>);

#[derive(Clone, Copy)]
struct ObjectInfo {
    type_token: u32,
    /// The thread of controlled code that made it, and how many of the type it had made before.
    made: Option<(ThreadId, u32)>,
}

/// The locks (or semaphores, ...) of one type that one thread makes, which often stand in one container. When one of
/// them races, as many again become visible as are by then: few restarts show all of them, and few are shown for
/// nothing.
#[derive(Default)]
struct Siblings {
    /// Those that are not visible, the first last.
    hidden: Vec<ClassId>,
    visible: usize,
}

#[derive(Clone, Copy)]
pub struct LocationInfo {
    pub object: ObjectId,
    pub class: ClassId,
}

/// All identities of one check.
pub struct Identities {
    threads: Vec<ThreadInfo>,
    objects: Vec<ObjectInfo>,
    parts: FxHashMap<(ObjectId, KeyId, u32), ObjectId>,
    locations: FxHashMap<u64, LocationId>,
    location_info: Vec<LocationInfo>,
    /// The parts of primitives, by number.
    cells: FxHashMap<(ObjectId, u32), LocationId>,
    classes: FxHashMap<(u32, u32), ClassId>,
    /// By type and creator.
    siblings: FxHashMap<(u32, ThreadId), Siblings>,
    visible: Vec<bool>,
    keys: Py<PyDict>,
    names: FxHashMap<usize, (KeyId, Py<PyString>)>,
    next_key: u32,
    /// Tokens of values, by type and value.
    values: Py<PyDict>,
}

/// Type tokens below this stand for types; classes of single objects are above.
const SINGLE_OBJECT: u32 = 1 << 31;

impl Identities {
    pub fn new(py: Python<'_>) -> Identities {
        let mut identities = Identities {
            threads: Vec::new(),
            objects: Vec::new(),
            parts: FxHashMap::default(),
            locations: FxHashMap::default(),
            location_info: Vec::new(),
            cells: FxHashMap::default(),
            classes: FxHashMap::default(),
            siblings: FxHashMap::default(),
            visible: Vec::new(),
            keys: PyDict::new(py).unbind(),
            names: FxHashMap::default(),
            next_key: KeyId::FIRST_FREE,
            values: PyDict::new(py).unbind(),
        };
        identities.add("main".to_owned());
        identities
    }

    /// Objects are numbered anew.
    pub fn begin_execution(&mut self) {
        for thread in &mut self.threads {
            thread.created.0.clear();
        }
    }

    /// The `number`th child of `parent`.
    pub fn child(&mut self, parent: ThreadId, number: u32) -> ThreadId {
        if let Some(child) = self.threads[parent.index()].children.get(number as usize) {
            return *child;
        }
        let path = format!("{}.{}", self.threads[parent.index()].path, number);
        let child = ThreadId(self.threads.len() as u32);
        self.add(path);
        self.threads[parent.index()].children.push(child);
        child
    }

    fn add(&mut self, path: String) {
        self.threads.push(ThreadInfo {
            path,
            object: None,
            children: Vec::new(),
            agents: Vec::new(),
            objects: FxHashMap::default(),
            created: Created::default(),
        });
    }

    /// The agent of the store buffer in which `owner` keeps its stores to `location`, or all of them if that is NONE.
    pub fn agent(&mut self, owner: ThreadId, location: LocationId) -> ThreadId {
        let known = self.threads[owner.index()].agents.iter().find(|(place, _)| *place == location);
        if let Some((_, agent)) = known {
            return *agent;
        }
        let agent = ThreadId(self.threads.len() as u32);
        self.add(self.threads[owner.index()].path.clone());
        self.threads[owner.index()].agents.push((location, agent));
        agent
    }

    pub fn path(&self, thread: ThreadId) -> &str {
        &self.threads[thread.index()].path
    }

    /// The thread with this path, made known if it is new; None if the text is no path.
    pub fn thread_at(&mut self, path: &str) -> Option<ThreadId> {
        let mut parts = path.split('.');
        if parts.next() != Some("main") {
            return None;
        }
        let mut thread = ThreadId::MAIN;
        for part in parts {
            let number: u32 = part.parse().ok()?;
            if number > 100_000 {
                return None;
            }
            for earlier in 0..=number {
                self.child(thread, earlier);
            }
            thread = self.child(thread, number);
        }
        Some(thread)
    }

    /// The next object of a type that `creator` makes.
    pub fn created(&mut self, creator: ThreadId, type_token: u32) -> ObjectId {
        let thread = &mut self.threads[creator.index()];
        let count = thread.created.0.entry(type_token).or_default();
        let number = *count;
        *count += 1;
        let known = thread.objects.entry(type_token).or_default();
        if let Some(object) = known.get(number as usize) {
            return *object;
        }
        let object = ObjectId(self.objects.len() as u32);
        known.push(object);
        self.objects.push(ObjectInfo { type_token, made: Some((creator, number)) });
        object
    }

    /// What a thread has created so far.
    pub fn created_by(&self, thread: ThreadId) -> Created {
        self.threads[thread.index()].created.clone()
    }

    /// Let a thread create again what it created after `created` was true.
    pub fn create_again(&mut self, thread: ThreadId, created: Created) {
        self.threads[thread.index()].created = created;
    }

    /// An object that was not made by controlled code and is first seen as the value at `key` of `parent`.
    pub fn part(&mut self, parent: ObjectId, key: KeyId, type_token: u32) -> ObjectId {
        if let Some(object) = self.parts.get(&(parent, key, type_token)) {
            return *object;
        }
        let object = self.anonymous(type_token);
        self.parts.insert((parent, key, type_token), object);
        object
    }

    /// The thread as an object.
    pub fn thread_object(&mut self, thread: ThreadId) -> ObjectId {
        if let Some(object) = self.threads[thread.index()].object {
            return object;
        }
        let object = self.anonymous(SINGLE_OBJECT);
        self.threads[thread.index()].object = Some(object);
        object
    }

    /// An object that is the same in all executions.
    pub fn anonymous(&mut self, type_token: u32) -> ObjectId {
        let object = ObjectId(self.objects.len() as u32);
        self.objects.push(ObjectInfo { type_token, made: None });
        object
    }

    /// What `id` gives for an object of a type, the same in every process that follows the same schedule; None if the
    /// identity is that of an object of another type, which the object shows.
    pub fn number(&self, object: ObjectId, type_token: u32, type_name: &str) -> Option<u64> {
        let info = self.objects.get(object.0 as usize)?;
        let number = match info.made {
            Some((creator, number)) => object_number(&(self.path(creator), type_name, number)),
            None => object_number(&object.0),
        };
        (info.type_token == type_token).then_some(number)
    }

    /// The location at `key` of `object`. Attributes of one type's instances become visible together, and so do all
    /// locations of one container or primitive; for primitives see `primitive`.
    pub fn location(&mut self, object: ObjectId, key: KeyId, attribute: bool) -> LocationId {
        let packed = u64::from(object.0) << 32 | u64::from(key.0);
        if let Some(location) = self.locations.get(&packed) {
            return *location;
        }
        let class_key =
            if attribute { (self.objects[object.0 as usize].type_token, key.0) } else { (SINGLE_OBJECT, object.0) };
        let next = ClassId(self.visible.len() as u32);
        let class = *self.classes.entry(class_key).or_insert(next);
        if class == next {
            self.visible.push(false);
        }
        let location = LocationId(self.location_info.len() as u32);
        self.location_info.push(LocationInfo { object, class });
        self.locations.insert(packed, location);
        location
    }

    /// The location of a primitive, which becomes visible with others of its type.
    pub fn primitive(&mut self, object: ObjectId) -> LocationId {
        let known = self.location_info.len();
        let location = self.location(object, KeyId::STATE, false);
        let class = self.location_info[location.index()].class;
        if location.index() == known {
            if let Some(siblings) = self.siblings_of(object) {
                siblings.hidden.insert(0, class);
            }
        }
        location
    }

    /// The location of a numbered part of a primitive, which becomes visible together with it.
    pub fn cell(&mut self, primitive: LocationId, number: u32) -> LocationId {
        let info = self.location_info[primitive.index()];
        let next = LocationId(self.location_info.len() as u32);
        let location = *self.cells.entry((info.object, number)).or_insert(next);
        if location == next {
            self.location_info.push(info);
        }
        location
    }

    fn siblings_of(&mut self, object: ObjectId) -> Option<&mut Siblings> {
        let info = self.objects.get(object.0 as usize)?;
        Some(self.siblings.entry((info.type_token, info.made?.0)).or_default())
    }

    pub fn info(&self, location: LocationId) -> LocationInfo {
        self.location_info[location.index()]
    }

    /// The object that a location is a place of.
    pub fn object_at(&self, location: LocationId) -> ObjectId {
        self.location_info[location.index()].object
    }

    #[inline]
    pub fn is_visible(&self, location: LocationId) -> bool {
        self.visible[self.location_info[location.index()].class.0 as usize]
    }

    pub fn make_visible(&mut self, location: LocationId) {
        let LocationInfo { object, class } = self.location_info[location.index()];
        if std::mem::replace(&mut self.visible[class.0 as usize], true) {
            return;
        }
        let Some(siblings) = self.siblings_of(object) else { return };
        let Some(position) = siblings.hidden.iter().position(|sibling| *sibling == class) else { return };
        siblings.hidden.remove(position);
        siblings.visible += 1;
        let shown = siblings.hidden.len().saturating_sub(siblings.visible);
        let more = siblings.hidden.split_off(shown);
        siblings.visible += more.len();
        for sibling in more {
            self.visible[sibling.0 as usize] = true;
        }
    }

    /// The key of an attribute or variable name.
    #[inline]
    pub fn name(&mut self, name: &Bound<'_, PyString>) -> KeyId {
        if let Some((key, _)) = self.names.get(&(name.as_ptr() as usize)) {
            return *key;
        }
        let key = self.intern(name.as_any()).unwrap_or(KeyId::WHOLE);
        // Names in code are interned strings that live as long as the code; others would only fill the table.
        if self.names.len() < 100_000 {
            self.names.insert(name.as_ptr() as usize, (key, name.clone().unbind()));
        }
        key
    }

    /// The key of an item key that compares by value; None for others, which are not told apart.
    pub fn item(&mut self, key: &Bound<'_, PyAny>) -> Option<KeyId> {
        if let Ok(integer) = key.cast_exact::<PyInt>() {
            if let Ok(index) = integer.extract::<u32>() {
                if index < KeyId::INTEGERS {
                    return Some(KeyId::index(index as usize));
                }
            }
            return self.intern(key);
        }
        if key.is_exact_instance_of::<PyString>() {
            return self.intern(key);
        }
        if is_atom(key) {
            // Equal keys of different types (1, True, 1.0) must share a key.
            if let Ok(index) = key.extract::<f64>() {
                if index >= 0.0 && index.fract() == 0.0 && index < f64::from(KeyId::INTEGERS) {
                    return Some(KeyId::index(index as usize));
                }
            }
            return self.intern(key);
        }
        None
    }

    /// The key of an item key that is a tracked object compared by identity.
    pub fn object_key(&self, object: ObjectId) -> KeyId {
        KeyId(KeyId::FIRST_OBJECT + object.0)
    }

    fn intern(&mut self, key: &Bound<'_, PyAny>) -> Option<KeyId> {
        let py = key.py();
        let keys = self.keys.bind(py);
        if let Ok(Some(known)) = keys.get_item(key) {
            return known.extract::<u32>().ok().map(KeyId);
        }
        let number = self.next_key;
        keys.set_item(key, number).ok()?;
        self.next_key += 1;
        Some(KeyId(number))
    }

    /// A number that stands for an immutable value of a built-in type; equal values of different types (1 and True)
    /// have different ones, and so have 0.0 and -0.0. None for other values, and for a NaN.
    pub fn equality_token(&mut self, value: &Bound<'_, PyAny>) -> Option<u32> {
        const SMALL: u32 = 1 << 20;
        if value.is_exact_instance_of::<PyInt>() {
            if let Some(small) = value.extract::<u32>().ok().filter(|small| *small < SMALL) {
                return Some(small);
            }
        }
        let known = self.values.bind(value.py());
        let key = equality_key(value)?;
        if let Ok(Some(token)) = known.get_item(&key) {
            return token.extract().ok();
        }
        let token = SMALL + known.len() as u32;
        known.set_item(key, token).ok()?;
        Some(token)
    }

    /// A number that stands for a value that compares by value, for the state tokens of events; 0 if it does not.
    pub fn value_token(&mut self, value: &Bound<'_, PyAny>) -> u32 {
        self.item(value).map_or(0, |key| key.0 + 1)
    }
}

/// A number that no address is, and that tells objects apart.
pub fn object_number(origin: &impl Hash) -> u64 {
    const ABOVE_ADDRESSES: u64 = 1 << 56;
    const ALIGNMENT: u64 = 16;
    let mut hasher = DefaultHasher::new();
    origin.hash(&mut hasher);
    ABOVE_ADDRESSES + hasher.finish() % ABOVE_ADDRESSES / ALIGNMENT * ALIGNMENT
}

/// What a value of an immutable built-in type is told from others by: its type with itself, or with what tells it.
fn equality_key<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyTuple>> {
    let py = value.py();
    if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        let items: Vec<Bound<'py, PyTuple>> = tuple.iter().map(|item| equality_key(&item)).collect::<Option<_>>()?;
        return PyTuple::new(py, [value.get_type().into_any(), PyTuple::new(py, items).ok()?.into_any()]).ok();
    }
    if let Ok(number) = value.cast_exact::<PyFloat>() {
        if number.value().is_nan() {
            return None;
        }
        let text = number.repr().ok()?.into_any();
        return PyTuple::new(py, [value.get_type().into_any(), text]).ok();
    }
    is_atom(value).then(|| PyTuple::new(py, [value.get_type().into_any(), value.clone()]).ok())?
}

/// Whether a value is immutable and compares by value, all the way down.
fn is_atom(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_none()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyBytes>()
        || value.cast_exact::<PyTuple>().is_ok_and(|tuple| tuple.iter().all(|item| is_atom(&item)))
}

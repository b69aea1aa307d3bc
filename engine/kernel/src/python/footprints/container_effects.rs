//! What the operations of built-in containers do, by type and name.

use pyo3::prelude::*;
use pyo3::types::{PySlice, PyType};

use crate::python::types::kinds::TypeKind;
use crate::python::types::native_types::keeps_bytes_or_text;

/// What a container operation does, as far as conflicts go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContainerEffect {
    ReadWhole,
    /// Reads the whole, and in which order its items are.
    ReadOrder,
    WriteWhole,
    /// Changes the whole by the order in which its items are.
    WriteByOrder,
    /// Advances an iterator by one item.
    Step,
    Length,
    /// Reads, stores or removes the cell named by the first argument.
    CellLoad,
    CellStore,
    CellDelete,
    /// Stores the cell only if it is missing.
    CellDefault,
    Append,
    /// Reads the whole and makes a view or iterator of it.
    View,
}

impl ContainerEffect {
    /// Whether it is on the one cell that a key names.
    pub fn is_on_cell(self) -> bool {
        use ContainerEffect::*;
        matches!(self, CellLoad | CellStore | CellDelete | CellDefault)
    }

    /// Whether it is on the container as one piece, whatever its cells are.
    pub fn is_on_whole(self) -> bool {
        use ContainerEffect::*;
        matches!(self, ReadWhole | ReadOrder | WriteWhole | WriteByOrder)
    }

    /// The same where the key is a set: a set looks for the frozen set that has its items, all of which it reads then.
    pub fn by_items_of_key(self) -> ContainerEffect {
        use ContainerEffect::*;
        match self {
            CellLoad => ReadWhole,
            CellDelete => WriteWhole,
            other => other,
        }
    }

    /// Whether it looks at the order of the items.
    pub fn looks_at_order(self) -> bool {
        use ContainerEffect::*;
        matches!(self, ReadOrder | WriteByOrder | View)
    }

    /// Whether the container stays as it is.
    pub fn reads_only(self) -> bool {
        use ContainerEffect::*;
        matches!(self, ReadWhole | ReadOrder | Length | CellLoad | View)
    }
}

/// Methods of `bytearray`, `array` and streams in memory that leave the object as it is.
const READING: &[&str] = &[
    "decode",
    "endswith",
    "find",
    "hex",
    "isatty",
    "lower",
    "partition",
    "readable",
    "replace",
    "rfind",
    "rindex",
    "rpartition",
    "rsplit",
    "rstrip",
    "lstrip",
    "seekable",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "tobytes",
    "tolist",
    "tounicode",
    "upper",
    "writable",
];

/// What a method of a built-in container does, of which `class` is the type.
pub fn method_effect(class: &Bound<'_, PyType>, kind: TypeKind, name: &str, arguments: usize) -> ContainerEffect {
    use ContainerEffect::*;
    match kind {
        TypeKind::List => match name {
            "append" => Append,
            "index" | "count" | "copy" | "__contains__" | "__eq__" | "__ne__" | "__add__" | "__mul__"
            | "__iter__" | "__reversed__" | "__repr__" | "__lt__" | "__le__" | "__gt__" | "__ge__" | "__rmul__" => {
                ReadWhole
            }
            "__len__" => Length,
            "__getitem__" => CellLoad,
            "__setitem__" => CellStore,
            _ => WriteWhole,
        },
        TypeKind::Dict | TypeKind::DefaultDict => match name {
            "get" | "__contains__" => CellLoad,
            "__getitem__" if kind == TypeKind::Dict => CellLoad,
            "__getitem__" => CellDefault,
            "__setitem__" => CellStore,
            "setdefault" => CellDefault,
            "__delitem__" => CellDelete,
            "pop" if arguments > 0 => CellDelete,
            "keys" | "values" | "items" | "copy" | "__iter__" | "__reversed__" | "__eq__" | "__ne__" | "__or__"
            | "__repr__" | "most_common" | "elements" | "total" => View,
            "__len__" => Length,
            // Whoever looks at the order after an item was moved sees that of the others.
            "clear" | "update" | "__ior__" | "move_to_end" => WriteWhole,
            _ => WriteByOrder,
        },
        TypeKind::Set => match name {
            "add" => CellStore,
            "discard" | "remove" => CellDelete,
            "__contains__" => CellLoad,
            "issubset" | "issuperset" | "isdisjoint" | "__eq__" | "__ne__" | "__le__" | "__lt__" | "__ge__"
            | "__gt__" => ReadWhole,
            "copy"
            | "union"
            | "intersection"
            | "difference"
            | "symmetric_difference"
            | "__iter__"
            | "__or__"
            | "__and__"
            | "__sub__"
            | "__xor__"
            | "__repr__" => ReadOrder,
            "__len__" => Length,
            "clear"
            | "update"
            | "intersection_update"
            | "difference_update"
            | "symmetric_difference_update"
            | "__ior__"
            | "__iand__"
            | "__isub__"
            | "__ixor__" => WriteWhole,
            _ => WriteByOrder,
        },
        TypeKind::View if matches!(name, "get" | "keys" | "values" | "items") => ReadWhole,
        _ => match name {
            "count" | "index" | "copy" | "__len__" | "__contains__" | "__iter__" | "__getitem__" | "__reversed__"
            | "__repr__" | "getvalue" | "tell" | "isdisjoint" | "mapping" | "__eq__" | "__ne__" => ReadWhole,
            _ if READING.contains(&name) && keeps_bytes_or_text(class) => ReadWhole,
            _ => WriteWhole,
        },
    }
}

/// The effect of an item load, store or deletion.
pub fn item_effect(kind: TypeKind, key: &Bound<'_, PyAny>, effect: ContainerEffect) -> ContainerEffect {
    use ContainerEffect::*;
    match kind {
        TypeKind::List if key.is_instance_of::<PySlice>() || effect == CellDelete => {
            if effect == CellLoad {
                ReadWhole
            } else {
                WriteWhole
            }
        }
        TypeKind::DefaultDict if effect == CellLoad => CellDefault,
        TypeKind::List | TypeKind::Dict | TypeKind::DefaultDict => effect,
        _ if effect == CellLoad => ReadWhole,
        _ => WriteWhole,
    }
}

//! What the parts of a module say, as named values: the keys of its JSON, those inside of others
//! by a path such as `ins[0].offset`. For telling how two modules differ (`docs/diff.md`).

use super::json::{self, Opened, Tree};
use super::write;
use crate::bir::{Allocation, Block, Function, Inst, Location, Module, Queue, Value};
use crate::engine::diff::ModuleWords;

/// Keys that hold other parts, which are compared by themselves.
const PARTS: [&str; 6] =
    ["functions", "queues", "allocations", "memorylocations", "blocks", "instructions"];

/// The keys of JSON as words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keys;

type Fields = Vec<(String, String)>;

impl ModuleWords for Keys {
    fn module(&self, m: &Module) -> Fields {
        fields(&write::module(m))
    }
    fn function(&self, f: &Function) -> Fields {
        fields(&write::function(f))
    }
    fn allocation(&self, a: &Allocation) -> Fields {
        fields(&write::allocation(a))
    }
    fn location(&self, l: &Location) -> Fields {
        fields(&write::location(l))
    }
    fn queue(&self, q: &Queue) -> Fields {
        fields(&write::queue(q))
    }
    fn block(&self, b: &Block) -> Fields {
        fields(&write::block(b))
    }
    fn inst(&self, i: &Inst) -> Fields {
        fields(&write::inst(i))
    }
}

fn fields(t: &Tree<'_>) -> Fields {
    let mut out = Vec::new();
    if let Tree::Obj(members) = t {
        for (key, value) in members.iter().filter(|(k, _)| !PARTS.contains(k)) {
            flatten((*key).to_owned(), value, &mut out);
        }
    }
    out
}

fn flatten(path: String, t: &Tree<'_>, out: &mut Fields) {
    let object = |t: &Tree<'_>| matches!(t, Tree::Obj(_) | Tree::Kept(Value::Obj(_)));
    match t.opened() {
        Opened::Obj(members) => {
            for (key, value) in members {
                flatten(format!("{path}.{key}"), value, out);
            }
        }
        Opened::KeptObj(members) => {
            for (key, value) in members {
                flatten(format!("{path}.{key}"), &Tree::Kept(value), out);
            }
        }
        Opened::Arr(items) if items.iter().any(object) => {
            for (n, value) in items.iter().enumerate() {
                flatten(format!("{path}[{n}]"), value, out);
            }
        }
        _ => out.push((path, json::line(t))),
    }
}

//! JSON that is printed: read from a text, or made of a module. What is made is printed without
//! being written and read first.

use super::json::{self, Opened, Tree};
use super::tape::{Json, Kind, Nodes};
use crate::bir::Value;
use std::borrow::Cow;

/// A value of either.
#[derive(Clone, Copy)]
pub(super) enum Node<'t> {
    /// It was read.
    Read(Json<'t>),
    /// It is made of a module.
    Made(&'t Tree<'t>),
    /// A part of a value that the module keeps.
    Kept(&'t Value),
}

/// Elements of an array.
pub(super) enum Elements<'t> {
    Read(Nodes<'t>),
    Made(std::slice::Iter<'t, Tree<'t>>),
    Kept(std::slice::Iter<'t, Value>),
}

impl<'t> Iterator for Elements<'t> {
    type Item = Node<'t>;

    fn next(&mut self) -> Option<Node<'t>> {
        match self {
            Elements::Read(nodes) => nodes.next().map(Node::Read),
            Elements::Made(trees) => trees.next().map(Node::Made),
            Elements::Kept(values) => values.next().map(Node::Kept),
        }
    }
}

impl<'t> Node<'t> {
    /// Whether it is an object.
    pub fn is_obj(self) -> bool {
        match self {
            Node::Read(v) => v.is_obj(),
            Node::Made(Tree::Inst(_)) => true,
            Node::Made(t) => matches!(t.opened(), Opened::Obj(_) | Opened::KeptObj(_)),
            Node::Kept(v) => matches!(v, Value::Obj(_)),
        }
    }

    /// Whether it is an array.
    pub fn is_arr(self) -> bool {
        match self {
            Node::Read(v) => v.is_arr(),
            Node::Made(t) => matches!(t.opened(), Opened::Arr(_) | Opened::Kept(_)),
            Node::Kept(v) => matches!(v, Value::Arr(_)),
        }
    }

    /// Whether it is a number.
    pub fn is_num(self) -> bool {
        match self {
            Node::Read(v) => v.kind() == Kind::Num,
            Node::Made(Tree::Int(_) | Tree::Num(_)) => true,
            Node::Made(Tree::Kept(Value::Num(_))) | Node::Kept(Value::Num(_)) => true,
            _ => false,
        }
    }

    /// Whether it is a whole number, spelled as one.
    pub fn is_whole(self) -> bool {
        self.is_num() && !self.number().contains(['.', 'e', 'E'])
    }

    /// The spelling of a number; nothing of anything else.
    pub fn number(self) -> Cow<'t, str> {
        match self {
            Node::Read(v) => v.as_num().unwrap_or_default().into(),
            Node::Made(Tree::Int(n)) => n.to_string().into(),
            Node::Made(Tree::Num(n)) => n.as_str().into(),
            Node::Made(Tree::Kept(Value::Num(n))) | Node::Kept(Value::Num(n)) => (&**n).into(),
            _ => "".into(),
        }
    }

    /// The text of a string.
    pub fn as_str(self) -> Option<Cow<'t, str>> {
        match self {
            Node::Read(v) => v.as_str(),
            Node::Made(Tree::Text(s)) => Some((*s).into()),
            Node::Made(Tree::Kept(Value::Str(s))) | Node::Kept(Value::Str(s)) => {
                Some((&**s).into())
            }
            _ => None,
        }
    }

    /// Keys and values of an object, in its order; nothing where it is none, or an instruction that
    /// is still to be made.
    pub fn members(self) -> Vec<(Cow<'t, str>, Node<'t>)> {
        let kept = |m: &'t [(crate::bir::Name, Value)]| {
            m.iter().map(|(k, v)| (Cow::Borrowed(&**k), Node::Kept(v))).collect()
        };
        match self {
            Node::Read(v) => {
                let all = v.members();
                all.map(|(k, v)| (k.as_str().unwrap_or_default(), Node::Read(v))).collect()
            }
            Node::Made(Tree::Obj(m)) => {
                m.iter().map(|(k, v)| (Cow::Borrowed(*k), Node::Made(v))).collect()
            }
            Node::Made(Tree::Kept(Value::Obj(m))) | Node::Kept(Value::Obj(m)) => kept(m),
            _ => Vec::new(),
        }
    }

    /// Elements of an array; nothing where it is none.
    pub fn elements(self) -> Elements<'t> {
        match self {
            Node::Read(v) => Elements::Read(v.elements()),
            Node::Made(Tree::Arr(all)) => Elements::Made(all.iter()),
            Node::Made(Tree::Kept(Value::Arr(all))) | Node::Kept(Value::Arr(all)) => {
                Elements::Kept(all.iter())
            }
            _ => Elements::Kept([].iter()),
        }
    }

    /// The value of a key of an object.
    pub fn get(self, key: &str) -> Option<Node<'t>> {
        match self {
            Node::Read(v) => v.get(key).map(Node::Read),
            made => made.members().into_iter().find(|(k, _)| k == key).map(|(_, v)| v),
        }
    }

    /// Written on one line, with a space after `,` and `:`.
    pub fn inline(self, out: &mut String) {
        match self {
            Node::Read(v) => json::inline(v, out),
            Node::Made(t) => json::push_line(t, out),
            Node::Kept(v) => json::push_line(&Tree::Kept(v), out),
        }
    }
}

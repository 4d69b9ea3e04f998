//! A JSON value that keeps what it was written as, for keys that nobody here understands.

use super::Name;

/// A value. Numbers keep their spelling, objects the order of their keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Value {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number as it was spelled.
    Num(Box<str>),
    /// A string, unescaped.
    Str(Name),
    /// An array.
    Arr(Vec<Value>),
    /// An object.
    Obj(Vec<(Name, Value)>),
}

/// Keys of an object that the model does not understand, kept as they are.
pub type Extra = Vec<(Name, Value)>;

impl Value {
    /// An integer.
    pub fn int(n: impl Into<i128>) -> Value {
        Value::Num(n.into().to_string().into())
    }

    /// A string.
    pub fn str(s: &str) -> Value {
        Value::Str(s.into())
    }

    /// The member of an object.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Obj(members) => members.iter().find(|(k, _)| &**k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// As an integer, if it is one that is spelled without point and exponent.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Num(n) => n.parse().ok(),
            _ => None,
        }
    }

    /// As text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(s) => Some(s),
            _ => None,
        }
    }
}

//! Registers of a clone: each clone of a transfer with a scalar offset reads one of its own, so
//! that none depends on when another is fired (`docs/lowering.md`, "Registers").

use crate::bir::{Allocation, Expr, Function, Name, Operand, Reference, StorageKind};
use std::collections::BTreeMap;

/// A register's name as it is looked up: without space around it and leading `*`.
fn clean(name: &str) -> &str {
    name.trim().trim_start_matches('*').trim()
}

/// Puts new registers in the place of old ones, in the address of an operand. The map is total:
/// every register that the address depends on must be in it.
///
/// # Errors
/// The name of a register that is not; the operand is as it was.
pub fn rewire(operand: &mut Operand, map: &BTreeMap<Name, Name>) -> Result<(), Name> {
    let look = |old: &Name| {
        let found = map.iter().find(|(k, _)| clean(k) == clean(old)).map(|(_, v)| v.clone());
        found.ok_or_else(|| old.clone())
    };
    let Some(p) = operand.as_pattern_mut() else { return Ok(()) };
    let start = p.start.as_ref().map(|e| rename(e, &look)).transpose()?;
    if let Some(Reference::Register { register, .. }) = &mut p.reference {
        *register = look(register)?;
    }
    p.start = start;
    Ok(())
}

fn rename(e: &Expr, look: &dyn Fn(&Name) -> Result<Name, Name>) -> Result<Expr, Name> {
    let sub = |e: &Expr| rename(e, look);
    Ok(match e {
        Expr::Register(n) => Expr::Register(look(n)?),
        Expr::Sum(terms) => Expr::Sum(terms.iter().map(sub).collect::<Result<_, _>>()?),
        Expr::Mul(e, by) => Expr::Mul(Box::new(sub(e)?), *by),
        Expr::FloorDiv(a, b) => Expr::FloorDiv(Box::new(sub(a)?), Box::new(sub(b)?)),
        Expr::Mod(a, b) => Expr::Mod(Box::new(sub(a)?), Box::new(sub(b)?)),
        other => other.clone(),
    })
}

/// An allocation for a new register like that of `old`, as far as the function has one.
pub(super) fn register_like(function: Option<&Function>, old: &str, new: &Name) -> Allocation {
    let bears = |a: &Allocation| {
        let set = format!("{old}_set");
        *a.name == *old || *a.name == *set || a.locations.iter().any(|l| &*l.name == old)
    };
    let mut registers = function
        .into_iter()
        .flat_map(|f| &f.allocations)
        .filter(|a| a.storage == StorageKind::Register);
    let Some(like) = registers.find(|a| bears(a)) else {
        return Allocation {
            storage: StorageKind::Register,
            name: new.clone(),
            dtype: None,
            kind: None,
            shape: Vec::new(),
            locations: Vec::new(),
            extra: Vec::new(),
        };
    };
    let mut made = like.clone();
    made.name = if *like.name == *old { new.clone() } else { format!("{new}_set").into() };
    for l in &mut made.locations {
        l.name = new.clone();
    }
    made
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::bir::{Dtype, Pattern};

    #[test]
    fn a_register_that_the_map_lacks_is_an_error() {
        let reg = |n: &str| Expr::Register(n.into());
        let mut p = Pattern::new("x", 0, &[(1, 4)]);
        let both = Expr::Sum(vec![Expr::Mul(Box::new(reg(" *a")), 3), reg("b")]);
        p.start = Some(both.clone());
        let mut o = Operand::pattern(Dtype::U8, p);
        let mut map = BTreeMap::from([(Name::from("a"), Name::from("a2"))]);
        assert_eq!(rewire(&mut o, &map), Err("b".into()));
        assert_eq!(o.as_pattern().unwrap().start, Some(both));
        map.insert("b".into(), "b2".into());
        rewire(&mut o, &map).unwrap();
        assert_eq!(o.as_pattern().unwrap().registers(), ["a2".into(), "b2".into()]);
    }
}

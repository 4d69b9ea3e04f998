//! Expressions over what is known only while the program runs: loop axes, registers, indices.

use super::Name;
use std::collections::HashSet;

/// An expression; its value is a count of elements, or a bound of a loop. Affine forms of the
/// file are sums of products here.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A constant.
    Const(i64),
    /// The value of an enclosing loop's axis.
    Axis(Name),
    /// The value of a register.
    Register(Name),
    /// The index operand at this position of `ins`: one index for each step of the outermost
    /// pair.
    Index(u32),
    /// A sum.
    Sum(Vec<Expr>),
    /// A product with a constant.
    Mul(Box<Expr>, i64),
    /// A quotient, rounded down.
    FloorDiv(Box<Expr>, Box<Expr>),
    /// The remainder of that division; has the divisor's sign.
    Mod(Box<Expr>, Box<Expr>),
    /// A kind that is not understood, by name.
    Unknown(Name),
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExprError {
    /// No loop with this axis encloses it.
    Axis(Name),
    /// No register of this name, or nothing was ever written to it.
    Register(Name),
    /// An index operand inside another expression, or where none may stand.
    Index(u32),
    /// A result beyond 64 bits, or a division by zero.
    Arithmetic,
    /// A kind that is not understood.
    Unknown(Name),
}

impl Expr {
    /// The value, with the values of axes and registers looked up.
    ///
    /// # Errors
    /// As [`ExprError`] lists.
    pub fn eval(
        &self,
        axis: &dyn Fn(&str) -> Option<i64>,
        register: &dyn Fn(&str) -> Option<i64>,
    ) -> Result<i64, ExprError> {
        let sub = |e: &Expr| e.eval(axis, register);
        match self {
            Expr::Const(c) => Ok(*c),
            Expr::Axis(n) => axis(n).ok_or_else(|| ExprError::Axis(n.clone())),
            Expr::Register(n) => register(n).ok_or_else(|| ExprError::Register(n.clone())),
            Expr::Index(arg) => Err(ExprError::Index(*arg)),
            Expr::Sum(terms) => terms
                .iter()
                .try_fold(0i64, |sum, t| sum.checked_add(sub(t)?).ok_or(ExprError::Arithmetic)),
            Expr::Mul(e, by) => sub(e)?.checked_mul(*by).ok_or(ExprError::Arithmetic),
            Expr::FloorDiv(a, b) | Expr::Mod(a, b) => {
                let (a, b) = (sub(a)?, sub(b)?);
                let (quotient, rest) = (a.checked_div(b), a.checked_rem(b));
                let (Some(quotient), Some(rest)) = (quotient, rest) else {
                    return Err(ExprError::Arithmetic);
                };
                let down = rest != 0 && (rest < 0) != (b < 0);
                Ok(match self {
                    Expr::FloorDiv(..) => quotient - i64::from(down),
                    _ => rest + if down { b } else { 0 },
                })
            }
            Expr::Unknown(kind) => Err(ExprError::Unknown(kind.clone())),
        }
    }

    /// The value of an expression that holds neither axis, register nor index.
    pub fn as_const(&self) -> Option<i64> {
        self.eval(&|_| None, &|_| None).ok()
    }

    /// Calls `f` for this expression and everything in it.
    pub fn visit(&self, f: &mut dyn FnMut(&Expr)) {
        f(self);
        match self {
            Expr::Sum(terms) => terms.iter().for_each(|t| t.visit(f)),
            Expr::Mul(e, _) => e.visit(f),
            Expr::FloorDiv(a, b) | Expr::Mod(a, b) => {
                a.visit(f);
                b.visit(f);
            }
            _ => {}
        }
    }

    /// Names of the registers in it.
    pub fn registers(&self) -> Vec<Name> {
        let (mut out, mut seen) = (Vec::new(), HashSet::new());
        self.visit(&mut |e| {
            if let Expr::Register(n) = e
                && seen.insert(n.clone())
            {
                out.push(n.clone());
            }
        });
        out
    }

    /// Positions of the index operands in it.
    pub fn indices(&self) -> Vec<u32> {
        let (mut out, mut seen) = (Vec::new(), HashSet::new());
        self.visit(&mut |e| {
            if let Expr::Index(n) = e
                && seen.insert(*n)
            {
                out.push(*n);
            }
        });
        out
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn division_rounds_down_and_the_remainder_has_the_divisors_sign() {
        let c = |n| Box::new(Expr::Const(n));
        for (a, b) in [(7, 3), (-7, 3), (7, -3), (-7, -3), (6, 3), (0, 5)] {
            let q = Expr::FloorDiv(c(a), c(b)).as_const().unwrap();
            let r = Expr::Mod(c(a), c(b)).as_const().unwrap();
            assert_eq!(q * b + r, a);
            assert!(r == 0 || (r < 0) == (b < 0), "{a} {b}");
        }
        assert_eq!(Expr::FloorDiv(c(1), c(0)).as_const(), None);
        assert_eq!(Expr::FloorDiv(c(i64::MIN), c(-1)).as_const(), None);
    }
}

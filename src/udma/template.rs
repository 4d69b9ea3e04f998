//! Symbolic addresses: a `buf_ptr` whose bit 61 is set names a variable (`docs/wire.md`,
//! "Symbolic addresses").

/// Bit of `buf_ptr` that marks a symbolic address.
pub const TEMPLATE_BIT: u64 = 1 << 61;

/// A symbolic address: variable and byte offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Template {
    /// Variable id, 19 bits (54:36).
    pub var: u32,
    /// Byte offset, 36 bits (35:0).
    pub offset: u64,
}

impl Template {
    /// Reads a `buf_ptr`; `None` where bit 61 is clear.
    #[inline]
    pub fn parse(ptr: u64) -> Option<Template> {
        (ptr & TEMPLATE_BIT != 0).then_some(Template {
            var: ((ptr >> 36) & 0x7_ffff) as u32,
            offset: ptr & 0xf_ffff_ffff,
        })
    }

    /// The `buf_ptr` that says it. Bits above the fields' widths are dropped.
    pub fn to_ptr(self) -> u64 {
        TEMPLATE_BIT | (u64::from(self.var & 0x7_ffff) << 36) | (self.offset & 0xf_ffff_ffff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointer_and_fields_are_inverse() {
        let t = Template { var: 0x4_0001, offset: 0x8_0000_0010 };
        assert_eq!(Template::parse(t.to_ptr()), Some(t));
        assert_eq!(Template::parse(0x1000_4000_1000), None);
    }
}

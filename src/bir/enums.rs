//! Names and numbers of the IR's enumerations (`docs/bir.md`, "Names and numbers"). A file may
//! hold either; the printer writes names.

use super::Name;
use crate::udma::Generation;
use std::fmt;

macro_rules! names {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $number:literal $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $(#[doc = $text] $variant,)* }

        impl $name {
            /// All, in the order of their numbers.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The name that files hold.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }

            /// The number that stands for it in some files.
            pub fn number(self) -> u32 {
                match self { $($name::$variant => $number,)* }
            }

            /// By name.
            pub fn by_name(name: &str) -> Option<$name> {
                Self::ALL.iter().copied().find(|v| v.name() == name)
            }

            /// By number.
            pub fn by_number(number: u32) -> Option<$name> {
                Self::ALL.iter().copied().find(|v| v.number() == number)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

names! {
    /// The engine that issues an instruction.
    Engine {
        Unassigned = 0 "Unassigned", Pool = 1 "Pool", Activation = 2 "Activation", Pe = 3 "PE",
        Dma = 4 "DMA", Dve = 5 "DVE", Sp = 6 "SP", All = 7 "ALL",
    }
}

impl Engine {
    /// Engines with an instruction stream, in the order in which they are told of.
    pub const STREAMS: [Engine; 5] =
        [Engine::Pool, Engine::Activation, Engine::Pe, Engine::Dve, Engine::Sp];
}

names! {
    /// Who writes the descriptors of a transfer.
    DgeType { None = 0 "None", Swdge = 1 "SWDGE", Hwdge = 2 "HWDGE", Unassigned = 3 "Unassigned", }
}

names! {
    /// What a `DMACopy` does.
    Mode {
        Copy = 0 "Copy", Transpose = 1 "Transpose", Cce = 2 "CCE", Replicate = 3 "Replicate",
        Dynamic = 4 "Dynamic",
    }
}

names! {
    /// A permutation of four dimensions. Letters are source dimensions W Z Y X, outermost
    /// first, in the order in which the destination has them.
    TransposeOp {
        None = 0 "None", Wzxy = 1 "WZXY", Wxzy = 2 "WXZY", Wyxz = 3 "WYXZ", Zwyx = 4 "ZWYX",
        Zywx = 5 "ZYWX", Zyxw = 6 "ZYXW", Yxwz = 7 "YXWZ", Yxzw = 8 "YXZW", Ywzx = 9 "YWZX",
        Xwzy = 10 "XWZY", Xzyw = 11 "XZYW", Xyzw = 12 "XYZW", Xywz = 13 "XYWZ",
    }
}

impl TransposeOp {
    /// For each destination dimension the source dimension that it is, outermost first.
    pub fn order(self) -> [usize; 4] {
        if self == TransposeOp::None {
            return [0, 1, 2, 3];
        }
        let mut order = [0; 4];
        for (at, letter) in self.name().chars().enumerate() {
            order[at] = "WZYX".find(letter).unwrap_or(0);
        }
        order
    }
}

names! {
    /// An arithmetic operation.
    AluOp {
        Bypass = 0 "bypass", BitwiseNot = 1 "bitwise_not", ArithShiftLeft = 2 "arith_shift_left",
        ArithShiftRight = 3 "arith_shift_right", Add = 4 "add", Subtract = 5 "subtract",
        Mult = 6 "mult", Divide = 7 "divide", Max = 8 "max", Min = 9 "min",
        BitwiseAnd = 10 "bitwise_and", BitwiseOr = 11 "bitwise_or", BitwiseXor = 12 "bitwise_xor",
        LogicalAnd = 13 "logical_and", LogicalOr = 14 "logical_or", LogicalXor = 15 "logical_xor",
        LogicalShiftLeft = 16 "logical_shift_left", LogicalShiftRight = 17 "logical_shift_right",
        IsEqual = 18 "is_equal", NotEqual = 19 "not_equal", IsGt = 20 "is_gt", IsGe = 21 "is_ge",
        IsLt = 22 "is_lt", IsLe = 23 "is_le", Average = 24 "average",
        ElemwiseMul = 25 "elemwise_mul", Pow = 26 "pow", Mod = 27 "mod", Rsqrt = 28 "rsqrt",
        Abs = 29 "abs", AbsMax = 30 "abs_max", AbsMin = 31 "abs_min", ModInt = 32 "mod_int",
    }
}

names! {
    /// How a branch compares its two operands.
    BranchOp {
        LtImm = 0 "IS_LTIMM", LeImm = 1 "IS_LEIMM", EqImm = 2 "IS_EQIMM", NeImm = 3 "IS_NEIMM",
        GeImm = 4 "IS_GEIMM", GtImm = 5 "IS_GTIMM", LtReg = 6 "IS_LTREG", LeReg = 7 "IS_LEREG",
        EqReg = 8 "IS_EQREG", NeReg = 9 "IS_NEREG", GeReg = 10 "IS_GEREG", GtReg = 11 "IS_GTREG",
        Unsupported = 12 "Unsupported",
    }
}

names! {
    /// Why one instruction comes after another.
    EdgeKind {
        Invalid = 0 "Invalid", Ordered = 1 "Ordered", Anti = 2 "Anti", Output = 3 "Output",
        Flow = 4 "Flow",
    }
}

names! {
    /// Priority of a transfer.
    QosClass {
        Unassigned = 0 "Unassigned", Default = 1 "Default", P0 = 2 "P0", P1 = 3 "P1", P2 = 4 "P2",
        P3 = 5 "P3", P4 = 6 "P4", P5 = 7 "P5", P6 = 8 "P6", P7 = 9 "P7", P8 = 10 "P8",
        P9 = 11 "P9", P10 = 12 "P10", P11 = 13 "P11", P12 = 14 "P12", P13 = 15 "P13",
        P14 = 16 "P14",
    }
}

names! {
    /// What a tensor is to its module.
    TensorKind {
        ExternalInput = 0 "ExternalInput", ExternalInputParameter = 1 "ExternalInputParameter",
        Input = 2 "Input", ExternalOutput = 3 "ExternalOutput",
        ExternalOutputParameter = 4 "ExternalOutputParameter", Output = 5 "Output",
        Const = 6 "Const", Internal = 7 "Internal", Pointer = 8 "Pointer",
        InternalInterface = 9 "InternalInterface",
    }
}

impl TensorKind {
    /// Whether a tensor of this kind is an address space of its own.
    pub fn is_external(self) -> bool {
        use TensorKind::*;
        matches!(
            self,
            ExternalInput | ExternalInputParameter | ExternalOutput | ExternalOutputParameter
        )
    }
}

names! {
    /// Where a memory location lies. Some files hold a flag word in place of the name.
    Space {
        Unallocated = 1 "Unallocated", Input = 2 "Input", Output = 4 "Output", Dram = 8 "DRAM",
        Sb = 16 "SB", Psum = 32 "PSUM", RngState = 64 "RNGSTATE", Reg = 128 "REG",
    }
}

impl Space {
    /// Whether its bytes are those of DRAM.
    pub fn is_dram(self) -> bool {
        matches!(self, Space::Dram | Space::Input | Space::Output)
    }

    /// Whether it has partitions.
    pub fn has_partitions(self) -> bool {
        matches!(self, Space::Sb | Space::Psum)
    }
}

names! {
    /// The compiler's name of a generation.
    Arch {
        Inferentia = 10 "inferentia", Sunda = 20 "sunda", Gen3 = 30 "gen3", CoreV4 = 40 "core_v4",
        CoreV5 = 50 "core_v5",
    }
}

impl Arch {
    /// The UDMA generation, where it has one.
    pub fn generation(self) -> Option<Generation> {
        match self {
            Arch::Sunda => Some(Generation::V2),
            Arch::Gen3 => Some(Generation::V3),
            Arch::CoreV4 => Some(Generation::V4),
            Arch::Inferentia | Arch::CoreV5 => None,
        }
    }

    /// Elements that one CCE descriptor takes. MODEL: one that has no UDMA number has the limit of
    /// its nearest neighbour.
    pub fn cce_elements(self) -> u64 {
        let nearest = match self {
            Arch::Inferentia => Generation::V2,
            other => other.generation().unwrap_or(Generation::V4),
        };
        crate::udma::profile::cce_max_elements(nearest)
    }
}

names! {
    /// The type of an element.
    Dtype {
        U8 = 0 "uint8", I8 = 1 "int8", F4x4 = 2 "float4_e2m1fn_x4", F8e3 = 3 "float8e3",
        F8e4 = 4 "float8e4", F8e4m3fn = 5 "float8_e4m3fn", F8e8m0 = 6 "float8_e8m0fnu",
        F8e5 = 7 "float8e5", F8e4x4 = 8 "float8_e4m3fn_x4", F8e5x4 = 9 "float8_e5m2_x4",
        U16 = 10 "uint16", I16 = 11 "int16", Bf16 = 12 "bfloat16", F16 = 13 "float16",
        U32 = 14 "uint32", I32 = 15 "int32", F32 = 16 "float32", F32r = 17 "float32r",
        U64 = 18 "uint64", I64 = 19 "int64", Bool = 20 "bool",
    }
}

impl Dtype {
    /// Bytes of an element.
    pub fn bytes(self) -> u64 {
        use Dtype::*;
        match self {
            U8 | I8 | F8e3 | F8e4 | F8e4m3fn | F8e8m0 | F8e5 | Bool => 1,
            F4x4 | U16 | I16 | Bf16 | F16 => 2,
            F8e4x4 | F8e5x4 | U32 | I32 | F32 | F32r => 4,
            U64 | I64 => 8,
        }
    }

    /// Whether it counts whole numbers.
    pub fn is_integer(self) -> bool {
        use Dtype::*;
        matches!(self, U8 | I8 | U16 | I16 | U32 | I32 | U64 | I64 | Bool)
    }

    /// Whether values of it can only be moved, never changed into another type.
    pub fn copy_only(self) -> bool {
        use Dtype::*;
        matches!(self, F4x4 | F8e8m0 | F8e4x4 | F8e5x4)
    }
}

macro_rules! opcodes {
    ($($variant:ident = $number:literal $text:literal,)*) => {
        /// What an instruction is. Those that move data or steer the program have a variant;
        /// any other keeps its name and is opaque.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum Opcode {
            $(#[doc = $text] $variant,)*
            /// Any other, by name.
            Other(Name),
        }

        impl Opcode {
            /// The names of all that are not opaque.
            pub const NAMES: &'static [&'static str] = &[$($text,)*];

            /// The name that files hold.
            pub fn name(&self) -> &str {
                match self { $(Opcode::$variant => $text,)* Opcode::Other(n) => n }
            }

            /// The number that stands for it in some files; unknown for opaque ones.
            pub fn number(&self) -> Option<u32> {
                match self { $(Opcode::$variant => Some($number),)* Opcode::Other(_) => None }
            }

            /// By name.
            pub fn by_name(name: &str) -> Opcode {
                match name { $($text => Opcode::$variant,)* _ => Opcode::Other(name.into()) }
            }

            /// By number.
            pub fn by_number(number: u32) -> Option<Opcode> {
                match number { $($number => Some(Opcode::$variant),)* _ => None }
            }
        }
    };
}

opcodes! {
    NoOp = 12 "NoOp", EventSemaphore = 13 "EventSemaphore",
    GroupResetSemaphores = 14 "GroupResetSemaphores", AllEngineBarrier = 15 "AllEngineBarrier",
    Dma = 18 "DMA", Load = 19 "Load", Save = 22 "Save", DmaCopy = 32 "DMACopy",
    ReadVarAddr = 41 "ReadVarAddr", GenericIndirectLoad = 42 "GenericIndirectLoad",
    IndirectLoad = 43 "IndirectLoad", GenericIndirectSave = 44 "GenericIndirectSave",
    IndirectSave = 45 "IndirectSave", IndirectSaveAccumulate = 46 "IndirectSaveAccumulate",
    DmaTrigger = 67 "DMATrigger", Descriptor = 68 "DMADescriptor",
    DescriptorCopy = 69 "DMADescriptorCopy", DescriptorCce = 70 "DMADescriptorCCE",
    DescriptorTranspose = 71 "DMADescriptorTranspose",
    DescriptorReplicate = 72 "DMADescriptorReplicate", RegisterAlu = 73 "RegisterAlu",
    RegisterMove = 74 "RegisterMove", CompareAndBranch = 78 "CompareAndBranch",
    UnconditionalBranch = 79 "UnconditionalBranch", Loop = 105 "Loop",
    DynamicForLoop = 106 "DynamicForLoop", DmaBlock = 107 "DMABlock", DoWhile = 108 "DoWhile",
}

impl Opcode {
    /// Whether it is a transfer before lowering: what the passes work on.
    pub fn is_dma(&self) -> bool {
        use Opcode::*;
        matches!(
            self,
            Dma | Load
                | Save
                | DmaCopy
                | ReadVarAddr
                | GenericIndirectLoad
                | IndirectLoad
                | GenericIndirectSave
                | IndirectSave
                | IndirectSaveAccumulate
        )
    }

    /// Whether it is a descriptor of a block.
    pub fn is_descriptor(&self) -> bool {
        use Opcode::*;
        matches!(
            self,
            Descriptor | DescriptorCopy | DescriptorCce | DescriptorTranspose | DescriptorReplicate
        )
    }

    /// Whether it holds blocks of further instructions.
    pub fn is_container(&self) -> bool {
        use Opcode::*;
        matches!(self, Loop | DynamicForLoop | DoWhile | DmaBlock)
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_find_each_other() {
        for d in Dtype::ALL {
            assert_eq!(Dtype::by_name(d.name()), Some(*d));
            assert_eq!(Dtype::by_number(d.number()), Some(*d));
        }
        assert_eq!(Opcode::by_name("DMACopy").number(), Some(32));
        assert_eq!(Opcode::by_number(107), Some(Opcode::DmaBlock));
        assert_eq!(Opcode::by_name("Matmult"), Opcode::Other("Matmult".into()));
    }

    #[test]
    fn the_two_transposes_that_are_lowered_are_their_own_inverses() {
        assert_eq!(TransposeOp::Xzyw.order(), [3, 1, 2, 0]);
        assert_eq!(TransposeOp::Xyzw.order(), [3, 2, 1, 0]);
        for op in [TransposeOp::Xzyw, TransposeOp::Xyzw] {
            let o = op.order();
            assert!((0..4).all(|i| o[o[i]] == i));
        }
    }
}

//! The keys of instructions that are understood, as numbers: a span per key is kept for each.

macro_rules! keys {
    ($($variant:ident $text:literal,)*) => {
        /// A key of an instruction.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Key {
            $(#[doc = $text] $variant,)*
            /// Any other.
            Unknown,
        }

        impl Key {
            /// By its text.
            pub fn of(text: &str) -> Key {
                match text { $($text => Key::$variant,)* _ => Key::Unknown }
            }
        }
    };
}

keys! {
    Name "name", Opcode "opcode", Engine "engine", Ins "ins", Outs "outs",
    Dependencies "dependencies", LoopDependencies "loop_carried_dependencies",
    SyncInfo "sync_info", OnWait "on_wait", OnUpdate "on_update", Debug "debug", Queue "queue",
    DgeType "dge_type", Mode "mode", OobIsErr "oob_is_err", TransposeOp "transpose_op",
    Constants "constants", CceOp "cce_op", CanReadUninit "can_read_uninit", DmaQos "dma_qos",
    RemoteNotification "remote_notification", DmaBlocks "dma_blocks", BlockId "block_id",
    SectionStart "section_start", DmaTrigger "dma_trigger",
    RemoteNotifications "remote_notifications", Op "op", LoopAxis "LoopAxis",
    DynamicAxis "DynamicForLoopAxis", Lb "lb", Ub "ub", Stride "stride", Cond "cond",
    Blocks "blocks", CompOp "comp_op", OnTrue "on_true", OnTrueOld "onTrue", OnFalse "on_false",
    OnFalseOld "onFalse", Target "target", Is64bit "is_64bit", SemaGroup "sema_group",
    NumTilingDimensions "num_tiling_dimensions", Predicates "predicates", Duplicate "duplicate",
    ReplicaGroups "replica_groups", EngineId "engine_id",
}

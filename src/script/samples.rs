//! Random expressions, places and commands for the properties of this room: everything that a
//! line can mean, and nothing that none can.

use super::expr::{queue_names, slot_names};
use crate::engine::command::{
    COMMANDS, Command, ExamineFormat, Expect, Explain, Form, Goto, Info, InjectAt, Loc, Pass,
    SaveFormat, Subject, Unit, Who,
};
use crate::engine::expr::{BinOp, Expr, PROPERTIES, QueueRef, UnOp};
use crate::engine::program::QueueId;
use crate::udma::cause::{CAUSES, Cause};
use crate::udma::{Dir, field::FIELDS};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

fn named_queue() -> impl Strategy<Value = QueueRef> {
    prop_oneof![
        any::<u32>().prop_map(QueueRef::Queue),
        (any::<u32>(), any::<u32>())
            .prop_map(|(engine, queue)| QueueRef::Exact(QueueId { engine, queue })),
    ]
}

fn queue() -> impl Strategy<Value = QueueRef> {
    prop_oneof![Just(QueueRef::Selected), named_queue()]
}

fn dir() -> impl Strategy<Value = Dir> {
    select(Dir::BOTH.to_vec())
}

fn num() -> impl Strategy<Value = u64> {
    prop_oneof![0..100u64, any::<u64>()]
}

fn ident() -> impl Strategy<Value = String> {
    "[a-zA-Z_][a-zA-Z0-9_]{0,8}"
}

fn mark() -> impl Strategy<Value = String> {
    "[a-zA-Z_][a-zA-Z0-9_-]{0,8}".prop_filter("a mark", |n| super::command::is_mark(n))
}

fn slot_path() -> impl Strategy<Value = (Dir, Vec<String>)> {
    let one = dir()
        .prop_flat_map(|d| select(slot_names(d, None)).prop_map(move |n| (d, vec![n.to_owned()])));
    let two = (dir(), select(FIELDS.iter().collect::<Vec<_>>())).prop_map(|(d, f)| {
        let word = f.word.name();
        let fits = slot_names(d, Some(word)).contains(&f.name);
        let path = if fits { vec![word.to_owned(), f.name.to_owned()] } else { Vec::new() };
        (d, path)
    });
    prop_oneof![one, two]
}

/// What follows a queue; `plain` leaves out what is another expression without one.
fn queue_path(plain: bool) -> impl Strategy<Value = Vec<String>> {
    let own = select(queue_names(None)).prop_map(move |n| {
        let is_name = plain && PROPERTIES.iter().any(|p| p.0 == n);
        vec![if is_name { "free".to_owned() } else { n.to_owned() }]
    });
    let ring = dir().prop_flat_map(|d| {
        select(queue_names(Some(d))).prop_map(move |n| vec![d.name().to_owned(), n.to_owned()])
    });
    prop_oneof![own, ring]
}

/// An expression about a slot.
fn slot_question() -> impl Strategy<Value = Expr> {
    let field = select(super::expr::here_names()).prop_map(|n| Expr::Here(vec![n.to_owned()]));
    (field, num(), select(BinOp::TABLE.iter().map(|r| r.1).collect::<Vec<_>>()))
        .prop_map(|(field, n, op)| Expr::Binary(op, Box::new(field), Box::new(Expr::Num(n))))
}

/// Any expression that text can mean.
pub(super) fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        num().prop_map(Expr::Num),
        ident().prop_map(Expr::Var),
        select(PROPERTIES.to_vec()).prop_map(|p| Expr::Name(p.0.to_owned())),
        queue_path(true).prop_map(|path| Expr::Queue { queue: QueueRef::Selected, path }),
        (named_queue(), queue_path(false)).prop_map(|(queue, path)| Expr::Queue { queue, path }),
        named_queue().prop_map(|queue| Expr::Queue { queue, path: Vec::new() }),
    ];
    let ops: Vec<BinOp> = BinOp::TABLE.iter().map(|r| r.1).collect();
    leaf.prop_recursive(8, 64, 2, move |inner| {
        prop_oneof![
            (select(UnOp::ALL.to_vec()), inner.clone())
                .prop_map(|(op, e)| Expr::Unary(op, Box::new(e))),
            (select(ops.clone()), inner.clone(), inner.clone())
                .prop_map(|(op, a, b)| Expr::Binary(op, Box::new(a), Box::new(b))),
            (select(vec![1u8, 2, 4, 8]), inner.clone())
                .prop_map(|(width, e)| Expr::Mem { width, addr: Box::new(e) }),
            (queue(), inner.clone())
                .prop_map(|(queue, e)| Expr::Reg { queue, offset: Box::new(e) }),
            (queue(), slot_path(), inner).prop_map(|(queue, (dir, path), e)| Expr::Slot {
                queue,
                dir,
                index: Box::new(e),
                path
            }),
        ]
    })
}

/// Any place.
pub(super) fn loc() -> impl Strategy<Value = Loc> {
    prop_oneof![
        (queue(), dir(), num(), 0..100u64).prop_map(|(queue, dir, first, more)| Loc::Slots {
            queue,
            dir,
            first,
            last: first.saturating_add(more)
        }),
        num().prop_map(Loc::Batch),
        num().prop_map(Loc::Addr),
        num().prop_map(Loc::Event),
        select(vec![Loc::Marker, Loc::Doorbell, Loc::Fault]),
    ]
}

fn examine_format() -> impl Strategy<Value = ExamineFormat> {
    (1..1000u64, select(vec![1u8, 2, 4, 8]), select(Form::LETTERS.to_vec())).prop_map(
        |(count, width, (_, form))| ExamineFormat {
            count,
            width: if form == Form::Desc { 16 } else { width },
            form,
        },
    )
}

fn fault() -> impl Strategy<Value = String> {
    select(CAUSES.iter().map(|c| c.name.to_owned()).collect::<Vec<_>>())
}

fn runs() -> impl Strategy<Value = Command> {
    let step = (1..u64::MAX, select(Unit::ALL.to_vec()), select(Who::ALL.to_vec()), any::<bool>());
    prop_oneof![
        step.prop_map(|(count, unit, who, back)| Command::Step { count, unit, who, back }),
        (1..u64::MAX, any::<bool>()).prop_map(|(count, back)| Command::Next { count, back }),
        any::<bool>().prop_map(|back| Command::Continue { back }),
        any::<bool>().prop_map(|back| Command::Finish { back }),
        (expr(), any::<bool>()).prop_map(|(expr, back)| Command::Until { expr, back }),
        (option::of(named_queue()), any::<bool>())
            .prop_map(|(queue, back)| Command::Doorbell { queue, back }),
        expr().prop_map(|e| Command::Goto(Goto::Event(e))),
        mark().prop_map(|n| Command::Goto(Goto::Mark(n))),
        Just(Command::Restart),
        (loc(), option::of(expr()), any::<bool>(), num())
            .prop_map(|(loc, cond, once, after)| Command::Break { loc, cond, once, after }),
        vec(num(), 0..4).prop_map(Command::Delete),
        (vec(num(), 0..4), any::<bool>()).prop_map(|(n, on)| Command::Enable(n, on)),
    ]
}

fn pass() -> impl Strategy<Value = Pass> {
    let stage = || select(Pass::STAGES.to_vec());
    prop_oneof![
        select(vec![Pass::Show, Pass::Next, Pass::Prev]),
        stage().prop_map(Pass::Select),
        option::of((stage(), stage())).prop_map(Pass::Diff),
        select(vec![("split", "equal"), ("max_desc_elems", "7"), ("max_desc_elems", "auto")])
            .prop_map(|(name, value)| Pass::Set(name, value.to_owned())),
        Just(Pass::Params),
    ]
}

fn looks() -> impl Strategy<Value = Command> {
    let form = select(vec![Form::Hex, Form::Decimal, Form::Binary, Form::Char]);
    let names: Vec<String> = COMMANDS.iter().map(|c| c.name.to_owned()).collect();
    let codes: Vec<String> = crate::diag::codes::CODES.iter().map(|c| c.code.to_owned()).collect();
    prop_oneof![
        (expr(), option::of(form)).prop_map(|(expr, form)| Command::Print { expr, form }),
        (examine_format(), option::of(expr()))
            .prop_map(|(format, addr)| Command::Examine { format, addr }),
        Just(Command::Where),
        (select(Info::ALL.to_vec()), option::of(named_queue()))
            .prop_map(|(what, queue)| Command::Info { what, queue }),
        loc().prop_map(|l| Command::Explain(Explain::Loc(l))),
        subject().prop_map(Command::Provenance),
        prop_oneof![select(codes), fault()].prop_map(|c| Command::Explain(Explain::Code(c))),
        pass().prop_map(Command::Pass),
        (option::of(dir()), slot_question()).prop_map(|(dir, expr)| Command::Find { dir, expr }),
        option::of(num()).prop_map(Command::List),
        option::of(select(names)).prop_map(Command::Help),
        Just(Command::Quit),
        "[a-z0-9]([a-z0-9 _+.*]{0,12}[a-z0-9])?".prop_map(Command::Answer),
        Just(Command::Hint),
        Just(Command::Skip),
        Just(Command::Again),
        Just(Command::Proceed),
        Just(Command::Lesson),
    ]
}

fn subject() -> impl Strategy<Value = Subject> {
    let name = || prop_oneof!["[a-z%0-9_.-]{1,6}", any::<String>()];
    prop_oneof![
        (queue(), dir(), num()).prop_map(|(queue, dir, index)| Subject::Slot { queue, dir, index }),
        num().prop_map(Subject::Addr),
        name().prop_map(Subject::Inst),
        name().prop_map(Subject::Name),
    ]
}

fn expectation() -> impl Strategy<Value = Expect> {
    prop_oneof![
        (fault(), option::of(loc())).prop_map(|(f, l)| Expect::Fault(f, l)),
        option::of(num()).prop_map(Expect::Timeout),
        any::<i64>().prop_map(Expect::Ret),
        Just(Expect::Bug),
        loc().prop_map(Expect::Stop),
    ]
}

/// Anything that `set` may name.
fn settable() -> impl Strategy<Value = Expr> {
    prop_oneof![
        Just(Expr::Name("marker".to_owned())),
        (named_queue(), queue_path(false)).prop_map(|(queue, path)| Expr::Queue { queue, path }),
        (select(vec![1u8, 2, 4, 8]), expr())
            .prop_map(|(width, e)| Expr::Mem { width, addr: Box::new(e) }),
        (queue(), expr()).prop_map(|(queue, e)| Expr::Reg { queue, offset: Box::new(e) }),
        (queue(), slot_path(), expr()).prop_map(|(queue, (dir, path), e)| Expr::Slot {
            queue,
            dir,
            index: Box::new(e),
            path
        }),
    ]
}

fn inject() -> impl Strategy<Value = Command> {
    let causes: Vec<&'static Cause> = CAUSES.iter().collect();
    let slot = (any::<bool>(), option::of(num()));
    (select(causes), queue(), slot).prop_map(|(c, queue, (named, slot))| {
        let dir = (named || slot.is_some()).then_some(c.dir);
        Command::Inject { fault: c.name.to_owned(), at: InjectAt { queue, dir, slot } }
    })
}

fn changes() -> impl Strategy<Value = Command> {
    let save = (any::<String>(), select(SaveFormat::ENDS.to_vec()), any::<bool>());
    prop_oneof![
        (settable(), expr()).prop_map(|(what, value)| Command::Set { what, value }),
        inject(),
        select(vec![Command::Undo, Command::Redo]),
        save.prop_map(|(name, (end, format), over)| Command::Save {
            file: name + end,
            format,
            over
        }),
    ]
}

/// Any command that text can mean.
pub(super) fn command() -> impl Strategy<Value = Command> {
    let mark = mark().prop_filter("taken", |n| n != super::command::END_MARK);
    let scripts = prop_oneof![
        mark.prop_map(Command::Mark),
        (ident(), expr()).prop_map(|(n, e)| Command::SetVar(n, e)),
        (expr(), option::of(any::<String>()))
            .prop_map(|(expr, text)| Command::Assert { expr, text }),
        expectation().prop_map(Command::Expect),
        any::<String>().prop_map(Command::Echo),
        any::<String>().prop_filter("empty", |f| !f.is_empty()).prop_map(Command::Source),
    ];
    prop_oneof![runs(), looks(), changes(), scripts]
}

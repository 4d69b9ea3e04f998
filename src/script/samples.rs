//! Random expressions, places and commands for the properties of this room: everything that a
//! line can mean, and nothing that none can.

use super::expr::{queue_names, slot_names};
use crate::engine::command::PictureForm;
use crate::engine::command::{
    Access, Attached, Block, BlockLine, Bytes, COMMANDS, Catch, Command, ExamineFormat, Expect,
    Explain, ExportForm, Form, Goto, Info, InjectAt, Loc, Numbers, Order, Pass, SaveFormat,
    Subject, Switch, Unit, Watch, Watched, Who, Written,
};
use crate::engine::expr::{BinOp, Expr, PROPERTIES, QueueRef, SLOT_PROPERTIES, UnOp};
use crate::engine::order::{DmbReading, SowReading};
use crate::engine::program::QueueId;
use crate::engine::ring::Agent;
use crate::engine::schedule::{BarrierBit, BarrierEdit, CpuAct, EngineAct, Hold, Moment};
use crate::limits::MAX_PICTURE_SIDE;
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
        any::<String>().prop_map(Expr::Place),
        "[a-z][a-z0-9_]{0,3}".prop_map(Expr::Place),
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
        num().prop_map(Loc::Line),
        select(vec![Loc::Marker, Loc::Fault]),
        option::of(named_queue()).prop_map(Loc::Doorbell),
        named_queue().prop_map(Loc::Queue),
        select(Pass::STAGES.to_vec()).prop_map(Loc::Pass),
        any::<String>().prop_map(Loc::Inst),
        "[a-zA-Z_][a-zA-Z0-9_.-]{0,8}".prop_map(Loc::Name),
        any::<String>().prop_map(Loc::Name),
        ("[a-zA-Z_][a-zA-Z0-9_]{0,8}", num()).prop_map(|(name, at)| Loc::Within(name, at)),
        (any::<String>(), num()).prop_map(|(name, at)| Loc::Within(name, at)),
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
        stops(),
    ]
}

fn numbers() -> impl Strategy<Value = Numbers> {
    vec((num(), 0..9u64).prop_map(|(first, more)| (first, first.saturating_add(more))), 0..4)
}

fn form() -> impl Strategy<Value = Form> {
    select(vec![Form::Hex, Form::Decimal, Form::Binary, Form::Char])
}

fn watched() -> impl Strategy<Value = (Watched, Option<Expr>)> {
    // A bare name is a location's unless an expression begins with it.
    let bytes = prop_oneof![
        expr().prop_map(Watched::Expr),
        (queue(), dir(), num(), 1..100u64).prop_map(|(queue, dir, first, more)| {
            let first = first.min(u64::MAX - 100);
            Watched::Slots { queue, dir, first, last: first + more }
        }),
        any::<String>().prop_map(Watched::Name),
        ident().prop_map(Watched::Name),
    ];
    prop_oneof![
        4 => (bytes, option::of(expr())),
        1 => num().prop_map(|n| (Watched::Semaphore(n), None)),
    ]
}

fn catch() -> impl Strategy<Value = Catch> {
    prop_oneof![
        option::of(fault()).prop_map(Catch::Fault),
        option::of(named_queue()).prop_map(Catch::Doorbell),
        option::of(any::<i64>()).prop_map(Catch::Ret),
        select(vec![
            Catch::Race,
            Catch::Marker,
            Catch::Timeout,
            Catch::Bug,
            Catch::Stall,
            Catch::Reload
        ]),
    ]
}

fn stops() -> impl Strategy<Value = Command> {
    let options = || (option::of(expr()), any::<bool>(), num());
    let switch = select(vec![Switch::On, Switch::Off, Switch::Once, Switch::Delete]);
    prop_oneof![
        numbers().prop_map(Command::Delete),
        (numbers(), switch).prop_map(|(n, s)| Command::Enable(n, s)),
        numbers().prop_map(Command::Undisplay),
        (expr(), option::of(form())).prop_map(|(e, form)| Command::Display { expr: Some(e), form }),
        Just(Command::Display { expr: None, form: None }),
        (watched(), select(Access::ALL.to_vec()), options()).prop_map(
            |((what, len), on, (cond, once, after))| {
                Command::Watch { watch: Watch { what, len, on }, cond, once, after }
            }
        ),
        (catch(), options()).prop_map(|(what, (cond, once, after))| Command::Catch {
            what,
            cond,
            once,
            after
        }),
    ]
}

/// Commands of a stop, made of these.
fn commands(of: impl Strategy<Value = Command>) -> impl Strategy<Value = Command> {
    let line = of.prop_map(|command| BlockLine { command, written: Written::default() });
    let block =
        (any::<bool>(), vec(line, 0..4)).prop_map(|(silent, lines)| Block { silent, lines });
    let what = prop_oneof![
        1 => Just(Attached::Show),
        1 => Just(Attached::Clear),
        4 => block.prop_map(Attached::Set),
    ];
    (option::of(num()), what).prop_map(|(stop, what)| Command::Commands { stop, what })
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
        loc()
            .prop_filter("another form", |l| !matches!(l, Loc::Name(_) | Loc::Queue(_)))
            .prop_map(|l| Command::Explain(Explain::Loc(l))),
        select(crate::udma::reg::register_names().collect::<Vec<_>>())
            .prop_map(|n| Command::Explain(Explain::Register(n.to_owned()))),
        named_queue().prop_map(|q| Command::Explain(Explain::Queue(q))),
        bytes().prop_map(Command::LastWrite),
        bytes().prop_map(Command::NextRead),
        bytes().prop_map(Command::Origin),
        option::of(named_queue()).prop_map(Command::Why),
        subject().prop_map(Command::Provenance),
        prop_oneof![select(codes), fault()].prop_map(|c| Command::Explain(Explain::Code(c))),
        pass().prop_map(Command::Pass),
        (option::of(dir()), slot_question()).prop_map(|(dir, expr)| Command::Find { dir, expr }),
        option::of(num()).prop_map(Command::List),
        order().prop_map(Command::Order),
        option::of(select(names)).prop_map(Command::Help),
        Just(Command::Quit),
        "[a-z0-9]([a-z0-9 _+.*]{0,12}[a-z0-9])?".prop_map(Command::Answer),
        Just(Command::Hint),
        Just(Command::Skip),
        Just(Command::Again),
        Just(Command::Proceed),
        Just(Command::Reload),
        Just(Command::Lesson),
    ]
}

/// A direction, and words and fields of its descriptors.
fn subject_path() -> impl Strategy<Value = (Dir, Vec<String>)> {
    let own = |n: &String| SLOT_PROPERTIES.iter().all(|p| p.0 != n);
    let fields = slot_path().prop_map(move |(dir, path)| match path.iter().all(own) {
        true => (dir, path),
        false => (dir, Vec::new()),
    });
    prop_oneof![dir().prop_map(|d| (d, Vec::new())), fields]
}

fn bytes() -> impl Strategy<Value = Bytes> {
    let slots = (queue(), dir(), num(), 0..100u64).prop_map(|(queue, dir, first, more)| {
        Bytes::Slots { queue, dir, first, last: first.saturating_add(more) }
    });
    let is_place = |e: &Expr| {
        let slot = matches!(e, Expr::Slot { path, index, .. }
            if path.is_empty() && matches!(**index, Expr::Num(_)));
        slot || *e == Expr::Name("marker".to_owned())
    };
    let span = (expr(), option::of(expr()))
        .prop_filter("a place", move |(addr, _)| !is_place(addr))
        .prop_map(|(addr, len)| Bytes::Span { addr, len });
    prop_oneof![slots, span, Just(Bytes::Marker)]
}

fn moment() -> impl Strategy<Value = Moment<QueueRef>> {
    let agent = prop_oneof![
        Just(Agent::Host),
        select(crate::bir::Engine::STREAMS.to_vec()).prop_map(Agent::Seq)
    ];
    prop_oneof![
        (queue(), dir(), num(), any::<bool>()).prop_map(|(queue, dir, k, second)| {
            let act = EngineAct::of(dir)[usize::from(second)];
            Moment::Engine { queue, dir, k, act }
        }),
        (agent, select(vec![CpuAct::Store, CpuAct::Poll]), 1u64..)
            .prop_map(|(agent, act, n)| Moment::Cpu { agent, act, n }),
    ]
}

fn order() -> impl Strategy<Value = Order> {
    let file = || any::<String>().prop_filter("empty", |f| !f.is_empty());
    let dmb = select(vec![None, Some(DmbReading::Full), Some(DmbReading::Entry)]);
    let sow = select(vec![Some(SowReading::Through), Some(SowReading::SelfOnly)]);
    prop_oneof![
        select(vec![Order::Show, Order::Calm]),
        (option::of(1..=crate::limits::MAX_EXPLORE_STEPS), option::of(file()))
            .prop_map(|(bound, file)| Order::Explore { bound, file }),
        option::of(file()).prop_map(Order::Replay),
        (dmb, sow).prop_map(|(dmb, sow)| Order::Reading { dmb, sow }),
        (moment(), moment())
            .prop_filter("itself", |(a, b)| a != b)
            .prop_map(|(what, until)| Order::Hold(Hold { what, until })),
        (queue(), num(), select(BarrierBit::ALL.to_vec()), any::<bool>()).prop_map(
            |(queue, k, barrier, on)| Order::Barrier(BarrierEdit { queue, k, barrier, on })
        ),
    ]
}

fn subject() -> impl Strategy<Value = Subject> {
    let name = || prop_oneof!["[a-z%0-9_.-]{1,6}", any::<String>()];
    prop_oneof![
        (queue(), num(), subject_path()).prop_map(|(queue, index, (dir, path))| Subject::Slot {
            queue,
            dir,
            index,
            path
        }),
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
        option::of((loc(), loc())).prop_map(Expect::Race),
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
        (
            prop::sample::select(ExportForm::ALL.to_vec()),
            any::<String>().prop_filter("empty", |f| !f.is_empty()),
        )
            .prop_map(|(form, file)| Command::Export { form, file }),
        (
            any::<String>(),
            prop::sample::select(vec!["svg", "ans", "ansi", "txt", "text"]),
            option::of((1u16..=MAX_PICTURE_SIDE, 1u16..=MAX_PICTURE_SIDE)),
            any::<bool>(),
        )
            .prop_filter_map("no picture", |(name, end, size, over)| {
                let file = format!("{name}.{end}");
                let form = PictureForm::of(&file)?;
                Some(Command::Screenshot { file, form, size, over })
            }),
    ];
    let any = prop_oneof![runs(), looks(), changes(), scripts];
    let source = |c: &Command| !matches!(c, Command::Source(_));
    let any = any.boxed();
    let attached = commands(any.clone().prop_filter("source", source));
    prop_oneof![9 => any, 1 => attached]
}

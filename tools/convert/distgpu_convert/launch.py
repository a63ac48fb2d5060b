"""One command that starts a training, and what it becomes with --distgpu.

The rule of accounting: every word that a command loses is computed by distgpu, moved into a key of
--distgpu, or told. A word that is none of these leaves the command as it is.
"""

import re
import shlex
from typing import NamedTuple, Optional

from distgpu_convert.shell import Source
from distgpu_convert.slurm import MODES, TABLES, Job, Line, effect_on, number
from distgpu_convert.start import HELPERS, Call, Option, Started, is_one_of, is_program
from distgpu_convert.start import pass_wrappers, read_launcher, shell_text, starts_python
from distgpu_convert.text import Char, Edit, Spot, Word
from distgpu_convert.walk import Command, names_set

RANKS = set(TABLES["ranks"].split())  # by which scripts tell ranks of each other
NAMES = {kind: set(names.split()) for kind, names in TABLES["variables"].items()}
MUST_BE_KNOWN = {"node rank", "address", "port", "endpoint", "count", "each"}
LOCAL = {"localhost", "127.0.0.1", "0.0.0.0", "::1"}
CPUS = "--cpus-per-task=$SLURM_CPUS_PER_TASK"


class Left(Exception):
    """Why a command stays as it is: a reason by its name in tables.json."""

    def __init__(self, reason: str, *values: object) -> None:
        super().__init__(TABLES["reasons"][reason].format(*values))


def leave_if(condition: object, reason: str, *values: object) -> None:
    if condition:
        raise Left(reason, *values)


def variable(word: Word) -> str:
    """The name of the variable that is all of it, and that the script does not set."""
    return word.symbol.name if word.symbol and word.symbol.kind == "env" else ""


def refuse_several(word: Word) -> None:
    for symbol in (char.symbol for char in word.chars):
        if symbol and symbol.kind == "differs":
            raise Left("several values", symbol.name, symbol.line)


class Context(NamedTuple):
    """What the rest of the script says of its commands."""

    script: str
    job: Job
    framework: str  # the mode of the one that it names
    sets_ranks: bool  # what shows that plain Python trains


def cpus_for(tasks: int, job: Job) -> str:
    """The CPUs of the job's tasks on a node, for so many instead."""
    cpus = (number(job.cpus) or 0) * (job.tasks_on_node or 0)
    return f"--cpus-per-task={cpus // tasks} " if 0 < tasks <= cpus else ""


def shape_for(job: Job, each: Optional[int], count: str = "") -> str:
    """srun's options for so many tasks on each node or in all; nothing of both: the job's."""
    if not count and each in (None, job.tasks_on_node):
        return CPUS + " " if job.cpus else ""
    if each is None:
        return f"--ntasks={count} " + cpus_for(-(-(number(count) or 0) // (job.nodes or 1)), job)
    total = count or ("$SLURM_NNODES" if each == 1 else f"$((SLURM_NNODES * {each}))")
    return f"--ntasks={total} --ntasks-per-node={each} " + cpus_for(each, job)


class Launch(Started):
    """What the command becomes."""

    def __init__(self, context: Context, outer: Command) -> None:
        super().__init__(outer)
        self.context = context
        self.job = context.job
        self.step = self.job.step(self.srun) if self.srun else self.job
        self.one_node = False
        self.has_env = False  # before the program
        self.sets = {*outer.state.exported, *outer.prefix}
        self.texts = " ".join(word.text for word in self.all_words)
        sets_visible = rf"\b({'|'.join(NAMES['visible'])})="
        self.chosen_gpus = self.sets & NAMES["visible"] or re.search(sets_visible, self.texts)
        self.spec = ""  # of --distgpu
        self.keys: list[str] = []  # in it
        self.edits: list[Edit] = []  # none: it stays as it is
        self.notes: list[str] = []
        self.chosen: set[str] = set()  # exports that distgpu would compute otherwise

    def convert(self) -> bool:
        """Whether it starts a training."""
        if self.srun and self.srun.has("distgpu"):
            self.spec = self.srun.value("distgpu")
            return True
        call = read_launcher(self.words)
        if call and (not call.program or is_helper(call.program)):
            return False
        # It may train: python3 FILE, python3 -m MODULE, but not python3 -c TEXT.
        options = [word.text for word in self.words[1:] if word.text.startswith("-")]
        is_file = options[:1] not in (["-c"], ["-V"], ["--version"])
        is_python = any(map(starts_python, self.words[:1])) and is_file
        if not call and not (self.srun and is_python and not self._names_node()):
            return False
        try:
            leave_if((self.inner or self.outer).within == "function", "function")
            if call:
                self._refuse(call)
                getattr(self, "_" + call.kind)(call)
            else:
                self._python()
        except Left as left:
            self.leave(str(left))
        return True

    def leave(self, reason: str) -> None:
        self.spec, self.edits, self.chosen = "", [], set()
        self.notes = [f"{reason}; the command stays as it is"]

    # Edits of words

    def _edit(self, word: Word, text: str, before: bool = False) -> None:
        """Its place is where nothing else of the command stands; `before`: nothing that precedes it."""
        spot = self._spot(word, self.outer.words[: self.place] if before else self.all_words)
        self.edits.append(Edit(spot.begin, spot.begin if before else spot.end, text, spot.holder))

    def _spot(self, word: Word, others: list[Word]) -> Spot:
        spot = word.spot(others)
        if spot is None:
            raise Left("together", word.text)
        return spot

    def _add_spec(self, mode: str, shape: str, program: str = "") -> None:
        """Behind srun's options, or with an srun that was not there."""
        self._follow_exports()
        spec = self.spec = ",".join([mode, *dict.fromkeys(self.keys)])
        for name in sorted(self.outer.state.exported - RANKS):
            if effect_on(name, spec) == "unset":
                self.notes.append(f"{name} is removed in each task by --distgpu={spec}")
        shape = shape if self.srun else "srun " + shape
        self._edit(self.outer.words[self.place], f"{shape}--distgpu={spec} {program}", before=True)
        has_cpus = "cpus-per-task" in shape or "SRUN_CPUS_PER_TASK" in self.sets
        if self.srun and self.job.cpus and not has_cpus and not self.srun.has("cpus-per-task"):
            self.notes.append(f"srun does not inherit --cpus-per-task on every release; add {CPUS}")
        if self.srun and self.inner:
            self._remove_inner_ranks(self.inner.source)

    def _follow_exports(self) -> None:
        """An address or a port that distgpu does not compute stays the script's choice."""
        for name, part, key in TABLES["exports"]:
            value = self.outer.state.values.get(name)
            if isinstance(value, list) and not any(each.startswith(key) for each in self.keys):
                try:
                    is_chosen = self.keys_of(part, Word(value)) != []
                except Left:
                    is_chosen = True
                self.chosen |= {name} if is_chosen else set()

    def _remove_inner_ranks(self, source: Source) -> None:
        """What the task's shell sets first, if the mode does it."""
        for child, following in zip(source.root.named_children, source.root.named_children[1:]):
            names = names_set(source, child)
            is_set = all(each in RANKS and effect_on(each, self.spec) == "set" for each in names)
            spots = source.spots(child.start_byte, following.start_byte, "", "")
            if not names or not is_set or not spots or spots[0].quote == "mixed":
                return
            self.edits.append(Edit(spots[0].begin, spots[0].end, "", spots[0].holder))

    # What becomes of its options

    def keys_of(self, part: str, word: Word) -> Optional[list[str]]:
        """The keys of --distgpu that say what the option says; nothing: it stays.

        What no method is named after, distgpu computes: the parts are those of tables.json.
        """
        if part in MUST_BE_KNOWN:
            refuse_several(word)
        pattern, reason = TABLES["only if"].get(part, (".*", ""))
        leave_if(not re.fullmatch(pattern, word.text, re.DOTALL), reason, word.text)
        self.notes += [TABLES["told"][part]] if part in TABLES["told"] else []
        rule = getattr(self, "_" + part.replace(" ", "_"), None)
        keys: Optional[list[str]] = rule(word) if rule else []
        return keys

    def written(self, word: Word) -> str:
        """As it can stand among srun's words, where it means the same."""
        spot = word.spot(self.all_words)
        written = self.context.script[spot.begin : spot.end] if spot else ""
        if spot is not None and not spot.holder and self.inner is None:
            return written
        if word.value() is not None and shlex.quote(word.text) == word.text:
            return word.text
        # From a variable's value, or from the text behind bash -c: of the same texts and symbols.
        name = re.sub(r"^\\?\$\{?(\w+)\}?$", r"\1", written)
        value, means = self.outer.state.values.get(name), [char[::2] for char in word.chars]
        is_same = isinstance(value, list) and [char[::2] for char in value] == means
        if is_same or (value is None and variable(word) == name):
            return f"${name}"
        raise Left("computed", word.text)

    # The parts of tables.json

    def _node_rank(self, word: Word) -> list[str]:
        is_zero = self.one_node and word.text == "0"
        is_rank = variable(word) in NAMES["node ranks"] or "RANK" in word.text or is_zero
        leave_if(not is_rank, "own rank")
        return []

    def _address(self, word: Word) -> list[str]:
        """The first node's, also with a network's suffix; or any other host."""
        first, rest, literal = Word(word.chars[:1]), Word(word.chars[1:]), word.value()
        is_first = first.symbol is not None and first.symbol.kind == "first"
        if is_first or variable(first) in NAMES["here"]:
            if rest.value() is not None and re.fullmatch(r"[\w.-]*", rest.text):
                return ["master=suffix:" + rest.text] if rest.text else []
        elif literal in LOCAL:
            leave_if(not (self.one_node or self.step.has_one_node), "own address", literal)
            return []
        else:
            name = literal or self.written(word).strip('"')
            if re.fullmatch(r"[\w.-]+|\$\w+|\$\{\w+\}", name):
                return ["master=" + name]
        raise Left("address", word.text)

    def _port(self, word: Word) -> list[str]:
        """One that the script does not compute is a choice of who submits it."""
        if variable(word) and not re.match("SLURM|MASTER_PORT|RANDOM", variable(word)):
            return ["port=" + self.written(word).strip('"')]
        return []

    def _endpoint(self, word: Word) -> list[str]:
        address, *port = word.split(":")
        return self._address(address) + [key for each in port for key in self._port(each)]

    def _processes(self, word: Word) -> Optional[list[str]]:
        """The node's GPUs are what the mode starts by itself."""
        count = number(word.value())
        if variable(word) == "SLURM_NTASKS_PER_NODE":  # of the step it may be another number
            count = number(self.step.line.value("ntasks-per-node"))
        if count is not None:
            return [f"nproc={count}"] if count != self.step.gpus else []
        is_all = variable(word) in NAMES["gpus"] or word.value() in ("gpu", "auto")
        is_all = is_all or (word.symbol is not None and word.symbol.kind == "gpus")
        return [] if is_all and not self.chosen_gpus else None

    def _machines(self, word: Word) -> None:
        leave_if(not re.search("machine.rank|c10d", self.texts), "no number")

    def _machine(self, word: Word) -> None:
        leave_if(self.inner is None or not word.symbol, "same number")

    # Why a launcher stays as it is

    def _names_node(self) -> bool:
        """Whether srun is told one of the job's nodes; several or all are no choice."""
        srun = self.srun or Line((), 0)
        chosen = srun.value("nodelist")
        is_all = re.fullmatch(r"\$\{?SLURM_(JOB_)?NODELIST\}?", chosen) is not None
        is_one = (number(srun.value("nodes")) or 1) == 1
        return (chosen != "" and is_one and not is_all) or srun.has("relative", "nodefile")

    def _refuse(self, call: Optional[Call]) -> None:
        """`call`: nothing of plain Python."""
        for each in self.srun.options if self.srun else ():
            leave_if(not each.certain, "unknown option", each.word)
        for other in self.others:
            leave_if(not needs_no_rank(other.words), "beside", other.words[0].text)
        if call is not None:
            leave_if(self._names_node(), "node")
            leave_if(call.unclear, "unclear", call.program[0].text, call.first.text)
        if call is not None and self.srun is None:
            leave_if(self.outer.within == "background", "background")
            leave_if(re.search(r"SLURM_(PROCID|NODEID)\b", self.texts), "each task")
            leave_if(self.chosen_gpus, "chosen GPUs")

    def _refuse_all_ranks(self, call: Call) -> None:
        """Of a launcher that starts the ranks of all nodes."""
        name, program = call.first.text, call.program
        refuse_several(program[0])
        leave_if(self.srun, "within srun", name)
        for option in call.options:
            leave_if(option.part == "kept", "kept", option.words[0].text, name)
        if call.mode == "deepspeed":
            is_known = call.has("--hostfile", "-H") or self.job.has_one_node
            leave_if(not is_known, "no hostfile")
            is_unclear = program[0].may_split() and not is_program(program[0])
            leave_if(is_unclear, "unclear", program[0].text, name)
        is_first = not self.inner and call.first is self.outer.words[self.place]
        leave_if(not is_first, "started by", name, self.outer.words[0].text)
        own = pass_wrappers(program, 0)
        is_more = ":" in [word.text for word in program] or read_launcher(program[own:] or program)
        leave_if(is_more, "several programs", name)

    # The launchers

    def _remove_going(self, call: Call) -> None:
        """The options that go, each accounted for."""
        for option in call.options:
            keys: Optional[list[str]] = None if option.part == "kept" else []
            if option.part not in ("kept", "flag"):
                if option.value is None:
                    raise Left("no value", option.name)
                keys = self.keys_of(option.part, option.value)
            if keys is not None:
                self.keys += keys
                self._remove(option)

    def _remove(self, option: Option) -> None:
        """-x NAME=VALUE and a parameter's name and value move to env before the program."""
        has_value = option.part == "export" and "=" in option.words[1].text
        is_sent = self.job.line.value("export").partition(",")[0] in ("", "ALL")
        leave_if(option.part == "export" and not (has_value or is_sent), "not sent")
        if option.part != "parameter" and not has_value:
            for word in option.words:
                self._edit(word, "")
            return
        self._edit(option.words[0], "" if self.has_env else "env")
        self.has_env = True
        if option.part == "parameter":
            name, value = (self._spot(word, self.all_words) for word in option.words[1:])
            leave_if(name.holder != value.holder, "together", option.name)
            text = f"OMPI_MCA_{option.words[1].text}="
            self.edits.append(Edit(name.begin, value.begin, text, name.holder))

    def _one_each_node(self) -> str:
        """One launcher on each node, whatever the job's tasks."""
        job = self.job
        if self.srun is None:
            return shape_for(job, 1)
        if self.srun.has("ntasks") or job.tasks_on_node == self.step.tasks_on_node == 1:
            return ""
        each, nodes = self.srun.value("ntasks-per-node"), self.srun.value("nodes")
        leave_if(each not in ("", "1"), "several times")
        cpus = "" if each or self.srun.has("cpus-per-task") else cpus_for(1, job)
        shape = f"--ntasks={nodes if number(nodes) else '$SLURM_NNODES'} "
        return shape + ("" if each else "--ntasks-per-node=1 ") + cpus

    def _check_nodes(self, call: Call) -> None:
        """Whether it trains on all nodes of its step."""
        told, meets = call.value("nodes", "machines"), call.value("address", "endpoint")
        word = told or Word([Char("1", ())])
        refuse_several(word)
        count, symbol, steps = number(word.value()), word.symbol, self.step.nodes
        is_known = count is not None or (symbol is not None and symbol.kind in ("nodes", "env"))
        leave_if(not is_known, "nodes", word.text)
        leave_if(steps and count not in (None, 1, steps), "other nodes", count, steps)
        is_jobs = symbol is not None and (symbol.kind == "nodes" or symbol.name in NAMES["nodes"])
        if count not in (1, steps) and not is_jobs:
            self.notes.append(f"it was told {word.text} nodes; now it has the job's")
        self.one_node = self.step.has_one_node and (count == 1 or self.step.nodes == 1)
        leave_if(count != 1 and not self.srun and not self.job.line.options, "each task")
        if count == 1 and not self.step.has_one_node:
            is_alone = told or not meets or meets.value() in LOCAL or call.has("--standalone")
            leave_if(is_alone, "one node")
            self.notes.append("--nnodes was missing; now all nodes of the step train together")

    def _each_node(self, call: Call) -> None:
        """It starts the ranks of its node. accelerate reads no variables: its options stay."""
        self._check_nodes(call)
        self._remove_going(call)
        if call.mode == "torchrun" and call.value("processes") is None and self.step.gpus != 1:
            self.keys.append("nproc=1")
            self.notes.append("one process on each node, as before; without nproc=1, one a GPU")
        program = call.program[0]
        if program.may_split() and not is_program(program):
            self.notes.append(f"{program.text} may hold options of the launcher; they stay")
        self._add_spec(call.mode, self._one_each_node())

    def _all_ranks(self, call: Call) -> None:
        """It starts the ranks of all nodes: srun does that instead."""
        self._refuse_all_ranks(call)
        is_deepspeed = call.mode == "deepspeed"
        count, each = call.value("count"), call.value("each")
        placed = [each.words[-1].text for each in call.options if each.part == "placed"]
        by_node = re.search(r"ppr:(\d+):node", " ".join(placed))
        on_node = number(each.value() if each else by_node[1] if by_node else None)
        if is_deepspeed:
            on_node = on_node or self.job.gpus
            leave_if(not on_node, "GPUs of a node")
            self.notes.append("the launcher gave the program --local_rank=N; now LOCAL_RANK has it")
        self._remove_going(call)
        is_jobs = count is None or variable(count) in ("SLURM_NTASKS", "SLURM_NPROCS")
        shape = shape_for(self.job, on_node, self.written(count) if count and not is_jobs else "")
        cpus = (number(self.job.cpus) or 1) * (self.job.tasks_on_node or 1)
        if is_deepspeed and on_node and cpus < on_node and not self.job.line.has("exclusive"):
            shape = "--overcommit " + shape
            faster = f"more are faster: #SBATCH --cpus-per-task={on_node}, or a multiple"
            self.notes.append(f"{cpus} of a node's CPUs are for {on_node} processes; {faster}")
        mode = "horovod" if self.context.framework == "horovod" and not is_deepspeed else call.mode
        self._edit(call.first, "python3" if is_deepspeed else "")
        if call.has("--gloo"):
            self._add_spec("horovod,backend=gloo", shape, "horovod-rendezvous ")
        else:
            self._add_spec(mode, shape if is_deepspeed else "--mpi=pmix " + shape)

    def _python(self) -> None:
        """srun python3 train.py"""
        framework = self.context.framework
        text = self.text.text if self.text else ""
        if not self.context.sets_ranks and not re.search(rf"\b({'|'.join(RANKS)})=", text):
            program = " ".join(word.text for word in self.words[:2])
            key = f"srun --distgpu={framework}, if {program} trains with {framework}"
            self.notes.append(f"one key is missing: {key}; {MODES}, by imported framework")
            return
        self._refuse(None)
        value, tasks = self.outer.state.values.get("WORLD_SIZE"), self.step.tasks_on_node or 0
        told = Word(value).text if isinstance(value, list) else ""
        count = str((self.step.nodes or 0) * tasks)
        is_all = told in ("", count) or re.fullmatch(TABLES["all tasks"], told)
        leave_if(not is_all, "ranks", told)
        self._add_spec(framework, "")
        named = "no framework" if framework == "pytorch" else "a framework of this mode"
        self.notes.append(f"the mode is {framework}, as the script names {named}; {MODES}")


def needs_no_rank(words: list[Word]) -> bool:
    return is_one_of(HELPERS, [word.text for word in words])


def is_helper(program: list[Word]) -> bool:
    """Whether what is started trains nothing: hostname, echo, also behind bash -c."""
    text = shell_text(program)
    return needs_no_rank(program) if text is None else "python" not in text.text

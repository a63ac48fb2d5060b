"""One command that starts a training, and what it becomes with --distgpu."""

import re
from dataclasses import dataclass, field
from typing import Optional

from distgpu_convert.accounts import LOCAL, NAMES, Account, Left, refuse_several, variable
from distgpu_convert.harmless import RANKS, needs_no_rank
from distgpu_convert.slurm import Job, count_of_hosts, decides_variable, number, sets_variable
from distgpu_convert.start import (
    Call,
    Option,
    Started,
    is_program,
    option_name,
    pass_wrappers,
    read_launcher,
    read_started,
    shell_text,
    starts_python,
)
from distgpu_convert.text import Edit, Word, plain, removal
from distgpu_convert.walk import Command, names_set

VISIBLE = sorted(NAMES["visible"])
ALL_TASKS = re.compile(
    r"\$\{?SLURM_(NTASKS|NPROCS)\}?"
    r"|\$\(\( *\$?\{?SLURM_(NNODES|JOB_NUM_NODES)\}? *\* *\$?\{?SLURM_NTASKS_PER_NODE\}? *\)\)"
)
CPUS = "--cpus-per-task=$SLURM_CPUS_PER_TASK"
MODES = "distgpu vars help lists the"


@dataclass
class Launch:
    command: Command
    spec: str = ""  # of --distgpu
    edits: list[Edit] = field(default_factory=list)  # none: it stays as it is
    notes: list[str] = field(default_factory=list)
    chosen: set[str] = field(default_factory=set)  # exports that distgpu would compute otherwise


@dataclass
class Context:
    """What the rest of the script says of its commands."""

    script: str
    job: Job
    framework: str  # the mode of the one that it names
    sets_ranks: bool  # what shows that plain Python trains


def cpus_of_job(job: Job) -> str:
    return CPUS + " " if job.cpus else ""


def cpus_for(tasks: int, job: Job) -> str:
    """The CPUs of the job's tasks on a node, for so many instead."""
    cpus = (number(job.cpus) or 0) * (job.tasks_on_node or 0)
    return f"--cpus-per-task={cpus // tasks} " if 0 < tasks <= cpus else ""


def each_node(tasks: int, job: Job) -> str:
    shape = f"--ntasks=$((SLURM_NNODES * {tasks})) --ntasks-per-node={tasks} "
    return shape + cpus_for(tasks, job)


class Converter:
    def __init__(self, context: Context, started: Started) -> None:
        self.context = context
        self.started = started
        self.outer = started.outer
        self.srun = started.srun
        self.job = context.job
        self.step = self.job.step(started.srun) if started.srun else self.job
        self.launch = Launch(started.outer)
        self.in_shell = False  # what it starts gets a bash -c of its own
        self.account = Account(context.script, self.step, started)
        self.sets = {*self.outer.state.exported, *self.outer.prefix}
        self.texts = " ".join(word.text for word in started.all_words)
        is_chosen = self.sets & {*VISIBLE} or re.search(rf"\b({'|'.join(VISIBLE)})=", self.texts)
        self.account.chosen_gpus = bool(is_chosen)

    def convert(self) -> Optional[Launch]:
        if self.srun and self.srun.has("distgpu"):
            self.launch.spec = self.srun.value("distgpu")
            return self.launch
        call = read_launcher(self.started.words)
        if call and (call.program >= len(call.words) or is_helper(call.words[call.program :])):
            return None
        try:
            if call:
                self._refuse(call)
                getattr(self, "_" + call.kind)(call)
            elif not self.srun or not is_training(self.started.words) or self._names_node():
                return None
            else:
                self._python()
        except Left as left:
            return Launch(self.outer, notes=[f"{left}; the command stays as it is"])
        self.launch.notes += self.account.notes
        return self.launch

    # Edits of words

    def _replace(self, word: Word, text: str, keeps: bool = False) -> None:
        """Its place is where nothing else of the command stands; `keeps`: the text precedes it."""
        spot = word.spot(self.started.all_words)
        if spot is None:
            raise Left(f"{word.shown()} is written together with other words")
        begin, end, _, holder = spot
        if self.in_shell and keeps:  # bash -c stands in the command, and so does what precedes it
            begin, holder = word.spots[0].begin, ""
        edit = Edit(begin, begin if keeps else end, text, holder)
        is_removal = not text and not keeps
        removed = removal(self.context.script, begin, end, holder) if is_removal else edit
        self.launch.edits.append(removed)

    def _remove(self, words: list[Word]) -> None:
        for word in words:
            self._replace(word, "")

    def _add_spec(self, mode: str, shape: str, program: str = "") -> None:
        """Behind srun's options, or with an srun that was not there."""
        self._exported("MASTER_ADDR", "address")
        self._exported("MASTER_PORT", "port")
        spec = self.launch.spec = ",".join([mode, *dict.fromkeys(self.account.keys)])
        for name in sorted(self.outer.state.exported - RANKS):
            if decides_variable(spec, name) and not sets_variable(spec, name):
                self.launch.notes.append(f"{name} is removed in each task by --distgpu={spec}")
        place = self.outer.words[self.started.step if self.srun else self.started.first]
        if not self.srun:
            shape, program = "srun " + shape, program + self._chosen_gpus()
        self._replace(place, f"{shape}--distgpu={spec} {program}", keeps=True)
        if self.srun:
            has_cpus = self.srun.has("cpus-per-task") or "--cpus-per-task" in shape
            if self.job.cpus and not has_cpus and "SRUN_CPUS_PER_TASK" not in self.sets:
                note = f"srun does not inherit --cpus-per-task on every release; add {CPUS}"
                self.launch.notes.append(note)
            self._remove_inner_ranks()

    def _exported(self, name: str, part: str) -> None:
        """An address or a port that distgpu does not compute stays the script's choice."""
        value = self.outer.state.values.get(name)
        key = "master=" if part == "address" else "port="
        if not isinstance(value, list) or any(each.startswith(key) for each in self.account.keys):
            return
        account = Account(self.context.script, self.step, self.started)
        try:
            account.loses(part, Word(value))
        except Left:
            self.launch.chosen.add(name)
        if any("suffix" in each for each in account.keys):
            self.account.keys += account.keys
        elif account.keys:
            self.launch.chosen.add(name)

    def _chosen_gpus(self) -> str:
        """srun would choose anew: what the script chose goes behind it."""
        text, source = "", self.outer.source
        for child in self.outer.node.children:
            name = source.of(child).partition("=")[0]
            if child.type == "variable_assignment" and name in VISIBLE:
                spot = source.spots(child.start_byte, child.end_byte, "", "")[0]
                self.launch.edits.append(removal(self.context.script, spot.begin, spot.end))
                text += self.context.script[spot.begin : spot.end] + " "
        for name in VISIBLE:
            if name in self.outer.state.exported and name not in self.outer.prefix:
                text += f'{name}="${name}" '
        return f"env {text}" if text else ""

    def _remove_inner_ranks(self) -> None:
        """What the task's shell sets first, if the mode does it."""
        source = self.started.inner.source if self.started.inner else None
        children = source.root.named_children if source else []
        for child, following in zip(children, children[1:]):
            names = names_set(source, child) if source else []
            is_set = all(n in RANKS and sets_variable(self.launch.spec, n) for n in names)
            if source is None or not names or not is_set:
                return
            spots = source.spots(child.start_byte, following.start_byte, "", "")
            if not spots or spots[0].quote == "mixed":
                return
            self.launch.edits.append(Edit(spots[0].begin, spots[0].end, "", spots[0].holder))

    # Why a launcher stays as it is

    def _names_node(self) -> bool:
        """Whether srun is told one of the job's nodes; all of them are no choice."""
        if not self.srun or self.srun.has("relative", "nodefile"):
            return self.srun is not None
        chosen = self.srun.value("nodelist")
        if not chosen or re.fullmatch(r"\$\{?SLURM_(JOB_)?NODELIST\}?", chosen):
            return False
        return self.step.line.value("nodes") != str(count_of_hosts(chosen))

    def _refuse_unclear(self) -> None:
        for option in self.srun.options if self.srun else ():
            if not option.certain:
                raise Left(f"{option.word}: no option of srun that is known here")
        for other in self.started.others:
            if not needs_no_rank(other.words):
                raise Left(f"{other.words[0].text} is started beside it")

    def _refuse(self, call: Call) -> None:
        self._refuse_unclear()
        if self._names_node():
            raise Left("srun is told the node, so the script starts each node by itself")
        if not self.srun and "background" in self.outer.around:
            raise Left("it runs beside others, and steps of srun would wait for each other")
        if not self.srun and re.search(r"SLURM_(PROCID|NODEID)\b", self.texts):
            note = "each task seems to run this script; give --distgpu to the srun that starts it"
            raise Left(note)
        if call.unclear is not None:
            raise Left(f"{call.unclear.shown()} may be options of {call.name}")
        if call.kind in ("torchrun", "accelerate"):
            return
        if self.srun:
            raise Left(f"{call.name} within srun starts all ranks in each task")
        for option in call.options:
            if option.part == "kept":
                raise Left(f"{option.words[0].text} of {call.name} is not understood")
        program = call.words[call.program :]
        refuse_several(program[0])
        if program[0].may_split() and call.kind == "deepspeed" and not is_program(program[0]):
            raise Left(f"{program[0].shown()} may be options of {call.name}")
        if any(word.text == ":" for word in program):
            raise Left(f"{call.name} starts several programs")
        if self.started.inner or call.words[0] is not self.outer.words[self.started.first]:
            raise Left(f"{call.name} is started by {self.outer.words[0].text}")
        if read_launcher(program[pass_wrappers(program, 0) :] or program):
            raise Left(f"{call.name} starts a launcher on each node")

    # The launchers

    def _one_each_node(self, single: bool) -> str:
        """One launcher on each node, whatever the job's tasks."""
        job = self.job
        if self.srun is None:
            if single and (job.nodes or 1) > 1:
                return "--nodes=1 --ntasks=1 " + (cpus_for(1, job) or cpus_of_job(job))
            if job.tasks_on_node == 1:
                return cpus_of_job(job)
            return "--ntasks=$SLURM_NNODES --ntasks-per-node=1 " + cpus_for(1, job)
        if self.srun.has("ntasks") or job.tasks_on_node == self.step.tasks_on_node == 1:
            return ""
        each = self.srun.value("ntasks-per-node")
        if each not in ("", "1"):
            raise Left("it is started several times on each node")
        own = self.srun.value("nodes")
        cpus = "" if each or self.srun.has("cpus-per-task") else cpus_for(1, job)
        shape = f"--ntasks={own if number(own) else '$SLURM_NNODES'} "
        return shape + ("" if each else "--ntasks-per-node=1 ") + cpus

    def _is_single(self, call: Call) -> bool:
        """Whether it trains on the node alone where it is started."""
        told, meets = call.value("nodes"), call.value("address", "endpoint")
        count = self.account.count_of_nodes(told) if told else 1
        if count != 1 and not self.srun and not self.job.given:
            note = "it is told several nodes, and no #SBATCH line asks for them: each task of an "
            raise Left(note + "srun seems to run this script; give --distgpu to that srun")
        if count != 1 or (self.step.nodes or 1) == 1:
            return count == 1
        if told is None and meets and meets.value() not in LOCAL and not call.has("--standalone"):
            nodes = f"the step's {self.step.nodes} nodes train together"
            self.account.notes.append(f"--nnodes was missing; with --distgpu {nodes}")
            return False
        if self.srun:
            note = "it is told no number of nodes, so each node trains by itself; where they are "
            raise Left(
                note
                + "meant to train together, write srun --distgpu=torchrun torchrun without more"
            )
        return True

    def _going(self, call: Call, single: bool = False) -> list[Option]:
        """The options that go, each accounted for."""
        self.account.one_node = single or self.step.nodes == 1
        going = []
        for option in call.options:
            if option.part == "flag":
                going.append(option)
            elif option.part != "kept":
                if option.value is None:
                    raise Left(f"{option.name} has no value")
                going += [option] if self.account.loses(option.part, option.value) else []
        return going

    def _torchrun(self, call: Call) -> None:
        single, notes = self._is_single(call), self.account.notes
        for option in self._going(call, single):
            self._remove(option.words)
        if call.value("processes") is None and self.step.gpus != 1:
            self.account.keys.append("nproc=1")
            note = (
                "it starts one process on each node, as before; without nproc=1, one for each GPU"
            )
            notes.append(note)
        # Which by itself gives the script an argument --local-rank, unless told not to.
        if call.words[call.module].text == "torch.distributed.launch" and call.has("--use-env"):
            self._replace(call.words[call.module], "torch.distributed.run")
        program = call.words[call.program]
        if program.may_split() and not is_program(program):
            notes.append(f"{program.shown()} may hold options of the launcher; they stay")
        self._add_spec("torchrun", self._one_each_node(single))

    def _accelerate(self, call: Call) -> None:
        """Its launcher reads no variables, so that the task's shell has to put them in."""
        machines = any(option_name(word) == "--num-machines" for word in call.words)
        going = self._going(call, not machines)
        self._keep_master()
        self.in_shell = bool(going) and self.started.inner is None
        self._add_spec(call.mode, self._one_each_node(not machines))
        numbers = [each for each in call.options if each.name == "--rdzv-backend" and each.value]
        numbered = any(each.value and each.value.text == "c10d" for each in numbers)
        numbered = numbered or any(option.part == "node rank" for option in going)
        if going and not (machines and numbered):
            raise Left("its machines get no number, or no --machine_rank")
        if self.in_shell:
            self._wrap(call.words)
        names = {"node rank": "NODE_RANK", "address": "MASTER_ADDR", "port": "MASTER_PORT"}
        for option in going:
            word = option.words[-1]
            spot = word.spot(self.started.all_words)
            value = ("$" if spot and spot.quote == "'" else "\\$") + names[option.part]
            begin = word.text.partition("=")[0] + "=" if len(option.words) == 1 else ""
            self._replace(word, begin + value)

    def _keep_master(self) -> None:
        self.account.keys = [key for key in self.account.keys if key.startswith("master=")]

    def _wrap(self, words: list[Word]) -> None:
        """In bash -c "..."; not where its text means another thing there."""
        begin, end = words[0].spots[0].begin, words[-1].spots[0].end
        text = self.context.script[begin:end].replace("\\\n", "")
        has_dollar = any("$" in each for each in re.findall(r"'([^']*)'", text))
        values = [self.outer.state.values.get(name) for name in re.findall(r"\$\{?(\w+)", text)]
        held = [
            c.text for value in values if isinstance(value, list) for c in value if not c.symbol
        ]
        is_special = set("\n\"'`\\!$;&|<>(){}*?[]#~") & set("".join(held))
        before = self.outer.words[: self.started.step]
        is_within = any(each.spots[0].end > begin for each in before)
        if is_special or is_within or has_dollar or re.search(r'["`\\!]', text):
            note = "its options have quotes, and the task's shell has to fill in the machine's rank"
            raise Left(note)
        self.launch.edits += [Edit(begin, begin, 'bash -c "'), Edit(end, end, '"')]

    def _deepspeed(self, call: Call) -> None:
        job, told = self.job, call.value("count")
        if not (call.has("--hostfile") or call.has("-H")) and (job.nodes or 1) > 1:
            raise Left("without --hostfile it is not known whether it uses all nodes")
        for option in self._going(call):
            self._remove(option.words)
        gpus = number(told.value()) if told else job.gpus
        if not gpus:
            raise Left("how many GPUs a node has is not known")
        if self.account.chosen_gpus:
            raise Left("the script chooses the GPUs")
        shape = cpus_of_job(job) if job.tasks_on_node == gpus else each_node(gpus, job)
        cpus = (number(job.cpus) or 1) * (job.tasks_on_node or 1)
        if cpus < gpus and not job.line.has("exclusive"):
            shape = "--overcommit " + shape
            self.account.notes.append(
                f"the job has {cpus} CPU{'s' * (cpus > 1)} on a node for {gpus} processes; more are "
                f"faster: #SBATCH --cpus-per-task={gpus}, or a multiple"
            )
        self._keep_master()
        self._add_spec("deepspeed", shape)
        self._replace(call.words[0], "python3")
        note = "the launcher gave the program --local_rank=N; now LOCAL_RANK has it"
        self.account.notes.append(note)

    def _mpi(self, call: Call) -> None:
        gloo = call.mode == "horovod" and call.has("--gloo")
        for option in self._going(call):
            self._remove(option.words)
        self._remove(call.words[:1])
        # -x NAME=VALUE and MPI's parameters; srun hands all variables on.
        before = ""
        for option in call.options:
            words = [self.account.written(word) for word in option.words[1:]]
            if option.part == "export" and "=" in words[0]:
                before += words[0] + " "
            elif option.part == "parameter" and len(words) == 2:
                before += ("" if option.name == "-genv" else "OMPI_MCA_") + "=".join(words) + " "
        is_plain = self.started.first == 0 and not re.search("[\"']", before)
        if before:
            self._replace(call.words[0], before if is_plain else "env " + before, keeps=True)
        shape = ("" if gloo else "--mpi=pmix ") + self._tasks(call)
        mode = "horovod" if "horovod" in (call.mode, self.context.framework) else "ompi"
        mode += ",backend=gloo" if gloo else ""
        self._add_spec(mode, shape, "horovod-rendezvous " if gloo else "")

    def _tasks(self, call: Call) -> str:
        """As many as the launcher was told, in all and on each node."""
        job, count, told = self.job, call.value("count"), call.value("each")
        placed = [each.value.text for each in call.options if each.part == "placed" and each.value]
        by_node = re.search(r"ppr:(\d+):node", " ".join(placed))
        on_node = number(told.value()) if told else number(by_node[1]) if by_node else None
        product = (job.nodes or 0) * (number(job.line.value("ntasks-per-node")) or 0)
        if (
            count is None
            or variable(count) in ("SLURM_NTASKS", "SLURM_NPROCS")
            or count.text == (job.line.value("ntasks") or str(product or "none"))
        ):
            is_own = on_node is not None and on_node != job.tasks_on_node
            return each_node(on_node, job) if is_own and on_node else cpus_of_job(job)
        text = f"--ntasks={self.account.written(count)} "
        if on_node is not None:
            return text + f"--ntasks-per-node={on_node} " + cpus_for(on_node, job)
        return text + cpus_for(-(-(number(count.value()) or 0) // (job.nodes or 1)), job)

    # srun python3 train.py

    def _python(self) -> None:
        framework = self.context.framework
        text = self.started.text.text if self.started.text else ""
        if not self.context.sets_ranks and not re.search(rf"\b({'|'.join(RANKS)})=", text):
            program = " ".join(word.text for word in self.started.words[:2])
            trains = f"if {program} trains with {framework}; {MODES} modes"
            note = f"one key is missing: srun --distgpu={framework}, {trains}, by the framework"
            self.launch.notes.append(note + " that the program imports")
            return
        self._refuse_unclear()
        self._check_world_size()
        self._add_spec(framework, "")
        named = f"the script names a framework of the mode {framework}"
        if framework == "pytorch":
            named = "the script names no framework, so the mode is pytorch"
        self.launch.notes.append(f"{named}; {MODES} others")

    def _check_world_size(self) -> None:
        """distgpu makes it the number of tasks."""
        value = self.outer.state.values.get("WORLD_SIZE")
        if isinstance(value, list) and not ALL_TASKS.fullmatch(plain(value)):
            told, tasks = number(plain(value)), (self.step.nodes or 0) * (
                self.step.tasks_on_node or 0
            )
            if told and tasks and told != tasks:
                raise Left(f"it is told {told} ranks, and its step has {tasks} tasks")
            if not told or not tasks:
                self.launch.notes.append("WORLD_SIZE is now the number of tasks")


def is_training(program: list[Word]) -> bool:
    """Whether it may train: python3 FILE, python3 -m MODULE, but not python3 -c TEXT."""
    options = [word.text for word in program[1:] if word.text.startswith("-")]
    return starts_python(program[0]) and not {"-c", "-V", "--version"}.intersection(options[:1])


def is_helper(program: list[Word]) -> bool:
    """Whether what is started trains nothing: hostname, echo, also behind bash -c."""
    text = shell_text(program)
    return needs_no_rank(program) if text is None else "python" not in text.text


def convert_launch(context: Context, command: Command) -> Optional[Launch]:
    """Nothing: it starts no training."""
    started = read_started(command)
    return Converter(context, started).convert() if started else None

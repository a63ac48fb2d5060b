"""One command that starts a training, and what it becomes with --distgpu."""

import re
from dataclasses import dataclass, field
from typing import List, Optional, Set, Tuple

from distgpu_convert.accounts import LOCAL, Account, Left, refuse_several, variable
from distgpu_convert.harmless import RANKS, needs_no_rank
from distgpu_convert.launchers import Call, Option, read_launcher, starts_python
from distgpu_convert.slurm import Job, count_of_hosts, number, sets_variable, step_in
from distgpu_convert.start import Started, pass_wrappers, read_started, shell_text
from distgpu_convert.text import Edit, Word, plain, removal
from distgpu_convert.walk import Command

VISIBLE = (
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
)
ALL_TASKS = re.compile(
    r"\$\{?SLURM_(NTASKS|NPROCS)\}?"
    r"|\$\(\( *\$?\{?SLURM_(NNODES|JOB_NUM_NODES)\}? *\* *\$?\{?SLURM_NTASKS_PER_NODE\}? *\)\)"
)
CPUS = "--cpus-per-task=$SLURM_CPUS_PER_TASK"


@dataclass
class Launch:
    command: Command
    spec: str = ""  # of --distgpu
    edits: List[Edit] = field(default_factory=list)  # none: it stays as it is
    notes: List[str] = field(default_factory=list)
    chosen: Set[str] = field(default_factory=set)  # exports that distgpu would compute otherwise


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
        self.step = step_in(self.job, started.srun) if started.srun else self.job
        self.launch = Launch(started.outer)
        self.in_shell = False  # what it starts gets a bash -c of its own
        self.account = Account(context.script, self.step, started)
        sets = {*self.outer.state.exported, *self.outer.prefix}
        words = " ".join(word.text for word in started.all_words)
        is_chosen = sets.intersection(VISIBLE) or re.search(rf"\b({'|'.join(VISIBLE)})=", words)
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

    def _spot(self, word: Word) -> Tuple[int, int, str]:
        spot = word.spot(self.started.all_words)
        if spot is None:
            raise Left(f"{word.shown()} is written together with other words")
        return spot.begin, spot.end, spot.holder

    def _insert(self, word: Word, text: str) -> None:
        begin, _, holder = self._spot(word)
        if self.in_shell:  # bash -c stands in the command itself, and so does what comes before it
            begin, holder = word.spots[0].begin, ""
        self.launch.edits.append(Edit(begin, begin, text, holder))

    def _replace(self, word: Word, text: str) -> None:
        begin, end, holder = self._spot(word)
        self.launch.edits.append(Edit(begin, end, text, holder))

    def _remove(self, words: List[Word]) -> None:
        for word in words:
            self.launch.edits.append(removal(self.context.script, *self._spot(word)))

    def _add_spec(self, mode: str, shape: str, program: str = "") -> None:
        """Behind srun's options, or with an srun that was not there."""
        self._exported("MASTER_ADDR", "address")
        self._exported("MASTER_PORT", "port")
        spec = self.launch.spec = ",".join([mode, *dict.fromkeys(self.account.keys)])
        if not self.srun:
            program += self._chosen_gpus()
            self._insert(
                self.outer.words[self.started.first], f"srun {shape}--distgpu={spec} {program}"
            )
            return
        self._insert(self.outer.words[self.started.step], f"{shape}--distgpu={spec} {program}")
        name = "SRUN_CPUS_PER_TASK"
        has_cpus = self.srun.has("cpus-per-task") or "--cpus-per-task" in shape
        if not has_cpus and name not in {*self.outer.state.exported, *self.outer.prefix}:
            note = f"srun does not inherit --cpus-per-task on every release; add {CPUS}"
            self.launch.notes += [note] if self.job.cpus else []
        self._remove_inner_ranks()

    def _exported(self, name: str, part: str) -> None:
        """An address or a port that distgpu does not compute stays the script's choice."""
        value = self.outer.state.values.get(name)
        if not isinstance(value, list) or any(
            key.startswith("master=" if part == "address" else "port=") for key in self.account.keys
        ):
            return
        account = Account(self.context.script, self.step, self.started)
        try:
            account.loses(part, Word(value))
        except Left:
            self.launch.chosen.add(name)
        if any("suffix" in key for key in account.keys):
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
        if self.started.inner is None:
            return
        source = self.started.inner.source
        children = source.root.named_children
        for child, following in zip(children, children[1:]):
            each = [child] if child.type == "variable_assignment" else child.named_children
            names = [re.split(r"\W", source.of(one))[0] for one in each]
            if not re.match("variable_assignment|declaration_command", child.type) or not all(
                name in RANKS and sets_variable(self.launch.spec, name) for name in names
            ):
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
        words = " ".join(word.text for word in self.started.all_words)
        if self._names_node():
            raise Left("srun is told the node, so the script starts each node by itself")
        if not self.srun and "background" in self.outer.around:
            raise Left("it runs beside others, and steps of srun would wait for each other")
        if not self.srun and re.search(r"SLURM_(PROCID|NODEID)\b", words):
            raise Left(
                "each task seems to run this script; give --distgpu to the srun that starts it"
            )
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
        refuse_several(program[0].chars)
        if program[0].may_split() and call.kind == "deepspeed":
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
            raise Left(
                "it is told several nodes, and no #SBATCH line asks for them: each task of an srun "
                "seems to run this script; give --distgpu to that srun"
            )
        if count != 1 or (self.step.nodes or 1) == 1:
            return count == 1
        if told is None and meets and meets.value() not in LOCAL and not call.has("--standalone"):
            nodes = f"the step's {self.step.nodes} nodes train together"
            self.account.notes.append(f"--nnodes was missing; with --distgpu {nodes}")
            return False
        if self.srun:
            raise Left(
                "it is told no number of nodes, so each node trains by itself; where they are meant "
                "to train together, write srun --distgpu=torchrun torchrun without more"
            )
        return True

    def _going(self, call: Call, single: bool = False) -> List[Option]:
        """The options that go, each accounted for."""
        self.account.one_node = single or self.step.nodes == 1
        going = []
        for option in call.options:
            if option.part not in ("flag", "kept") and option.value is None:
                raise Left(f"{option.name} has no value")
            if option.part == "flag" or (
                option.value is not None
                and option.part != "kept"
                and self.account.loses(option.part, option.value)
            ):
                going.append(option)
        return going

    def _torchrun(self, call: Call) -> None:
        single = self._is_single(call)
        for option in self._going(call, single):
            self._remove(option.words)
        if call.value("processes") is None and self.step.gpus != 1:
            self.account.keys.append("nproc=1")
            note = (
                "it starts one process on each node, as before; without nproc=1, one for each GPU"
            )
            self.account.notes.append(note)
        # Which by itself gives the script an argument --local-rank, unless told not to.
        if call.words[call.module].text == "torch.distributed.launch" and call.has("--use-env"):
            self._replace(call.words[call.module], "torch.distributed.run")
        program = call.words[call.program]
        if program.may_split():
            note = f"{program.shown()} may hold options of the launcher; they stay"
            self.account.notes.append(note)
        self._add_spec("torchrun", self._one_each_node(single))

    def _accelerate(self, call: Call) -> None:
        """Its launcher reads no variables, so that the task's shell has to put them in."""
        machines = any(re.match("--num[_-]machines", word.text) for word in call.words)
        going = self._going(call, not machines)
        self._keep_master()
        self.in_shell = bool(going) and self.started.inner is None
        self._add_spec(call.mode, self._one_each_node(not machines))
        has_rank = machines and any(option.part == "node rank" for option in going)
        if going and not has_rank and not (machines and call.text_of("--rdzv-backend") == "c10d"):
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

    def _wrap(self, words: List[Word]) -> None:
        """In bash -c "..."; not where its text means another thing there."""
        begin, end = words[0].spots[0].begin, words[-1].spots[0].end
        text = self.context.script[begin:end].replace("\\\n", "")
        has_dollar = any("$" in each for each in re.findall(r"'([^']*)'", text))
        from_variables = [
            char.text
            for word in words
            for char in word.chars
            if len(word.spots) > 1 and not char.symbol
        ]
        is_special = set("\"'`\\!$;&|<>(){}*?[]#~") & set("".join(from_variables))
        before = self.outer.words[: self.started.step]
        is_special = is_special or any(each.spots[0].end > begin for each in before)
        if is_special or has_dollar or re.search(r'["`\\!]', text):
            raise Left(
                "its options have quotes, and the task's shell has to fill in the machine's rank"
            )
        self.launch.edits += [Edit(begin, begin, 'bash -c "'), Edit(end, end, '"')]

    def _deepspeed(self, call: Call) -> None:
        has_hosts = call.has("--hostfile") or call.has("-H")
        if not has_hosts and (self.job.nodes or 1) > 1:
            raise Left("without --hostfile it is not known whether it uses all nodes")
        for option in self._going(call):
            self._remove(option.words)
        told, job = call.value("count"), self.job
        gpus = number(told.value() or "") if told else job.gpus
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
        before = self._variables_before(call)
        if before:
            self._insert(call.words[0], before)
        shape = ("" if gloo else "--mpi=pmix ") + self._tasks(call)
        mode = "horovod" if "horovod" in (call.mode, self.context.framework) else "ompi"
        mode += ",backend=gloo" if gloo else ""
        self._add_spec(mode, shape, "horovod-rendezvous " if gloo else "")

    def _tasks(self, call: Call) -> str:
        """As many as the launcher was told, in all and on each node."""
        job, count, told = self.job, call.value("count"), call.value("each")
        placed = [each.value.text for each in call.options if each.part == "placed" and each.value]
        by_node = re.search(r"ppr:(\d+):node", " ".join(placed))
        on_node = number((told.value() or "") if told else by_node[1] if by_node else "")
        product = (job.nodes or 0) * (number(job.line.value("ntasks-per-node")) or 0)
        if (
            count is None
            or variable(count.chars) in ("SLURM_NTASKS", "SLURM_NPROCS")
            or count.text == (job.line.value("ntasks") or str(product or "none"))
        ):
            same = on_node is None or on_node == job.tasks_on_node
            return cpus_of_job(job) if same or on_node is None else each_node(on_node, job)
        text = f"--ntasks={self.account.written(count)} "
        if on_node is not None:
            return text + f"--ntasks-per-node={on_node} " + cpus_for(on_node, job)
        return text + cpus_for(-(-(number(count.value() or "") or 0) // (job.nodes or 1)), job)

    def _variables_before(self, call: Call) -> str:
        """mpirun's -x NAME=VALUE and MPI's parameters; srun hands all variables on."""
        text = ""
        for option in call.options:
            words = [self.account.written(word) for word in option.words[1:]]
            if option.part == "export" and "=" in words[0]:
                text += words[0] + " "
            elif option.part == "parameter" and len(words) == 2:
                text += ("" if option.name == "-genv" else "OMPI_MCA_") + "=".join(words) + " "
        is_plain = self.started.first == 0 and not re.search("[\"']", text)
        return text if not text or is_plain else "env " + text

    # srun python3 train.py

    def _python(self) -> None:
        framework = self.context.framework
        text = self.started.text.text if self.started.text else ""
        if not self.context.sets_ranks and not re.search(rf"\b({'|'.join(RANKS)})=", text):
            program = " ".join(word.text for word in self.started.words[:2])
            self.launch.notes.append(
                f"one key is missing: srun --distgpu={framework}, if {program} trains with "
                f"{framework}; distgpu vars help lists the modes, by the framework that the program "
                "imports"
            )
            return
        self._refuse_unclear()
        self._check_world_size()
        self._add_spec(framework, "")
        named = f"the script names a framework of the mode {framework};"
        if framework == "pytorch":
            named = "the script names no framework, so the mode is pytorch;"
        self.launch.notes.append(named + " distgpu vars help lists the others")

    def _check_world_size(self) -> None:
        """distgpu makes it the number of tasks."""
        value = self.outer.state.values.get("WORLD_SIZE")
        if not isinstance(value, list) or ALL_TASKS.fullmatch(plain(value)):
            return
        told, nodes, each = number(plain(value)), self.step.nodes, self.step.tasks_on_node
        if told and nodes and each and told != nodes * each:
            raise Left(f"it is told {told} ranks, and its step has {nodes * each} tasks")
        if not told or not nodes or not each:
            self.launch.notes.append("WORLD_SIZE is now the number of tasks")


def is_training(program: List[Word]) -> bool:
    """Whether it may train: python3 FILE, python3 -m MODULE, but not python3 -c TEXT."""
    options = [word.text for word in program[1:] if word.text.startswith("-")]
    return starts_python(program[0]) and not {"-c", "-V", "--version"}.intersection(options[:1])


def is_helper(program: List[Word]) -> bool:
    """Whether what is started trains nothing: hostname, echo, also behind bash -c."""
    text = shell_text(program)
    return needs_no_rank(program) if text is None else "python" not in text.text


def convert_launch(context: Context, command: Command) -> Optional[Launch]:
    """Nothing: it starts no training."""
    started = read_started(command)
    return Converter(context, started).convert() if started else None

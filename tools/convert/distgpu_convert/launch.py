"""One command that starts a training, and what it becomes with --distgpu."""

import re
from typing import Optional

from distgpu_convert.accounts import LOCAL, Account, Left, refuse_several, variable
from distgpu_convert.harmless import NEEDS_NO_RANK, PREPARES, RANKS, is_one_of
from distgpu_convert.shell import Source
from distgpu_convert.slurm import Job, decides_variable, number, sets_variable
from distgpu_convert.start import Call, Option, is_program, pass_wrappers
from distgpu_convert.start import read_launcher, shell_text, starts_python
from distgpu_convert.text import Edit, Word, plain, removal
from distgpu_convert.walk import names_set

ALL_TASKS = re.compile(
    r"\$\{?SLURM_(NTASKS|NPROCS)\}?"
    r"|\$\(\( *\$?\{?SLURM_(NNODES|JOB_NUM_NODES)\}? *\* *\$?\{?SLURM_NTASKS_PER_NODE\}? *\)\)"
)
CPUS = "--cpus-per-task=$SLURM_CPUS_PER_TASK"
EACH_TASK = "each task of an srun seems to run this script; give --distgpu to that srun"
MODES = "distgpu vars help lists the modes"


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


class Launch(Account):
    """What the command becomes."""

    def convert(self) -> bool:
        """Whether it starts a training."""
        if self.srun and self.srun.has("distgpu"):
            self.spec = self.srun.value("distgpu")
            return True
        call = read_launcher(self.words) if self.words else None
        if call and (call.program >= len(call.words) or is_helper(call.words[call.program :])):
            return False
        if not call and not (self.srun and is_training(self.words) and not self._names_node()):
            return False
        try:
            if (self.inner or self.outer).within == "function":
                raise Left("a function starts it, whose arguments are not known here")
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
        preceding = self.outer.words[: self.place]
        spot = word.spot(preceding if before else self.all_words)
        if spot is None:
            raise Left(f"{word.text} is written together with other words")
        begin, end, _, holder = spot
        edit = Edit(begin, begin if before else end, text, holder)
        self.edits.append(edit if text else removal(self.context.script, begin, end, holder))

    def _add_spec(self, mode: str, shape: str, program: str = "") -> None:
        """Behind srun's options, or with an srun that was not there."""
        self._follow_exports()
        spec = self.spec = ",".join([mode, *dict.fromkeys(self.keys)])
        for name in sorted(self.moved.keys() | self.outer.state.exported - RANKS):
            if decides_variable(spec, name) and not sets_variable(spec, name):
                self.notes.append(f"{name} is removed in each task by --distgpu={spec}")
        place = self.outer.words[self.place]
        if not self.srun:
            moved = "".join(word + " " for word in self.moved.values())
            is_plain = self.place == 0 and re.fullmatch(r"(\w+=[^\"'`$ ]* )*", moved)
            shape = f"{'' if is_plain or not moved else 'env '}{moved}srun {shape}"
        self._edit(place, f"{shape}--distgpu={spec} {program}", before=True)
        has_cpus = "cpus-per-task" in shape or "SRUN_CPUS_PER_TASK" in self.sets
        if self.srun and self.job.cpus and not has_cpus and not self.srun.has("cpus-per-task"):
            self.notes.append(f"srun does not inherit --cpus-per-task on every release; add {CPUS}")
        if self.srun and self.inner:
            self._remove_inner_ranks(self.inner.source)

    def _follow_exports(self) -> None:
        """An address or a port that distgpu does not compute stays the script's choice."""
        for name, part in (("MASTER_ADDR", "address"), ("MASTER_PORT", "port")):
            value = self.outer.state.values.get(name)
            key = "master=" if part == "address" else "port="
            if not isinstance(value, list) or any(each.startswith(key) for each in self.keys):
                continue
            try:
                keys = self.keys_of(part, Word(value))
            except Left:
                keys = None
            if keys and "suffix" in keys[0]:
                self.keys += keys
            elif keys != []:
                self.chosen.add(name)

    def _remove_inner_ranks(self, source: Source) -> None:
        """What the task's shell sets first, if the mode does it."""
        for child, following in zip(source.root.named_children, source.root.named_children[1:]):
            names = names_set(source, child)
            is_set = all(n in RANKS and sets_variable(self.spec, n) for n in names)
            spots = source.spots(child.start_byte, following.start_byte, "", "")
            if not names or not is_set or not spots or spots[0].quote == "mixed":
                return
            self.edits.append(Edit(spots[0].begin, spots[0].end, "", spots[0].holder))

    # Why a launcher stays as it is

    def _names_node(self) -> bool:
        """Whether srun is told one of the job's nodes; several or all are no choice."""
        if self.srun is None:
            return False
        chosen = self.srun.value("nodelist")
        is_all = re.fullmatch(r"\$\{?SLURM_(JOB_)?NODELIST\}?", chosen) is not None
        is_one = (number(self.srun.value("nodes")) or 1) == 1
        return (chosen != "" and is_one and not is_all) or self.srun.has("relative", "nodefile")

    def _refuse(self, call: Optional[Call]) -> None:
        """`call`: nothing of plain Python."""
        for option in self.srun.options if self.srun else ():
            if not option.certain:
                raise Left(f"{option.word}: no option of srun that is known here")
        for other in self.others:
            if not needs_no_rank(other.words):
                raise Left(f"{other.words[0].text} is started beside it")
        if call is None:
            return
        if self._names_node():
            raise Left("srun is told the node, so the script starts each node by itself")
        if not self.srun and self.outer.within == "background":
            raise Left("it runs beside others, and steps of srun would wait for each other")
        if not self.srun and re.search(r"SLURM_(PROCID|NODEID)\b", self.texts):
            raise Left(EACH_TASK)
        if not self.srun and self.chosen_gpus:
            raise Left("the script chooses the GPUs, and a step of srun would choose them anew")
        if call.unclear is not None:
            raise Left(f"{call.unclear.text} may be options of {call.name}")

    def _refuse_all_ranks(self, call: Call) -> None:
        """Of a launcher that starts the ranks of all nodes."""
        program, first = call.words[call.program :], self.outer.words[self.place]
        kept = [each.words[0].text for each in call.options if each.part == "kept"]
        refuse_several(program[0])
        if self.srun:
            raise Left(f"{call.name} within srun starts all ranks in each task")
        if kept:
            raise Left(f"{kept[0]} of {call.name} is not understood")
        if call.mode == "deepspeed":
            if not call.has("--hostfile", "-H") and not self.job.has_one_node:
                raise Left("without --hostfile it is not known whether it uses all nodes")
            if program[0].may_split() and not is_program(program[0]):
                raise Left(f"{program[0].text} may be options of {call.name}")
        if self.inner or call.words[0] is not first:
            raise Left(f"{call.name} is started by {self.outer.words[0].text}")
        own = pass_wrappers(program, 0)
        if ":" in [word.text for word in program] or read_launcher(program[own:] or program):
            raise Left(f"{call.name} starts several programs, or a launcher on each node")

    # The launchers

    def _remove_going(self, call: Call) -> None:
        """The options that go, each accounted for."""
        for option in call.options:
            keys: Optional[list[str]] = None if option.part == "kept" else []
            if option.part not in ("kept", "flag"):
                if option.value is None:
                    raise Left(f"{option.name} has no value")
                keys = self.keys_of(option.part, option.value)
            if keys is not None:
                self.keys += keys
                for word in option.words:
                    self._edit(word, "")

    def _one_each_node(self) -> str:
        """One launcher on each node, whatever the job's tasks."""
        job = self.job
        if self.srun is None:
            return shape_for(job, 1)
        if self.srun.has("ntasks") or job.tasks_on_node == self.step.tasks_on_node == 1:
            return ""
        each, nodes = self.srun.value("ntasks-per-node"), self.srun.value("nodes")
        if each not in ("", "1"):
            raise Left("it is started several times on each node")
        cpus = "" if each or self.srun.has("cpus-per-task") else cpus_for(1, job)
        shape = f"--ntasks={nodes if number(nodes) else '$SLURM_NNODES'} "
        return shape + ("" if each else "--ntasks-per-node=1 ") + cpus

    def _check_nodes(self, call: Call) -> None:
        """Whether it trains on all nodes of its step."""
        told, meets = call.value("nodes", "machines"), call.value("address", "endpoint")
        count = self.count_of_nodes(told) if told else 1
        self.one_node = self.step.has_one_node and (count == 1 or self.step.nodes == 1)
        if count != 1 and not self.srun and not self.job.line.options:
            raise Left(EACH_TASK)
        if count == 1 and not self.step.has_one_node:
            if told or not meets or meets.value() in LOCAL or call.has("--standalone"):
                together = "to use all, write srun --distgpu=torchrun torchrun"
                raise Left(f"it is told one node, and its step may have several; {together}")
            self.notes.append("--nnodes was missing; now all nodes of the step train together")

    def _each_node(self, call: Call) -> None:
        """It starts the ranks of its node. accelerate reads no variables: its options stay."""
        self._check_nodes(call)
        self._remove_going(call)
        if call.mode == "torchrun" and call.value("processes") is None and self.step.gpus != 1:
            self.keys.append("nproc=1")
            self.notes.append("one process on each node, as before; without nproc=1, one a GPU")
        # Which by itself gives the script an argument --local-rank, unless told not to.
        if call.words[call.module].text == "torch.distributed.launch" and call.has("--use-env"):
            self._edit(call.words[call.module], "torch.distributed.run")
        program = call.words[call.program]
        if program.may_split() and not is_program(program):
            self.notes.append(f"{program.text} may hold options of the launcher; they stay")
        self._add_spec(call.mode, self._one_each_node())

    def _all_ranks(self, call: Call) -> None:
        """It starts the ranks of all nodes: srun does that instead."""
        self._refuse_all_ranks(call)
        is_deepspeed, count, each = (
            call.mode == "deepspeed",
            call.value("count"),
            call.value("each"),
        )
        placed = " ".join(o.value.text for o in call.options if o.part == "placed" and o.value)
        by_node = re.search(r"ppr:(\d+):node", placed)
        on_node = number(each.value() if each else by_node[1] if by_node else None)
        if is_deepspeed:
            on_node = on_node or self.job.gpus
            if not on_node:
                raise Left("how many GPUs a node has is not known")
            self.notes.append("the launcher gave the program --local_rank=N; now LOCAL_RANK has it")
        self._remove_going(call)
        is_jobs = count is None or variable(count) in ("SLURM_NTASKS", "SLURM_NPROCS")
        shape = shape_for(self.job, on_node, self.written(count) if count and not is_jobs else "")
        cpus = (number(self.job.cpus) or 1) * (self.job.tasks_on_node or 1)
        if is_deepspeed and on_node and cpus < on_node and not self.job.line.has("exclusive"):
            shape = "--overcommit " + shape
            faster = f"more are faster: #SBATCH --cpus-per-task={on_node}, or a multiple"
            self.notes.append(f"{cpus} of a node's CPUs are for {on_node} processes; {faster}")
        for option in call.options:
            if option.part == "parameter" or (
                option.part == "export" and "=" in option.words[1].text
            ):
                self._move(option)
        mode = "horovod" if self.context.framework == "horovod" and not is_deepspeed else call.mode
        self._edit(call.words[0], "python3" if is_deepspeed else "")
        if call.has("--gloo"):
            self._add_spec("horovod,backend=gloo", shape, "horovod-rendezvous ")
        else:
            self._add_spec(mode, shape if is_deepspeed else "--mpi=pmix " + shape)

    def _move(self, option: Option) -> None:
        """-x NAME=VALUE or a parameter, into the environment of srun, which hands on all of it."""
        words = [self.written(word) for word in option.words[1:]]
        name = option.words[1].text.partition("=")[0]
        if option.part == "parameter":
            prefix = "" if option.name == "-genv" else "OMPI_MCA_"
            name, words = prefix + name, [prefix + "=".join(words)]
        if name in self.moved:
            raise Left(f"{name} is given twice")
        if self.job.line.value("export").partition(",")[0] not in ("", "ALL"):
            raise Left(f"{name} would not reach the tasks, because of #SBATCH --export")
        self.moved[name] = words[0]

    # srun python3 train.py

    def _python(self) -> None:
        framework = self.context.framework
        text = self.text.text if self.text else ""
        if not self.context.sets_ranks and not re.search(rf"\b({'|'.join(RANKS)})=", text):
            program = " ".join(word.text for word in self.words[:2])
            key = f"srun --distgpu={framework}, if {program} trains with {framework}"
            self.notes.append(f"one key is missing: {key}; {MODES}, by imported framework")
            return
        self._refuse(None)
        value, tasks = self.outer.state.values.get("WORLD_SIZE"), self.step.tasks_on_node or 0
        told = plain(value) if isinstance(value, list) else ""
        if told and not ALL_TASKS.fullmatch(told) and told != str((self.step.nodes or 0) * tasks):
            raise Left(f"it is told {told} ranks, and that may not be the number of its tasks")
        self._add_spec(framework, "")
        named = "no framework" if framework == "pytorch" else "a framework of this mode"
        self.notes.append(f"the mode is {framework}, as the script names {named}; {MODES}")


def needs_no_rank(words: list[Word]) -> bool:
    return is_one_of(NEEDS_NO_RANK | PREPARES, [word.text for word in words])


def is_training(program: list[Word]) -> bool:
    """Whether it may train: python3 FILE, python3 -m MODULE, but not python3 -c TEXT."""
    options = [word.text for word in program[1:] if word.text.startswith("-")]
    runs_file = not {"-c", "-V", "--version"}.intersection(options[:1])
    return any(map(starts_python, program[:1])) and runs_file


def is_helper(program: list[Word]) -> bool:
    """Whether what is started trains nothing: hostname, echo, also behind bash -c."""
    text = shell_text(program)
    return needs_no_rank(program) if text is None else "python" not in text.text

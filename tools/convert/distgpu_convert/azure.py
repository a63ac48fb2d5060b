"""An Azure ML job, in YAML or made by Python, as a batch script.

Names and defaults are of v2's commandJob and pipelineJob, azure-ai-ml 1.31 and azureml-core 1.60.
"""

import ast
import functools
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Optional

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from distgpu_convert.script import Conversion, convert_script, named_framework
from distgpu_convert.script import reads_nothing, words_of
from distgpu_convert.shell import Source, nodes_of
from distgpu_convert.slurm import MODES, TABLES, Problem
from distgpu_convert.start import PREPARES

PER_PROCESS = re.compile(rf"\$\{{?({'|'.join(TABLES['ranks'].split())}|OMPI_COMM_WORLD_\w+)\b")
OF_AZURE = re.compile(r"\b(?:AZ_BATCH\w*|AZUREML_\w+)\b")
DISTRIBUTIONS = "PyTorchDistribution MpiDistribution TensorFlowDistribution RayDistribution".split()


@dataclass
class Value:
    """Of YAML, or of a call by which Python makes the job."""

    kind: str  # "text": also a number; "list"; "map": also a call; "unknown": only Python knows it
    text: str = ""  # of one that is not known: how it is written; of a call: whose
    line: int = 0
    items: list["Value"] = field(default_factory=list)  # of a call: without a name
    fields: dict[str, "Value"] = field(default_factory=dict)

    def field(self, name: str) -> "Value":
        """An empty map if it has no map of that name."""
        value = self.fields.get(name)
        return value if value is not None and value.kind == "map" else Value("map")


def read_yaml(file: str, text: str) -> Value:
    @functools.lru_cache(maxsize=None)  # aliases of aliases would be too many values
    def value(node: Node) -> Value:
        line = node.start_mark.line + 1
        if isinstance(node, SequenceNode):
            return Value("list", "", line, [value(each) for each in node.value])
        if isinstance(node, MappingNode):
            pairs = [(key, each) for key, each in node.value if isinstance(key, ScalarNode)]
            return Value("map", "", line, [], {str(key.value): value(each) for key, each in pairs})
        return Value("text", str(node.value), line)

    try:
        root = YAML(typ="safe", pure=True).compose(text)
        job = value(root) if root is not None else Value("text")
    except (YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        problem = getattr(error, "problem", None) or "nested too deeply, or odd characters"
        line = mark.line + 1 if mark else 1
        raise Problem(f"{file}:{line}: not YAML: {problem}; mend it there")
    if job.kind != "map":
        raise Problem(f"{file}: not a job: it has no fields; give one as az ml job create takes it")
    return job


class Python:
    """The calls of a script, in the order in which they are made, with their literal arguments."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.calls: list[Value] = []
        self.names: dict[str, Value] = {}
        tree = ast.parse(source)
        self.unsure = {each.arg for each in ast.walk(tree) if isinstance(each, ast.arg)}
        for block in ast.walk(tree):
            is_main = isinstance(block, ast.If) and "__name__" in ast.dump(block.test)
            if type(block).__name__ in TABLES["unsure in Python"].split() and not is_main:
                names = [each for each in ast.walk(block) if isinstance(each, ast.Name)]
                self.unsure.update(each.id for each in names if isinstance(each.ctx, ast.Store))
        self._run(tree)

    def _run(self, node: ast.AST) -> None:
        later: list[ast.AST] = []
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                later.append(child)
            elif isinstance(child, (ast.Assign, ast.AnnAssign)) and child.value is not None:
                value = self._value(child.value)
                for target in child.targets if isinstance(child, ast.Assign) else [child.target]:
                    self._assign(target, value)
            elif isinstance(child, ast.expr):
                self._value(child)
            else:
                self._run(child)
        for child in later:  # a function runs when all around it is known
            names = dict(self.names)
            self._run(child)
            self.names = names

    def _assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = self._unknown(target) if target.id in self.unsure else value
        elif isinstance(target, (ast.Tuple, ast.List)):
            for each in target.elts:
                self._assign(each, self._unknown(target))
        elif isinstance(target, (ast.Attribute, ast.Subscript)):
            owner = self._value(target.value)
            key = getattr(target, "attr", getattr(getattr(target, "slice", None), "value", None))
            if owner.kind == "map" and isinstance(key, str):
                owner.fields[key] = value
            elif any(getattr(each, "id", "") in self.names for each in ast.walk(target)):
                # job.run_config.node_count = 2
                written = ast.get_source_segment(self.source, target) or ""
                self.calls.append(Value("lost", written, target.lineno))

    def _unknown(self, node: ast.expr) -> Value:
        written = (ast.get_source_segment(self.source, node) or "").split("(")[0]
        return Value("unknown", " ".join(written.split())[:60], node.lineno)

    def _value(self, node: ast.expr) -> Value:
        line = node.lineno
        if isinstance(node, ast.Constant) and type(node.value) in (str, int, float):
            return Value("text", str(node.value), line)
        if isinstance(node, (ast.List, ast.Tuple)):
            return Value("list", "", line, [self._value(each) for each in node.elts])
        if isinstance(node, ast.Dict):
            result = Value("map", "", line)
            for key, each in zip(node.keys, node.values):
                value = self._value(each)
                named = {str(key.value): value} if isinstance(key, ast.Constant) else {}
                result.fields.update(value.fields if key is None else named)
            return result
        if isinstance(node, ast.Name) and node.id in self.names:
            return self.names[node.id]
        if isinstance(node, ast.Call):
            return self._call(node)
        self._run(node)
        return self._unknown(node)

    def _call(self, node: ast.Call) -> Value:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        owner = self._value(node.func.value) if isinstance(node.func, ast.Attribute) else None
        if owner and owner.kind == "text" and name == "split" and not node.args:
            words = [Value("text", each, owner.line) for each in owner.text.split()]
            return Value("list", "", owner.line, words)
        call = Value("map", name, node.lineno, [self._value(each) for each in node.args])
        for keyword in node.keywords:
            value = self._value(keyword.value)
            call.fields.update({keyword.arg: value} if keyword.arg else value.fields)
        self.calls.append(call)
        return call


def read_python(file: str, text: str) -> list[Value]:
    """Every call, inner ones first."""
    try:
        return Python(text).calls
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        problem = getattr(error, "msg", "nested too deeply")
        line = getattr(error, "lineno", None) or 1
        raise Problem(f"{file}:{line}: not Python: {problem}; mend it there")


def last_call(calls: Sequence[Value], *callees: str) -> Optional[Value]:
    return next((call for call in reversed(calls) if call.text in callees), None)


class Job:
    """What a job's fields say, by the names of version 2."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.notes: list[tuple[int, str]] = []
        self.framework = named_framework(text)
        if file.endswith(".py"):
            of = self._of_python(read_python(file, text))
        else:
            of = self._of_yaml(read_yaml(file, text))
        self.name = self.text(of, "display_name") or self.text(of, "experiment_name")
        self.code = self.text(of, "code")  # the folder
        # What a shell runs on each node, or as each process.
        self.command = with_inputs(self.text(of, "command"), of.field("inputs").fields, self)
        kind = of.field("distribution").text or self.text(of.field("distribution"), "type")
        self.distribution = re.sub("(distribution|configuration)$", "", kind.lower())
        self.seconds = self.number(of, "seconds", 0)  # until it is ended; 0: never
        self.workers = self.number(of, "workers", 0)
        self.parameter_servers = self.number(of, "parameter servers", 0)
        self.nodes = self.number(of, "nodes", 1)
        # In version 1 nobody counts the nodes of TensorFlow's workers.
        self.nodes = max(self.nodes, self.workers if self.distribution == "tensorflow" else 0)
        self.processes = self.number(of, "processes", 1)  # on a node
        total = self.number(of, "all processes", 0)  # of version 1
        if total > 0 and self.nodes > 0:
            self.processes = -(-total // self.nodes)
        self.variables: list[tuple[str, str]] = []
        for name, value in of.field("environment_variables").fields.items():
            if value.kind == "text" and re.fullmatch(r"[A-Za-z_]\w*", name):
                self.variables.append((name, value.text))
            else:
                self.notes.append((value.line, f"environment variable {name}: not known"))
        for name, advice in TABLES["left out of Azure jobs"].items():
            found = [place.fields.get(name) for place in (of, of.field("resources"))]
            self.notes += [(each.line, f"{name} is left out: {advice}") for each in found if each]

    def text(self, of: Value, name: str) -> str:
        value = of.fields.get(name, Value("text"))
        if value.kind != "text":
            self.notes.append((value.line, f"{name}: not a literal, so it is not known"))
        return value.text if value.kind == "text" else ""

    def number(self, of: Value, what: str, otherwise: int) -> int:
        """The last one that is given, by the fields of the table."""
        for name in TABLES["numbers of Azure jobs"][what].split():
            *place, own = name.split("/")
            within = of.field(place[0]) if place else of
            text = self.text(within, own)
            if re.fullmatch(r"[0-9]{1,9}", text):
                otherwise = int(text)
            elif text:
                note = f"{own}: {text} is no number, so it is not known"
                self.notes.append((within.fields[own].line, note))
        return otherwise

    def _chosen(self, jobs: dict[str, Value]) -> Value:
        """The first distributed one, or else the first: a batch script has room for one."""
        known = [name for name, job in jobs.items() if self.text(job, "command").strip()]
        signs = {"distribution", "resources", "instance_count"}
        distributed = [name for name in known if signs & jobs[name].fields.keys()]
        if not known:
            raise Problem(f"{self.file}: no job with a command as a text; give the file of a job")
        taken = (distributed or known)[0]
        others = ", ".join(name for name in jobs if name != taken)
        note = f"of {len(jobs)} jobs, {taken} is taken; left out: {others}"
        self.notes += [(jobs[taken].line, note)] if others else []
        return jobs[taken]

    def _of_yaml(self, of: Value) -> Value:
        """A job, the trial of a sweep, or one of a pipeline's jobs."""
        if "trial" in of.fields:
            of = of.fields["trial"]
            self.notes.append((of.line, "of the sweep one trial is taken"))
        return self._chosen({"": of} if "command" in of.fields else of.field("jobs").fields)

    def _of_python(self, calls: list[Value]) -> Value:
        lost = [each for each in calls if each.kind == "lost"]
        self.notes += [(each.line, f"{each.text} is not taken") for each in lost]
        v1 = last_call(calls, "ScriptRunConfig")
        made = [call for call in calls if call.text == "command" and "command" in call.fields]
        made = [self._of_v1(v1)] if v1 else made
        of = self._chosen({f"line {call.line}": call for call in reversed(made)})
        experiment = last_call(calls, "Experiment") or Value("map")
        later = {  # what is set on the job afterwards
            "distribution": last_call(calls, *DISTRIBUTIONS),
            "resources": last_call(calls, "ResourceConfiguration", "JobResourceConfiguration"),
            "display_name": [experiment.fields.get("name"), *experiment.items][-1],
        }
        of.fields.update({name: value for name, value in later.items() if value})
        return of

    def _of_v1(self, of: Value) -> Value:
        """A command's items are joined by blanks, as Azure ML does; a script's arguments are words."""
        how = of.fields.get("distributed_job_config", Value("map"))
        if how.kind != "map":
            raise Problem(f"distributed_job_config, line {how.line}: not a literal; write it there")
        script, words = self.text(of, "script"), []
        given = of.fields.get("arguments" if script else "command", Value("list"))
        for each in given.items if given.kind == "list" else [given]:
            if each.kind == "text":
                words.append(shlex.quote(each.text) if script else each.text)
            else:
                note = f'argument {each.text}: not a literal; write it where "$ARGUMENT" stands'
                self.notes.append((each.line, note))
                words.append('"$ARGUMENT"')
        words = ["python", shlex.quote(script), *words] if script else words
        if script or given.kind != "unknown":
            of.fields["command"] = Value("text", " ".join(words), of.line)
        of.fields["code"] = of.fields.get("source_directory", Value("text"))
        of.fields["distribution"] = how
        return of


def with_inputs(command: str, fields: dict[str, Value], job: Job) -> str:
    """${{inputs.epochs}} is the input's value, or where its data is; $[[...]] only if it is given."""

    def value_of(name: str) -> str:
        last = name.rsplit(".", 1)[-1]
        value = fields.get(last) if name.startswith("inputs.") else None
        literal = value.fields.get("default", value) if value else None
        if literal is not None and literal.kind == "text" and "${{" not in literal.text:
            return shlex.quote(literal.text)
        note = f"{name}: where its data is on the cluster is not known; set {last} before srun"
        job.notes.append((value.line if value else 0, note))
        return f'"${last}"'

    for text in re.findall(r"\$\[\[.*?\]\]", command, re.DOTALL):
        inputs = [fields.get(name) for name in re.findall(r"\{\{ *inputs\.([\w.]+)", text)]
        given = [each and {"optional", "default", "path"} & each.fields.keys() for each in inputs]
        lacks = any(keys is None or keys == {"optional"} for keys in given)
        command = command.replace(text, "" if lacks else text[3:-2])
        job.notes += [(0, f"{text} is left out: no value is given")] if lacks else []
    result, quote = "", ""  # the quote that is open here
    for part in re.split(r"(\$\{\{.*?\}\}|\\.|[\"'])", command, flags=re.DOTALL):
        if part in ("'", '"') and quote in ("", part):
            quote = "" if quote else part
        is_input = part.startswith("${{")
        result += quote + value_of(part[3:-2].replace(" ", "")) + quote if is_input else part
    return result


def with_srun(job: Job) -> str:
    """Its program behind srun; what differs from process to process is filled in there."""
    source = Source(job.command)
    found = {node: words_of(source, node) for node in nodes_of(source.root, "command")}
    # The last one that does more than install, print or copy; but for echo in a job that is one.
    installs = {"pip", "pip3", "setup.py"}
    commands = [node for node, words in found.items() if words and not installs & {*words}]
    programs = [node for node in commands if found[node][0] not in PREPARES]
    programs = [node for node in programs if not reads_nothing(found[node])]
    if not commands or not (programs or job.distribution):
        raise Problem(f"{job.file}: its command starts no training")
    taken = (programs or commands)[-1]
    names = [each for each in taken.named_children if each.type == "command_name"]
    begin, end = names[0].start_byte, taken.end_byte
    program, mode = job.command[begin:end], mode_of(job)
    others = ", ".join(source.of(node).split()[0] for node in programs[:-1])
    job.notes += [(0, f"in one process, not in each: {others}")] if others else []
    if mode == "ray":
        program = "distgpu exec -- " + program
    elif PER_PROCESS.search(program):
        program = "bash -c " + shlex.quote(program)
    mpi = "--mpi=pmix " if mode in ("ompi", "horovod") else ""
    return f"{job.command[:begin]}srun {mpi}--distgpu={mode} {program}{job.command[end:]}"


def mode_of(job: Job) -> str:
    """The mode of a command without a launcher."""
    framework, ps = job.framework, job.parameter_servers
    per_node = ",per-node" if framework == "lightning" and job.processes == 1 else ""
    if job.distribution == "ray":
        return "ray"
    if job.distribution == "mpi" and framework != "horovod":
        return "ompi" + per_node
    if job.distribution == "tensorflow" and not per_node:
        return f"tensorflow,ps={ps}" if ps else "tensorflow"
    is_other = job.distribution == "pytorch" and framework in ("horovod", "tensorflow", "jax")
    return "pytorch" if is_other else framework + per_node


def header(job: Job, gpus: int) -> str:
    name = "".join(letter if letter.isprintable() else "?" for letter in job.name)
    tasks = f"--ntasks-per-node={job.processes}"
    if job.distribution == "tensorflow" and job.workers > 0:
        tasks = f"--ntasks={job.workers + job.parameter_servers}"
    options = [f"--job-name={shlex.quote(name)}"] if name else []
    options += [f"--nodes={job.nodes}", tasks, f"--gres=gpu:{gpus}"]
    options += [f"--time={-(-job.seconds // 60)}"] if job.seconds > 0 else []
    lines = ["#!/bin/bash", *(f"#SBATCH {option}" for option in options), ""]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in job.variables]
    lines += [f"cd {shlex.quote(job.code)}"] if job.code not in ("", ".", "./") else []
    return "\n".join(lines) + "\n"


def convert_job_file(file: str, text: str) -> Conversion:
    job = Job(file, text)
    if job.distribution not in ("", "pytorch", "mpi", "tensorflow", "ray"):
        raise Problem(f"{file}: distribution {job.distribution[:40]} has no mode; {MODES}")
    if not job.distribution and job.nodes > 1:
        job.notes.append((0, "it has several nodes and no distribution, so each runs the same"))
    told = re.findall(r"--(?:nproc[_-]per[_-]node|num_gpus)[ =](\d{1,6})\b", job.command)
    gpus = max(int(told[-1]) if told else 0, job.processes)
    if gpus == 1:
        needs = "--gres=gpu:1 is what its processes need"
        job.notes.append((0, f"how many GPUs a node has is not in the file; {needs}"))
    for name in sorted(set(OF_AZURE.findall(job.command))):
        job.notes.append((0, f"{name}: only Azure ML sets it; set it before srun"))
    head = header(job, gpus)
    launcher = convert_script(head + job.command + "\n")
    script = launcher.script
    if not script and not launcher.notes:  # no launcher that is left
        script = head + with_srun(job) + "\n"
    job.notes += [(0, note) for _, note in launcher.notes]
    return Conversion(script, list(dict.fromkeys(job.notes)))

"""An Azure ML job as a batch script.

The names and defaults are those of the schemas of v2's commandJob and pipelineJob, azure-ai-ml 1.31
and azureml-core 1.60.
"""

import re
from dataclasses import dataclass, field

from distgpu_convert.azure_file import Value, last_call, read_python, read_yaml
from distgpu_convert.harmless import PREPARES, reads_nothing, words_of
from distgpu_convert.script import Conversion, convert_script, named_framework
from distgpu_convert.shell import Source, nodes_of
from distgpu_convert.slurm import TABLES, Problem

PER_PROCESS = re.compile(rf"\$\{{?({'|'.join(TABLES['ranks'].split())}|OMPI_COMM_WORLD_\w+)\b")
OF_AZURE = re.compile(r"\b(?:AZ_BATCH\w*|AZUREML_\w+)\b")
DISTRIBUTIONS = "PyTorchDistribution MpiDistribution TensorFlowDistribution RayDistribution".split()
RESOURCES = ("ResourceConfiguration", "JobResourceConfiguration")


@dataclass
class Job:
    file: str
    framework: str
    name: str = ""
    code: str = ""  # the folder
    command: str = ""  # what a shell runs on each node, or as each process
    distribution: str = ""  # "pytorch", "mpi", "tensorflow", "ray"
    nodes: int = 1
    processes: int = 1  # on a node
    workers: int = 0
    parameter_servers: int = 0
    seconds: int = 0  # after which it is ended; 0: never
    variables: list[tuple[str, str]] = field(default_factory=list)
    notes: list[tuple[int, str]] = field(default_factory=list)

    def text(self, of: Value, name: str) -> str:
        value = of.fields.get(name)
        if value is None or value.kind == "text":
            return value.text if value else ""
        self.notes.append((value.line, f"{name}: not a literal, so it is not known"))
        return ""

    def number(self, of: Value, name: str, otherwise: int) -> int:
        text = self.text(of, name)
        if not text or re.fullmatch(r"[0-9]{1,9}", text):
            return int(text) if text else otherwise
        note = f"{name}: {text} is no number, so it is not known"
        self.notes.append((of.fields[name].line, note))
        return otherwise


def quoted(text: str) -> str:
    """In single quotes, unless the shell takes it for one word as it is."""
    if re.fullmatch(r"[A-Za-z0-9_=./:,@%+-]+", text):
        return text
    return "'" + text.replace("'", "'\\''") + "'"


def with_inputs(command: str, fields: dict[str, Value], job: Job) -> str:
    """${{inputs.epochs}} is the input's value, or where its data is; $[[...]] only if it is given."""

    def is_given(name: str) -> bool:
        given = fields[name].fields if name in fields else {"optional": Value("text")}
        return "optional" not in given or "default" in given or "path" in given

    def optional(match: "re.Match[str]") -> str:
        if all(map(is_given, re.findall(r"\$\{\{\s*inputs\.([\w.]+)\s*\}\}", match[1]))):
            return match[1]
        job.notes.append((0, f"$[[{match[1]}]] is left out: no value is given"))
        return ""

    command = re.sub(r"\$\[\[(.*?)\]\]", optional, command, flags=re.DOTALL)
    result, at = "", 0
    for match in re.finditer(r"\$\{\{(.*?)\}\}", command):
        result += command[at : match.start()]
        at = match.end()
        quote = ""  # that is open here
        for mark in re.findall(r"\\.|[\"']", result, re.DOTALL):
            if mark in ("'", '"'):
                quote = "" if mark == quote else quote or mark
        name = match[1].replace(" ", "")
        last = name.rsplit(".", 1)[-1]
        value = fields.get(last) if name.startswith("inputs.") else None
        literal = value.fields.get("default", value) if value else None
        if literal is not None and literal.kind == "text" and "${{" not in literal.text:
            text = quoted(literal.text)
        else:
            text = f'"${last}"'
            note = f"{name}: where its data is on the cluster is not known; set {last} before srun"
            job.notes.append((value.line if value else 0, note))
        result += quote + text + quote
    return result + command[at:]


# From the file


def take_distribution(of: Value, job: Job) -> None:
    kind = (of.text or job.text(of, "type")).lower()
    job.distribution = re.sub("(distribution|configuration)$", "", kind)
    processes = job.number(of, "process_count_per_instance", 1)
    job.processes = job.number(of, "process_count_per_node", processes)
    job.workers = job.number(of, "worker_count", 0)
    job.parameter_servers = job.number(of, "parameter_server_count", 0)
    job.nodes = job.number(of, "node_count", job.nodes)
    # Version 1 has the total, which is one a node by default.
    total = job.number(of, "process_count", 0)
    if total > 0 and job.nodes > 0:
        job.processes = -(-total // job.nodes)


def take_both(of: Value, distribution: str, job: Job) -> None:
    """What is alike in both versions."""
    if distribution in of.fields:
        take_distribution(of.field(distribution), job)
    for name, value in of.field("environment_variables").fields.items():
        if value.kind == "text" and re.fullmatch(r"[A-Za-z_]\w*", name):
            job.variables.append((name, value.text))
        else:
            job.notes.append((value.line, f"environment variable {name}: not known"))
    for name, advice in TABLES["left out of Azure jobs"].items():
        for place in (of, of.field("resources")):
            if name in place.fields:
                line = place.fields[name].line
                job.notes.append((line, f"{name} is left out: {advice}"))


def take_v2(of: Value, job: Job) -> None:
    job.name = job.text(of, "display_name") or job.text(of, "experiment_name")
    job.code = job.text(of, "code")
    job.nodes = job.number(of, "instance_count", job.nodes)
    job.nodes = job.number(of.field("resources"), "instance_count", job.nodes)
    job.seconds = job.number(of.field("limits"), "timeout", 0)
    job.seconds = job.number(of, "timeout", job.seconds)
    job.command = with_inputs(job.text(of, "command"), of.field("inputs").fields, job)
    take_both(of, "distribution" if of.field("distribution").fields else "", job)


def take_v1(of: Value, job: Job) -> None:
    """A command's items are joined by blanks, as Azure ML does; a script's arguments are words."""
    job.code, script = job.text(of, "source_directory"), job.text(of, "script")
    command, arguments = of.fields.get("command"), of.fields.get("arguments", Value("list"))
    is_list = command is not None and command.kind == "list"
    items = command if command is not None and is_list else arguments
    words = []
    for each in items.items if items.kind == "list" else [items]:
        if each.kind == "text":
            words.append(each.text if is_list else quoted(each.text))
        else:
            note = f'argument {each.text}: not a literal; write it where "$ARGUMENT" stands'
            job.notes += [(each.line, note)] if is_list or script else []
            words.append('"$ARGUMENT"')
    job.command = " ".join(words)
    if not is_list and script:
        job.command = f"python {quoted(script)} {job.command}".rstrip()
    elif not is_list:
        job.command = job.text(of, "command")
    how = of.fields.get("distributed_job_config", Value("map"))
    if how.kind != "map":
        raise Problem(f"distributed_job_config, line {how.line}: not a literal; write it there")
    take_both(of, "distributed_job_config", job)


def is_distributed(of: Value) -> bool:
    return bool({"distribution", "resources", "instance_count"} & of.fields.keys())


def take_yaml(of: Value, job: Job) -> None:
    if "trial" in of.fields:
        of = of.fields["trial"]
        job.notes.append((of.line, "of the sweep one trial is taken"))
    if "jobs" in of.fields and "command" not in of.fields:
        # The one that trains; a batch script has room for one.
        jobs = of.fields["jobs"].fields
        commands = [name for name, each in jobs.items() if "command" in each.fields]
        training = [name for name in commands if is_distributed(jobs[name])] or commands
        if not training:
            problem = "none of the pipeline's jobs has a command here; give a job's own file"
            raise Problem(f"{job.file}: {problem}")
        others = ", ".join(name for name in jobs if name != training[0])
        note = f"of the pipeline's jobs, {training[0]} is taken; left out: {others}"
        job.notes += [(0, note)] if others else []
        of = jobs[training[0]]
    take_v2(of, job)


def take_python(calls: list[Value], job: Job) -> None:
    v1, nothing = last_call(calls, "ScriptRunConfig"), Value("map")
    commands = [call for call in calls if call.text == "command" and "command" in call.fields]
    job.notes += [(each.line, f"{each.text} is not taken") for each in calls if each.kind == "lost"]
    if v1 is not None:
        take_v1(v1, job)
    elif commands:
        taken = ([call for call in commands if is_distributed(call)] or commands)[-1]
        take_v2(taken, job)
        if len(commands) > 1:
            job.notes.append((taken.line, f"of {len(commands)} commands, this one is taken"))
        distribution = last_call(calls, *DISTRIBUTIONS)  # set on the job afterwards
        if distribution is not None:
            take_distribution(distribution, job)
        resources = last_call(calls, *RESOURCES) or nothing
        job.nodes = job.number(resources, "instance_count", job.nodes)
    else:
        problem = (
            "neither command() nor ScriptRunConfig() is in it; give the script that makes the job"
        )
        raise Problem(f"{job.file}: {problem}")
    experiment = last_call(calls, "Experiment") or nothing
    named = [*experiment.items[-1:], experiment.fields.get("name", nothing)]
    job.name = next((each.text for each in named if each.kind == "text"), job.name)


# To a script


def prepares(words: list[str]) -> bool:
    """Whether it trains nothing: it installs, prints or copies."""
    installs = {"pip", "pip3", "setup.py"}.intersection(words)
    return bool(installs) or words[0] in PREPARES or reads_nothing(words)


def with_srun(job: Job) -> str:
    """Its program behind srun; what differs from process to process is filled in there."""
    source = Source(job.command)
    found = [(each, words_of(source, each)) for each in nodes_of(source.root, "command")]
    found = [(node, words) for node, words in found if words]
    # The last one that does more than prepare; but for echo in a job that is meant as one.
    programs = [node for node, words in found if not prepares(words)]
    if not programs and not job.distribution:
        raise Problem(f"{job.file}: its command starts no training")
    taken = (programs or [node for node, _ in found])[-1]
    names = [each for each in taken.named_children if each.type == "command_name"]
    begin, end = names[0].start_byte, taken.end_byte
    program, mode = job.command[begin:end], mode_of(job)
    others = ", ".join(source.of(node).split()[0] for node in programs[:-1])
    job.notes += [(0, f"in one process, not in each: {others}")] if others else []
    if mode == "ray":
        program = "distgpu exec -- " + program
    elif PER_PROCESS.search(program):
        program = "bash -c " + quoted(program)
    mpi = "--mpi=pmix " if mode in ("ompi", "horovod") else ""
    return f"{job.command[:begin]}srun {mpi}--distgpu={mode} {program}{job.command[end:]}"


def mode_of(job: Job) -> str:
    """The mode of a command without a launcher."""
    per_node = job.framework == "lightning" and job.processes == 1
    if job.distribution == "ray":
        return "ray"
    if job.distribution == "mpi":
        own = "horovod" if job.framework == "horovod" else "ompi"
        return "ompi,per-node" if per_node else own
    if per_node:
        return "lightning,per-node"
    if job.distribution == "tensorflow":
        return "tensorflow" + (f",ps={job.parameter_servers}" if job.parameter_servers else "")
    is_other = job.framework in ("horovod", "tensorflow", "jax")
    return "pytorch" if job.distribution == "pytorch" and is_other else job.framework


def header(job: Job, gpus: int) -> str:
    name = "".join(c if c.isprintable() else "?" for c in job.name)
    tasks = f"--ntasks-per-node={job.processes}"
    if job.distribution == "tensorflow" and job.workers > 0:
        tasks = f"--ntasks={job.workers + job.parameter_servers}"
    options = [f"--job-name={quoted(name)}"] if name else []
    options += [f"--nodes={job.nodes}", tasks, f"--gres=gpu:{gpus}"]
    options += [f"--time={-(-job.seconds // 60)}"] if job.seconds > 0 else []
    lines = ["#!/bin/bash", *(f"#SBATCH {option}" for option in options), ""]
    lines += [f"export {name}={quoted(value)}" for name, value in job.variables]
    lines += [f"cd {quoted(job.code)}"] if job.code not in ("", ".", "./") else []
    return "\n".join(lines) + "\n"


def convert_job_file(file: str, text: str) -> Conversion:
    job = Job(file, named_framework(text))
    if file.endswith(".py"):
        take_python(read_python(file, text), job)
    else:
        take_yaml(read_yaml(file, text), job)
    if not job.command:
        raise Problem(f"{file}: its command is not known; give it as a text in the file")
    if job.distribution not in ("", "pytorch", "mpi", "tensorflow", "ray"):
        remedy = "distgpu vars help lists the modes"
        raise Problem(f"{file}: distribution {job.distribution[:40]} has no mode; {remedy}")
    # In version 1 nobody counts the nodes of TensorFlow's workers.
    job.nodes = max(job.nodes, job.workers if job.distribution == "tensorflow" else 0)
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

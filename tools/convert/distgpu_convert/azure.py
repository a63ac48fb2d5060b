"""An Azure ML job as a batch script.

The names and defaults are those of the schemas of v2's commandJob and pipelineJob, azure-ai-ml 1.31
and azureml-core 1.60.
"""

import re
from dataclasses import dataclass, field

from distgpu_convert.azure_file import Value, last_call, read_python, read_yaml
from distgpu_convert.harmless import reads_nothing, words_of
from distgpu_convert.script import Conversion, convert_script, named_framework
from distgpu_convert.shell import Source, nodes_of
from distgpu_convert.slurm import TABLES, Problem

PER_PROCESS = re.compile(rf"\$\{{?({'|'.join(TABLES['ranks'].split())}|OMPI_COMM_WORLD_\w+)\b")
OF_AZURE = re.compile(r"\b(?:AZ_BATCH\w*|AZUREML_\w+)\b")
DISTRIBUTIONS = "PyTorchDistribution MpiDistribution TensorFlowDistribution RayDistribution".split()


@dataclass
class Job:
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


def open_quote(command: str) -> str:
    """The quote that is open at its end."""
    opened = ""
    for mark in re.findall(r"\\.|[\"']", command, re.DOTALL):
        if mark in ("'", '"'):
            opened = "" if mark == opened else opened or mark
    return opened


def with_inputs(command: str, fields: dict[str, Value], job: Job) -> str:
    """${{inputs.epochs}} is the input's value, or where its data is; $[[...]] only if it is given."""

    def optional(match: "re.Match[str]") -> str:
        names = re.findall(r"\$\{\{\s*inputs\.([\w.]+)\s*\}\}", match[1])
        if all(name in fields and is_given(fields[name]) for name in names):
            return match[1]
        job.notes.append((0, f"$[[{match[1]}]] is left out: no value is given"))
        return ""

    command = re.sub(r"\$\[\[(.*?)\]\]", optional, command, flags=re.DOTALL)
    result, at = "", 0
    for match in re.finditer(r"\$\{\{(.*?)\}\}", command):
        result += command[at : match.start()]
        at = match.end()
        name = match[1].replace(" ", "")
        last = name.rsplit(".", 1)[-1]
        value = fields.get(last) if name.startswith("inputs.") else None
        literal = value.fields.get("default", value) if value else None
        quote = open_quote(result)
        if literal is not None and literal.kind == "text" and "${{" not in literal.text:
            text = quoted(literal.text)
        else:
            text = f'"${last}"'
            note = f"{name}: where its data is on the cluster is not known; set {last} before srun"
            job.notes.append((value.line if value else 0, note))
        result += quote + text + quote
    return result + command[at:]


def is_given(value: Value) -> bool:
    return "optional" not in value.fields or "default" in value.fields or "path" in value.fields


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


def take_both(of: Value, job: Job) -> None:
    """What is alike in both versions."""
    variables = of.fields.get("environment_variables", Value("map"))
    for name, value in variables.fields.items():
        if value.kind == "text" and re.fullmatch(r"[A-Za-z_]\w*", name):
            job.variables.append((name, value.text))
        else:
            job.notes.append((value.line, f"environment variable {name}: not known"))
    for name, advice in TABLES["left out of Azure jobs"].items():
        for place in (of, of.fields.get("resources", Value("map"))):
            if name in place.fields:
                line = place.fields[name].line
                job.notes.append((line, f"{name} is left out: {advice}"))


def take_v2(of: Value, job: Job) -> None:
    nothing = Value("map")
    job.name = job.text(of, "display_name") or job.text(of, "experiment_name")
    job.code = job.text(of, "code")
    job.nodes = job.number(of, "instance_count", job.nodes)
    job.nodes = job.number(of.fields.get("resources", nothing), "instance_count", job.nodes)
    job.seconds = job.number(of.fields.get("limits", nothing), "timeout", 0)
    job.seconds = job.number(of, "timeout", job.seconds)
    inputs = of.fields.get("inputs", nothing)
    job.command = with_inputs(job.text(of, "command"), inputs.fields, job)
    distribution = of.field("distribution", "map")
    if distribution is not None:
        take_distribution(distribution, job)
    take_both(of, job)


def arguments_of(values: Value, job: Job, quotes: bool) -> str:
    """A command's items are joined by blanks, as Azure ML does; a script's arguments are words."""
    words = []
    for each in values.items if values.kind == "list" else [values]:
        if each.kind == "text":
            words.append(quoted(each.text) if quotes else each.text)
        else:
            note = f'argument {each.text}: not a literal; write it where "$ARGUMENT" stands'
            job.notes.append((each.line, note))
            words.append('"$ARGUMENT"')
    return " ".join(words)


def take_v1(of: Value, job: Job) -> None:
    job.code = job.text(of, "source_directory")
    command, script = of.field("command", "list"), job.text(of, "script")
    if command is not None:
        job.command = arguments_of(command, job, False)
    elif script:
        arguments = arguments_of(of.fields.get("arguments", Value("list")), job, True)
        job.command = f"python {quoted(script)} {arguments}".rstrip()
    else:
        job.command = job.text(of, "command")
    distribution = of.fields.get("distributed_job_config")
    if distribution is not None and distribution.kind != "map":
        raise Problem(
            f"distributed_job_config, line {distribution.line}: not a literal; write it there"
        )
    if distribution is not None:
        take_distribution(distribution, job)
    take_both(of, job)


def prepares(words: list[str]) -> bool:
    """Whether it trains nothing: it installs, prints or copies."""
    installs = {"pip", "pip3", "setup.py"}.intersection(words)
    return bool(installs) or words[0] in TABLES["prepares"].split() or reads_nothing(words)


def with_srun(file: str, job: Job) -> str:
    """Its program behind srun; what differs from process to process is filled in there."""
    source = Source(job.command)
    found = [(each, words_of(source, each)) for each in nodes_of(source.root, "command")]
    found = [(node, words) for node, words in found if words]
    # The last one that does more than prepare; but for echo in a job that is meant as one.
    programs = [node for node, words in found if not prepares(words)]
    if not programs and not job.distribution:
        raise Problem(f"{file}: its command starts no training")
    program_node = (programs or [node for node, _ in found])[-1]
    names = [each for each in program_node.named_children if each.type == "command_name"]
    begin, end = names[0].start_byte, program_node.end_byte
    program, mode = job.command[begin:end], mode_of(job)
    if len(programs) > 1:
        others = ", ".join(source.of(node).split()[0] for node in programs[:-1])
        job.notes.append((0, f"in one process, not in each: {others}"))
    if mode == "ray":
        program = "distgpu exec -- " + program
    elif PER_PROCESS.search(program):
        program = "bash -c " + quoted(program)
    mpi = "--mpi=pmix " if mode in ("ompi", "horovod") else ""
    return f"{job.command[:begin]}srun {mpi}--distgpu={mode} {program}{job.command[end:]}"


def mode_of(job: Job) -> str:
    """The mode of a command without a launcher."""
    per_node = job.framework == "lightning" and job.processes == 1
    if job.distribution == "ray" or (job.distribution == "mpi" and job.framework == "horovod"):
        return "ray" if job.distribution == "ray" else "horovod"
    if job.distribution == "mpi":
        return "ompi,per-node" if per_node else "ompi"
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


def script_of(file: str, job: Job) -> Conversion:
    told = re.findall(r"--(?:nproc[_-]per[_-]node|num_gpus)[ =](\d{1,6})\b", job.command)
    gpus = max(int(told[-1]) if told else 0, job.processes)
    if gpus == 1:
        note = (
            "how many GPUs a node has is not in the file; --gres=gpu:1 is what its processes need"
        )
        job.notes.append((0, note))
    for name in sorted(set(OF_AZURE.findall(job.command))):
        job.notes.append((0, f"{name}: only Azure ML sets it; set it before srun"))
    head = header(job, gpus)
    launcher = convert_script(head + job.command + "\n")
    conversion = Conversion(launcher.script, job.notes)
    if not launcher.script and not launcher.notes:  # no launcher that is left
        conversion.script = head + with_srun(file, job) + "\n"
    conversion.notes += [(0, note) for _, note in launcher.notes]
    conversion.notes = list(dict.fromkeys(conversion.notes))
    return conversion


def convert_job(file: str, job: Job) -> Conversion:
    if not job.command:
        raise Problem(f"{file}: its command is not known; give it as a text in the file")
    if job.distribution not in ("", "pytorch", "mpi", "tensorflow", "ray"):
        remedy = "distgpu vars help lists the modes"
        raise Problem(f"{file}: distribution {job.distribution[:40]} has no mode; {remedy}")
    # In version 1 nobody counts the nodes of TensorFlow's workers.
    if job.distribution == "tensorflow":
        job.nodes = max(job.nodes, job.workers)
    if not job.distribution and job.nodes > 1:
        job.notes.append((0, "it has several nodes and no distribution, so each runs the same"))
    return script_of(file, job)


def is_distributed(of: Value) -> bool:
    return bool({"distribution", "resources", "instance_count"} & of.fields.keys())


def one_of_pipeline(file: str, jobs: dict[str, Value], job: Job) -> Value:
    """The job that trains; a batch script has room for one."""
    commands = [name for name, each in jobs.items() if "command" in each.fields]
    training = [name for name in commands if is_distributed(jobs[name])] or commands
    if not training:
        raise Problem(
            f"{file}: none of the pipeline's jobs has a command here; give a job's own file"
        )
    others = ", ".join(name for name in jobs if name != training[0])
    if others:
        job.notes.append((0, f"of the pipeline's jobs, {training[0]} is taken; left out: {others}"))
    return jobs[training[0]]


def convert_job_file(file: str, text: str) -> Conversion:
    job = Job(named_framework(text))
    if not file.endswith(".py"):
        of = read_yaml(file, text)
        if "trial" in of.fields:
            of = of.fields["trial"]
            job.notes.append((of.line, "of the sweep one trial is taken"))
        if "jobs" in of.fields and "command" not in of.fields:
            of = one_of_pipeline(file, of.fields["jobs"].fields, job)
        take_v2(of, job)
        return convert_job(file, job)
    calls = read_python(file, text)
    v1 = last_call(calls, "ScriptRunConfig")
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
        resources = last_call(calls, "ResourceConfiguration", "JobResourceConfiguration")
        job.nodes = job.number(resources or Value("map"), "instance_count", job.nodes)
    else:
        remedy = "give the script that makes the job"
        raise Problem(f"{file}: neither command() nor ScriptRunConfig() is in it; {remedy}")
    experiment = last_call(calls, "Experiment") or Value("map")
    named = [*experiment.items[-1:], experiment.fields.get("name", Value("unknown"))]
    job.name = next((each.text for each in named if each.kind == "text"), job.name)
    return convert_job(file, job)

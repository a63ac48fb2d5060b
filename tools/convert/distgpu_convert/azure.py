"""An Azure ML job as a batch script.

The names and defaults are those of the schemas of v2's commandJob and pipelineJob, azure-ai-ml 1.31
and azureml-core 1.60.
"""

import re
import shlex

from distgpu_convert.azure_file import Value, last_call, read_python, read_yaml
from distgpu_convert.harmless import PREPARES, reads_nothing, words_of
from distgpu_convert.script import Conversion, convert_script, named_framework
from distgpu_convert.shell import Source, nodes_of
from distgpu_convert.slurm import TABLES, Problem

PER_PROCESS = re.compile(rf"\$\{{?({'|'.join(TABLES['ranks'].split())}|OMPI_COMM_WORLD_\w+)\b")
OF_AZURE = re.compile(r"\b(?:AZ_BATCH\w*|AZUREML_\w+)\b")
DISTRIBUTIONS = "PyTorchDistribution MpiDistribution TensorFlowDistribution RayDistribution".split()


class Job:
    """What a job's fields say, by the names of version 2."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.notes: list[tuple[int, str]] = []
        self.framework = named_framework(text)
        if file.endswith(".py"):
            of = self._made(read_python(file, text))
        else:
            of = self._chosen(read_yaml(file, text))
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
            for place in (of, of.field("resources")):
                if name in place.fields:
                    note = f"{name} is left out: {advice}"
                    self.notes.append((place.fields[name].line, note))

    def text(self, of: Value, name: str) -> str:
        value = of.fields.get(name)
        if value is None or value.kind == "text":
            return value.text if value else ""
        self.notes.append((value.line, f"{name}: not a literal, so it is not known"))
        return ""

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

    # The fields, in the file

    def _chosen(self, of: Value) -> Value:
        """Of YAML: one job of a sweep or of a pipeline, because a batch script has room for one."""
        if "trial" in of.fields:
            of = of.fields["trial"]
            self.notes.append((of.line, "of the sweep one trial is taken"))
        if "jobs" not in of.fields or "command" in of.fields:
            return of
        jobs = of.fields["jobs"].fields
        names = [name for name, each in jobs.items() if "command" in each.fields]
        names = [name for name in names if is_distributed(jobs[name])] or names
        if not names:
            problem = "none of the pipeline's jobs has a command here; give a job's own file"
            raise Problem(f"{self.file}: {problem}")
        others = ", ".join(name for name in jobs if name != names[0])
        note = f"of the pipeline's jobs, {names[0]} is taken; left out: {others}"
        self.notes += [(0, note)] if others else []
        return jobs[names[0]]

    def _made(self, calls: list[Value]) -> Value:
        """Of Python: the job that the last of its calls makes."""
        self.notes += [(c.line, f"{c.text} is not taken") for c in calls if c.kind == "lost"]
        commands = [call for call in calls if call.text == "command" and "command" in call.fields]
        v1 = last_call(calls, "ScriptRunConfig")
        if v1 is None and not commands:
            problem = "neither command() nor ScriptRunConfig() with known arguments is in it"
            raise Problem(f"{self.file}: {problem}; give the script that makes the job")
        of = v1 or ([call for call in commands if is_distributed(call)] or commands)[-1]
        if v1 is None and len(commands) > 1:
            self.notes.append((of.line, f"of {len(commands)} commands, this one is taken"))
        fields: dict[str, Value] = self._of_v1(of) if v1 else dict(of.fields)
        experiment = last_call(calls, "Experiment") or Value("map")
        later = {  # what is set on the job afterwards
            "distribution": last_call(calls, *DISTRIBUTIONS),
            "resources": last_call(calls, "ResourceConfiguration", "JobResourceConfiguration"),
            "display_name": experiment.items[-1]
            if experiment.items
            else experiment.fields.get("name"),
        }
        fields.update({name: value for name, value in later.items() if value})
        return Value("map", "", of.line, [], fields)

    def _of_v1(self, of: Value) -> dict[str, Value]:
        """A command's items are joined by blanks, as Azure ML does; a script's arguments are words."""
        command = of.fields.get("command", Value("text"))
        how = of.fields.get("distributed_job_config", Value("map"))
        if how.kind != "map":
            raise Problem(f"distributed_job_config, line {how.line}: not a literal; write it there")
        script, words = self.text(of, "script"), []
        arguments = of.fields.get("arguments", Value("list"))
        listed = arguments.items if arguments.kind == "list" else [arguments]
        for each in listed if script else command.items:
            if each.kind == "text":
                words.append(shlex.quote(each.text) if script else each.text)
            else:
                note = f'argument {each.text}: not a literal; write it where "$ARGUMENT" stands'
                self.notes.append((each.line, note))
                words.append('"$ARGUMENT"')
        if script or words:
            begin = ["python", shlex.quote(script)] if script else []
            command = Value("text", " ".join(begin + words), of.line)
        folder = of.fields.get("source_directory", Value("text"))
        return {**of.fields, "code": folder, "command": command, "distribution": how}


def is_distributed(of: Value) -> bool:
    return bool({"distribution", "resources", "instance_count"} & of.fields.keys())


def with_inputs(command: str, fields: dict[str, Value], job: Job) -> str:
    """${{inputs.epochs}} is the input's value, or where its data is; $[[...]] only if it is given."""

    def optional(match: "re.Match[str]") -> str:
        names = re.findall(r"\$\{\{\s*inputs\.([\w.]+)\s*\}\}", match[1])
        lacks = Value("map", fields={"optional": Value("text")})
        given = [fields.get(name, lacks).fields for name in names]
        if all("optional" not in each or {"default", "path"} & {*each} for each in given):
            return match[1]
        job.notes.append((0, f"$[[{match[1]}]] is left out: no value is given"))
        return ""

    def value_of(name: str) -> str:
        last = name.rsplit(".", 1)[-1]
        value = fields.get(last) if name.startswith("inputs.") else None
        literal = value.fields.get("default", value) if value else None
        if literal is not None and literal.kind == "text" and "${{" not in literal.text:
            return shlex.quote(literal.text)
        note = f"{name}: where its data is on the cluster is not known; set {last} before srun"
        job.notes.append((value.line if value else 0, note))
        return f'"${last}"'

    command = re.sub(r"\$\[\[(.*?)\]\]", optional, command, flags=re.DOTALL)
    result, quote = "", ""  # the quote that is open here
    for part in re.split(r"(\$\{\{.*?\}\}|\\.|[\"'])", command, flags=re.DOTALL):
        if part in ("'", '"') and quote in ("", part):
            quote = "" if quote else part
        is_input = part.startswith("${{")
        result += quote + value_of(part[3:-2].replace(" ", "")) + quote if is_input else part
    return result


# To a script


def prepares(words: list[str]) -> bool:
    installs = {"pip", "pip3", "setup.py"}.intersection(words)
    return bool(installs) or words[0] in PREPARES or reads_nothing(words)


def with_srun(job: Job) -> str:
    """Its program behind srun; what differs from process to process is filled in there."""
    source = Source(job.command)
    found = [(each, words_of(source, each)) for each in nodes_of(source.root, "command")]
    found = [(node, words) for node, words in found if words]
    # The last one that does more than install, print or copy; but for echo in a job that is one.
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
        program = "bash -c " + shlex.quote(program)
    mpi = "--mpi=pmix " if mode in ("ompi", "horovod") else ""
    return f"{job.command[:begin]}srun {mpi}--distgpu={mode} {program}{job.command[end:]}"


def mode_of(job: Job) -> str:
    """The mode of a command without a launcher."""
    framework, ps = job.framework, job.parameter_servers
    per_node = ",per-node" if framework == "lightning" and job.processes == 1 else ""
    if job.distribution == "ray":
        return "ray"
    if job.distribution == "mpi":
        return "horovod" if framework == "horovod" else "ompi" + per_node
    if job.distribution == "tensorflow" and not per_node:
        return f"tensorflow,ps={ps}" if ps else "tensorflow"
    is_other = job.distribution == "pytorch" and framework in ("horovod", "tensorflow", "jax")
    return "pytorch" if is_other else framework + per_node


def header(job: Job, gpus: int) -> str:
    name = "".join(c if c.isprintable() else "?" for c in job.name)
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
    if not job.command:
        raise Problem(f"{file}: its command is not known; give it as a text in the file")
    if job.distribution not in ("", "pytorch", "mpi", "tensorflow", "ray"):
        remedy = "distgpu vars help lists the modes"
        raise Problem(f"{file}: distribution {job.distribution[:40]} has no mode; {remedy}")
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

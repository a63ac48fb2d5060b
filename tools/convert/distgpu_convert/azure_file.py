"""Reads an Azure ML job's file into one kind of value: YAML, or the calls by which Python makes it."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Optional

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from distgpu_convert.slurm import Problem

# What is set in these, in Python, may be set or not, or several times.
UNSURE = (
    "If For AsyncFor While Try TryStar Match comprehension AugAssign withitem NamedExpr".split()
)


@dataclass
class Value:
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
    known: dict[int, Value] = {}  # by node: aliases of aliases would be too many values

    def value(node: Node) -> Value:
        if id(node) not in known:
            known[id(node)] = own = Value("text", "", node.start_mark.line + 1)
            if isinstance(node, SequenceNode):
                own.kind, own.items = "list", [value(each) for each in node.value]
            elif isinstance(node, MappingNode):
                pairs = [(key, each) for key, each in node.value if isinstance(key, ScalarNode)]
                own.kind, own.fields = "map", {str(key.value): value(each) for key, each in pairs}
            else:
                own.text = str(node.value)
        return known[id(node)]

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
            if type(block).__name__ in UNSURE and not is_main:
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
            known = value.kind == "list" and len(value.items) == len(target.elts)
            for at, each in enumerate(target.elts):
                self._assign(each, value.items[at] if known else self._unknown(target))
        elif isinstance(target, (ast.Attribute, ast.Subscript)):
            owner = self._value(target.value)
            key = getattr(target, "attr", getattr(getattr(target, "slice", None), "value", None))
            if owner.kind == "map" and isinstance(key, str):
                owner.fields[key] = value
            elif any(isinstance(n, ast.Name) and n.id in self.names for n in ast.walk(target)):
                # job.run_config.node_count = 2
                written = ast.get_source_segment(self.source, target) or ""
                self.calls.append(Value("lost", written, target.lineno))

    def _unknown(self, node: ast.expr) -> Value:
        written = (ast.get_source_segment(self.source, node) or "").split("(")[0]
        return Value("unknown", " ".join(written.split())[:60], node.lineno)

    def _value(self, node: ast.expr) -> Value:
        line = node.lineno
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return Value("text", node.value, line)
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return Value("text", ast.get_source_segment(self.source, node) or "", line)
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

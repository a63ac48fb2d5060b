"""Reads an Azure ML job's file into one kind of value: YAML, or the calls by which Python makes it."""

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Optional, Union

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from distgpu_convert.slurm import Problem

MOST_VALUES = 10000


@dataclass
class Value:
    kind: str  # "text": also a number; "list"; "map": also a call; "unknown": only Python knows it
    text: str = ""  # of one that is not known: how it is written; of a call: whose
    line: int = 0
    items: list["Value"] = field(default_factory=list)  # of a call: without a name
    fields: dict[str, "Value"] = field(default_factory=dict)

    def field(self, name: str, kind: str = "map") -> "Value":
        """An empty one if it has none of that kind."""
        value = self.fields.get(name)
        return value if value is not None and value.kind == kind else Value(kind)

    def size(self) -> int:
        return 1 + sum(each.size() for each in (*self.items, *self.fields.values()))


def read_yaml(file: str, text: str) -> Value:
    count = 0

    def value(node: Node) -> Value:
        """An alias is a copy: their number is bounded."""
        nonlocal count
        count += 1
        if count > MOST_VALUES:
            raise OverflowError
        line = node.start_mark.line + 1
        if isinstance(node, SequenceNode):
            return Value("list", "", line, [value(each) for each in node.value])
        if isinstance(node, MappingNode):
            pairs = [(key, each) for key, each in node.value if isinstance(key, ScalarNode)]
            return Value("map", "", line, [], {str(key.value): value(each) for key, each in pairs})
        return Value("text", str(node.value), line)

    problem = "empty, or too many values"
    try:
        root = YAML(typ="safe", pure=True).compose(text)
        job = value(root) if root is not None else None
        if job is not None and job.kind == "map":
            return job
        problem = "not a job: it has no fields" if job is not None else problem
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise Problem(f"{file}:{line}: not YAML: {error.problem or error.context}; mend it there")
    except YAMLError as error:
        raise Problem(f"{file}: not YAML: {' '.join(str(error).split())}; mend it there")
    except (OverflowError, RecursionError):
        pass
    raise Problem(f"{file}: {problem}; give a job as az ml job create takes it")


class Python:
    """The calls of a script, in the order in which they are made, with their literal arguments."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.names: dict[str, Value] = {}
        self.calls: list[Value] = []
        self.count = 0

    def run(self, body: Iterable[ast.AST]) -> None:
        later: list[ast.AST] = []
        for statement in body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                later.append(statement)
            elif isinstance(statement, ast.Assign):
                value = self.value(statement.value)
                for target in statement.targets:
                    self._assign(target, value)
            elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
                self._assign(statement.target, self.value(statement.value))
            elif hasattr(statement, "body"):
                self._block(statement)
            else:
                self._inner(statement)
                self._forget(getattr(statement, "target", statement))
        for statement in later:  # a function runs when all around it is known
            names = dict(self.names)
            self.run(getattr(statement, "body"))
            self.names = names

    def _inner(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)

    def _assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, (ast.Attribute, ast.Subscript)):
            named = self.names.get(target.value.id) if isinstance(target.value, ast.Name) else None
            slice_ = getattr(target, "slice", None)
            key = getattr(target, "attr", getattr(slice_, "value", None))
            if named is not None and named.kind == "map" and isinstance(key, str):
                named.fields[key] = value
            elif named is not None and isinstance(target.value, ast.Name):
                self.names[target.value.id] = self._unknown(target.value)
            elif any(isinstance(n, ast.Name) and n.id in self.names for n in ast.walk(target)):
                # job.run_config.node_count = 2
                written = ast.get_source_segment(self.source, target) or ""
                self.calls.append(Value("lost", written, target.lineno))
        elif isinstance(target, (ast.Tuple, ast.List)):
            known = value.kind == "list" and len(value.items) == len(target.elts)
            for at, each in enumerate(target.elts):
                self._assign(each, value.items[at] if known else self._unknown(target))

    def _forget(self, tree: ast.AST) -> None:
        """The names that are set in it."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                self.names[node.id] = self._unknown(node)

    def _block(self, statement: ast.AST) -> None:
        """What is set in it has no value behind it, unless it surely runs."""
        is_sure = isinstance(statement, ast.With)
        if isinstance(statement, ast.If):
            is_sure = "__name__" in ast.dump(statement.test)
        before = dict(self.names)
        if isinstance(statement, (ast.For, ast.While)):
            self._forget(statement)
        self._inner(statement)
        for part in ("body", "handlers", "orelse", "finalbody"):
            self.run(getattr(statement, part, []))
            self.names = self.names if is_sure else dict(before)
        if not is_sure:
            self._forget(statement)

    def _unknown(self, node: ast.expr) -> Value:
        written = (ast.get_source_segment(self.source, node) or "").split("(")[0]
        return Value("unknown", " ".join(written.split())[:60], node.lineno)

    def value(self, node: ast.expr) -> Value:
        line = node.lineno
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return Value("text", node.value, line)
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return Value("text", ast.get_source_segment(self.source, node) or "", line)
        if isinstance(node, (ast.List, ast.Tuple)):
            return Value("list", "", line, [self.value(each) for each in node.elts])
        if isinstance(node, ast.Dict):
            result = Value("map", "", line)
            for key, each in zip(node.keys, node.values):
                value = self.value(each)
                named = {str(key.value): value} if isinstance(key, ast.Constant) else {}
                result.fields.update(value.fields if key is None else named)
            return result
        if isinstance(node, ast.Name) and node.id in self.names:
            # Names in lists of names would double it each time.
            self.count += self.names[node.id].size()
            return self.names[node.id] if self.count <= MOST_VALUES else self._unknown(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.JoinedStr):
            return self._joined([getattr(each, "value", each) for each in node.values], node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._joined([node.left, node.right], node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            operand = self.value(node.operand)
            return Value(operand.kind, "-" + operand.text, line)
        self._inner(node)
        return self._unknown(node)

    def _joined(self, parts: Sequence[Union[ast.expr, str]], node: ast.expr) -> Value:
        """Texts, or lists, one behind the other."""
        values = [
            self.value(part) if isinstance(part, ast.expr) else Value("text", str(part))
            for part in parts
        ]
        kinds = {value.kind for value in values}
        are_numbers = isinstance(node, ast.BinOp) and all(v.text.isdigit() for v in values)
        if kinds == {"text"} and not are_numbers:
            return Value("text", "".join(value.text for value in values), node.lineno)
        if kinds == {"list"}:
            return Value("list", "", node.lineno, [each for v in values for each in v.items])
        return self._unknown(node)

    def _call(self, node: ast.Call) -> Value:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value)
            if name == "split" and not node.args and owner.kind == "text":
                words = [Value("text", each, owner.line) for each in owner.text.split()]
                return Value("list", "", owner.line, words)
        call = Value("map", name, node.lineno, [self.value(each) for each in node.args])
        for keyword in node.keywords:
            value = self.value(keyword.value)
            call.fields.update({keyword.arg: value} if keyword.arg else value.fields)
        self.calls.append(call)
        return call


def read_python(file: str, text: str) -> list[Value]:
    """Every call, inner ones first."""
    try:
        python = Python(text)
        python.run(ast.parse(text).body)
        return python.calls
    except SyntaxError as error:
        raise Problem(f"{file}:{error.lineno or 1}: not Python: {error.msg}; mend it there")
    except (RecursionError, MemoryError, ValueError):
        remedy = "give the script that makes the job"
        raise Problem(f"{file}: nested too deeply, or not Python; {remedy}")


def last_call(calls: Sequence[Value], *callees: str) -> Optional[Value]:
    return next((call for call in reversed(calls) if call.text in callees), None)

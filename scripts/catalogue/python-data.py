"""Reads the source of a Python module from standard input, and prints the value of one of its names
as JSON. It runs nothing of the module: calls become objects with the name of what is called."""

import ast
import json
import sys


def value(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float, bool, type(None))):
        return node.value
    if isinstance(node, ast.List):
        return [value(item) for item in node.elts]
    if isinstance(node, ast.Dict) and None not in node.keys:
        return {value(key): value(item) for key, item in zip(node.keys, node.values)}
    if isinstance(node, ast.Call):
        return called(ast.unparse(node.func), node)
    raise SystemExit(f'line {node.lineno}: {type(node).__name__} is no data')


def called(name, node):
    arguments = [value(item) for item in node.args]
    if name == 'Decimal' and len(arguments) == 1:
        return float(arguments[0])
    if name == 'datetime.date' and len(arguments) == 3:
        return '%04d-%02d-%02d' % tuple(arguments)
    if name == 'datetime.time' and len(arguments) == 2 and zones(node) == ['datetime.UTC']:
        return '%02d:%02d' % tuple(arguments)
    if not isinstance(node.func, ast.Name):
        raise SystemExit(f'line {node.lineno}: {name} is no class')
    if arguments or any(keyword.arg is None for keyword in node.keywords):
        raise SystemExit(f'line {node.lineno}: {name} has arguments without a name')
    return {'class': name, **{keyword.arg: value(keyword.value) for keyword in node.keywords}}


def zones(node):
    return [ast.unparse(keyword.value) for keyword in node.keywords if keyword.arg == 'tzinfo']


wanted = sys.argv[1]
for statement in ast.parse(sys.stdin.read()).body:
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if any(isinstance(target, ast.Name) and target.id == wanted for target in targets):
            json.dump(value(statement.value), sys.stdout)

import type { z } from 'zod';
import type { RuleProblem } from './problem.ts';
import type { Missing } from './references.ts';
import { problemsOfEntry } from './right-parts.ts';
import type { Path, Position, SourceProblem, YamlTree } from './yaml-tree.ts';

/** Skips values with an unresolved reference, which is reported already. */
export function schemaProblems(
  issues: readonly z.core.$ZodIssue[],
  tree: YamlTree,
  missing: readonly Missing[],
): SourceProblem[] {
  const told = new Set(missing.map(({ path }) => nameOf(path)));
  return issues.flatMap((issue) => {
    const path = issue.path.filter((part) => typeof part !== 'symbol');
    if (told.has(nameOf(path))) return [];
    const form = issue.code === 'invalid_union' ? closestForm(issue) : undefined;
    if (form !== undefined) return schemaProblems(below(path, form), tree, missing);
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => placedName(tree, [...path, key], issue.message));
    }
    if (issue.code !== 'invalid_key') return [placed(tree, { path, message: issue.message })];
    return [placedName(tree, path, issue.message), ...problemsBelow(path, tree, missing)];
  });
}

/** Checks below an invalid name, where Zod checks nothing. */
function problemsBelow(path: Path, tree: YamlTree, missing: readonly Missing[]): SourceProblem[] {
  return schemaProblems(below(path, problemsOfEntry(path, tree.value)), tree, missing);
}

function below(path: Path, issues: readonly z.core.$ZodIssue[]): readonly z.core.$ZodIssue[] {
  return issues.map((issue) => ({ ...issue, path: [...path, ...issue.path] }));
}

/** Problems of the form with the fewest unknown names. `undefined`: the value is no mapping. */
function closestForm({ errors }: z.core.$ZodIssueInvalidUnion): readonly z.core.$ZodIssue[] | undefined {
  const forms = errors.filter((issues) =>
    issues.some(({ code, path }) => code === 'unrecognized_keys' || path.length > 0),
  );
  const unknown = (issues: readonly z.core.$ZodIssue[]) =>
    issues.reduce((count, issue) => count + (issue.code === 'unrecognized_keys' ? issue.keys.length : 0), 0);
  return forms.toSorted((one, other) => unknown(one) - unknown(other))[0];
}

export function placed(tree: YamlTree, { path, message, ...rest }: RuleProblem): SourceProblem {
  return { ...at(tree.positionOf(path), path, message), ...rest };
}

function placedName(tree: YamlTree, path: Path, message: string): SourceProblem {
  return at(tree.positionOfName(path), path, message);
}

function at(position: Position, path: Path, message: string): SourceProblem {
  return { line: position.line, column: position.column, message: `${nameOf(path)}: ${message}` };
}

/** `models.gpt-6-luna.targets[0]` */
export function nameOf(path: Path): string {
  if (path.length === 0) return 'the file';
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`))
    .join('')
    .replace(/^\./, '');
}

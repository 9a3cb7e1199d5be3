import { isDeepStrictEqual } from 'node:util';
import type { MissingFor, Path } from './yaml-tree.ts';

/** A problem with its position and the accepted form, never with the value: it may be secret. */
export interface Problem {
  readonly file: string;
  /** Line and column count from 1. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly missing?: MissingFor;
}

/** A problem of a value that is valid by itself. */
export interface RuleProblem {
  readonly path: Path;
  readonly message: string;
  readonly missing?: MissingFor;
}

/** `file:line:column: message`, the form that editors and terminals make clickable. */
export function formatProblem(problem: Problem): string {
  return `${problem.file}:${problem.line}:${problem.column}: ${problem.message}`;
}

/** Sorts problems by position and removes duplicates. */
export function inFileOrder(problems: readonly Problem[]): Problem[] {
  const sorted = problems.toSorted(
    (a, b) => a.line - b.line || a.column - b.column || (a.message < b.message ? -1 : 1),
  );
  return sorted.filter((problem, index) => !isDeepStrictEqual(problem, sorted[index - 1]));
}

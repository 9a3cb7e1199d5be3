import { isDeepStrictEqual } from 'node:util';
import type { MissingFor, Path, SourceProblem } from './yaml-tree.ts';

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

/** A problem, or only the message of a failure that no file of the operator causes. */
export type Failure = Pick<Problem, 'message'> & Partial<Problem>;

/** `file:line:column: message`, the form that editors and terminals make clickable. */
export function formatProblem({ file, line, column, message }: Failure): string {
  return file === undefined ? message : `${file}:${line}:${column}: ${message}`;
}

/** Sorts problems by position and removes duplicates. */
export function inFileOrder(problems: readonly Problem[]): Problem[] {
  const sorted = problems.toSorted(
    (a, b) => a.line - b.line || a.column - b.column || (a.message < b.message ? -1 : 1),
  );
  return sorted.filter((problem, index) => !isDeepStrictEqual(problem, sorted[index - 1]));
}

/** Spaces that YAML takes for letters, and characters without a width. */
const INVISIBLE = /[\u00a0\u00ad\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff]/;

/** Adds the invisible character of the problem's line, which is likely the cause. */
export function withInvisible(problem: SourceProblem, line = ''): SourceProblem {
  const index = line.search(INVISIBLE);
  if (index < 0) return problem;
  const code = line.charCodeAt(index).toString(16).toUpperCase().padStart(4, '0');
  return { ...problem, message: `${problem.message}; column ${index + 1} has the invisible character U+${code}` };
}

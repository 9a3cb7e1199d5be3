import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
// TypeScript 7 has no JavaScript API.
import ts from 'typescript-5';

/**
 * Bounds the lines of every function outside tests: `node test/architecture/function-lengths.ts`
 * prints each longer function, and exits with 1 if there is one.
 */
const ROOT = join(import.meta.dirname, '../..');
export const MOST_LINES = 70;

const LEFT_OUT = /^test\/|^proto\/generated\/|\.(?:test|fixture|contract)\.tsx?$/;

/** Lists the functions that are too long, with their positions. */
export function longFunctionsIn(path: string, text: string): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line + 1;
  const long: string[] = [];
  const visit = (node: ts.Node, name?: ts.Node): void => {
    const first = lineOf(node.getStart(source));
    const lines = lineOf(node.end) - first + 1;
    if (lines <= MOST_LINES) return;
    const ownName = ts.isFunctionLike(node) || ts.isVariableDeclaration(node) ? node.name : undefined;
    const named = ownName ?? name;
    if (ts.isFunctionLike(node))
      long.push(
        `${path}:${first}: ${named?.getText(source) ?? 'a function'} has ${lines} lines, at most ${MOST_LINES}`,
      );
    ts.forEachChild(node, (child) => visit(child, ts.isFunctionLike(node) ? undefined : named));
  };
  visit(source);
  return long;
}

function checkedFiles(): string[] {
  return execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.ts', '*.tsx', '*.mjs'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((path) => path !== '' && !LEFT_OUT.test(path) && existsSync(join(ROOT, path)));
}

if (import.meta.main) {
  const long = checkedFiles().flatMap((path) => {
    const text = readFileSync(join(ROOT, path), 'utf8');
    return text.split('\n').length > MOST_LINES ? longFunctionsIn(path, text) : [];
  });
  for (const line of long) process.stdout.write(`${line}\n`);
  process.exitCode = long.length > 0 ? 1 : 0;
}

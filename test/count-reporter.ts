import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

export interface NamedTest {
  readonly test: string;
  /** The missing requirement of a skipped test, or the first line of the error of a failed one. */
  readonly reason: string;
}

/**
 * Counts of one test file, or of errors outside test files. test/run.ts adds them up over all test
 * runs.
 */
export interface TestCounts {
  /** Absent if the failure belongs to no file, which could be rerun alone. */
  readonly file?: { readonly path: string; readonly project: string };
  readonly passed: number;
  readonly failed: readonly NamedTest[];
  readonly skipped: readonly NamedTest[];
}

/**
 * Writes the counts of a run to the file that TEST_COUNTS names. vitest's own reports omit why a
 * test was skipped.
 */
export class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly { readonly message: string }[]): void {
    const file = process.env.TEST_COUNTS;
    if (file === undefined) return;
    const outside = unhandledErrors.map(({ message }) => ({ test: 'outside of tests', reason: firstLine(message) }));
    const counts: TestCounts[] = [...modules.map(countTests), { passed: 0, failed: outside, skipped: [] }];
    writeFileSync(file, JSON.stringify(counts));
  }
}

function countTests(module: TestModule): TestCounts {
  const path = relative(process.cwd(), module.moduleId);
  let passed = 0;
  const failed: NamedTest[] = [];
  const skipped: NamedTest[] = [];
  for (const test of module.children.allTests()) {
    const result = test.result();
    const name = `${path} > ${test.fullName}`;
    if (result.state === 'passed') passed += 1;
    else if (result.state === 'skipped') skipped.push({ test: name, reason: result.note ?? 'no reason given' });
    else failed.push({ test: name, reason: firstLine(result.errors?.[0]?.message) });
  }
  // A file that could not be loaded or whose hooks failed counts as failed even if none of its
  // tests ran.
  if (module.state() === 'failed' && failed.length === 0) {
    failed.push({ test: path, reason: firstLine(module.errors()[0]?.message) });
  }
  return { file: { path, project: module.project.name }, passed, failed, skipped };
}

function firstLine(message: string | undefined): string {
  return message?.split('\n', 1)[0] ?? 'no error given';
}

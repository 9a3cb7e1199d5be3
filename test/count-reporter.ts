import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

/** What test/run.ts adds up over all test runs. */
export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly { readonly test: string; readonly reason: string }[];
}

/** Writes the counts of a run to the file that TEST_COUNTS names: vitest's own reports leave out why a test was skipped. */
export class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const file = process.env.TEST_COUNTS;
    if (file !== undefined) writeFileSync(file, JSON.stringify(countTests(modules, unhandledErrors.length)));
  }
}

function countTests(modules: readonly TestModule[], unhandledErrors: number): TestCounts {
  let passed = 0;
  let failed = unhandledErrors;
  const skipped: { test: string; reason: string }[] = [];
  for (const module of modules) {
    const before = failed;
    for (const test of module.children.allTests()) {
      const result = test.result();
      const name = `${relative(process.cwd(), module.moduleId)} > ${test.fullName}`;
      if (result.state === 'passed') passed += 1;
      else if (result.state === 'skipped') skipped.push({ test: name, reason: result.note ?? 'no reason given' });
      else failed += 1;
    }
    // A file that could not be loaded, or whose hooks failed, has failed even if none of its tests was run.
    if (module.state() === 'failed' && failed === before) failed += 1;
  }
  return { passed, failed, skipped };
}

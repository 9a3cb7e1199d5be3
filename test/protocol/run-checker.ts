import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

export interface Found {
  /** True if all states were explored or an invariant failed. */
  readonly ended: boolean;
  readonly violated: string | undefined;
  /** The actions of a shortest history that violates the invariant. */
  readonly steps: readonly string[];
  /** Number of distinct states. */
  readonly states: number;
  readonly seconds: number;
  readonly output: string;
}

/**
 * Runs TLC on the module and its configuration in a folder. It searches breadth-first, so the
 * history it finds is among the shortest.
 */
export async function runChecker(jar: string, folder: string, module: string): Promise<Found> {
  const beganMs = performance.now();
  const workers = String(availableParallelism());
  const options = ['-XX:+UseParallelGC', '-Xmx3g', '-cp', jar, 'tlc2.TLC', '-workers', workers];
  const child = spawn('java', [...options, '-metadir', join(folder, 'states'), module], { cwd: folder });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => {
      output += text;
    });
  }
  await once(child, 'close');
  const violated = /Error: Invariant (\w+) is violated/.exec(output)?.[1];
  return {
    ended: violated !== undefined || output.includes('Model checking completed. No error has been found.'),
    violated,
    steps: [...output.matchAll(/^State \d+: <(\w+) line/gm)].map(([, action]) => action as string),
    states: Number([...output.matchAll(/([\d,]+) distinct states found/g)].at(-1)?.[1]?.replaceAll(',', '') ?? 0),
    seconds: (performance.now() - beganMs) / 1000,
    output,
  };
}

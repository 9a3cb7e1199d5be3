import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { type Environment, type LoadedConfig, type LoadResult, loadConfig } from './load.ts';
import { formatProblem } from './problem.ts';

/** Loads texts from a folder of the test's own. */
export interface ConfigFolder {
  readonly path: string;
  load(text: string | Buffer, env?: Environment): Promise<LoadResult>;
  /** Throws when it is refused. */
  loaded(text: string, env?: Environment): Promise<LoadedConfig>;
  /** `gateway.yaml:LINE:COLUMN: MESSAGE` */
  messages(text: string | Buffer, env?: Environment): Promise<string[]>;
}

export function configFolder(): ConfigFolder {
  let path = '';
  beforeEach(async () => {
    path = await mkdtemp(join(tmpdir(), 'gw-config-'));
  });
  afterEach(() => rm(path, { recursive: true, force: true }));

  async function load(text: string | Buffer, env: Environment = {}): Promise<LoadResult> {
    await writeFile(join(path, 'gateway.yaml'), text);
    return loadConfig(join(path, 'gateway.yaml'), env);
  }
  return {
    get path() {
      return path;
    },
    load,
    async loaded(text, env) {
      const result = await load(text, env);
      if (!result.ok) throw new Error(result.problems.map(formatProblem).join('\n'));
      return result;
    },
    async messages(text, env) {
      const result = await load(text, env);
      return result.ok ? [] : result.problems.map((problem) => formatProblem(problem).slice(path.length + 1));
    },
  };
}

export const MODEL = 'context_window: 8000, max_output_tokens: 1000, usd_per_million_tokens: {input: 0.25, output: 2}';

export function oneModel(targets: string, providers: string): string {
  return `providers:\n${providers}\nmodels:\n  m: {${MODEL}, targets: ${targets}}\n`;
}

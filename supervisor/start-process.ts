import { fileURLToPath } from 'node:url';
import { runtimePaths } from '#core/config/runtime-paths.ts';
import { exitOf, exitText } from './children/child-process.ts';
import { FRUGAL, spawnNode } from './children/node-child.ts';
import type { CheckedSettings, Settings } from './settings.ts';

/** Messages from the start process (supervisor/startup). It answers each request once. */
export type FromStart =
  | { readonly type: 'settings'; readonly settings: CheckedSettings }
  | { readonly type: 'announced' }
  | { readonly type: 'refused'; readonly message: string };

/** Begins the start process (supervisor/startup). Problems are messages for the operator. */
export function beginStart() {
  const script = fileURLToPath(new URL('startup/main.ts', import.meta.url));
  const child = spawnNode({ script, nodeOptions: FRUGAL.nodeOptions, env: { ...process.env, ...FRUGAL.env } });
  const exited = exitOf(child);
  const nextAnswer = (): Promise<FromStart> =>
    Promise.race([
      new Promise<FromStart>((resolve) => child.once('message', (message) => resolve(message as FromStart))),
      exited.then((exit): FromStart => {
        return { type: 'refused', message: `The process of the start ended with ${exitText(exit)}.` };
      }),
    ]);
  const first = nextAnswer();
  return {
    async settings(): Promise<Settings | string> {
      const answer = await first;
      if (answer.type === 'refused') return answer.message;
      if (answer.type === 'announced') throw new Error('the settings were not asked for');
      return { ...answer.settings, paths: runtimePaths(answer.settings.env) };
    },
    /** Prints the banner once everything serves. Returns the problem, if any. */
    async announce(databaseUrl: string): Promise<string | undefined> {
      // Ignores errors, because the exit of an ended process is noticed separately.
      child.send({ databaseUrl }, () => undefined);
      const answer = await nextAnswer();
      return answer.type === 'refused' ? answer.message : undefined;
    },
    /** Further calls have no effect. */
    end(): void {
      if (child.connected) child.disconnect();
    },
  };
}

export type StartProcess = ReturnType<typeof beginStart>;

import { runCommandLine } from '#operator/command-line.ts';

export type Json = Record<string, unknown>;

/** Runs operator commands on a database whose URL may be set after this call. */
export function operatorCommands(databaseUrl: () => string) {
  const run = (...args: string[]) => runCommandLine(args, { DATABASE_URL: databaseUrl() });
  return {
    run,
    /** The result of a command that must succeed. */
    async done(...args: string[]): Promise<Json> {
      const result = await run(...args);
      if (result.kind !== 'done') throw new Error(`${args.join(' ')}: ${result.message}`);
      return result.json as Json;
    },
    /** The message of a command that must be refused. */
    async refusal(kind: 'refused' | 'usage', ...args: string[]): Promise<string> {
      const result = await run(...args);
      if (result.kind !== kind) throw new Error(`${args.join(' ')}: ${result.kind} instead of ${kind}`);
      return result.message;
    },
  };
}

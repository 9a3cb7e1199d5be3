import type { Command } from '../command-line/command.ts';
import { configPath } from '../command-line/database.ts';

export const CHECK_CONFIG: Command = {
  name: 'check-config',
  summary: 'Validate a configuration file; by default the file of the gateway.',
  positionals: ['[FILE]'],
  flags: [],
  async run({ positionals, env }) {
    const { loadConfig } = await import('../../core/config/load.ts');
    const { formatProblem } = await import('../../core/config/problem.ts');
    const path = positionals[0] ?? configPath(env);
    const loaded = await loadConfig(path, env, { secrets: 'checked' });
    if (!loaded.ok) {
      const { problems } = loaded;
      return { kind: 'refused', message: problems.map(formatProblem).join('\n'), json: { ok: false, problems } };
    }
    const { warnings } = loaded;
    return {
      kind: 'done',
      json: { ok: true, ...(warnings.length > 0 ? { warnings } : {}) },
      text: [`${path} is valid.`, ...warnings.map((warning) => `warning: ${formatProblem(warning)}`)].join('\n'),
    };
  },
};

import type { DashboardProcessConfig } from '../../core/config/dashboard-config.ts';
import type { LoadResult } from '../../core/config/load.ts';
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
    const sections = sectionsOf(await loadConfig(path, env, { secrets: 'dashboard' }));
    return {
      kind: 'done',
      json: { ok: true, ...(warnings.length > 0 ? { warnings } : {}), ...(sections.length > 0 ? { sections } : {}) },
      text: [`${path} is valid.`, ...sections, ...warnings.map((warning) => `warning: ${formatProblem(warning)}`)].join(
        '\n',
      ),
    };
  },
};

/** Sections that the dashboard will use, without secrets; empty where its secrets are missing. */
function sectionsOf(loaded: LoadResult<DashboardProcessConfig>): readonly string[] {
  if (!loaded.ok) return [];
  const { mail, signIn, stripe } = loaded.config;
  const { oidc } = signIn;
  return [
    ...(mail ? [`mail: by ${mail.server.host}:${mail.server.port}, from ${mail.from}`] : []),
    ...(oidc ? [`sign-in: ${oidc.issuer}${signIn.password ? ', or a password' : ', no passwords'}`] : []),
    ...(stripe ? [`payments: ${stripe.apiBase.host}, ${stripe.leastUsd} to ${stripe.mostUsd} USD`] : []),
  ];
}

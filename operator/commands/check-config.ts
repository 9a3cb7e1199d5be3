import type { DashboardProcessConfig } from '#core/config/dashboard-config.ts';
import type { DeclaredModels, LoadResult } from '#core/config/load.ts';
import type { Problem } from '#core/config/problem.ts';
import { configPath } from '#core/config/runtime-paths.ts';
import type { Command } from '../command-line/command.ts';

export const CHECK_CONFIG: Command = {
  name: 'check-config',
  summary: 'Validate a configuration file, by default the one of GATEWAY_CONFIG, else config/gateway.yaml.',
  positionals: ['[FILE]'],
  async run({ positionals, env }) {
    const { loadConfig } = await import('#core/config/load.ts');
    const { formatProblem, inFileOrder } = await import('#core/config/problem.ts');
    const path = positionals[0] ?? configPath(env);
    const loaded = await loadConfig(path, env, { secrets: 'checked' });
    if (!loaded.ok) {
      const { problems } = loaded;
      return { kind: 'refused', message: problems.map(formatProblem).join('\n'), json: { ok: false, problems } };
    }
    const unpriced = await unpricedWarnings(path, loaded.declared);
    const warnings = inFileOrder([...loaded.warnings, ...unpriced]);
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

/** Models that lack a price for cache writes which the catalogue has, with their positions. */
async function unpricedWarnings(file: string, declared: DeclaredModels): Promise<readonly Problem[]> {
  const { readYaml } = await import('#core/config/read-yaml.ts');
  const { readConfigText } = await import('#core/config/source.ts');
  const { shippedCatalogue } = await import('#core/model-catalogue/catalogue.ts');
  const { unpricedWrites } = await import('#core/model-catalogue/model-differences.ts');
  const text = await readConfigText(file);
  // References are not resolved, because only positions are needed.
  const yaml = readYaml(text.ok ? text.text : '', (written) => written);
  return unpricedWrites(declared, await shippedCatalogue()).map(({ path, message }) => {
    const { line, column } = yaml.ok ? yaml.tree.positionOfName(path) : { line: 1, column: 1 };
    return { file, line, column, message: `${path.join('.')}: ${message}` };
  });
}

/** Sections that the dashboard will use, without secrets. Empty if its secrets are missing. */
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

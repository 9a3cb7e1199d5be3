import { existsSync } from 'node:fs';
import type { DashboardProcessConfig } from '#core/config/dashboard-config.ts';
import type { CheckedConfig } from '#core/config/gateway-config.ts';
import type { Environment, LoadedConfig, LoadResult } from '#core/config/load.ts';
import { configPath, runtimePaths } from '#core/config/runtime-paths.ts';
import { countOf } from '#core/count-of.ts';
import { missingRight } from '#database/connection/unavailable.ts';
import type { DatabaseDiagnosis } from '#database/diagnosis.ts';
import packageFile from '../../package.json' with { type: 'json' };
import type { Command } from '../command-line/command.ts';
import { findDatabase } from '../command-line/database.ts';
import type { Result } from '../command-line/result.ts';
import { table } from '../command-line/table.ts';
import { lookAtCertificate } from './certificate.ts';
import { type Check, type Finding, ok, problem, runChecks, skipped, warning } from './check.ts';
import { lookAtAddress, lookAtEvents, lookAtIssuer, lookAtMail, lookAtStripe } from './dashboard-sections.ts';
import { type LookedAt, lookAtDatabase } from './database.ts';
import { lookAtDisk } from './disk.ts';
import { lookAtLimitStore } from './limit-store.ts';
import { lookAtModels } from './models.ts';
import { areElsewhere, lookAtProcesses } from './processes.ts';
import { lookAtProvider } from './provider.ts';
import { lookAtProxies } from './proxies.ts';
import { ask, lookAtReadiness } from './readiness.ts';
import { lookAtDemo, lookAtLedger, lookAtModelsOfKeys, lookAtPriceLists } from './records.ts';
import { lookAtSecrets } from './secrets.ts';

export const DOCTOR: Command = {
  name: 'doctor',
  summary: 'Check a deployment from this machine, change nothing, and report what is wrong and what to do.',
  run: async ({ env }) => resultOf(await examine(env)),
};

/** Longer than the time limit of any step of a check. */
const WITHIN_MS = 15_000;

async function examine(env: Environment): Promise<readonly Finding[]> {
  const { loadConfig } = await import('#core/config/load.ts');
  const path = configPath(env);
  const loaded = await loadConfig(path, env, { secrets: 'checked' });
  const ofDashboard = await loadConfig(path, env, { secrets: 'dashboard' });
  const database = lookAtConfiguredDatabase(env);
  // Each check that awaits it reports its failure.
  database.catch(() => undefined);
  const dashboard = loaded.ok ? ask(loaded.config.listen.dashboard, '/live') : undefined;
  try {
    const findings = await runChecks([
      check('database', async () => (await database).findings),
      inDatabase('ledger', database, lookAtLedger),
      inDatabase('gateway processes', database, (readable) => lookAtProcesses(readable, packageFile.version)),
      check('dashboard proxies', async () => lookAtProxies(await database, loaded.ok ? loaded.config : undefined)),
      check('demo', async () => lookAtDemo(loaded.ok && loaded.config.demo, await database)),
      ...(loaded.ok
        ? [
            inDatabase('price lists', database, (readable) => lookAtPriceLists(loaded.config, readable)),
            inDatabase('models of keys', database, (readable) => lookAtModelsOfKeys(loaded.config, readable)),
            ...configuredChecks(loaded, path, env, database),
          ]
        : []),
      ...(loaded.ok && ofDashboard.ok ? dashboardChecks(ofDashboard.config, database) : []),
    ]);
    // An operator's own container has a database and no configuration
    // (deploy/compose/least-privilege.yaml).
    const isElsewhere = env.DATABASE_URL !== undefined && !existsSync(path);
    const runsDashboard = (await dashboard)?.kind === 'answer';
    return [...configurationFindings(loaded, path, { isElsewhere, runsDashboard }), ...findings];
  } finally {
    // Not awaited, because a hanging connection was already reported.
    database.then((looked) => looked.database?.close()).catch(() => undefined);
  }
}

function check(name: string, run: Check['run']): Check {
  return { name, withinMs: WITHIN_MS, run };
}

function inDatabase(
  name: string,
  database: Promise<LookedAt>,
  look: (readable: DatabaseDiagnosis) => Promise<readonly Finding[]>,
): Check {
  return check(name, async () => {
    const { readable } = await database;
    if (readable === undefined) return [skipped(name, 'the database cannot be read')];
    return look(readable).catch((error: unknown) => {
      if (!missingRight(error)) throw error;
      return [skipped(name, 'this database user may not read it')];
    });
  });
}

async function lookAtConfiguredDatabase(env: Environment): Promise<LookedAt> {
  const found = await findDatabase(env);
  if ('kind' in found) return { findings: [skipped('database', 'its address is unknown')] };
  return lookAtDatabase(found);
}

function configuredChecks(
  { config, declared, source }: LoadedConfig<CheckedConfig>,
  path: string,
  env: Environment,
  database: Promise<LookedAt>,
): readonly Check[] {
  const { listen, providers, stores, models } = config;
  const served = [...models.values()].filter(({ disabled }) => !disabled);
  const used = new Set(served.flatMap(({ targets }) => targets.map(({ provider }) => provider.name)));
  const paths = runtimePaths(env);
  const files = [...source.files, ...source.secretFiles];
  const certificatePath = listen.tls?.certificatePath;
  /** Skips a check that works only on the machine of a gateway process. */
  const local = (name: string, run: Check['run']): Check =>
    check(name, async () =>
      (await areElsewhere(await database)) ? [skipped(name, 'the gateway processes run on other machines')] : run(),
    );
  return [
    local('limit store', () => lookAtLimitStore(stores.redis)),
    local('readiness', () => lookAtReadiness(listen.metrics)),
    local('certificate', () => lookAtCertificate(listen, env.ENVOY_HOST || undefined)),
    local('disk', () => lookAtDisk(paths)),
    check('secrets', () => lookAtSecrets({ configPath: path, files, certificatePath, paths })),
    check('models', () => lookAtModels(declared, Date.now())),
    ...[...providers.values()].map((provider) =>
      local(`provider ${provider.name}`, () => lookAtProvider(provider, used.has(provider.name))),
    ),
  ];
}

/** Only run if all secrets are present: the configuration's finding reports missing ones. */
function dashboardChecks(config: DashboardProcessConfig, database: Promise<LookedAt>): readonly Check[] {
  const { mail, stripe } = config;
  const { oidc } = config.signIn;
  return [
    check('dashboard address', async () => lookAtAddress(config)),
    ...(mail ? [check('mail', () => lookAtMail(mail))] : []),
    ...(oidc ? [check('sign-in', () => lookAtIssuer(oidc))] : []),
    ...(stripe
      ? [check('payments', () => lookAtStripe(stripe)), inDatabase('payment events', database, lookAtEvents)]
      : []),
  ];
}

const MISSING = 'Set it, let this user read it, or remove it.';

function configurationFindings(
  loaded: LoadResult<CheckedConfig>,
  path: string,
  { isElsewhere, runsDashboard }: { readonly isElsewhere: boolean; readonly runsDashboard: boolean },
): readonly Finding[] {
  const check = 'configuration';
  if (!loaded.ok && isElsewhere) {
    const found = `there is no ${path} here: Redis, readiness, certificate, disk, secrets, models and providers were not checked`;
    const advice = 'Run the doctor where the gateway process runs too: the configuration is there.';
    return [warning(check, found, advice)];
  }
  if (!loaded.ok) {
    const [first] = loaded.problems;
    const more = loaded.problems.length > 1 ? `, and ${loaded.problems.length - 1} more` : '';
    const found = first === undefined ? path : `${first.file}:${first.line}:${first.column}: ${first.message}${more}`;
    const advice = 'Correct it; check-config lists all problems. Only the database was checked.';
    return [problem(check, found, advice)];
  }
  const { config, warnings } = loaded;
  const valid = ok(
    check,
    `${path} is valid: ${countOrNo(config.models.size, 'model')}, ${countOrNo(config.providers.size, 'provider')}`,
  );
  const told = warnings.map(({ line, message, missing }) => {
    const found = `${path}:${line}: ${message}`;
    if (runsDashboard || missing !== 'dashboard')
      return warning(check, found, missing === undefined ? 'Correct it, unless it is meant.' : MISSING);
    return { ...skipped(check, found), advice: 'Run the doctor where the dashboard runs, and set it there.' };
  });
  return [valid, ...told];
}

function resultOf(findings: readonly Finding[]): Result {
  const problems = findings.filter(({ verdict }) => verdict === 'problem').length;
  const warnings = findings.filter(({ verdict }) => verdict === 'warning').length;
  const skips = findings.filter(({ verdict }) => verdict === 'skipped').length;
  const json = { ok: problems === 0, problems, warnings, findings };
  const text = `${listOf(findings)}\n\n${countOrNo(problems, 'problem')}, ${countOrNo(warnings, 'warning')}${skips === 0 ? '' : `, ${skips} skipped`}.`;
  return problems === 0 ? { kind: 'done', json, text } : { kind: 'refused', json, message: text, isReport: true };
}

/** Lists findings, each with its advice on the next line. */
function listOf(findings: readonly Finding[]): string {
  return table(
    findings.flatMap(({ check, verdict, found, advice }) => [
      [verdict, check, found],
      ...(advice === undefined ? [] : [['', '', `→ ${advice}`]]),
    ]),
  );
}

function countOrNo(count: number, what: string): string {
  return count === 0 ? `no ${what}s` : countOf(count, what);
}

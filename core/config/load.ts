import { dirname } from 'node:path';
import { isObject } from '../json-object.ts';
import { buildConfig, dashboardSettings, sharedSettings } from './build-config.ts';
import type { DashboardProcessConfig } from './dashboard-config.ts';
import { withoutOutput } from './embeddings-models.ts';
import type { CheckedConfig, GatewayConfig, ListenConfig, SharedConfig } from './gateway-config.ts';
import { tlsPaths } from './listen.ts';
import { inFileOrder, type Problem, type RuleProblem, withInvisible } from './problem.ts';
import type { TextFileResult } from './read-text-file.ts';
import { readYaml } from './read-yaml.ts';
import {
  checkSecretFiles,
  FILE_PREFIX,
  FileReferences,
  type Lookup,
  type Missing,
  type ProcessVariables,
  type References,
  readReferencedFiles,
  references,
} from './references.ts';
import { fixesServiceTier } from './request-shaping.ts';
import { rightParts } from './right-parts.ts';
import { checkRules } from './rules.ts';
import { CONFIG_FILE, type ConfigFile } from './schema.ts';
import { nameOf, placed, schemaProblems } from './schema-problems.ts';
import { DASHBOARD_SECTIONS, isOfDashboard, isOnlyChecked, isUnread, type Secrets } from './secret-places.ts';
import { checkServerCertificate } from './server-certificate.ts';
import { type ConfigSource, fingerprint, readConfigText } from './source.ts';
import { overrideStores } from './stores.ts';
import { caBundles, findTrustedCa, stateOfBundles } from './trusted-ca.ts';
import type { Path, SourceProblem, YamlTree } from './yaml-tree.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export type LoadResult<Config extends SharedConfig = GatewayConfig> = LoadedConfig<Config> | RefusedConfig;

export interface LoadedConfig<Config extends SharedConfig = GatewayConfig> {
  readonly ok: true;
  readonly config: Config;
  /** Models as the file has them, including targets that cannot work. */
  readonly declared: DeclaredModels;
  /** Valid parts that cannot work. Requests for their models get `upstream_config_error`. */
  readonly warnings: readonly Problem[];
  readonly source: ConfigSource;
  /** True if the file's `stores.postgres` changed since the start. The former one stays in use. */
  readonly storesChanged: boolean;
  readonly variables: ProcessVariables;
}

export interface DeclaredModels {
  readonly models: ConfigFile['models'];
  /** By name of the provider. Other members of a provider may be secrets. */
  readonly baseUrls: ReadonlyMap<string, URL>;
  /** Names of providers that are never sent the `service_tier` that a client asks for. */
  readonly untiered: ReadonlySet<string>;
  readonly priceLists: readonly string[];
}

export interface RefusedConfig {
  readonly ok: false;
  readonly problems: readonly Problem[];
  readonly source: ConfigSource;
}

const MAX_PROBLEMS = 100;

/** Configuration of a process, by the secrets that it has. */
interface ConfigBySecrets {
  readonly gateway: GatewayConfig;
  readonly checked: CheckedConfig;
  readonly dashboard: DashboardProcessConfig;
  readonly none: SharedConfig;
}

/**
 * Reads and validates the configuration file. Either all of it is usable, or every problem is
 * reported. Each process declares the secrets that it needs, and its configuration has no others.
 */
export async function loadConfig<S extends Secrets = 'gateway'>(
  path: string,
  env: Environment,
  { secrets }: { readonly secrets: S } = { secrets: 'gateway' as S },
): Promise<LoadResult<ConfigBySecrets[S]>> {
  const read = await readWithReferences(path, env, secrets);
  const lines = read.text.ok ? read.text.text.split('\n') : [];
  const inThisFile = (problems: readonly SourceProblem[]) =>
    inFileOrder(problems.map((problem) => ({ file: path, ...withInvisible(problem, lines[problem.line - 1]) })));
  const refused = (problems: readonly SourceProblem[], source = read.source): RefusedConfig => ({
    ok: false,
    problems: inThisFile(problems).slice(0, MAX_PROBLEMS),
    source,
  });

  if (!read.text.ok) return refused([{ line: 1, column: 1, message: `the file cannot be read: ${read.text.reason}` }]);
  const yaml = readYaml(read.text.text, read.refs.resolve);
  if (!yaml.ok) return refused(yaml.problems);
  const checked = await checkFile(yaml.tree, read);
  const { file, source, storesChanged } = checked;
  if (file === undefined) return refused(checked.problems, source);
  const { config, warnings } = await buildFor(secrets, file, yaml.tree, read, checked);
  read.refs.loaded();
  return {
    ok: true,
    config: config as ConfigBySecrets[S],
    declared: declaredModels(file),
    warnings: inThisFile(warnings),
    source,
    storesChanged,
    variables: read.refs.variables(),
  };
}

/** Text of the file, with the files and variables that it refers to. */
interface ReadConfig {
  readonly env: Environment;
  readonly secrets: Secrets;
  /** Base of relative paths in the file. */
  readonly folder: string;
  readonly text: TextFileResult;
  readonly contents: ReadonlyMap<string, Lookup>;
  readonly refs: References;
  readonly source: ConfigSource;
}

async function readWithReferences(path: string, env: Environment, secrets: Secrets): Promise<ReadConfig> {
  const folder = dirname(path);
  const files = new FileReferences(folder, secrets);
  const text = await readConfigText(path);
  // This pass only finds the files that are referred to. The next pass reports the same syntax
  // errors.
  if (text.ok && text.text.includes(FILE_PREFIX)) readYaml(text.text, files.collect);
  const contents = await readReferencedFiles(files.paths);
  const checked = await checkSecretFiles(secrets === 'checked' ? files.secretPaths : []);
  const refs = references({ env, files, contents, checked, secrets });
  const source: ConfigSource = {
    files: [...files.paths],
    secretFiles: [...files.secretPaths],
    caBundles: [],
    fingerprint: fingerprint(text, contents),
  };
  return { env, secrets, folder, text, contents, refs, source };
}

interface CheckedFile {
  /** `undefined`: the file has problems. */
  readonly file: ConfigFile | undefined;
  readonly problems: readonly SourceProblem[];
  /** Unresolved references, including those that are not a problem. */
  readonly missing: readonly Missing[];
  readonly tlsProblems: readonly RuleProblem[];
  /** Includes the files of the certificate and the bundles of CAs. */
  readonly source: ConfigSource;
  readonly storesChanged: boolean;
}

/** Checks the schema, the rules between fields, references and the certificate. */
async function checkFile(tree: YamlTree, read: ReadConfig): Promise<CheckedFile> {
  const { env, secrets, folder, refs } = read;
  const missing = refs.missing();
  const isRefused = (one: Missing) =>
    !(isMissingSecret(one) || isElsewhere(one, secrets) || isMissingInDashboard(one, secrets));
  const value = withoutOutput(withoutUnread(tree.value, missing, secrets));
  const parsed = CONFIG_FILE.safeParse(value);
  const problems = [
    ...referenceProblems(missing.filter(isRefused)),
    ...(parsed.success ? [] : schemaProblems(parsed.error.issues, tree, missing)),
  ];
  const parts = parsed.success && problems.length === 0 ? parsed.data : rightParts(value, missing);
  const { stores, changed, problems: storeProblems } = overrideStores(parts.stores, env, secrets);
  const tls = parts.listen && tlsPaths(parts.listen, folder);
  // Read before the files are checked, so that a change in between leads to another read.
  const source = await withTlsFiles(read, tls);
  const isGateway = secrets === 'gateway' || secrets === 'checked';
  const tlsProblems = await checkTls(isGateway ? tls : undefined);
  const isTlsElsewhere = (one: RuleProblem) => secrets === 'checked' && one.missing !== undefined;
  const ruleProblems = [
    ...storeProblems,
    // The rule about workers, which share limits through Redis, only concerns the gateway.
    ...checkRules({ ...parts, stores, ...(isGateway ? {} : { workers: undefined }) }).filter(
      ({ path }) => !isLeftOut(path, missing, refs, secrets),
    ),
    ...tlsProblems.filter((one) => !isTlsElsewhere(one)),
  ];
  problems.push(...ruleProblems.map((one) => placed(tree, one)));
  const isRight = parsed.success && stores !== undefined && problems.length === 0;
  const file = isRight ? { ...parsed.data, stores } : undefined;
  return { file, problems, missing, tlsProblems, source, storesChanged: changed };
}

/** Builds the configuration of the process that has these secrets. */
async function buildFor(
  secrets: Secrets,
  file: ConfigFile,
  tree: YamlTree,
  { env, folder, refs }: ReadConfig,
  { missing, tlsProblems }: CheckedFile,
): Promise<{ readonly config: SharedConfig; readonly warnings: readonly SourceProblem[] }> {
  const emptied = referenceProblems(refs.emptied());
  if (secrets === 'dashboard') return { config: dashboardSettings({ file, folder }), warnings: emptied };
  if (secrets === 'none') return { config: sharedSettings({ file, folder }), warnings: [] };
  const { config, warnings } = buildConfig({
    file,
    folder,
    secrets,
    trustedCa: await findTrustedCa(env),
    missingSecrets: (name) =>
      missing
        .filter((one) => isMissingSecret(one) && one.path[1] === name)
        .map(({ path, reason }) => ({ path, message: reason, missing: 'gateway' })),
  });
  return {
    config,
    warnings: [
      ...[...warnings, ...tlsProblems].map((one) => placed(tree, one)),
      ...referenceProblems(missing.filter((one) => !isMissingSecret(one))),
      ...emptied,
    ],
  };
}

function declaredModels({ models, providers, price_lists }: ConfigFile): DeclaredModels {
  const all = Object.entries(providers);
  const untiered = all.filter(([, { request }]) => fixesServiceTier(request));
  return {
    models,
    baseUrls: new Map(all.flatMap(([name, { base_url }]) => (base_url === undefined ? [] : [[name, base_url]]))),
    untiered: new Set(untiered.map(([name]) => name)),
    priceLists: Object.keys(price_lists),
  };
}

/**
 * A missing secret of a provider only disables its models (docs/interface.md, "Configuration").
 * Anywhere else a missing value is a problem.
 */
function isMissingSecret({ path, elsewhere }: Missing): boolean {
  return elsewhere && path[0] === 'providers' && isOnlyChecked(path, 'checked');
}

/** A value that only the dashboard needs is a warning elsewhere: the gateway serves without it. */
function isMissingInDashboard({ path, elsewhere }: Missing, secrets: Secrets): boolean {
  return secrets === 'checked' && elsewhere && isOfDashboard(path);
}

/** Removes sections that this process does not read, and sections that lack dashboard values. */
function withoutUnread(value: unknown, missing: readonly Missing[], secrets: Secrets): unknown {
  if (!isObject(value)) return value;
  const isLeft = (section: string) =>
    isUnread([section], secrets) ||
    missing.some((one) => one.path[0] === section && isMissingInDashboard(one, secrets));
  const left = DASHBOARD_SECTIONS.filter(isLeft);
  return Object.fromEntries(Object.entries(value).filter(([section]) => !left.includes(section)));
}

/** True if the file has a value at this path that is missing, or not loaded by this process. */
function isLeftOut(path: Path, missing: readonly Missing[], refs: References, secrets: Secrets): boolean {
  const name = nameOf(path);
  return isUnread(path, secrets) || refs.isOnlyChecked(path) || missing.some((one) => nameOf(one.path) === name);
}

/** A secret that this user may not read is not a fault of the file. */
function isElsewhere({ path, forbidden }: Missing, secrets: Secrets): boolean {
  return forbidden && isOnlyChecked(path, secrets);
}

function referenceProblems(missing: readonly Missing[]): SourceProblem[] {
  return missing.map(({ path, reason, line, column, elsewhere }) => {
    const message = `${nameOf(path)}: ${reason}`;
    if (!elsewhere) return { line, column, message };
    if (!isOfDashboard(path)) return { line, column, message, missing: 'gateway' };
    return { line, column, message: `${message}; the dashboard needs it`, missing: 'dashboard' };
  });
}

/**
 * A replaced certificate or key is a change: bad pairs are reported, repaired ones used. So are
 * other CAs: Envoy reads them only with a new cluster.
 */
async function withTlsFiles(
  { env, text, contents, secrets, source }: ReadConfig,
  tls: ListenConfig['tls'],
): Promise<ConfigSource> {
  const files = tls === undefined ? [] : [tls.certificatePath, tls.privateKeyPath];
  if (secrets !== 'gateway') return { ...source, secretFiles: [...source.secretFiles, ...files] };
  const all = new Map([...contents, ...(await readReferencedFiles(files))]);
  const bundles = caBundles(env);
  const state = await stateOfBundles(bundles);
  return { ...source, files: [...all.keys()], caBundles: bundles, fingerprint: fingerprint(text, all, state) };
}

async function checkTls(tls: ListenConfig['tls']): Promise<RuleProblem[]> {
  if (tls === undefined) return [];
  const problems = await checkServerCertificate(tls.certificatePath, tls.privateKeyPath);
  return problems.map(({ field, message, forbidden }) => ({
    ...{ path: ['listen', 'tls', field], message },
    ...(forbidden ? { missing: 'gateway' } : {}),
  }));
}

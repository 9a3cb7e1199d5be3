import { dirname } from 'node:path';
import type { z } from 'zod';
import type { GatewayConfig, ListenConfig } from './gateway-config.ts';
import { inFileOrder, type Problem } from './problem.ts';
import type { TextFileResult } from './read-text-file.ts';
import { readYaml } from './read-yaml.ts';
import {
  FILE_PREFIX,
  FileReferences,
  type Lookup,
  type Missing,
  readReferencedFiles,
  references,
} from './references.ts';
import { problemsOfEntry, type RightParts, rightParts } from './right-parts.ts';
import { checkRules, type RuleProblem } from './rules.ts';
import { CONFIG_FILE, type ConfigFile, POSTGRES_URL, REDIS_URL } from './schema.ts';
import { checkServerCertificate } from './server-certificate.ts';
import { takeSnapshot, tlsPaths } from './snapshot.ts';
import { type ConfigSource, fingerprint, readConfigText } from './source.ts';
import { findTrustedCa } from './trusted-ca.ts';
import type { Path, Position, SourceProblem, YamlTree } from './yaml-tree.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export type LoadResult = LoadedConfig | RefusedConfig;

export interface LoadedConfig {
  readonly ok: true;
  readonly config: GatewayConfig;
  /** Well formed, but it cannot work: the models concerned answer `upstream_config_error`. */
  readonly warnings: readonly Problem[];
  readonly source: ConfigSource;
}

export interface RefusedConfig {
  readonly ok: false;
  readonly problems: readonly Problem[];
  readonly source: ConfigSource;
}

const MAX_PROBLEMS = 100;

/** Reads and validates the configuration file whole: either all of it is usable, or every problem is told. */
export async function loadConfig(path: string, env: Environment): Promise<LoadResult> {
  const folder = dirname(path);
  const files = new FileReferences(folder);
  const text = await readConfigText(path);
  // This reading only finds the files that are referred to; what it says about the syntax, the next says too.
  if (text.ok && text.text.includes(FILE_PREFIX)) readYaml(text.text, files.collect);
  const contents = await readReferencedFiles(files.paths);
  const source: ConfigSource = { files: [...files.paths], fingerprint: fingerprint(text, contents) };
  const refused = (problems: readonly SourceProblem[]): RefusedConfig => ({
    ok: false,
    problems: inFileOrder(problems.map((problem) => ({ file: path, ...problem }))).slice(0, MAX_PROBLEMS),
    source,
  });

  if (!text.ok) return refused([{ line: 1, column: 1, message: `the file cannot be read: ${text.reason}` }]);
  const refs = references(env, files, contents);
  const yaml = readYaml(text.text, refs.resolve);
  if (!yaml.ok) return refused(yaml.problems);

  const { tree } = yaml;
  const missing = refs.missing();
  const parsed = CONFIG_FILE.safeParse(tree.value);
  const problems = [
    ...referenceProblems(missing),
    ...(parsed.success ? [] : schemaProblems(parsed.error.issues, tree, missing)),
  ];
  const parts = parsed.success && problems.length === 0 ? parsed.data : rightParts(tree.value, missing);
  const overridden = overrideStores(parts.stores, env);
  const tls = parts.listen && tlsPaths(parts.listen, folder);
  // Before the files are checked: what changes in between is read again.
  const withTls = await withTlsFiles({ text, contents }, tls);
  const ruleProblems = [
    ...overridden.problems,
    ...checkRules({ ...parts, stores: overridden.stores }),
    ...(await checkTls(tls)),
  ];
  problems.push(...ruleProblems.map(({ path, message }) => placed(tree, path, message)));
  if (!parsed.success || overridden.stores === undefined || problems.length > 0)
    return { ...refused(problems), source: withTls };

  const { config, warnings } = takeSnapshot({
    file: { ...parsed.data, stores: overridden.stores },
    folder,
    trustedCa: await findTrustedCa(env),
    missingSecret: (name) => missing.find((one) => isMissingSecret(one) && one.path[1] === name)?.reason,
  });
  return {
    ok: true,
    config,
    warnings: inFileOrder(warnings.map(({ path: at, message }) => ({ file: path, ...placed(tree, at, message) }))),
    source: withTls,
  };
}

/** A missing secret of a provider only takes its models out (INTERFACE 2); anywhere else a missing value is a problem. */
function isMissingSecret({ path, elsewhere }: Missing): boolean {
  return elsewhere && path.length === 3 && path[0] === 'providers' && path[2] === 'api_key';
}

function referenceProblems(missing: readonly Missing[]): SourceProblem[] {
  return missing
    .filter((one) => !isMissingSecret(one))
    .map(({ path, reason, line, column }) => ({ line, column, message: `${nameOf(path)}: ${reason}` }));
}

/** Where a reference gave nothing, that is told already. */
function schemaProblems(
  issues: readonly z.core.$ZodIssue[],
  tree: YamlTree,
  missing: readonly Missing[],
): SourceProblem[] {
  const told = new Set(missing.map(({ path }) => nameOf(path)));
  return issues.flatMap((issue) => {
    const path = issue.path.filter((part) => typeof part !== 'symbol');
    if (told.has(nameOf(path))) return [];
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => placedName(tree, [...path, key], issue.message));
    }
    if (issue.code !== 'invalid_key') return [placed(tree, path, issue.message)];
    return [placedName(tree, path, issue.message), ...problemsBelow(path, tree, missing)];
  });
}

/** Below a name that is none zod looks at nothing. */
function problemsBelow(path: Path, tree: YamlTree, missing: readonly Missing[]): SourceProblem[] {
  const issues = problemsOfEntry(path, tree.value).map((issue) => ({ ...issue, path: [...path, ...issue.path] }));
  return schemaProblems(issues, tree, missing);
}

function placed(tree: YamlTree, path: Path, message: string): SourceProblem {
  return at(tree.positionOf(path), path, message);
}

function placedName(tree: YamlTree, path: Path, message: string): SourceProblem {
  return at(tree.positionOfName(path), path, message);
}

function at(position: Position, path: Path, message: string): SourceProblem {
  return { line: position.line, column: position.column, message: `${nameOf(path)}: ${message}` };
}

/** `models.gpt-5-mini.targets[0]` */
function nameOf(path: Path): string {
  if (path.length === 0) return 'the file';
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`))
    .join('')
    .replace(/^\./, '');
}

/** DATABASE_URL and REDIS_URL stand above the file (INTERFACE 1). */
function overrideStores(
  stores: RightParts['stores'],
  env: Environment,
): { stores: ConfigFile['stores'] | undefined; problems: RuleProblem[] } {
  const problems: RuleProblem[] = [];
  if (env.DATABASE_URL && !POSTGRES_URL.test(env.DATABASE_URL)) {
    problems.push({
      path: ['stores', 'postgres'],
      message: `is overridden by DATABASE_URL, which must be a postgres:// or postgresql:// URL of one host`,
    });
  }
  if (env.REDIS_URL && !REDIS_URL.test(env.REDIS_URL)) {
    problems.push({
      path: ['stores', 'redis'],
      message: `is overridden by REDIS_URL, which must be a redis:// or rediss:// URL`,
    });
  }
  const postgres = env.DATABASE_URL || stores?.postgres;
  const redis = env.REDIS_URL || stores?.redis;
  return { stores: stores && postgres && redis ? { ...stores, postgres, redis } : undefined, problems };
}

/** A certificate or key that is replaced is a change, so that a pair that does not fit is told, and one that was repaired is in force. */
async function withTlsFiles(
  { text, contents }: { text: TextFileResult; contents: ReadonlyMap<string, Lookup> },
  tls: ListenConfig['tls'],
): Promise<ConfigSource> {
  const files = tls === undefined ? [] : [tls.certificatePath, tls.privateKeyPath];
  const all = new Map([...contents, ...(await readReferencedFiles(files))]);
  return { files: [...all.keys()], fingerprint: fingerprint(text, all) };
}

async function checkTls(tls: ListenConfig['tls']): Promise<RuleProblem[]> {
  if (tls === undefined) return [];
  const problems = await checkServerCertificate(tls.certificatePath, tls.privateKeyPath);
  return problems.map(({ field, message }) => ({ path: ['listen', 'tls', field], message }));
}

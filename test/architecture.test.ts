import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { allFiles, sourceFiles } from './fixtures/source-files.ts';

const sources = sourceFiles([
  'core',
  'database',
  'ext-proc',
  'packages',
  'operator',
  'supervisor',
  'demo',
  'scripts',
  'dashboard',
]);

/**
 * Statuses that are no answers of ours to a client of the API. Everything else takes its status from the catalogue.
 * The health server has its own listener; Envoy's local replies and providers' answers are told apart by what arrives.
 */
const STATUS_ALLOWED: readonly RegExp[] = [
  /^core\/errors\/catalogue\.ts$/,
  /^ext-proc\/transport\//,
  /^ext-proc\/telemetry\//,
  /^packages\/http2-server\//,
  /^ext-proc\/process-reports\//,
  /^ext-proc\/envoy-config\/local-replies\.ts$/,
  /^ext-proc\/delivery\/provider\/provider-failure\.ts$/,
  // Status in the log of a request whose handler threw before its response.
  /^ext-proc\/gateway\.ts$/,
  // The dashboard's own interface is no part of the API.
  /^dashboard\//,
];
const STATUS = /\b[sS]tatus(?:Code)?\b['"]?\s*(?::|=|===|\?\?)\s*[45]\d\d\b/;

describe('statuses', () => {
  it('are written in the catalogue only', () => {
    const found = sources.filter(
      ({ path, text }) => STATUS.test(text) && !STATUS_ALLOWED.some((allowed) => allowed.test(path)),
    );
    expect(found.map(({ path }) => path)).toEqual([]);
  });

  it('are recognised by this test', () => {
    for (const text of ['status: 402', 'statusCode = 503', "'status': 404", 'status === 429'])
      expect(STATUS.test(text)).toBe(true);
    for (const text of ['status: 200', 'statusMs: 500', 'status < 500']) expect(STATUS.test(text)).toBe(false);
  });
});

const everything = allFiles([
  'core',
  'database',
  'ext-proc',
  'packages',
  'operator',
  'supervisor',
  'demo',
  'scripts',
  'dashboard',
  'test',
]);
const THIS_FILE = 'test/architecture.test.ts';

describe('files', () => {
  it('are at most 300 lines long', () => {
    const long = everything.filter(({ text }) => text.trimEnd().split('\n').length > 300);
    expect(long.map(({ path, text }) => `${path}: ${text.trimEnd().split('\n').length}`)).toEqual([]);
  });

  it('that migrate the database are numbered one after the other', () => {
    const names = readdirSync(join(import.meta.dirname, '../database/migrations')).toSorted();
    expect(names.map((name) => Number(name.slice(0, 4)))).toEqual(names.map((_, index) => index + 1));
  });

  it('are named for what they do', () => {
    const badly = everything.filter(({ path }) =>
      /(?:^|\/)(?:utils?|helpers?|types|common|misc|index)\.tsx?$|\/[^/]*[A-Z_ ][^/]*\.tsx?$/.test(path),
    );
    expect(badly.map(({ path }) => path)).toEqual([]);
  });

  it('use no any, no default export, no enum, and no directive against the type checker outside tests', () => {
    const rules: readonly [string, RegExp][] = [
      ['any', /(?::|<|\bas|,|\|)\s*any\b(?!\w| other)/],
      ['default export', /^export default/m],
      ['enum', /^\s*(?:export )?(?:const )?enum\s+\w/m],
    ];
    const code = everything
      .filter(({ path }) => path !== THIS_FILE)
      .map(({ path, text }) => ({ path, text: withoutComments(text) }));
    const found = code.flatMap(({ path, text }) =>
      rules.filter(([, rule]) => rule.test(text)).map(([name]) => `${path}: ${name}`),
    );
    const directives = sources
      .filter(({ text }) => /@ts-(?:ignore|expect-error|nocheck)/.test(text))
      .map(({ path }) => path);
    expect([...found, ...directives]).toEqual([]);
  });
});

function withoutComments(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '')
    .replace(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g, "''");
}

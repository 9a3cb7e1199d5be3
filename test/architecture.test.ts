import { readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LAYERS } from './fixtures/import-layers.ts';
import { allFiles, type SourceFile, sourceFiles } from './fixtures/source-files.ts';

/** The composition root, and what binds the parts to one request: they may import everything. */
const ROOT = 'ext-proc';

interface Import {
  readonly from: string;
  readonly target: string;
  readonly isType: boolean;
}

function importsOf({ path, text }: SourceFile): Import[] {
  const statements = text.matchAll(/^(?:import|export)\s+(type\s)?([\w$*{},\s]+?)\s*from\s+'([^']+)'/gm);
  const unnamed = text.matchAll(/^import\s+'([^']+)'|\bimport\(\s*'([^']+)'/gm);
  return [
    ...[...statements].map(([, type, names = '', target = '']) => ({
      from: path,
      target,
      isType: type !== undefined || onlyTypes(names),
    })),
    ...[...unnamed].map(([, bare, dynamic]) => ({ from: path, target: bare ?? dynamic ?? '', isType: false })),
  ];
}

/** `{ type A, type B }` */
function onlyTypes(names: string): boolean {
  const inner = /^\{(.*)\}\s*$/s.exec(names.trim())?.[1] ?? names;
  return inner.split(',').every((name) => name.trim() === '' || name.trim().startsWith('type '));
}

/** The folder's name in the table. */
const rowOf = (folder: string) => folder.replace(/^(dashboard\/web\/pages)\/.+/, '$1/*');

const folderOf = ({ from, target }: Import) => dirname(normalize(join(dirname(from), target)));
const packageOf = (target: string) => target.split('/', target.startsWith('@') ? 2 : 1).join('/');

/** Why an import is not allowed, or undefined. */
function objection(statement: Import): string | undefined {
  const { from, target, isType } = statement;
  const folder = dirname(from);
  if (folder === ROOT || target.startsWith('node:') || target.endsWith('.css')) return undefined;
  const layer = LAYERS[rowOf(folder)];
  if (!layer) return `${from}: the folder ${folder} is not in the table`;
  if (!target.startsWith('.')) {
    return layer.packages?.includes(packageOf(target)) ? undefined : `${from} imports the package ${target}`;
  }
  const other = folderOf(statement);
  if (other === folder || layer.uses.includes(rowOf(other)) || (isType && layer.knows?.includes(rowOf(other))))
    return undefined;
  return `${from} imports ${isType ? 'types of ' : ''}${other}`;
}

const sources = sourceFiles(['ext-proc', 'operator', 'supervisor', 'demo', 'scripts', 'dashboard']);

describe('imports', () => {
  it('point one way', () => {
    expect(sources.length).toBeGreaterThan(80);
    expect(
      sources
        .flatMap(importsOf)
        .map(objection)
        .filter((text) => text !== undefined),
    ).toEqual([]);
  });

  it('are understood by this test', () => {
    const found = (text: string, path = 'ext-proc/domain/a.ts') => importsOf({ path, text }).map(objection);
    expect(found("import { a } from '../stores/b.ts';")).toEqual(['ext-proc/domain/a.ts imports ext-proc/stores']);
    expect(found("import type { A } from '../stores/b.ts';")).toEqual([
      'ext-proc/domain/a.ts imports types of ext-proc/stores',
    ]);
    expect(found("import {\n  type A,\n  type B,\n} from '../config/b.ts';", 'ext-proc/admission/a.ts')).toEqual([
      undefined,
    ]);
    expect(found("import {\n  type A,\n  b,\n} from '../config/b.ts';", 'ext-proc/admission/a.ts')).toEqual([
      'ext-proc/admission/a.ts imports ext-proc/config',
    ]);
    expect(found("export * from '../errors/b.ts';")).toEqual(['ext-proc/domain/a.ts imports ext-proc/errors']);
    expect(found("import '../errors/b.ts';")).toEqual(['ext-proc/domain/a.ts imports ext-proc/errors']);
    expect(found("const x = await import('../errors/b.ts');")).toEqual([
      'ext-proc/domain/a.ts imports ext-proc/errors',
    ]);
    expect(found("import pg from 'pg';\nimport { x } from './b.ts';\nimport { y } from 'node:net';")).toEqual([
      'ext-proc/domain/a.ts imports the package pg',
      undefined,
      undefined,
    ]);
  });

  it('have no table entry too many', () => {
    const folders = new Set(sources.map(({ path }) => rowOf(dirname(path))));
    expect(Object.keys(LAYERS).filter((folder) => !folders.has(folder))).toEqual([]);
  });
});

/**
 * Statuses that are no answers of ours to a client of the API. Everything else takes its status from the catalogue.
 * The health server has its own listener; Envoy's local replies and providers' answers are told apart by what arrives.
 */
const STATUS_ALLOWED: readonly RegExp[] = [
  /^ext-proc\/errors\/catalogue\.ts$/,
  /^ext-proc\/transport\//,
  /^ext-proc\/telemetry\//,
  /^ext-proc\/envoy-config\/local-replies\.ts$/,
  /^ext-proc\/delivery\/provider-failure\.ts$/,
  // What the log says of a request whose handler threw before it was answered.
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

const everything = allFiles(['ext-proc', 'operator', 'supervisor', 'demo', 'scripts', 'dashboard', 'test']);
const THIS_FILE = 'test/architecture.test.ts';

describe('files', () => {
  it('are at most 300 lines long', () => {
    const long = everything.filter(({ text }) => text.trimEnd().split('\n').length > 300);
    expect(long.map(({ path, text }) => `${path}: ${text.trimEnd().split('\n').length}`)).toEqual([]);
  });

  it('that migrate the database are numbered one after the other', () => {
    const names = readdirSync(join(import.meta.dirname, '../ext-proc/stores/postgres/migrations')).toSorted();
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

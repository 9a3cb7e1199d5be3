// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how a configuration writes its references.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { configFolder, MODEL, oneModel } from './load.fixture.ts';
import { formatProblem } from './problem.ts';

const folder = configFolder();

describe('references', () => {
  test('stand for a whole text, a part of it, and a number', async () => {
    const { config } = await folder.loaded(
      'workers: ${WORKERS}\nstores: {redis: "redis://:${REDIS_PASSWORD}@redis:6379"}\ndemo: ${DEMO}\ntop_up_url: https://x.example/$${a}/${PART}\n',
      { WORKERS: '2', REDIS_PASSWORD: 'hush', DEMO: 'true', PART: 'top-up' },
    );
    expect(config.workers).toBe(2);
    expect(config.stores.redis).toEqual({ kind: 'url', url: 'redis://:hush@redis:6379' });
    expect(config.demo).toBe(true);
    expect(config.topUpUrl).toBe('https://x.example/$%7Ba%7D/top-up');
  });

  test('with a default use it if the variable is not set or empty', async () => {
    const text = 'top_up_url: https://${HOST:-x.example}/${A:-a}${B:-}\nworkers: ${WORKERS:-1}\n';
    const urlFor = async (env: Record<string, string>) => (await folder.loaded(text, env)).config.topUpUrl;
    expect(await urlFor({})).toBe('https://x.example/a');
    expect(await urlFor({ HOST: '', A: '' })).toBe('https://x.example/a');
    expect(await urlFor({ HOST: 'y.example', A: 'b', B: 'c', WORKERS: '1' })).toBe('https://y.example/bc');
  });

  test('to files are relative to the folder of the file, and drop the line end', async () => {
    await mkdir(join(folder.path, 'secrets'));
    await writeFile(join(folder.path, 'secrets/p'), 'hush-1\r\n');
    const text = oneModel(
      '[{provider: p, model: x}]',
      '  p:\n    base_url: http://127.0.0.1:9\n    api_key: ${file:secrets/p}',
    );
    const { config, source } = await folder.loaded(text);
    expect(config.providers.get('p')?.apiKey).toBe('hush-1');
    expect(source.files).toEqual([join(folder.path, 'secrets/p')]);
  });

  test.each([
    ['a variable that is not set', '${ABSENT}', {}, 'the environment variable ABSENT is not set'],
    ['a variable that is empty', '${ABSENT}', { ABSENT: '' }, 'the environment variable ABSENT is not set'],
    ['a file that is not there', '${file:absent}', {}, 'the file absent cannot be read: there is no such file'],
    ['an empty file', '${file:empty}', {}, 'the file empty is empty'],
    ['a folder', '${file:.}', {}, 'the file . cannot be read: it is not a regular file'],
    ['a file too large', '${file:large}', {}, 'the file large cannot be read: it is larger than 65536 bytes'],
  ])('%s as a secret only breaks the models of its provider', async (_name, secret, env, reason) => {
    await writeFile(join(folder.path, 'empty'), '\n');
    await writeFile(join(folder.path, 'large'), Buffer.alloc(65_537, 'x'));
    const providers = `  p:\n    base_url: http://127.0.0.1:9\n    api_key: ${secret}\n  q: {base_url: http://127.0.0.1:9}`;
    const text = `${oneModel('[{provider: p, model: x}]', providers)}  n: {${MODEL}, targets: [{provider: q, model: x}]}\n`;
    const { config, warnings } = await folder.loaded(text, env);
    expect(warnings.map(formatProblem)).toEqual([
      `${join(folder.path, 'gateway.yaml')}:4:14: providers.p.api_key: ${reason}; models that have no other target answer upstream_config_error`,
    ]);
    expect(config.models.get('m')).toMatchObject({ targets: [], problem: `target 1: provider p: ${reason}` });
    expect(config.providers.get('p')).not.toHaveProperty('apiKey');
    expect(config.models.get('n')).not.toHaveProperty('problem');
    expect(config.models.get('n')?.targets).toHaveLength(1);
  });

  test('a secret never reaches a message, wherever it is put and however little it fits', async () => {
    const places = [
      'SECRET',
      'workers: SECRET',
      'trusted_proxies: [SECRET]',
      'listen: {api: SECRET}',
      'stores: {postgres: SECRET, redis: SECRET}',
      'timeouts: {total: SECRET}',
      'top_up_url: SECRET',
      'providers: {p: {base_url: "https://user:SECRET@x.example", api_key: "SECRET "}}',
      'providers: {p: {base_url: SECRET, on_disconnect: SECRET, output_limit_field: SECRET}}',
      `models: {m: {capabilities: [SECRET], targets: [{provider: SECRET, model: SECRET}], disabled: SECRET}}`,
      `models: {m: {${MODEL}, targets: [{provider: SECRET, model: x}]}}`,
      'a: "SECRET',
      'a: [SECRET',
      'a: SECRET: b',
      'a: *SECRET',
      'a: !SECRET x',
      'a: @SECRET',
      '\ta: SECRET',
      'a: {SECRET',
      '- a\nSECRET',
      'top_up_url: "${SECRET"',
    ];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...places), fc.boolean(), async (place, byReference) => {
        const text = place.replaceAll('SECRET', byReference ? '${HUSH}' : 'Zx9-hush-hush');
        const result = await folder.load(text, { HUSH: 'Zx9-hush-hush' });
        const said = JSON.stringify(
          result.ok ? [result.warnings, [...result.config.models.values()].map((m) => m.problem)] : result.problems,
        );
        expect(said).not.toContain('hush-hush');
      }),
      { numRuns: propertyRuns(240) },
    );
  });
});

test('any text results in a configuration, or in problems with positions inside the file', async () => {
  const shipped = await readFile(join(import.meta.dirname, '../../config/gateway.yaml'), 'utf8');
  const bare = shipped.replace(/^ *#.*\n|^\n/gm, '');
  const edit = fc.record({
    at: fc.nat(bare.length),
    remove: fc.nat(12),
    insert: fc.oneof(
      fc.string({ maxLength: 6 }),
      fc.constantFrom(
        '\n',
        '\t',
        '  ',
        ': ',
        '- ',
        '{',
        '}',
        '[',
        ']',
        '*a',
        '&a ',
        '${',
        '"',
        '|',
        '? ',
        '---\n',
        '<<: ',
      ),
    ),
  });
  const runs = propertyRuns(300);
  let refusals = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 3 }), async (edits) => {
      const text = edits.reduce(
        (before, { at, remove, insert }) => before.slice(0, at) + insert + before.slice(at + remove),
        bare,
      );
      const result = await folder.load(text, { OPENAI_API_KEY: 'x' });
      const lines = text.split('\n');
      for (const { line, column } of result.ok ? result.warnings : result.problems) {
        expect(line).toBeLessThanOrEqual(lines.length);
        expect(column).toBeLessThanOrEqual((lines[line - 1] ?? '').length + 1);
        expect(Math.min(line, column)).toBeGreaterThanOrEqual(1);
      }
      if (!result.ok) {
        refusals++;
        expect(result.problems).not.toEqual([]);
      }
    }),
    { numRuns: runs },
  );
  expect(refusals).toBeGreaterThan(runs / 10);
});

test('an address of the API that does not end in /v1 is a warning', async () => {
  // A host with a last dot is usual in Kubernetes: resolvers try no search domains for it.
  const playground = 'http://gateway.default.svc.cluster.local./v1/';
  const urls = `dashboard: {api_url: "https://api.example", playground_url: "${playground}"}\n`;
  const model = oneModel('[{provider: p, model: x}]', '  p: {base_url: http://127.0.0.1:9}');
  const { warnings } = await folder.loaded(urls + model);
  expect(warnings.map((warning) => formatProblem(warning).slice(folder.path.length + 1))).toEqual([
    'gateway.yaml:1:22: dashboard.api_url: does not end in /v1, as the base URL of the API does',
  ]);
});

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how a configuration writes its references.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeCertificate } from '#test/provider/certificate.ts';
import { flatTable } from '../pricing.ts';
import { configFolder, oneModel } from './load.fixture.ts';
import { loadConfig } from './load.ts';
import { formatProblem } from './problem.ts';

const folder = configFolder();

describe('the shipped file', () => {
  const PATH = join(import.meta.dirname, '../../config/gateway.yaml');

  const VARIABLES = {
    openai: 'OPENAI_API_KEY',
    anthropic: 'ANTHROPIC_API_KEY',
    google: 'GEMINI_API_KEY',
    ollama: 'OLLAMA_API_KEY',
  };
  const VARIABLES_SET = Object.fromEntries(Object.values(VARIABLES).map((variable) => [variable, 'sk-test']));

  test('validates, and says which secrets are missing', async () => {
    const result = await loadConfig(PATH, {});
    expect(result.ok).toBe(true);
    if (!result.ok) return;
    expect(result.warnings.map(({ message }) => message)).toEqual(
      Object.entries(VARIABLES).map(
        ([provider, variable]) =>
          `providers.${provider}.api_key: the environment variable ${variable} is not set; models that have no other target answer upstream_config_error`,
      ),
    );
    expect(result.config.models.get('gpt-6-luna')?.problem).toContain('OPENAI_API_KEY is not set');
    expect(result.config.models.get('demo-chat')?.targets[0]?.provider.baseUrl.href).toBe('http://127.0.0.1:9390/v1');
  });

  test.each(Object.entries(VARIABLES))('serves models of %s with nothing but its key', async (name, variable) => {
    const result = await loadConfig(PATH, { [variable]: 'sk-test' });
    if (!result.ok) throw new Error('refused');
    const served = [...result.config.models.values()].filter(({ problem }) => problem === undefined);
    const providers = served.flatMap(({ targets }) => targets.map(({ provider }) => provider.name));
    expect(new Set(providers)).toEqual(new Set([name, 'demo']));
  });

  test('has an example of a model for embeddings, which loads as it is written', async () => {
    const text = await readFile(PATH, 'utf8');
    const [example = ''] = text.match(/^ {2}# text-embedding-3-small:\n(?: {2}# {3}.*\n)+/m) ?? [];
    const model = example.replaceAll(/^ {2}# /gm, '  ');
    const { config } = await folder.loaded(text.replace('\n  gpt-6.1-sol:', `\n${model}$&`), VARIABLES_SET);
    expect(config.models.get('text-embedding-3-small')?.problem).toBeUndefined();
    expect(config.models.get('text-embedding-3-small')?.targets).toHaveLength(1);
  });

  test('serves every model once the secrets are there, and repeats the defaults', async () => {
    const result = await loadConfig(PATH, VARIABLES_SET);
    if (!result.ok) throw new Error('refused');
    expect(result.warnings).toEqual([]);
    expect([...result.config.models.values()].filter(({ problem }) => problem !== undefined)).toEqual([]);
    const { providers, models, demo, ...written } = result.config;
    const {
      providers: none,
      models: nothing,
      demo: off,
      ...defaults
    } = (await folder.loaded('providers: {}\n')).config;
    // `npm start` has a playground, an operator's own file has one where it says so.
    const dashboard = { ...defaults.dashboard, playgroundUrl: 'http://127.0.0.1:8080/v1' };
    expect(written).toEqual({ ...defaults, dashboard });
  });
});

describe('defaults', () => {
  test('of a model and its provider', async () => {
    const { config } = await folder.loaded(
      oneModel('[{provider: p, model: x}]', '  p: {base_url: http://127.0.0.1:9/}'),
    );
    expect(config.models.get('m')).toEqual({
      id: 'm',
      capabilities: new Set(),
      reasoningEfforts: [],
      contextWindow: 8000,
      maxOutputTokens: 1000,
      defaultOutputTokens: 1000,
      priceTable: flatTable({
        inputPicoUsd: 250_000n,
        cachedInputPicoUsd: 250_000n,
        cacheWritePicoUsd: 250_000n,
        cacheWrite1hPicoUsd: 250_000n,
        outputPicoUsd: 2_000_000n,
      }),
      tokenizer: 'bytes',
      timeouts: { firstByteMs: 120_000, streamIdleMs: 120_000 },
      targets: [{ provider: config.providers.get('p'), model: 'x', api: 'chat' }],
      disabled: false,
    });
    const provider = config.providers.get('p');
    expect(Object.keys(provider ?? {}).sort()).toEqual(['api', 'baseUrl', 'name', 'outputLimitField']);
    expect(provider?.outputLimitField).toBe('max_tokens');
  });

  test('of tracing, which is off where it is not written', async () => {
    expect((await folder.loaded('demo: true')).config).not.toHaveProperty('tracing');
    const otlpUrl = 'http://127.0.0.1:4318/v1/traces';
    const short = await folder.loaded(`tracing: {otlp_url: ${otlpUrl}}`);
    expect(short.config.tracing).toEqual({ otlpUrl, headers: {}, sampleRatio: 0.1 });
    const collector = await folder.loaded('tracing: {otlp_url: "http://127.0.0.1:4318"}');
    expect(collector.config.tracing?.otlpUrl).toBe(otlpUrl);
    const text = `tracing: {otlp_url: ${otlpUrl}, headers: {authorization: "Bearer ${'${TOKEN}'}"}, sample: 0.000001}`;
    const long = await folder.loaded(text, { TOKEN: 'abc' });
    expect(long.config.tracing).toEqual({ otlpUrl, headers: { authorization: 'Bearer abc' }, sampleRatio: 0.000001 });
    expect(await folder.messages(text, {})).toEqual([expect.stringContaining('variable TOKEN is not set')]);
  });

  test('the default output is 16384 where the model can produce more', async () => {
    const text = oneModel('[{provider: p, model: x}]', '  p: {base_url: http://127.0.0.1:9/}').replace(
      'context_window: 8000, max_output_tokens: 1000',
      'context_window: 80000, max_output_tokens: 40000',
    );
    expect((await folder.loaded(text)).config.models.get('m')?.defaultOutputTokens).toBe(16_384);
  });

  test('time-outs of a stream are 120 s, for the first byte of a model that reasons `total`, and at most `total`', async () => {
    const rest = 'context_window: 9, max_output_tokens: 9, usd_per_million_tokens: {input: 1, output: 1}';
    const model = (more: string) => `{${rest}, targets: [{provider: p, model: x}]${more}}`;
    const models = `{plain: ${model('')}, reasoning: ${model(', reasoning_efforts: [low]')}, own: ${model(
      ', reasoning_efforts: [low], timeouts: {first_byte: 3m, stream_idle: 200ms}',
    )}}`;
    const waitsOf = async (timeouts: string) => {
      const text = `timeouts: ${timeouts}\nproviders: {p: {base_url: http://127.0.0.1:9}}\nmodels: ${models}`;
      const { config } = await folder.loaded(text);
      return [...config.models.values()].map(({ timeouts }) => [timeouts.firstByteMs, timeouts.streamIdleMs]);
    };
    expect(await waitsOf('{}')).toEqual([
      [120_000, 120_000],
      [900_000, 120_000],
      [180_000, 200],
    ]);
    expect(await waitsOf('{first_byte: 1m, stream_idle: 5s, total: 20m}')).toEqual([
      [60_000, 5_000],
      [60_000, 5_000],
      [180_000, 200],
    ]);
    expect(await waitsOf('{first_byte: 31s, stream_idle: 1m, total: 30s}')).toEqual([
      [30_000, 30_000],
      [30_000, 30_000],
      [30_000, 200],
    ]);
    const { config } = await folder.loaded('timeouts: {total: 20s}');
    expect(config.timeouts).toEqual({ totalMs: 20_000, heartbeatMs: 15_000 });
    expect((await folder.loaded('timeouts: {heartbeat: 0s}')).config.timeouts.heartbeatMs).toBe(0);
  });

  test('neighbours with a weight are one step, even if one between them is skipped', async () => {
    const targets = '{provider: p, model: a, weight: 1}, {provider: p, model: b}, {provider: p, model: c, weight: 3}';
    const more = ', {provider: absent, model: d, weight: 1}, {provider: p, model: e, weight: "1000"}';
    const text = oneModel(`[${targets}${more}]`, '  p: {base_url: http://127.0.0.1:9}');
    expect((await folder.loaded(text)).config.models.get('m')?.targets.map(({ draw }) => draw)).toEqual([
      { step: 0, weight: 1 },
      undefined,
      { step: 2, weight: 3 },
      { step: 2, weight: 1000 },
    ]);
  });

  test('a configuration without models is accepted with a warning', async () => {
    expect((await folder.loaded('workers: 1')).warnings.map(({ message }) => message)).toEqual([
      'models: no model is configured; every completion is model_not_found',
    ]);
  });
});

describe('a target that cannot work', () => {
  test('to an unknown provider breaks that model alone', async () => {
    const { config, warnings } = await folder.loaded(
      oneModel('[{provider: opneai, model: x}]', '  openai: {base_url: http://127.0.0.1:9}'),
    );
    expect(config.models.get('m')?.problem).toBe(
      'target 1: names a provider that is not declared; declared are: openai',
    );
    expect(warnings.map((warning) => formatProblem(warning).slice(folder.path.length + 1))).toEqual([
      'gateway.yaml:4:125: models.m.targets[0].provider: names a provider that is not declared; declared are: openai',
    ]);
  });

  test('is skipped if another target can', async () => {
    const { config, warnings } = await folder.loaded(
      oneModel(
        '[{provider: a, model: x}, {provider: b, model: y}, {provider: c, model: z}]',
        '  b: {base_url: http://127.0.0.1:9}\n  c: {base_url: http://127.0.0.1:9, api_key: "${ABSENT}"}',
      ),
    );
    expect(config.models.get('m')?.targets.map((target) => target.model)).toEqual(['y']);
    expect(config.models.get('m')).not.toHaveProperty('problem');
    expect(warnings).toHaveLength(2);
  });

  test('over https without any trusted CA breaks that provider alone', async () => {
    const providers = '  p: {base_url: https://p.example}\n  q: {base_url: http://127.0.0.1:9}';
    const { config, warnings } = await folder.loaded(
      oneModel('[{provider: p, model: x}, {provider: q, model: x}]', providers),
      {
        SSL_CERT_FILE: join(folder.path, 'absent.pem'),
      },
    );
    expect(warnings[0]?.message).toBe(
      'providers.p.base_url: SSL_CERT_FILE: there is no such file; models that have no other target answer upstream_config_error',
    );
    expect(config.models.get('m')?.targets.map(({ provider }) => provider.name)).toEqual(['q']);
  });
});

describe('environment variables override the stores', () => {
  test('DATABASE_URL and REDIS_URL', async () => {
    const env = { DATABASE_URL: 'postgres://gateway@/gateway?host=%2Frun', REDIS_URL: 'rediss://redis:6380' };
    const { config } = await folder.loaded('workers: 2\nstores: {postgres: embedded}', env);
    expect(config.stores).toMatchObject({
      postgres: { kind: 'url', url: env.DATABASE_URL },
      redis: { kind: 'url', url: env.REDIS_URL },
    });
  });

  test('and are checked like the file', async () => {
    expect(
      await folder.messages('stores:\n  postgres: embedded\n', { DATABASE_URL: 'mysql://x', REDIS_URL: 'redis' }),
    ).toEqual([
      'gateway.yaml:1:1: stores.redis: is overridden by REDIS_URL, which must be a URL such as redis://user:password@host:6379/0, or rediss://… with no parameters but sslrootcert, sslcert and sslkey; write / @ % of the password as %2F %40 %25',
      'gateway.yaml:2:13: stores.postgres: is overridden by DATABASE_URL, which must be a URL of one host such as postgres://user:password@host:5432/database; write / ? # % of the password as %2F %3F %23 %25',
    ]);
  });

  test('empty ones do not count', async () => {
    expect((await folder.loaded('workers: 1', { DATABASE_URL: '', REDIS_URL: '' })).config.stores.postgres.kind).toBe(
      'embedded',
    );
  });
});

describe('the public listener', () => {
  test('takes a certificate with its key, from paths beside the file', async () => {
    const { cert, key } = makeCertificate();
    await writeFile(join(folder.path, 'a.crt'), cert);
    await writeFile(join(folder.path, 'a.key'), key);
    const { config } = await folder.loaded('listen: {tls: {certificate: a.crt, private_key: a.key}}');
    expect(config.listen.tls).toEqual({
      certificatePath: join(folder.path, 'a.crt'),
      privateKeyPath: join(folder.path, 'a.key'),
    });
  });

  test("refuses another certificate's key", async () => {
    await writeFile(join(folder.path, 'a.crt'), makeCertificate().cert);
    await writeFile(join(folder.path, 'b.key'), makeCertificate().key);
    expect(await folder.messages('listen: {tls: {certificate: a.crt, private_key: b.key}}')).toEqual([
      'gateway.yaml:1:49: listen.tls.private_key: does not belong to the certificate',
    ]);
  });
});

describe('files that are no configuration', () => {
  test.each<[string, string | Buffer, string]>([
    ['empty', '', '1:1: the file is empty'],
    ['only comments', '# nothing\n', '1:1: the file is empty'],
    ['not UTF-8', Buffer.from([0x61, 0x3a, 0xff]), '1:1: the file cannot be read: it is not UTF-8 text'],
    ['too large', Buffer.alloc(1024 * 1024 + 1, '#'), '1:1: the file cannot be read: it is larger than 1048576 bytes'],
    ['nested without end', 'a: '.concat('['.repeat(1_000_000)), '1:1004: the file is nested too deeply'],
    ['nested on many lines', 'a:\n'.concat(' - {\n'.repeat(5_000)), '1002:4: the file is nested too deeply'],
    ['aliases that multiply', aliasBomb(), '2:20: more than 1000 aliases'],
  ])('%s', async (_name, text, expected) => {
    const [first, ...more] = await folder.messages(text);
    expect(more).toEqual([]);
    expect(first).toBe(`gateway.yaml:${expected}`);
  });

  test('absent', async () => {
    const result = await loadConfig(join(folder.path, 'absent.yaml'), {});
    expect(result.ok ? [] : result.problems.map(({ message }) => message)).toEqual([
      'the file cannot be read: there is no such file',
    ]);
  });
});

function aliasBomb(): string {
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
  for (let i = 1; i < 8; i++)
    lines.push(`a${i}: &a${i} [${Array.from({ length: 10 }, () => `*a${i - 1}`).join(', ')}]`);
  return lines.join('\n');
}

test('JSON is YAML too, and anchors may be used', async () => {
  const json = JSON.stringify({ limits: { request_body: '1MiB' } });
  expect((await folder.loaded(json)).config.limits.requestBodyBytes).toBe(1_048_576);
  const { config } = await folder.loaded('limits: {request_body: &size 1MiB, response_body: *size}');
  expect(config.limits.responseBodyBytes).toBe(1_048_576);
});

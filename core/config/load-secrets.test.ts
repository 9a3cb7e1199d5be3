// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how a configuration writes its references.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { configFolder, MODEL } from './load.fixture.ts';
import { loadConfig } from './load.ts';
import { formatProblem } from './problem.ts';

/** The secrets of the configuration that a process has, by what it says that it needs. */
const folder = configFolder();
const ENV = {
  KEY: 'key-sentinel',
  TOKEN: 'token-sentinel',
  CODE: 'code-sentinel',
  AWS: 'awsSentinel',
  CLIENT: 'client-sentinel',
  REDIS: 'redis-sentinel',
  PASSWORD: 'database-password',
};
const TEXT = `stores: {postgres: "postgres://u:\${PASSWORD}@h/d", redis: "redis://:\${REDIS}@h"}
workers: 2
tracing: {otlp_url: "http://127.0.0.1:1", headers: {authorization: "Bearer \${TOKEN}", x-more: "\${file:secrets/more}"}}
providers:
  one: {base_url: "http://127.0.0.1:1", api_key: "\${KEY}", query: {code: "\${CODE}"}}
  two: {base_url: "http://127.0.0.1:1", api_key: "\${file:secrets/two}", headers: {X-Token: "T \${file:secrets/two}", x-more: literal-sentinel}}
  three: {base_url: "http://127.0.0.1:1", auth: {aws: {region: r, service: s, access_key_id: "\${AWS}", secret_access_key: "\${AWS}", session_token: "\${AWS}"}}}
  four: {base_url: "http://127.0.0.1:1", auth: {oauth2: {token_url: "http://127.0.0.1:1/t", client_id: "\${CLIENT}", client_secret: "\${file:secrets/two}"}}}
models:
  first: {${MODEL}, targets: [{provider: one, model: m}]}
  second: {${MODEL}, targets: [{provider: two, model: m}]}
`;
const path = () => join(folder.path, 'gateway.yaml');
const SENTINEL = /sentinel/i;

function everything(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    each instanceof Map ? [...each] : typeof each === 'bigint' ? String(each) : each,
  );
}

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder.path, name), text)));
}

const placed = (text: string) => text.replaceAll('secrets/', '');

describe('none of them', () => {
  test('is in the configuration, read or resolved, and none has to exist', async () => {
    await write({ 'gateway.yaml': placed(TEXT), two: 'file-sentinel' });
    const there = await loadConfig(path(), ENV, { secrets: 'none' });
    await write({ two: 'another file-sentinel' });
    const changed = await loadConfig(path(), ENV, { secrets: 'none' });
    const away = await loadConfig(path(), { PASSWORD: ENV.PASSWORD }, { secrets: 'none' });
    expect([there, changed, away].map((one) => one.ok && one.warnings)).toEqual([[], [], []]);
    if (!there.ok) throw new Error('refused');
    expect(there.source.files).toEqual([]);
    expect(there.source.secretFiles).toEqual([join(folder.path, 'more'), join(folder.path, 'two')]);
    expect([changed.source.fingerprint, away.source.fingerprint]).toEqual(
      Array.from({ length: 2 }, () => there.source.fingerprint),
    );
    expect(everything(there)).not.toMatch(SENTINEL);
    // No empty text in their place.
    expect(Object.keys(there.config)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(?:providers|models|tracing)$/)]),
    );
    expect(Object.keys(there.config.stores)).not.toContain('redis');
    expect(there.config.stores.postgres).toEqual({ kind: 'url', url: 'postgres://u:database-password@h/d' });
  });

  test('not even if it is written into the file', async () => {
    await write({ 'gateway.yaml': placed(TEXT).replace('${KEY}', 'literal-sentinel') });
    const loaded = await loadConfig(path(), ENV, { secrets: 'none' });
    expect([loaded.ok, everything(loaded)]).toEqual([true, expect.not.stringMatching(SENTINEL)]);
  });

  test('nor certificate and key', async () => {
    await write({ 'gateway.yaml': 'listen: {tls: {certificate: tls/a.crt, private_key: tls/a.key}}\n' });
    const loaded = await loadConfig(path(), {}, { secrets: 'none' });
    expect([loaded.ok, loaded.source.files]).toEqual([true, []]);
  });
});

describe('looked for', () => {
  test('none of them is in the configuration, and a model without one is known', async () => {
    await write({ 'gateway.yaml': placed(TEXT), two: 'file-sentinel\n', more: 'more-sentinel' });
    const loaded = await loadConfig(path(), ENV, { secrets: 'checked' });
    if (!loaded.ok) throw new Error(loaded.problems.map(formatProblem).join('\n'));
    expect(everything(loaded).replaceAll('redis-sentinel', '')).not.toMatch(SENTINEL);
    expect([...loaded.config.models.values()].map(({ problem }) => problem)).toEqual([undefined, undefined]);
    const { KEY: _, CODE: __, AWS: ___, ...others } = ENV;
    await write({ two: '\n' });
    const missing = await loadConfig(path(), others, { secrets: 'checked' });
    expect(missing.ok && missing.warnings.map(({ message }) => message)).toEqual([
      'providers.one.api_key: the environment variable KEY is not set; models that have no other target answer upstream_config_error',
      'providers.one.query.code: the environment variable CODE is not set; models that have no other target answer upstream_config_error',
      'providers.two.api_key: the file two is empty; models that have no other target answer upstream_config_error',
      'providers.two.headers.X-Token: the file two is empty; models that have no other target answer upstream_config_error',
      'providers.three.auth.aws.access_key_id: the environment variable AWS is not set; models that have no other target answer upstream_config_error',
      'providers.three.auth.aws.secret_access_key: the environment variable AWS is not set; models that have no other target answer upstream_config_error',
      'providers.three.auth.aws.session_token: the environment variable AWS is not set; models that have no other target answer upstream_config_error',
      'providers.four.auth.oauth2.client_secret: the file two is empty; models that have no other target answer upstream_config_error',
    ]);
  });

  test.each([
    ['no UTF-8 text, as PowerShell writes it', Buffer.from('\ufefffile-sentinel', 'utf16le'), 'it is not UTF-8 text'],
    ['only a byte order mark and a line end', '\ufeff\r\n', 'the file two is empty'],
    ['longer than a key', `${'x'.repeat(4097)}\n`, 'must be 1 to 4096 visible ASCII characters'],
    ['too long for a secret', `${'x'.repeat(65_537)}\n`, 'it is larger than 65536 bytes'],
    ['too long to be read', Buffer.alloc(1024 * 1024 + 1, 'x'), 'it is larger than 1048576 bytes'],
  ])('one that is %s is reported as where it is loaded', async (_, content, reason) => {
    await write({ 'gateway.yaml': 'providers: {p: {base_url: "http://127.0.0.1:1", api_key: "${file:two}"}}\n' });
    await writeFile(join(folder.path, 'two'), content);
    const told = async (secrets: 'checked' | 'gateway') => {
      const loaded = await loadConfig(path(), {}, { secrets });
      return [loaded.ok, ...(loaded.ok ? loaded.warnings : loaded.problems).map(({ message }) => message)];
    };
    expect(await told('checked')).toContainEqual(expect.stringMatching(`^providers\\.p\\.api_key: .*${reason}`));
    expect(await told('checked')).toEqual(await told('gateway'));
  });

  test('one whose characters have several bytes is valid where it is loaded', async () => {
    const text = 'providers: {p: {base_url: "http://127.0.0.1:1", query: {code: "${file:two}"}}}\n';
    await write({ 'gateway.yaml': text, two: `${'é😀'.repeat(512)}\n` });
    for (const secrets of ['checked', 'gateway'] as const)
      expect(await loadConfig(path(), {}, { secrets })).toMatchObject({ ok: true });
  });

  test('a missing one to which a header refers is a problem', async () => {
    await write({ 'gateway.yaml': placed(TEXT), two: 'file-sentinel' });
    const { TOKEN: _, ...others } = ENV;
    const loaded = await loadConfig(path(), others, { secrets: 'checked' });
    expect(loaded.ok ? [] : loaded.problems.map(({ message }) => message)).toEqual([
      'tracing.headers.authorization: the environment variable TOKEN is not set',
      'tracing.headers.x-more: the file more cannot be read: there is no such file',
    ]);
  });
});

test('a secret keeps its value while its file is empty, and is gone once the file is removed', async () => {
  const one = 'providers: {one: {base_url: "http://127.0.0.1:1", api_key: "${file:token}"}}\n';
  await write({ 'gateway.yaml': one, token: '' });
  const keys: unknown[] = [];
  for (const token of ['\n', 'first\n', '', 'second']) {
    await write({ token });
    const loaded = await loadConfig(path(), {});
    keys.push(loaded.ok && loaded.config.providers.get('one')?.apiKey);
  }
  expect(keys).toEqual([undefined, 'first', 'first', 'second']);
  const emptied = async () => {
    await write({ 'gateway.yaml': one, token: '' });
    const loaded = await loadConfig(path(), {});
    const warnings = loaded.ok && loaded.warnings.map(formatProblem).filter((text) => text.includes('api_key'));
    return [loaded.ok && loaded.config.providers.get('one')?.apiKey, warnings];
  };
  const former = 'providers.one.api_key: its file is empty: the former content stays in use until a restart';
  expect(await emptied()).toEqual(['second', [expect.stringContaining(former)]]);
  await write({ 'gateway.yaml': '' });
  await loadConfig(path(), {});
  expect((await emptied())[0]).toBe('second');
  const gone = [undefined, [expect.stringContaining('the file token is empty')]];
  await rm(join(folder.path, 'token'));
  await loadConfig(path(), {});
  expect(await emptied()).toEqual(gone);
  await write({ token: 'third' });
  await loadConfig(path(), {});
  await write({ 'gateway.yaml': 'models: {}\n' });
  expect((await loadConfig(path(), {})).ok).toBe(true);
  expect(await emptied()).toEqual(gone);
});

test('all of them are where the calls need them', async () => {
  await write({ 'gateway.yaml': placed(TEXT), two: 'file-sentinel\n', more: 'more-sentinel' });
  const loaded = await loadConfig(path(), ENV);
  if (!loaded.ok) throw new Error(loaded.problems.map(formatProblem).join('\n'));
  const { providers } = loaded.config;
  expect(providers.get('one')?.query).toEqual({ code: 'code-sentinel' });
  expect(providers.get('two')?.headers).toEqual({ 'x-token': 'T file-sentinel', 'x-more': 'literal-sentinel' });
  expect(providers.get('three')?.credentials).toEqual({
    ...{ kind: 'aws', accessKeyId: 'awsSentinel', secretAccessKey: 'awsSentinel', sessionToken: 'awsSentinel' },
  });
  expect(providers.get('four')?.credentials).toEqual({
    ...{ kind: 'oauth2', id: 'client-sentinel', secret: 'file-sentinel' },
  });
});

describe('a section that only the dashboard reads', () => {
  const MAIL = 'mail: {smtp_url: "smtp://u:${SMTP_PASSWORD}@h", from: "${FROM}@example.com", unknown: 1}\n';
  const RIGHT = MAIL.replace(', unknown: 1', '');
  const env = { SMTP_PASSWORD: 'smtp-sentinel', FROM: 'gateway' };

  test.each(['gateway', 'none'] as const)('is ignored by a process with the secrets of %s', async (secrets) => {
    await write({ 'gateway.yaml': `${MAIL.replace('unknown: 1', 'also: "${file:two}"')}`, two: 'file-sentinel' });
    const load = secrets === 'none' ? () => loadConfig(path(), {}, { secrets }) : () => loadConfig(path(), {});
    const before = await load();
    await write({ two: 'another file-sentinel' });
    const after = await load();
    expect([before.ok, after.ok]).toEqual([true, true]);
    expect(everything(before)).not.toMatch(SENTINEL);
    expect(before.source.files).toEqual([]);
    expect(after.source.fingerprint).toBe(before.source.fingerprint);
  });

  test('is read by the dashboard, which requires its variables', async () => {
    await write({ 'gateway.yaml': RIGHT });
    const loaded = await loadConfig(path(), env, { secrets: 'dashboard' });
    expect(loaded.ok && loaded.config.mail).toEqual({
      server: { host: 'h', port: 587, tls: false, login: { user: 'u', password: 'smtp-sentinel' } },
      from: 'gateway@example.com',
      operators: [],
    });
    const missing = await loadConfig(path(), { FROM: 'gateway' }, { secrets: 'dashboard' });
    expect(missing.ok ? [] : missing.problems.map(({ message }) => message)).toEqual([
      'mail.smtp_url: the environment variable SMTP_PASSWORD is not set; the dashboard needs it',
    ]);
    await write({ 'gateway.yaml': MAIL });
    const wrong = await loadConfig(path(), env, { secrets: 'dashboard' });
    expect(wrong.ok ? [] : wrong.problems.map(({ message }) => message)).toEqual([
      'mail.unknown: is not a known field; accepted here: smtp_url, from, operators, plaintext',
    ]);
  });

  test('is read with the secrets of payments, which have defaults besides', async () => {
    const text = 'payments: {stripe: {secret_key: "${KEY}", webhook_secret: "${file:two}", minimum: 20}}\n';
    await write({ 'gateway.yaml': text, two: 'file-sentinel' });
    const loaded = await loadConfig(path(), { KEY: 'key-sentinel' }, { secrets: 'dashboard' });
    expect(loaded.ok && loaded.config.stripe).toEqual({
      ...{
        secretKey: 'key-sentinel',
        webhookSecret: 'file-sentinel',
        currency: 'usd',
        leastUsd: 20,
        mostUsd: 5000,
        invoices: true,
      },
      ...{ presetsUsd: [50, 100], apiBase: new URL('https://api.stripe.com') },
    });
    for (const secrets of ['checked', 'none'] as const) {
      const load = secrets === 'none' ? loadConfig(path(), {}, { secrets }) : loadConfig(path(), {}, { secrets });
      expect([(await load).ok, everything(await load)]).toEqual([true, expect.not.stringMatching(SENTINEL)]);
    }
    const gateway = await loadConfig(path(), {});
    expect([gateway.ok, everything(gateway)]).toEqual([true, expect.not.stringMatching(SENTINEL)]);
  });

  test('is checked completely, files only for their existence, and a missing value is a warning', async () => {
    const inFile = RIGHT.replace('smtp://u:${SMTP_PASSWORD}@h', '${file:two}');
    await write({ 'gateway.yaml': inFile, two: 'smtp://u:file-sentinel@h' });
    const there = await loadConfig(path(), env, { secrets: 'checked' });
    expect([there.ok, everything(there)]).toEqual([true, expect.not.stringMatching(SENTINEL)]);
    await write({ 'gateway.yaml': RIGHT });
    const missing = await loadConfig(path(), {}, { secrets: 'checked' });
    expect(missing.ok && missing.warnings.map((warning) => [warning.missing, warning.message])).toEqual([
      [undefined, 'models: no model is configured; every completion is model_not_found'],
      ['dashboard', 'mail.smtp_url: the environment variable SMTP_PASSWORD is not set; the dashboard needs it'],
      ['dashboard', 'mail.from: the environment variable FROM is not set; the dashboard needs it'],
    ]);
    await write({ 'gateway.yaml': MAIL });
    const wrong = await loadConfig(path(), env, { secrets: 'checked' });
    expect(wrong.ok).toBe(false);
  });
});

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how a configuration writes its references.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { embeddedDatabaseUrl, runtimePaths } from '#core/config/runtime-paths.ts';
import { PATIENCE_MS } from '../../fixtures/patience.ts';
import { COMPILE_CACHE, REPOSITORY } from '../../harness/deployment.ts';
import { requirement } from '../../harness/requirement.ts';
import { type Home, makeHome, startService } from '../../harness/service.ts';
import { ipcMessage, startProcess } from '../../launchers/child-process.ts';
import { freePorts } from '../../launchers/free-ports.ts';
import { makeCertificate } from '../../provider/certificate.ts';

/** Processes whose user can read the configuration, but none of its secret files. */
const NOBODY = 65_534;
let home: Home;
afterEach(() => home.remove());

async function writeClosed(folder: string): Promise<string> {
  const { cert, key } = makeCertificate();
  for (const [name, text] of Object.entries({ one: 'key', otlp: 'token', 'a.crt': cert, 'a.key': key })) {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), name === 'a.crt' ? 0o644 : 0);
  }
  const [api, dashboard, metrics] = await freePorts(3);
  const path = join(folder, 'closed.yaml');
  writeFileSync(
    path,
    `listen: {api: "127.0.0.1:${api}", dashboard: "127.0.0.1:${dashboard}", metrics: "127.0.0.1:${metrics}",
  tls: {certificate: a.crt, private_key: a.key}}
tracing: {otlp_url: "http://127.0.0.1:1", headers: {authorization: "Bearer \${file:otlp}"}}
providers: {one: {base_url: "http://127.0.0.1:1", api_key: "\${file:one}"}}
models: {m: {context_window: 9, max_output_tokens: 9, usd_per_million_tokens: {input: 1, output: 1}, targets: [{provider: one, model: m}]}}
`,
  );
  return path;
}

requirement(process.getuid?.() === 0 ? undefined : 'root, who can be another user too', () => {
  test('the dashboard starts without a warning about unreadable secrets; check-config warns, and refuses nothing', async () => {
    home = await makeHome(NOBODY);
    const service = await startService(home, {}, NOBODY);
    mkdirSync(join(home.folder, 'closed'));
    const GATEWAY_CONFIG = await writeClosed(join(home.folder, 'closed'));
    const DATABASE_URL = embeddedDatabaseUrl(runtimePaths(home.env));
    const as = { cwd: REPOSITORY, uid: NOBODY, gid: NOBODY };
    const env = { ...home.env, GATEWAY_CONFIG, DATABASE_URL, NODE_COMPILE_CACHE: COMPILE_CACHE };
    const dashboard = startProcess(process.execPath, [join(REPOSITORY, 'dashboard/server/main.ts')], {
      ...as,
      env,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    await ipcMessage(dashboard, 'listening');
    // The output may arrive after the message.
    await expect.poll(() => dashboard.output()).toMatch(/the dashboard listens.*\n/);
    const lines = dashboard.output().split('\n').slice(0, -1);
    await dashboard.end();
    expect(lines.map((line) => (JSON.parse(line) as { level: number | string }).level)).toEqual(
      lines.map(() => expect.toSatisfy((level: number | string) => level === 'info' || level === 30)),
    );

    const check = startProcess(process.execPath, [join(REPOSITORY, 'operator/main.ts'), 'check-config', '--json'], {
      ...as,
      env,
    });
    expect(await check.exited).toBe(0);
    const { ok, warnings } = JSON.parse(check.output()) as {
      ok: boolean;
      warnings: { message: string; missing?: string }[];
    };
    expect([ok, warnings.map(({ missing, message }) => `${missing}: ${message}`)]).toEqual([
      true,
      [
        'gateway: listen.tls.private_key: cannot be read: permission denied',
        'gateway: tracing.headers.authorization: the file otlp cannot be read: permission denied',
        'gateway: providers.one.api_key: the file one cannot be read: permission denied; models that have no other target answer upstream_config_error',
      ],
    ]);
    await service.end('SIGTERM', PATIENCE_MS);
  });
});

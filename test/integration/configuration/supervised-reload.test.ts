import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { PATIENCE_MS } from '../../fixtures/patience.ts';
import { type Home, makeHome, startService, statusOfModels } from '../../harness/service.ts';

/** A change of the configuration under `npm start`. */
let home: Home;
afterEach(() => home.remove());

test('another database is logged to need a restart, and is not used before it, not even by a new process', async () => {
  home = await makeHome();
  const path = join(home.folder, 'gateway.yaml');
  const service = await startService(home);
  writeFileSync(path, `${readFileSync(path, 'utf8')}stores: {postgres: "postgres://u:hush@127.0.0.1:1/d"}\n`);
  const reports = () => service.output().split('"restart_needed":["stores"]').length - 1;
  await expect.poll(reports).toBe(1);
  const gateway = () => service.childNamed('ext-proc/main.ts').pid;
  const killed = gateway();
  process.kill(killed, 'SIGKILL');
  await expect.poll(gateway).not.toBe(killed);
  await expect.poll(() => statusOfModels(home, service).catch(() => 0)).toBe(200);
  writeFileSync(path, `${readFileSync(path, 'utf8')}top_up_url: "https://pay.example.com"\n`);
  await expect.poll(reports).toBe(2);
  expect(service.output()).not.toContain('hush');
  await service.end('SIGTERM', PATIENCE_MS);
});

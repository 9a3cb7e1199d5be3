import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { chooseLauncher } from './choose.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gw-choose-'));
  vi.stubEnv('PATH', folder);
  for (const name of ['TEST_LAUNCHER', 'ENVOY_IMAGE', 'POSTGRES_IMAGE', 'REDIS_IMAGE']) vi.stubEnv(name, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

function nameImages(...variables: readonly string[]): void {
  for (const variable of variables) vi.stubEnv(variable, `${variable.toLowerCase()}:1`);
}

/** Puts a `docker` on the path that has only the images of docker-compose.yml. */
function haveDocker(): void {
  const images = 'image inspect envoyproxy/envoy:v1.39.3 postgres:18 redis:8';
  writeFileSync(join(folder, 'docker'), `#!/bin/sh\n[ "$*" = "${images}" ]\n`);
  chmodSync(join(folder, 'docker'), 0o755);
}

test('containers are chosen when the environment names all three images, even without Docker', () => {
  nameImages('ENVOY_IMAGE', 'POSTGRES_IMAGE', 'REDIS_IMAGE');
  expect(chooseLauncher().name).toBe('containers');
});

test('containers are chosen when Docker has all images; binaries when an image or Docker is missing', () => {
  expect(chooseLauncher().name).toBe('binaries');
  haveDocker();
  expect(chooseLauncher().name).toBe('containers');
  nameImages('REDIS_IMAGE');
  expect(chooseLauncher().name).toBe('binaries');
});

test('TEST_LAUNCHER overrides both, and only two values are accepted', () => {
  nameImages('ENVOY_IMAGE', 'POSTGRES_IMAGE', 'REDIS_IMAGE');
  vi.stubEnv('TEST_LAUNCHER', 'binaries');
  expect(chooseLauncher().name).toBe('binaries');
  vi.stubEnv('TEST_LAUNCHER', 'podman');
  expect(chooseLauncher).toThrow('TEST_LAUNCHER is podman, and can be binaries or containers');
});

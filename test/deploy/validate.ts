import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from '../harness/deployment.ts';

const VALIDATE = join(REPOSITORY, '.cache/python/bin/kubernetes-validate');

export function missingValidator(): string | undefined {
  return existsSync(VALIDATE) ? undefined : `${VALIDATE}: node scripts/setup.mjs --test installs it`;
}

/** By the schemas of a Kubernetes version: a line with INFO for each valid manifest. */
export function validated(manifests: readonly object[], version = '1.37'): readonly string[] {
  const input = manifests.map((manifest) => JSON.stringify(manifest)).join('\n---\n');
  const args = ['-k', version, '--strict', '-'];
  const { stdout, stderr } = spawnSync(VALIDATE, args, { input, encoding: 'utf8', timeout: 30_000 });
  return (stdout + stderr).trim().split('\n');
}

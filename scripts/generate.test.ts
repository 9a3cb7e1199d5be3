import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readLock } from './shipped-packages.ts';

test('the code of the protocol was written by the ts-proto that is installed', () => {
  const generated = readFileSync(new URL('../proto/generated/ext_proc.ts', import.meta.url), 'utf8');
  const version = readLock().get('node_modules/ts-proto')?.version;
  expect(generated).toContain(`//   protoc-gen-ts_proto  v${version}\n`);
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { GATEWAY_NODE_OPTIONS } from './supervisor.ts';

test('the image starts the gateway process with the same Node options', () => {
  const dockerfile = readFileSync(join(import.meta.dirname, '../Dockerfile'), 'utf8');
  const [, command = '[]'] = /^CMD (.*)$/m.exec(dockerfile) ?? [];
  expect(JSON.parse(command)).toEqual(['node', '--disable-sigusr1', ...GATEWAY_NODE_OPTIONS, 'ext-proc/main.ts']);
});

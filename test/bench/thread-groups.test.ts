import { expect, test } from 'vitest';
import { groupOf } from './thread-groups.ts';

test.each([
  ['envoy', true, 'envoy', '/envoy -c envoy.yaml', 'others'],
  ['envoy', false, 'wrk:worker_0', '/envoy -c envoy.yaml', 'workers'],
  ['envoy', false, 'dog:workers_gua', '/envoy -c envoy.yaml', 'others'],
  ['gateway', true, 'node', 'node ext-proc/main.ts', 'main thread'],
  ['gateway', false, 'V8Worker', 'node ext-proc/main.ts', 'helper threads'],
  ['postgres', true, 'postgres', 'postgres: postgres gw_1 [local] idle', 'backends'],
  ['postgres', true, 'postgres', 'postgres: gateway gw_1 127.0.0.1(5000) INSERT', 'backends'],
  ['postgres', true, 'postgres', 'postgres: walwriter ', 'walwriter'],
  ['postgres', true, 'postgres', 'postgres: checkpointer ', 'others'],
  ['postgres', true, 'postgres', 'postgres: autovacuum worker gw_1', 'others'],
  ['postgres', true, 'postgres', '/bin/postgres -D /data', 'others'],
  ['redis', true, 'redis-server', 'redis-server *:1', 'main thread'],
  ['redis', false, 'bio_aof', 'redis-server *:1', 'helper threads'],
])('%s, main thread %s, %s of %s: %s', (process, isMain, thread, commandLine, group) => {
  expect(groupOf(process, isMain, thread, commandLine)).toBe(group);
});

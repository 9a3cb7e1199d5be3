import { expect, it } from 'vitest';
import { parseRedisUrl } from './redis-url.ts';
import { RedisRefused } from './refused.ts';

it.each([
  ['redis://localhost', { nodes: [{ host: 'localhost', port: 6379 }], tls: false, database: 0 }],
  [
    'rediss://app:p%40ss:word@redis.internal:6380/2',
    { nodes: [{ host: 'redis.internal', port: 6380 }], tls: true, username: 'app', password: 'p@ss:word', database: 2 },
  ],
  [
    'redis://:secret@10.0.0.1',
    { nodes: [{ host: '10.0.0.1', port: 6379 }], tls: false, password: 'secret', database: 0 },
  ],
  ['redis://[::1]:7000/', { nodes: [{ host: '::1', port: 7000 }], tls: false, database: 0 }],
  [
    'redis://a:7000,b:7001,c',
    {
      nodes: [
        { host: 'a', port: 7000 },
        { host: 'b', port: 7001 },
        { host: 'c', port: 6379 },
      ],
      tls: false,
      database: 0,
    },
  ],
])('reads %s', (url, address) => {
  expect(parseRedisUrl(url)).toEqual(address);
});

it.each([
  'redis://',
  'redis://user:hunter2@',
  'redis://hunter2@a:0',
  'redis://hunter2@a:70000',
  'redis://hunter2@a/b',
  'redis://hunter2@%E0%A4%A',
  'redis://x:%E0%A4%A@a',
])('refuses %s, without showing it', (url) => {
  let problem: unknown;
  try {
    parseRedisUrl(url);
  } catch (error) {
    problem = error;
  }
  expect(problem).toBeInstanceOf(RedisRefused);
  expect(String(problem)).not.toContain('hunter2');
});

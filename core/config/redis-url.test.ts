import { expect, it } from 'vitest';
import { parseRedisUrl } from './redis-url.ts';

it.each([
  ['redis://localhost', { nodes: [{ host: 'localhost', port: 6379 }], database: 0 }],
  [
    'rediss://app:p%40ss:word@redis.internal:6380/2',
    { nodes: [{ host: 'redis.internal', port: 6380 }], tls: {}, username: 'app', password: 'p@ss:word', database: 2 },
  ],
  [
    'rediss://a?sslrootcert=/etc/redis%20ca.pem',
    { nodes: [{ host: 'a', port: 6379 }], tls: { authority: '/etc/redis ca.pem' }, database: 0 },
  ],
  [
    'rediss://a/1?sslcert=c.pem&sslkey=k.pem',
    { nodes: [{ host: 'a', port: 6379 }], tls: { client: { certificate: 'c.pem', privateKey: 'k.pem' } }, database: 1 },
  ],
  ['redis://:secret@10.0.0.1', { nodes: [{ host: '10.0.0.1', port: 6379 }], password: 'secret', database: 0 }],
  ['redis://[::1]:7000/', { nodes: [{ host: '::1', port: 7000 }], database: 0 }],
  [
    'redis://a:7000,b:7001,c',
    {
      nodes: [
        { host: 'a', port: 7000 },
        { host: 'b', port: 7001 },
        { host: 'c', port: 6379 },
      ],
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
  'redis://hunter2@a?sslrootcert=ca.pem',
  'rediss://hunter2@a?sslrootcert=',
  'rediss://hunter2@a?sslcert=c.pem',
  'rediss://hunter2@a?ssl=hunter2',
  'redis://x:100%@a',
])('refuses %s', (url) => {
  expect(parseRedisUrl(url)).toBeUndefined();
});

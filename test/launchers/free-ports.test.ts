import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { freePorts } from './free-ports.ts';

/** A program that takes this process's id, prints the ports that it gets, and runs until killed. */
const PRINT_PORTS = `
Object.defineProperty(process, 'pid', { value: ${process.pid} });
const { freePorts } = await import(${JSON.stringify(new URL('free-ports.ts', import.meta.url))});
console.log(JSON.stringify(await freePorts(50)));
setInterval(() => {}, 1000);
`;

test('two processes whose ids map to the same range get different ports', async () => {
  const own = await freePorts(50);
  const other = spawn(process.execPath, ['--input-type=module', '-e', PRINT_PORTS], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = await once(other.stdout, 'data');
    const others = JSON.parse(String(line)) as number[];
    expect(new Set([...own, ...others]).size).toBe(100);
  } finally {
    other.kill('SIGKILL');
    await once(other, 'close');
  }
});

test('a port on which something listens is skipped', async () => {
  const [first = 0] = await freePorts(1);
  const server = createServer().listen(first + 1, '127.0.0.1');
  await once(server, 'listening');
  try {
    expect(await freePorts(2)).not.toContain(first + 1);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});

/**
 * Compiles the sources beside it to connection-bound.wasm: `node envoy/connection-bound/build.ts`.
 * npx fetches the compiler, which is 100 MB, because the sources hardly ever change. The module
 * carries a hash of its sources; a test compares them.
 */
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const COMPILER = 'assemblyscript@0.28.20';
const here = import.meta.dirname;
const sources = readdirSync(here)
  .filter((name) => name.endsWith('.as'))
  .sort();
const folder = mkdtempSync(join(tmpdir(), 'gw-wasm-'));
try {
  for (const name of sources) copyFileSync(join(here, name), join(folder, name.replace('.as', '.ts')));
  const options = ['--runtime', 'incremental', '-O3', '--noAssert', '--use', 'abort='];
  const compile = ['--yes', '--package', COMPILER, 'asc', 'connection-bound.ts', '-o', 'module.wasm', ...options];
  execFileSync('npx', compile, { cwd: folder, stdio: 'inherit' });
  const compiled = readFileSync(join(folder, 'module.wasm'));
  const source = Buffer.concat(sources.map((name) => readFileSync(join(here, name))));
  const named = Buffer.concat([encodedName('source-sha256'), Buffer.from(hash('sha256', source))]);
  // A custom section: its id, its length, its name, its content (WebAssembly, binary format).
  const section = Buffer.concat([Buffer.of(0, named.length), named]);
  writeFileSync(join(here, 'connection-bound.wasm'), Buffer.concat([compiled, section]));
} finally {
  rmSync(folder, { recursive: true });
}

/** Encodes a name of WebAssembly: its length in one byte (below 128), then its bytes. */
function encodedName(value: string): Buffer {
  return Buffer.concat([Buffer.of(value.length), Buffer.from(value)]);
}

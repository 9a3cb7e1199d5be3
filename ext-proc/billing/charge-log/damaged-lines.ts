import { open, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const DAMAGED = '.damaged-';

/** Called after damaged lines were moved to the file `aside`. */
export type OnDamage = (aside: string, lines: number) => void;

/** Copies damaged lines to a file for the operator. Resolves after the fsync. */
export async function keepAside(path: string, lines: readonly Buffer[]): Promise<string> {
  const aside = `${path}${DAMAGED}${new Date().toISOString().replaceAll(':', '-')}`;
  const file = await open(aside, 'a', 0o600);
  try {
    for (const line of lines) await file.appendFile(Buffer.concat([line, Buffer.from('\n')]));
    await file.sync();
  } finally {
    await file.close();
  }
  await syncFolder(dirname(path));
  return aside;
}

export async function countDamagedLines(folder: string): Promise<number> {
  let lines = 0;
  for (const name of await damagedFiles(folder))
    lines += (await readFile(join(folder, name), 'latin1')).split('\n').filter((line) => line !== '').length;
  return lines;
}

export async function countDamagedFiles(folder: string): Promise<number> {
  return (await damagedFiles(folder)).length;
}

export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().finally(() => folder.close());
}

async function damagedFiles(folder: string): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => name.includes(DAMAGED));
}

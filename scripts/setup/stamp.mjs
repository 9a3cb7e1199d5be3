import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/**
 * File with a digest of the sources, inside the folder that set-up makes. npm and Vite empty their
 * folders.
 */
const STAMP = '.setup-stamp';
const NO_SOURCE = /\.(?:test\.tsx?|md)$/;

export function hasStamp(root, folder, digest) {
  const stamp = join(root, folder, STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === digest;
}

export function writeStamp(root, folder, digest) {
  writeFileSync(join(root, folder, STAMP), digest);
}

/** Covers the contents of files and folders, and the platform. */
export function digestOf(root, sources) {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}\n`);
  for (const path of sources.flatMap((source) => filesIn(join(root, source))).sort()) {
    const content = readFileSync(path);
    hash.update(`${relative(root, path)} ${content.length}\n`).update(content);
  }
  return hash.digest('hex');
}

function filesIn(path) {
  if (!existsSync(path)) return [];
  if (statSync(path).isFile()) return [path];
  return readdirSync(path).flatMap((name) => (NO_SOURCE.test(name) ? [] : filesIn(join(path, name))));
}

import { readFileSync } from 'node:fs';

/**
 * Memory of a group of processes in bytes, as the sum of their proportional set sizes would be with
 * no other process on the machine: the kernel divides a page of a file, such as Node's code, among
 * all processes that have it, those of a test run included.
 */
export function memoryOf(pids: readonly number[]): number {
  let kilobytes = 0;
  const files = new Map<string, number>();
  for (const pid of pids) {
    const total = readIfThere(`/proc/${pid}/smaps_rollup`);
    // Shared by processes of the group only: memory of PostgreSQL, and pages from before a fork.
    kilobytes += field(total, 'Pss_Anon') + field(total, 'Pss_Shmem');
    for (const [file, resident] of filePagesOf(pid)) files.set(file, Math.max(files.get(file) ?? 0, resident));
  }
  // Processes that run the same code touch much the same pages of it.
  for (const resident of files.values()) kilobytes += resident;
  return kilobytes * 1024;
}

/** Resident pages of files in kilobytes, by file and by part of it. */
function filePagesOf(pid: number): Map<string, number> {
  const pages = new Map<string, number>();
  for (const mapping of readIfThere(`/proc/${pid}/smaps`).split(/\n(?=[\da-f]+-[\da-f]+ )/)) {
    const [, part = '', path] = /^\S+ \S+ ([\da-f]+ \S+ [1-9]\d*) +(\/.*)/.exec(mapping) ?? [];
    // Memory that processes share has the name of a file that is deleted.
    if (path === undefined || path.endsWith(' (deleted)') || path.startsWith('/dev/')) continue;
    pages.set(part, (pages.get(part) ?? 0) + field(mapping, 'Rss') - field(mapping, 'Anonymous'));
  }
  return pages;
}

function field(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0);
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // It has ended since it was listed.
  }
}

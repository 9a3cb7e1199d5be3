import { readIfThere } from '../harness/process-cpu.ts';

/**
 * Memory of a group of processes in bytes: their proportional set sizes as if no other process ran.
 * The kernel divides a file page, such as Node's code, among all processes that map it, including
 * those of the test run.
 */
export function memoryOf(pids: readonly number[]): number {
  let kilobytes = 0;
  const files = new Map<string, number>();
  for (const pid of pids) {
    const total = readIfThere(`/proc/${pid}/smaps_rollup`);
    // Only processes of the group share these: PostgreSQL's shared memory, and pages from before a
    // fork.
    kilobytes += field(total, 'Pss_Anon') + field(total, 'Pss_Shmem');
    for (const [file, resident] of filePagesOf(pid)) files.set(file, Math.max(files.get(file) ?? 0, resident));
  }
  // Processes that run the same code map mostly the same pages of it, so the largest count stands
  // for all.
  for (const resident of files.values()) kilobytes += resident;
  return kilobytes * 1024;
}

/** Resident file pages in kilobytes, by file and offset. */
function filePagesOf(pid: number): Map<string, number> {
  const pages = new Map<string, number>();
  for (const mapping of readIfThere(`/proc/${pid}/smaps`).split(/\n(?=[\da-f]+-[\da-f]+ )/)) {
    const [, part = '', path] = /^\S+ \S+ ([\da-f]+ \S+ [1-9]\d*) +(\/.*)/.exec(mapping) ?? [];
    // Shared memory appears as a deleted file.
    if (path === undefined || path.endsWith(' (deleted)') || path.startsWith('/dev/')) continue;
    pages.set(part, (pages.get(part) ?? 0) + field(mapping, 'Rss') - field(mapping, 'Anonymous'));
  }
  return pages;
}

function field(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0);
}

import { readdirSync, readFileSync } from 'node:fs';

/** The supervisor's children that run this script or binary. */
export function supervisedChildren(supervisorPid: number, part: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const parent = Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1]);
        return parent === supervisorPid && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(part);
      } catch {
        // The process has ended since it was listed.
        return false;
      }
    })
    .map(Number);
}

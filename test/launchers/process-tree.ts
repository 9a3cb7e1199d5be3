import { readdirSync, readFileSync } from 'node:fs';

/** A process and its children, such as a PostgreSQL server with its backends. */
export function withChildren(parent: number): number[] {
  const children = readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1]) === parent;
      } catch {
        return false;
      }
    });
  return [parent, ...children];
}

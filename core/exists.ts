import { access } from 'node:fs/promises';

/** False also where this process may not look. */
export function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

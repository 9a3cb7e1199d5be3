import { access } from 'node:fs/promises';

/** Also false if this process lacks the right to look. */
export function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

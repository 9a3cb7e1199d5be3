import { mkdir, open, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Replaces a file atomically, even for readers after a crash. Envoy reloads on the rename. */
export async function replaceFile(path: string, content: string | Buffer, mode = 0o644): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    {
      await using file = await open(temporary, 'w', mode);
      await file.writeFile(content);
      await file.sync();
    }
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
}

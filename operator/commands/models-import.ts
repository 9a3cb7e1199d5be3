import { configPath } from '#core/config/runtime-paths.ts';
import { catalogueFile, shippedCatalogue } from '#core/model-catalogue/catalogue.ts';
import { type CatalogueModel, nameAtProvider, providerOf } from '#core/model-catalogue/catalogue-model.ts';
import { disputeInWords, disputesOf } from '#core/model-catalogue/model-differences.ts';
import { type Entries, type ImportOptions, importEntries } from '../catalogue/import-entries.ts';
import { parseMarkup } from '../catalogue/markup.ts';
import type { WriteOptions } from '../catalogue/write-entries.ts';
import type { Command } from '../command-line/command.ts';
import { createValueReader } from '../command-line/flag-values.ts';
import { type Result, refused } from '../command-line/result.ts';

export const MODELS_IMPORT: Command = {
  name: 'models import',
  summary: 'Print models of the catalogue as YAML for the configuration, or write them into it.',
  positionals: ['ID…'],
  flags: [
    { name: 'as', value: 'MODEL' },
    { name: 'provider', value: 'NAME' },
    { name: 'markup', value: 'PERCENT' },
    { name: 'from', value: 'FILE' },
    { name: 'write' },
    { name: 'replace' },
  ],
  async run({ positionals, flags, env }) {
    const values = createValueReader(flags);
    const [write, replace] = [values.isOn('write') ?? false, values.isOn('replace') ?? false];
    const markupText = flags.get('markup');
    const markup = markupText === undefined ? undefined : parseMarkup(markupText);
    const wrong = [
      ...values.problems,
      ...(markupText !== undefined && markup === undefined
        ? [`--markup takes a percentage such as 15 or 7.5, not ${JSON.stringify(markupText)}.`]
        : []),
      ...(replace && !write ? ['--replace needs --write: nothing else replaces a model.'] : []),
      ...(flags.has('as') && positionals.length > 1 ? ['--as names one model: give one ID.'] : []),
    ];
    if (wrong.length > 0) return { kind: 'usage', message: wrong.join('\n') };

    const shipped = await shippedCatalogue();
    const from = flags.get('from');
    const source = from === undefined ? ({ ok: true, catalogue: shipped } as const) : await catalogueFile(from);
    if (!source.ok) return refused(source.problem);
    const { found, unknown } = findModels(positionals, source.catalogue.models);
    if (unknown.length > 0) return unknownIds(unknown, source.catalogue.models);
    const options = { as: flags.get('as'), provider: flags.get('provider'), markup, known: shipped.providers };
    // Loading the configuration's schema takes longer than other commands need.
    const { entryProblems } = await import('../catalogue/entry-problems.ts');
    const entries = importEntries(found, options);
    const problems = [...clashes(found, options.provider), ...entryProblems(entries)];
    if (problems.length > 0) return refused(problems.join('\n'));
    const notes = found.flatMap((model) => notesOf(model, options));
    return write
      ? written(entries, notes, { path: configPath(env), env, replace, kept: options.provider })
      : printed(entries, notes);
  },
};

interface Found {
  readonly found: readonly CatalogueModel[];
  readonly unknown: readonly string[];
}

function findModels(ids: readonly string[], models: readonly CatalogueModel[]): Found {
  const byId = new Map(models.map((model) => [model.id, model]));
  const asked = [...new Set(ids)];
  return {
    found: asked.flatMap((id) => byId.get(id) ?? []),
    unknown: asked.filter((id) => !byId.has(id)),
  };
}

function unknownIds(ids: readonly string[], models: readonly CatalogueModel[]): Result {
  const all = models.map(({ id }) => id);
  const lines = ids.map((id) => {
    const near = nearestIds(id, all);
    const advice = near.length === 0 ? '' : ` Did you mean ${near.join(', ')}?`;
    return `The catalogue has no model ${JSON.stringify(id)}.${advice}`;
  });
  return refused(lines.join('\n'));
}

const MAX_SHOWN = 5;
/** Longer names are compared by their beginning: the work grows with the square of the length. */
const MAX_CHARACTERS = 128;

/** Ids most similar to a mistyped one, with or without the provider. */
function nearestIds(mistyped: string, ids: readonly string[]): readonly string[] {
  const text = mistyped.slice(0, MAX_CHARACTERS).toLowerCase();
  const distance = (id: string) => Math.min(editDistance(text, id), editDistance(text, nameAtProvider(id)));
  return ids
    .map((id) => ({ id, edits: distance(id.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits)
    .slice(0, MAX_SHOWN)
    .map(({ id }) => id);
}

/** Fewest insertions, deletions and replacements of characters (Levenshtein distance). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [i, character] of [...from].entries()) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j++) {
      const replaced = (row[j] ?? 0) + (to[j] === character ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** Problems of models or providers that would become the same entry. */
function clashes(models: readonly CatalogueModel[], provider: string | undefined): readonly string[] {
  const providers = [...new Set(models.map(({ id }) => providerOf(id)))];
  const names = models.map(({ id }) => nameAtProvider(id));
  const twice = [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
  return [
    ...twice.map((name) => `Two models would be ${name}: import one of them with --as.`),
    ...(provider !== undefined && providers.length > 1
      ? [`--provider names one provider, and these models have ${providers.join(', ')}.`]
      : []),
  ];
}

/** Notes for the operator about one model. */
function notesOf(model: CatalogueModel, { known, provider }: ImportOptions): readonly string[] {
  const { id, shutdown_date: day } = model;
  const isKnown = provider !== undefined || known[providerOf(id)] !== undefined;
  return [
    ...disputesOf(id, model).map(disputeInWords),
    ...(day === undefined ? [] : [`${id} is shut down on ${day}.`]),
    ...(isKnown ? [] : [`The catalogue has no provider ${providerOf(id)}: declare it.`]),
  ];
}

async function printed(entries: Entries, notes: readonly string[]): Promise<Result> {
  const { sectionYaml } = await import('../catalogue/entry-yaml.ts');
  const sections = (['providers', 'models'] as const).filter((section) => Object.keys(entries[section]).length > 0);
  const lines = [...notes.map((note) => `# ${note}`), ...sections.map((name) => sectionYaml(name, entries[name]))];
  return { kind: 'done', json: entries, text: lines.join('\n') };
}

async function written(entries: Entries, notes: readonly string[], options: WriteOptions): Promise<Result> {
  const { writeEntries } = await import('../catalogue/write-entries.ts');
  const result = await writeEntries(entries, options);
  if (!result.ok) return refused(result.problems.join('\n'));
  const { changes } = result;
  const text = [`${options.path}: ${changes.join(', ')}.`, ...notes].join('\n');
  return { kind: 'done', json: { ...entries, changes }, text };
}

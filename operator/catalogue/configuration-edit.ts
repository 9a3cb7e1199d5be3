import { type Document, isMap, isNode, type Pair, parseDocument, type YAMLMap } from 'yaml';
import { isObject } from '#core/json-object.ts';
import type { Entry } from '#core/model-catalogue/catalogue.ts';
import { entriesYaml, INDENT, sectionYaml } from './entry-yaml.ts';
import type { Entries } from './import-entries.ts';
import { endOf, isEmpty, lineEnd, lineStart, pairOf, startOf } from './node-places.ts';

export type Edit =
  | { readonly ok: true; readonly text: string; readonly changes: readonly string[] }
  | { readonly ok: false; readonly problems: readonly string[] };

export interface EditOptions {
  readonly replace: boolean;
  /** Provider that keeps its settings if the file has it. */
  readonly kept?: string | undefined;
}

/** A part of the text to replace. Empty for an insertion. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

interface Changes {
  readonly changes: readonly Change[];
  readonly said: readonly string[];
  readonly problems: readonly string[];
}

type Section = keyof Entries;
const NOUNS: Readonly<Record<Section, string>> = { providers: 'provider', models: 'model' };

/**
 * Adds entries to a configuration file. All other text stays byte for byte the same, because
 * rendering the whole document would move aligned comments. A provider of the file that lacks no
 * setting of the entry is left alone.
 */
export function editConfiguration(given: string, entries: Entries, { replace, kept }: EditOptions): Edit {
  const text = given === '' || given.endsWith('\n') ? given : `${given}\n`;
  const document = parseDocument(text, { version: '1.2' });
  if (document.errors.length > 0) return { ok: false, problems: ['The file is not valid YAML: run check-config.'] };
  const { contents } = document;
  if (contents !== null && (!isMap(contents) || contents.flow === true)) {
    return { ok: false, problems: ['The file is not a mapping in lines: add the entries by hand.'] };
  }
  const sections = (['providers', 'models'] as const).map((section) =>
    sectionChanges({ text, document, section, entries: entries[section], replace, kept }),
  );
  const problems = sections.flatMap((one) => one.problems);
  if (problems.length > 0) return { ok: false, problems };
  const changes = sections.flatMap((one) => one.changes);
  return { ok: true, text: applied(text, changes), changes: sections.flatMap(({ said }) => said) };
}

interface SectionEdit {
  readonly text: string;
  readonly document: Document;
  readonly section: Section;
  readonly entries: Readonly<Record<string, Entry>>;
  readonly replace: boolean;
  readonly kept: string | undefined;
}

function sectionChanges(edit: SectionEdit): Changes {
  const { text, document, section, entries } = edit;
  const names = Object.keys(entries);
  if (names.length === 0) return { changes: [], said: [], problems: [] };
  const pair = isMap(document.contents) ? pairOf(document.contents, section) : undefined;
  const said = names.map((name) => `added ${NOUNS[section]} ${name}`);
  if (pair === undefined) {
    const yaml = `${text === '' ? '' : '\n'}${sectionYaml(section, entries)}\n`;
    return { changes: [{ from: text.length, to: text.length, text: yaml }], said, problems: [] };
  }
  if (isEmpty(pair.value)) return { changes: fillings(text, pair, entries), said, problems: [] };
  if (!isMap(pair.value) || pair.value.flow === true) {
    return { changes: [], said: [], problems: [`"${section}" is not written in lines: add the entries by hand.`] };
  }
  return entryChanges(edit, pair.value);
}

/** Replaces `null` or `{}`. A comment on that line stays there. */
function fillings(text: string, { key, value }: Pair, entries: SectionEdit['entries']): readonly Change[] {
  const from = text.indexOf(':', endOf(key)) + 1;
  const written = isNode(value) && text.slice(startOf(value), endOf(value)).trim() !== '';
  const to = written ? endOf(value) : from;
  const end = lineEnd(text, to);
  return [
    { from, to, text: '' },
    { from: end, to: end, text: `\n${entriesYaml(entries, INDENT)}` },
  ];
}

function entryChanges({ text, document, section, entries, replace, kept }: SectionEdit, map: YAMLMap): Changes {
  const start = startOf(map);
  const indent = start - lineStart(text, start);
  const noun = NOUNS[section];
  const changes: Change[] = [];
  const said: string[] = [];
  const problems: string[] = [];
  const added: Record<string, Entry> = {};
  for (const [name, entry] of Object.entries(entries)) {
    const old = pairOf(map, name);
    const value = old && isNode(old.value) ? old.value.toJS(document) : null;
    if (old === undefined) {
      added[name] = entry;
      said.push(`added ${noun} ${name}`);
    } else if (section === 'providers' && (name === kept || serves(value, entry))) {
      said.push(`left ${noun} ${name} as it is`);
    } else if (replace) {
      const yaml = entriesYaml({ [name]: entry }, indent);
      changes.push({ from: lineStart(text, startOf(old.key)), to: lineEnd(text, endOf(old)), text: yaml });
      said.push(`replaced ${noun} ${name}`);
    } else {
      const advice = section === 'providers' ? ` --provider ${name} uses it as it is.` : '';
      problems.push(`There is a ${noun} ${name} already. --replace replaces it.${advice}`);
    }
  }
  if (Object.keys(added).length > 0) {
    const end = lineEnd(text, endOf(map));
    changes.push({ from: end, to: end, text: `\n${entriesYaml(added, indent)}` });
  }
  return { changes, said, problems };
}

/**
 * Whether a provider of the file does what models of the entry need. Its key and further settings
 * are the operator's. An `api` that the entry leaves out must be the default.
 */
function serves(own: unknown, { api_key: _key, ...entry }: Entry): boolean {
  return isObject(own) && includes({ api: 'chat', ...own }, { api: 'chat', ...entry });
}

function includes(own: unknown, part: unknown): boolean {
  if (Array.isArray(part)) return Array.isArray(own) && part.every((one) => own.includes(one));
  if (!isObject(part)) return own === part;
  return isObject(own) && Object.entries(part).every(([name, value]) => includes(own[name], value));
}

/** Applies the last change first, so that other positions stay valid. Positions may be equal. */
function applied(text: string, changes: readonly Change[]): string {
  let edited = text;
  for (const { from, to, text: inserted } of [...changes].reverse().sort((a, b) => b.from - a.from)) {
    edited = edited.slice(0, from) + inserted + edited.slice(to);
  }
  return edited;
}

import type { z } from 'zod';
import { isObject } from '../json-object.ts';
import { present } from '../present.ts';
import type { Missing } from './references.ts';
import { CONFIG_FILE, type ConfigFile, MODEL, type ModelEntry, PROVIDER, type ProviderEntry } from './schema.ts';
import type { Path } from './yaml-tree.ts';

/** Valid parts of a file, for rules between fields. `undefined`: invalid, or a part is missing. */
export interface RightParts {
  readonly listen: ConfigFile['listen'] | undefined;
  readonly stores: ConfigFile['stores'] | undefined;
  readonly workers: ConfigFile['workers'] | undefined;
  readonly mail?: ConfigFile['mail'];
  readonly sign_in?: ConfigFile['sign_in'];
  readonly payments?: ConfigFile['payments'];
  readonly extra_request_fields: ConfigFile['extra_request_fields'] | undefined;
  readonly providers: Readonly<Record<string, ProviderEntry>>;
  readonly models: Readonly<Record<string, ModelEntry>>;
  readonly price_lists?: ConfigFile['price_lists'];
}

/** Reads valid parts of a refused file, to report problems between fields with the others. */
export function rightParts(value: unknown, missing: readonly Missing[]): RightParts {
  const file = mapping(value);
  // A section with an unresolved reference would be misread.
  const incomplete = new Set(missing.map(({ path }) => path[0]));
  const part = <Part>(name: string, schema: z.ZodType<Part>): Part | undefined =>
    incomplete.has(name) ? undefined : schema.safeParse(file[name]).data;
  const { listen, stores, workers, mail, sign_in, payments, extra_request_fields, price_lists } = CONFIG_FILE.shape;
  const models = rightEntries(file.models, MODEL);
  const lists = part('price_lists', price_lists);
  return {
    listen: part('listen', listen),
    stores: part('stores', stores),
    workers: part('workers', workers),
    mail: part('mail', mail),
    sign_in: part('sign_in', sign_in),
    payments: part('payments', payments),
    extra_request_fields: part('extra_request_fields', extra_request_fields),
    providers: rightEntries(file.providers, PROVIDER),
    models,
    // Lists refer to models, so they are only checked if all models are valid.
    ...(Object.keys(models).length < Object.keys(mapping(file.models)).length ? {} : present({ price_lists: lists })),
  };
}

function rightEntries<Entry>(value: unknown, schema: z.ZodType<Entry>): Record<string, Entry> {
  const right: Record<string, Entry> = {};
  for (const [name, entry] of Object.entries(mapping(value))) {
    const parsed = schema.safeParse(entry);
    if (parsed.success) right[name] = parsed.data;
  }
  return right;
}

function mapping(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

/** Problems within the provider or model at the path. */
export function problemsOfEntry([section, name, ...inner]: Path, value: unknown): readonly z.core.$ZodIssue[] {
  // An invalid name within an entry has no further problems of its own.
  if (inner.length > 0) return [];
  const schema = section === 'providers' ? PROVIDER : section === 'models' ? MODEL : undefined;
  const entry = mapping(mapping(value)[String(section)])[String(name)];
  return schema?.safeParse(entry).error?.issues ?? [];
}

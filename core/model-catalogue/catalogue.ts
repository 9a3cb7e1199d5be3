import { join } from 'node:path';
import { readTextFile } from '../config/read-text-file.ts';
import { isObject, parseObject } from '../json-object.ts';
import type { CatalogueModel } from './catalogue-model.ts';

/** Entry of the configuration, as it is written there. */
export type Entry = Readonly<Record<string, unknown>>;

export interface Catalogue {
  /** Day on which its source was read, `YYYY-MM-DD`. */
  readonly as_of: string;
  readonly models: readonly CatalogueModel[];
}

export interface ShippedCatalogue extends Catalogue {
  /** Providers of its models by name, with the entries that docs/providers.md shows. */
  readonly providers: Readonly<Record<string, Entry>>;
}

export type CatalogueFile =
  | { readonly ok: true; readonly catalogue: Catalogue }
  | { readonly ok: false; readonly problem: string };

const FILE = join(import.meta.dirname, 'models.json');
const MAX_FILE_BYTES = 16 * 1024 * 1024;

export async function shippedCatalogue(): Promise<ShippedCatalogue> {
  const file = await readTextFile(FILE, MAX_FILE_BYTES);
  if (!file.ok) throw new Error(`${FILE} cannot be read: ${file.reason}`);
  return JSON.parse(file.text) as ShippedCatalogue;
}

/**
 * Reads a file in the form that `models catalogue --json` prints. Ids, days and disputed prices are
 * printed unchanged, so they are checked here. All other members of its models are checked when
 * they are imported.
 */
export async function catalogueFile(path: string): Promise<CatalogueFile> {
  const file = await readTextFile(path, MAX_FILE_BYTES);
  if (!file.ok) return { ok: false, problem: `${path} cannot be read: ${file.reason}` };
  const { as_of, models } = parseObject(file.text) ?? {};
  if (!isDay(as_of) || !Array.isArray(models) || !models.every(isModel)) {
    return { ok: false, problem: `${path} is not in the form that "models catalogue --json" prints.` };
  }
  return { ok: true, catalogue: { as_of, models } };
}

/** Name of a provider, a slash, and the provider's name for the model. */
const ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}\/[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$/;

function isModel(model: unknown): model is CatalogueModel {
  if (!isObject(model) || typeof model.id !== 'string' || !ID.test(model.id)) return false;
  const { shutdown_date: day, disputed = {} } = model;
  return (day === undefined || isDay(day)) && isObject(disputed) && Object.values(disputed).flat().every(isNumber);
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number';
}

function isDay(value: unknown): value is string {
  return typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value);
}

import type { Entry } from '#core/model-catalogue/catalogue.ts';
import { type CatalogueModel, nameAtProvider, providerOf } from '#core/model-catalogue/catalogue-model.ts';
import { type Markup, markedUp } from './markup.ts';

/** Entries of the configuration file, by name. */
export interface Entries {
  readonly providers: Readonly<Record<string, Entry>>;
  readonly models: Readonly<Record<string, Entry>>;
}

export interface ImportOptions {
  /** Model id for customers. Only with a single model. */
  readonly as?: string | undefined;
  /** Name of the provider in the configuration. Only with models of one provider. */
  readonly provider?: string | undefined;
  readonly markup?: Markup | undefined;
  /** The catalogue's providers by name. */
  readonly known: Readonly<Record<string, Entry>>;
}

export function importEntries(models: readonly CatalogueModel[], options: ImportOptions): Entries {
  const providers: Record<string, Entry> = {};
  const entries: Record<string, Entry> = {};
  for (const model of models) {
    const provider = options.provider ?? providerOf(model.id);
    const known = options.known[providerOf(model.id)];
    if (known !== undefined) providers[provider] = known;
    entries[options.as ?? nameAtProvider(model.id)] = modelEntry(model, provider, options.markup);
  }
  return { providers, models: entries };
}

function modelEntry(model: CatalogueModel, provider: string, markup: Markup | undefined): Entry {
  const { id, usd_per_million_tokens: prices, shutdown_date: _day, disputed: _disputed, target, ...rest } = model;
  const { tokenizer, ...limits } = rest;
  const cost = markup === undefined ? {} : { cost_usd_per_million_tokens: prices };
  const named = { provider, model: nameAtProvider(id) };
  return {
    ...limits,
    usd_per_million_tokens: markup === undefined ? prices : markedUp(prices, markup),
    ...(tokenizer === undefined ? {} : { tokenizer }),
    targets: [{ ...named, ...target, ...cost, ...named }],
  };
}

import { parse } from 'yaml';
import type { BlockProvider } from './catalogue-of.ts';
import { providerBlocks } from './provider-blocks.ts';

/** Providers of all blocks of docs/providers.md by name, as they are written there. */
export function blockProviders(): ReadonlyMap<string, BlockProvider> {
  const blocks = providerBlocks().map(({ yaml }) => parse(yaml) as { providers?: Record<string, BlockProvider> });
  return new Map(blocks.flatMap(({ providers }) => Object.entries(providers ?? {})));
}

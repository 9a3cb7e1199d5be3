import type { MapEntry } from './litellm-map.ts';
import { saidPrices } from './price-table.ts';

/** The map's live chat models, by the kinds of their prices that no price table expresses. */
export function unsaidPrices(map: ReadonlyMap<string, MapEntry>, day: string): ReadonlyMap<string, readonly string[]> {
  const unsaid = new Map<string, string[]>();
  for (const [name, entry] of map) {
    if (entry.mode !== 'chat' && entry.mode !== 'responses') continue;
    if (typeof entry.deprecation_date === 'string' && entry.deprecation_date <= day) continue;
    for (const kind of saidPrices(name, entry)?.unsaid ?? []) unsaid.set(kind, [...(unsaid.get(kind) ?? []), name]);
  }
  return unsaid;
}

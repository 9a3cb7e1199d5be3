import type { GatewayConfig } from '#core/config/gateway-config.ts';
import type { Log } from '#core/log/log.ts';
import type { Organization } from '#core/principal.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** Notes a caller whose price list the configuration lacks, and who pays the models' own prices. */
export type NoteUnknownList = (organization: Organization, config: GatewayConfig) => void;

/** Counts each request, and logs each organization once for a configuration. */
export function noteUnknownLists({ log, metrics }: { readonly log: Log; readonly metrics: Metrics }): NoteUnknownList {
  const logged = new WeakMap<GatewayConfig, Set<string>>();
  return ({ id, priceList }, config) => {
    if (priceList === undefined || config.priceLists.has(priceList)) return;
    metrics.unknownPriceList();
    const known = logged.get(config) ?? new Set<string>();
    if (known.has(id)) return;
    logged.set(config, known.add(id));
    const fields = { organization_id: id, price_list: priceList };
    log.error(fields, "the configuration has no such price list: the models' own prices apply");
  };
}

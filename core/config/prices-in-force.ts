import { present } from '../present.ts';
import { type ModelPrices, type PriceList, pricesOn } from '../price-list.ts';
import { type Interval, intervalAt, type PriceSchedule, tableAt } from '../price-schedule.ts';
import type { GatewayConfig, Model, Target } from './gateway-config.ts';

/** A configuration whose tables apply between two instants. */
interface ConfigInForce extends Interval {
  readonly config: GatewayConfig;
}

/** Models with the prices of one list, or with their own. */
interface Listed {
  readonly models: GatewayConfig['models'];
  /** The last two configurations, one per side of a change: requests arrive nearly in order. */
  made: readonly ConfigInForce[];
}

const ALWAYS: Interval = { fromMs: Number.NEGATIVE_INFINITY, untilMs: Number.POSITIVE_INFINITY };

/** Filled at the first request with a list, because only few of many lists may be in use. */
const known = new WeakMap<GatewayConfig, Map<PriceList | undefined, Listed>>();

/**
 * The configuration with the prices and costs that apply to a request which arrived at `atMs`, from
 * an organization with this price list. If the configuration does not have the list, the models'
 * own prices apply. The result is the same object until a table changes, because texts of tables
 * are cached by object.
 */
export function configAt(config: GatewayConfig, atMs: number, priceList?: string): GatewayConfig {
  const listed = listedIn(config, priceList === undefined ? undefined : config.priceLists.get(priceList));
  const found = listed.made.find(({ fromMs, untilMs }) => fromMs <= atMs && atMs < untilMs);
  if (found !== undefined) return found.config;
  const made = inForceAt(config, listed.models, atMs);
  listed.made = [made, ...listed.made.slice(0, 1)];
  return made.config;
}

function listedIn(config: GatewayConfig, list: PriceList | undefined): Listed {
  const lists = known.get(config) ?? new Map<PriceList | undefined, Listed>();
  const found = lists.get(list);
  if (found !== undefined) return found;
  const models = list && new Map([...config.models].map(([id, model]) => [id, onList(list, model)] as const));
  const made: Listed = { models: models ?? config.models, made: [] };
  known.set(config, lists.set(list, made));
  return made;
}

function onList(list: PriceList, model: Model): Model {
  const { priceTable, schedule, ...others } = model;
  const own: ModelPrices = { priceTable, ...present({ schedule }) };
  const prices = pricesOn(list, model.id, own);
  return prices === undefined ? model : { ...others, ...prices, own };
}

function inForceAt(config: GatewayConfig, listed: GatewayConfig['models'], atMs: number): ConfigInForce {
  let { fromMs, untilMs } = ALWAYS;
  const table = (schedule: PriceSchedule) => {
    const interval = intervalAt(schedule, atMs);
    fromMs = Math.max(fromMs, interval.fromMs);
    untilMs = Math.min(untilMs, interval.untilMs);
    return tableAt(schedule, atMs);
  };
  const prices = ({ schedule }: ModelPrices): Partial<ModelPrices> =>
    schedule === undefined ? {} : { priceTable: table(schedule) };
  const target = (given: Target): Target =>
    given.costSchedule === undefined ? given : { ...given, costTable: table(given.costSchedule) };
  const model = (given: Model): Model => {
    const { schedule, own, targets } = given;
    if (!schedule && !own?.schedule && targets.every(({ costSchedule }) => costSchedule === undefined)) return given;
    return {
      ...given,
      ...prices(given),
      ...(own === undefined ? {} : { own: { ...own, ...prices(own) } }),
      targets: targets.map(target),
    };
  };
  const models = new Map([...listed].map(([id, given]) => [id, model(given)] as const));
  if (fromMs !== ALWAYS.fromMs || untilMs !== ALWAYS.untilMs) return { config: { ...config, models }, fromMs, untilMs };
  return { config: listed === config.models ? config : { ...config, models: listed }, fromMs, untilMs };
}

import { type Interval, intervalAt, type PriceSchedule, tableAt } from '../price-schedule.ts';
import type { GatewayConfig, Model, Target } from './gateway-config.ts';

/** A configuration whose tables hold between two instants. */
interface ConfigInForce extends Interval {
  readonly config: GatewayConfig;
}

const ALWAYS: Interval = { fromMs: Number.NEGATIVE_INFINITY, untilMs: Number.POSITIVE_INFINITY };

/** The one that was made last. Requests arrive nearly in order, so it is nearly always right. */
const newest = new WeakMap<GatewayConfig, ConfigInForce>();

/**
 * The configuration with the prices and costs that hold for a request which arrived at `atMs`. It
 * is the same object until a table changes, since texts of tables are cached by object.
 */
export function configAt(config: GatewayConfig, atMs: number): GatewayConfig {
  const known = newest.get(config);
  if (known !== undefined && known.fromMs <= atMs && atMs < known.untilMs) return known.config;
  const made = inForceAt(config, atMs);
  if (known === undefined || made.fromMs >= known.untilMs) newest.set(config, made);
  return made.config;
}

function inForceAt(config: GatewayConfig, atMs: number): ConfigInForce {
  let { fromMs, untilMs } = ALWAYS;
  const table = (schedule: PriceSchedule) => {
    const interval = intervalAt(schedule, atMs);
    fromMs = Math.max(fromMs, interval.fromMs);
    untilMs = Math.min(untilMs, interval.untilMs);
    return tableAt(schedule, atMs);
  };
  const target = (given: Target): Target =>
    given.costSchedule === undefined ? given : { ...given, costTable: table(given.costSchedule) };
  const model = (given: Model): Model => {
    if (given.schedule === undefined && given.targets.every(({ costSchedule }) => costSchedule === undefined))
      return given;
    const prices = given.schedule === undefined ? {} : { priceTable: table(given.schedule) };
    return { ...given, ...prices, targets: given.targets.map(target) };
  };
  const models = new Map([...config.models].map(([id, given]) => [id, model(given)] as const));
  const isTimeless = fromMs === ALWAYS.fromMs && untilMs === ALWAYS.untilMs;
  return { config: isTimeless ? config : { ...config, models }, fromMs, untilMs };
}

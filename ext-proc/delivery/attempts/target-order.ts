import type { Target } from '#core/config/gateway-config.ts';

/** Returns a random number from 0 to below 1. */
export type Random = () => number;

/** Orders targets as configured, by weight within steps (docs/interface.md, "Order of targets"). */
export function drawOrder(targets: readonly Target[], random: Random): readonly Target[] {
  if (targets.length === 1 || targets.every(({ draw }) => draw === undefined)) return targets;
  const steps = Map.groupBy(targets, (target) => target.draw?.step ?? target);
  return [...steps.values()].flatMap((step) => drawStep(step, random));
}

/** Draws all targets of a step one after the other, without replacement. */
function drawStep(step: Target[], random: Random): Target[] {
  let left = step.reduce((sum, target) => sum + weightOf(target), 0);
  const order: Target[] = [];
  while (step.length > 1) {
    let rest = random() * left;
    let index = step.findIndex((target) => {
      rest -= weightOf(target);
      return rest < 0;
    });
    // The random source may return 1 after rounding.
    if (index < 0) index = step.length - 1;
    const [drawn] = step.splice(index, 1);
    if (drawn === undefined) break;
    left -= weightOf(drawn);
    order.push(drawn);
  }
  return [...order, ...step];
}

function weightOf({ draw }: Target): number {
  return draw?.weight ?? 1;
}

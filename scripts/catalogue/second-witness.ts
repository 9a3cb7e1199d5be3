import { isDeepStrictEqual } from 'node:util';
import {
  type CatalogueModel,
  type CataloguePeriod,
  DISPUTABLE,
  type Disputed,
} from '#core/model-catalogue/catalogue-model.ts';
import { changedTable } from './changed-table.ts';
import { CHOICES, type Differing } from './choices.ts';
import { type Witness, witnessOf } from './genai-prices.ts';
import { changesAfter, type WitnessTable, witnessTable } from './witness-table.ts';

/** Adds the witness's information to models: future prices and disputes. */
export function withWitness(models: readonly CatalogueModel[], witness: Witness['models'], day: string) {
  /** Sentences about what a person should check. */
  const notes: string[] = [];
  let known = 0;
  const seen = models.map((model): CatalogueModel => {
    const found = witnessOf(model.id, witness);
    if (found === undefined) return model;
    known++;
    const changed = (place: string, ...args: Parameters<typeof changedTable>) => {
      const { table, leftOut } = changedTable(...args);
      for (const part of leftOut) notes.push(`${model.id}: nobody says ${place}${part}, so it is left out.`);
      return table;
    };
    const now = witnessTable(found, day);
    const differing = differingPrices(model.usd_per_million_tokens, now);
    const choice = choiceOf(model.id, differing);
    const isDisputed = Object.keys(differing).length > 0;
    if (isDisputed && choice === undefined)
      notes.push(`${model.id}: nobody has looked at ${JSON.stringify(differing)}.`);
    const isTrusted = choice?.trusted === 'genai-prices';
    const { usd_per_million_tokens: theirs } = model;
    const table = isTrusted ? changed('', theirs, { ...theirs, above: theirs.above ?? [] }, now) : theirs;
    const from: Record<string, CataloguePeriod> = {};
    let before = now;
    for (const start of changesAfter(found, day)) {
      const after = witnessTable(found, start);
      if (!isDeepStrictEqual(before, after)) from[start] = changed(`from.${start}.`, table, now, after);
      before = after;
    }
    return {
      ...model,
      usd_per_million_tokens: { ...table, ...(Object.keys(from).length === 0 ? {} : { from }) },
      ...(isDisputed ? { disputed: sideOf(differing, isTrusted ? 0 : 1) } : {}),
    };
  });
  return { models: seen, known, notes };
}

/** A choice applies only to the prices for which it was made. */
function choiceOf(id: string, differing: Differing) {
  return CHOICES.find((one) => one.ids.includes(id) && isDeepStrictEqual(one.differing, differing));
}

/** A ten-thousandth is rounding. It also covers "200,000 or more" versus "more than 200,000". */
const TOLERANCE = 1e-4;

/** Prices that both sources have and that differ, the catalogue's first. */
function differingPrices(ours: CataloguePeriod, theirs: WitnessTable): Differing {
  const kinds = DISPUTABLE.flatMap((kind) => {
    const [one, other] = [ours[kind], theirs[kind]];
    if (one === undefined || other === undefined || isNear(one, other)) return [];
    return [[kind, [one, other]] as const];
  });
  const [one, other] = [lengthsOf(ours), lengthsOf(theirs)];
  const isSame = one.length === other.length && one.every((length, index) => isNear(length, other[index] ?? 0));
  return { ...Object.fromEntries(kinds), ...(isSame ? {} : { above: [one, other] }) };
}

function lengthsOf({ above = [] }: Partial<Pick<WitnessTable, 'above'>>): readonly number[] {
  return above.map(({ input_tokens }) => input_tokens);
}

function isNear(one: number, other: number): boolean {
  return Math.abs(one - other) <= TOLERANCE * other;
}

function sideOf(differing: Differing, side: 0 | 1): Disputed {
  return Object.fromEntries(Object.entries(differing).map(([kind, both]) => [kind, both[side]]));
}

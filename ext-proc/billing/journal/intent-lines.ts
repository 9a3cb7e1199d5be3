import { join } from 'node:path';
import { type PricesJson, pricesIn, pricesText, type TableJson, tableIn, tableText } from '#core/price-table-text.ts';
import { flatTable, NO_USAGE, type TokenUsage } from '#core/pricing.ts';
import { readCheckedLines } from './checked-lines.ts';
import type { Asked, EndedOutput, Intent, LeftIntent, ReportedUsage } from './intent.ts';

/**
 * Format of the journal: a line is a batch of entries; an entry is a letter, the request's number
 * in base 36 and its content. Written by hand, because JSON.stringify with a replacer for bigint
 * takes four times as long in every request.
 */
const SEPARATOR = '\t';

export function joinEntries(entries: readonly string[]): string {
  return entries.join(SEPARATOR);
}

export function askedEntry(slot: number, intent: Intent, asked: Asked): string {
  const { claim } = intent;
  const { priceTable, askedTier } = intent;
  const { prices } = priceTable.serviceTiers.get(askedTier ?? '') ?? priceTable;
  const ids = `"${intent.generationId}","${intent.organizationId}","${intent.keyId}"`;
  const claimed = claim ? `,"${claim.keyHash.toString('base64')}","${claim.bodyHash.toString('base64')}"` : '';
  // Entries of their own, which the former release passes over. It charges the prices of the first.
  const isFlat = priceTable.above.length === 0 && priceTable.serviceTiers.size === 0;
  const table = isFlat
    ? ''
    : `${SEPARATOR}Q${slot.toString(36)} [${JSON.stringify(askedTier ?? null)},${tableText(priceTable)}]`;
  const own = intent.ownTable === undefined ? '' : `${SEPARATOR}L${slot.toString(36)} ${tableText(intent.ownTable)}`;
  const user = intent.user === undefined ? '' : `${SEPARATOR}N${slot.toString(36)} ${JSON.stringify(intent.user)}`;
  return (
    `A${slot.toString(36)} [${askedFields(asked)},${ids},${intent.day},${JSON.stringify(intent.model)},${pricesText(prices)},` +
    `"${intent.holdNanoUsd}",${intent.streamed},${intent.createdAtMs},${intent.promptTokens},${intent.mostOutputTokens}${claimed}]${table}${own}${user}${more(slot, intent, asked)}`
  );
}

export function askedAgainEntry(slot: number, intent: Intent, asked: Asked): string {
  return `T${slot.toString(36)} [${askedFields(asked)}]${more(slot, intent, asked)}`;
}

/**
 * Entries of their own, which the former release passes over: the costs of the target, and the tier
 * that it was sent where that is not the one that the client asked for.
 */
function more(slot: number, { askedTier }: Intent, { costTable, sentTier }: Asked): string {
  const costs = costTable === undefined ? '' : `${SEPARATOR}K${slot.toString(36)} ${tableText(costTable)}`;
  return sentTier === askedTier
    ? costs
    : `${costs}${SEPARATOR}S${slot.toString(36)} ${JSON.stringify(sentTier ?? null)}`;
}

function askedFields({ provider, providerModel, attempt, askedAtMs }: Asked): string {
  return `${JSON.stringify(provider)},${JSON.stringify(providerModel)},${attempt},${askedAtMs}`;
}

export function progressEntry(slot: number, tokens: number, atMs: number): string {
  return `P${slot.toString(36)} ${tokens.toString(36)} ${atMs.toString(36)}`;
}

export function upstreamEntry(slot: number, upstreamId: string): string {
  return `U${slot.toString(36)} ${JSON.stringify(upstreamId)}`;
}

/** An entry that the former release passes over. It charges the prompt as it was estimated. */
export function reportedEntry(slot: number, reported: ReportedUsage): string {
  return `R${slot.toString(36)} ${JSON.stringify(reported)}`;
}

export function outputEndEntry(slot: number, ended: EndedOutput): string {
  return `C${slot.toString(36)} ${JSON.stringify(ended)}`;
}

export function endEntry(slot: number): string {
  return `E${slot.toString(36)}`;
}

type AskedFields = readonly [provider: string, providerModel: string, attempt: number, askedAtMs: number];

type IntentFields = readonly [
  ...AskedFields,
  generationId: string,
  organizationId: string,
  keyId: string,
  day: number,
  model: string,
  prices: PricesJson,
  holdNanoUsd: string,
  streamed: boolean,
  createdAtMs: number,
  promptTokens: number,
  mostOutputTokens: number,
  keyHash?: string,
  bodyHash?: string,
];

function leftIntent(fields: IntentFields): LeftIntent {
  const [
    provider,
    providerModel,
    attempt,
    askedAtMs,
    generationId,
    organizationId,
    keyId,
    day,
    model,
    prices,
    hold,
    ...rest
  ] = fields;
  const [streamed, createdAtMs, promptTokens, mostOutputTokens, keyHash, bodyHash] = rest;
  return {
    ...{ generationId, organizationId, keyId, day, model, streamed, createdAtMs, promptTokens, mostOutputTokens },
    holdNanoUsd: BigInt(hold),
    priceTable: flatTable(pricesIn(prices)),
    asked: { provider, providerModel, attempt, askedAtMs },
    ...(keyHash === undefined || bodyHash === undefined
      ? {}
      : { claim: { keyHash: Buffer.from(keyHash, 'base64'), bodyHash: Buffer.from(bodyHash, 'base64') } }),
  };
}

/** The journal of a worker. */
export function intentsPath(folder: string, workerIndex: number): string {
  return join(folder, `intents-${workerIndex}.jsonl`);
}

/**
 * Reads the unsettled requests of a journal, in the order in which providers were asked. A torn
 * line counts as not written.
 */
export async function readLeftIntents(path: string): Promise<readonly LeftIntent[]> {
  const left = new Map<string, LeftIntent>();
  for await (const line of readCheckedLines(path)) for (const entry of line.split(SEPARATOR)) take(entry, left);
  return [...left.values()];
}

function take(entry: string, left: Map<string, LeftIntent>): void {
  const [head = '', rest = ''] = split(entry);
  const slot = head.slice(1);
  const known = left.get(slot);
  switch (head[0]) {
    case 'A':
      left.set(slot, leftIntent(JSON.parse(rest)));
      return;
    case 'E':
      left.delete(slot);
      return;
  }
  // The begin entry of this request is missing in the file.
  if (known === undefined) return;
  left.set(slot, changed(known, head[0], rest));
}

function changed(known: LeftIntent, kind: string | undefined, rest: string): LeftIntent {
  const { delivered } = known;
  switch (kind) {
    case 'T': {
      const [provider, providerModel, attempt, askedAtMs] = JSON.parse(rest) as AskedFields;
      return { ...known, asked: { provider, providerModel, attempt, askedAtMs, ...sent(known.askedTier) } };
    }
    case 'P': {
      const [tokens = 0, atMs = 0] = rest.split(' ').map((digits) => Number.parseInt(digits, 36));
      const firstAtMs = delivered?.firstAtMs ?? atMs;
      return { ...known, delivered: { ...delivered, tokens, firstAtMs, lastAtMs: atMs } };
    }
    case 'U':
      return delivered ? { ...known, delivered: { ...delivered, upstreamId: JSON.parse(rest) as string } } : known;
    case 'Q': {
      const [askedTier, table] = JSON.parse(rest) as readonly [string | null, TableJson];
      const tiers = sent(askedTier);
      return {
        ...known,
        priceTable: tableIn(table),
        ...(askedTier === null ? {} : { askedTier }),
        asked: { ...known.asked, ...tiers },
      };
    }
    case 'L':
      return { ...known, ownTable: tableIn(JSON.parse(rest) as TableJson) };
    case 'K':
      return { ...known, asked: { ...known.asked, costTable: tableIn(JSON.parse(rest) as TableJson) } };
    case 'S': {
      const { sentTier: _, ...asked } = known.asked;
      return { ...known, asked: { ...asked, ...sent(JSON.parse(rest) as string | null) } };
    }
    case 'N':
      return { ...known, user: JSON.parse(rest) as string };
    case 'R':
      return delivered ? { ...known, delivered: { ...delivered, reported: withUsage<ReportedUsage>(rest) } } : known;
    case 'C':
      return delivered ? { ...known, delivered: { ...delivered, ended: withUsage<EndedOutput>(rest) } } : known;
    default:
      return known;
  }
}

function sent(tier: string | null | undefined): Pick<Asked, 'sentTier'> {
  return typeof tier === 'string' ? { sentTier: tier } : {};
}

function withUsage<T extends { readonly usage: TokenUsage }>(rest: string): T {
  const said = JSON.parse(rest) as T;
  return { ...said, usage: { ...NO_USAGE, ...said.usage } };
}

function split(entry: string): [string, string] {
  const at = entry.indexOf(' ');
  return at === -1 ? [entry, ''] : [entry.slice(0, at), entry.slice(at + 1)];
}

import { join } from 'node:path';
import { type TableJson, tableIn, tableText } from '#core/price-table-text.ts';
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
  const { claim, ownTable } = intent;
  const ids = `"${intent.generationId}","${intent.organizationId}","${intent.keyId}"`;
  const terms = `${tableText(intent.priceTable)},${ownTable ? tableText(ownTable) : null},${textOrNull(intent.askedTier)}`;
  const claimed = claim ? `,"${claim.keyHash.toString('base64')}","${claim.bodyHash.toString('base64')}"` : '';
  return (
    `A${slot.toString(36)} [${askedText(asked)},${ids},${intent.day},${JSON.stringify(intent.model)},${textOrNull(intent.user)},${terms},` +
    `"${intent.holdNanoUsd}",${intent.streamed},${intent.createdAtMs},${intent.mostOutputTokens}${claimed}]`
  );
}

export function askedAgainEntry(slot: number, asked: Asked): string {
  return `T${slot.toString(36)} ${askedText(asked)}`;
}

function askedText({ provider, providerModel, attempt, askedAtMs, promptTokens, sentTier, costTable }: Asked): string {
  const costs = costTable ? tableText(costTable) : null;
  return `[${JSON.stringify(provider)},${JSON.stringify(providerModel)},${attempt},${askedAtMs},${promptTokens},${textOrNull(sentTier)},${costs}]`;
}

function textOrNull(text: string | undefined): string {
  return text === undefined ? 'null' : JSON.stringify(text);
}

export function progressEntry(slot: number, tokens: number, atMs: number): string {
  return `P${slot.toString(36)} ${tokens.toString(36)} ${atMs.toString(36)}`;
}

export function upstreamEntry(slot: number, upstreamId: string): string {
  return `U${slot.toString(36)} ${JSON.stringify(upstreamId)}`;
}

export function reportedEntry(slot: number, reported: ReportedUsage): string {
  return `R${slot.toString(36)} ${JSON.stringify(reported)}`;
}

export function outputEndEntry(slot: number, ended: EndedOutput): string {
  return `C${slot.toString(36)} ${JSON.stringify(ended)}`;
}

export function endEntry(slot: number): string {
  return `E${slot.toString(36)}`;
}

type AskedFields = readonly [
  provider: string,
  providerModel: string,
  attempt: number,
  askedAtMs: number,
  promptTokens: number,
  sentTier: string | null,
  costTable: TableJson | null,
];

type IntentFields = readonly [
  asked: AskedFields,
  generationId: string,
  organizationId: string,
  keyId: string,
  day: number,
  model: string,
  user: string | null,
  priceTable: TableJson,
  ownTable: TableJson | null,
  askedTier: string | null,
  holdNanoUsd: string,
  streamed: boolean,
  createdAtMs: number,
  mostOutputTokens: number,
  keyHash?: string,
  bodyHash?: string,
];

function leftIntent(fields: IntentFields): LeftIntent {
  const [asked, generationId, organizationId, keyId, day, model, user, priceTable, ownTable, askedTier, ...rest] =
    fields;
  const [hold, streamed, createdAtMs, mostOutputTokens, keyHash, bodyHash] = rest;
  return {
    ...{ generationId, organizationId, keyId, day, model, streamed, createdAtMs, mostOutputTokens },
    ...(user === null ? {} : { user }),
    holdNanoUsd: BigInt(hold),
    priceTable: tableIn(priceTable),
    ...(ownTable === null ? {} : { ownTable: tableIn(ownTable) }),
    ...(askedTier === null ? {} : { askedTier }),
    asked: askedIn(asked),
    ...(keyHash === undefined || bodyHash === undefined
      ? {}
      : { claim: { keyHash: Buffer.from(keyHash, 'base64'), bodyHash: Buffer.from(bodyHash, 'base64') } }),
  };
}

function askedIn([provider, providerModel, attempt, askedAtMs, promptTokens, sentTier, costTable]: AskedFields): Asked {
  return {
    ...{ provider, providerModel, attempt, askedAtMs, promptTokens },
    ...(sentTier === null ? {} : { sentTier }),
    ...(costTable === null ? {} : { costTable: tableIn(costTable) }),
  };
}

/** The journal of a worker. */
export function intentsPath(folder: string, workerIndex: number): string {
  return join(folder, `intents-${workerIndex}.jsonl`);
}

export interface LeftInJournal {
  /** Unsettled requests, in the order in which providers were asked. */
  readonly left: readonly LeftIntent[];
  /** Lines that cannot be read. A last line that a crash cut short counts as not written. */
  readonly damaged: readonly Buffer[];
}

/** Reads the journal of a former process, or of one that is writing it. Changes nothing. */
export async function readLeftIntents(path: string): Promise<LeftInJournal> {
  const left = new Map<string, LeftIntent>();
  const damaged: Buffer[] = [];
  const lines = readCheckedLines(path, (line) => damaged.push(line));
  for await (const line of lines) for (const entry of line.split(SEPARATOR)) take(entry, left);
  return { left: [...left.values()], damaged };
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
    case 'T':
      return { ...known, asked: askedIn(JSON.parse(rest) as AskedFields) };
    case 'P': {
      const [tokens = 0, atMs = 0] = rest.split(' ').map((digits) => Number.parseInt(digits, 36));
      const firstAtMs = delivered?.firstAtMs ?? atMs;
      return { ...known, delivered: { ...delivered, tokens, firstAtMs, lastAtMs: atMs } };
    }
    case 'U':
      return delivered ? { ...known, delivered: { ...delivered, upstreamId: JSON.parse(rest) as string } } : known;
    case 'R':
      return delivered ? { ...known, delivered: { ...delivered, reported: JSON.parse(rest) as ReportedUsage } } : known;
    case 'C':
      return delivered ? { ...known, delivered: { ...delivered, ended: JSON.parse(rest) as EndedOutput } } : known;
    default:
      return known;
  }
}

function split(entry: string): [string, string] {
  const at = entry.indexOf(' ');
  return at === -1 ? [entry, ''] : [entry.slice(0, at), entry.slice(at + 1)];
}

import { type TableJson, tableIn, tableText } from '#core/price-table-text.ts';
import type { Asked, Delivered, EndedOutput, Intent, LeftIntent, ReportedUsage } from '../journal/intent.ts';

/**
 * Entries of requests that providers were asked for: a letter, the generation id, a space and the
 * content, without a tab or line feed. Written by hand, because JSON.stringify with a replacer for
 * bigint takes four times as long in every request.
 */
export function askedEntry(intent: Intent, asked: Asked): string {
  const { generationId, claim, ownTable } = intent;
  const terms = `${tableText(intent.priceTable)},${ownTable ? tableText(ownTable) : null},${textOrNull(intent.askedTier)}`;
  const claimed = claim ? `,"${claim.keyHash.toString('base64')}","${claim.bodyHash.toString('base64')}"` : '';
  return (
    `A${generationId} [${askedText(asked)},"${intent.organizationId}","${intent.keyId}",${intent.day},` +
    `${JSON.stringify(intent.model)},${textOrNull(intent.user)},${terms},` +
    `"${intent.holdNanoUsd}",${intent.streamed},${intent.createdAtMs},${intent.mostOutputTokens}${claimed}]`
  );
}

export function askedAgainEntry(generationId: string, asked: Asked): string {
  return `T${generationId} ${askedText(asked)}`;
}

function askedText({ provider, providerModel, attempt, askedAtMs, promptTokens, sentTier, costTable }: Asked): string {
  const costs = costTable ? tableText(costTable) : null;
  return `[${JSON.stringify(provider)},${JSON.stringify(providerModel)},${attempt},${askedAtMs},${promptTokens},${textOrNull(sentTier)},${costs}]`;
}

function textOrNull(text: string | undefined): string {
  return text === undefined ? 'null' : JSON.stringify(text);
}

export function progressEntry(generationId: string, tokens: number, atMs: number): string {
  return `P${generationId} ${tokens.toString(36)} ${atMs.toString(36)}`;
}

export function upstreamEntry(generationId: string, upstreamId: string): string {
  return `U${generationId} ${JSON.stringify(upstreamId)}`;
}

export function reportedEntry(generationId: string, reported: ReportedUsage): string {
  return `R${generationId} ${JSON.stringify(reported)}`;
}

export function outputEndEntry(generationId: string, ended: EndedOutput): string {
  return `C${generationId} ${JSON.stringify(ended)}`;
}

/** The request ended without a charge. */
export function endEntry(generationId: string): string {
  return `E${generationId} `;
}

/** Everything about a request, as it stands. */
export function entriesOf(intent: Intent, asked: Asked, delivered: Delivered | undefined): string[] {
  const { generationId } = intent;
  const entries = [askedEntry(intent, asked)];
  if (delivered === undefined) return entries;
  const { tokens, firstAtMs, lastAtMs, upstreamId, reported, ended } = delivered;
  entries.push(progressEntry(generationId, 0, firstAtMs), progressEntry(generationId, tokens, lastAtMs));
  if (upstreamId !== undefined) entries.push(upstreamEntry(generationId, upstreamId));
  if (reported !== undefined) entries.push(reportedEntry(generationId, reported));
  if (ended !== undefined) entries.push(outputEndEntry(generationId, ended));
  return entries;
}

/** Content of an entry: its letter and what follows the generation id. */
export interface IntentEntry {
  readonly kind: string;
  readonly rest: string;
}

/** Decodes the entries of a request, of which the first is `asked`. */
export function leftIntent(generationId: string, [first, ...more]: readonly IntentEntry[]): LeftIntent {
  return more.reduce(changed, intentIn(generationId, JSON.parse(first?.rest ?? '') as IntentFields));
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

function intentIn(generationId: string, fields: IntentFields): LeftIntent {
  const [asked, organizationId, keyId, day, model, user, priceTable, ownTable, askedTier, ...rest] = fields;
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

function changed(known: LeftIntent, { kind, rest }: IntentEntry): LeftIntent {
  const { delivered } = known;
  if (kind === 'T') return { ...known, asked: askedIn(JSON.parse(rest) as AskedFields) };
  if (kind === 'P') {
    const [tokens = 0, lastAtMs = 0] = rest.split(' ').map((digits) => Number.parseInt(digits, 36));
    const firstAtMs = delivered?.firstAtMs ?? lastAtMs;
    return { ...known, delivered: { ...delivered, tokens, firstAtMs, lastAtMs } };
  }
  if (delivered === undefined) return known;
  if (kind === 'U') return { ...known, delivered: { ...delivered, upstreamId: JSON.parse(rest) as string } };
  if (kind === 'R') return { ...known, delivered: { ...delivered, reported: JSON.parse(rest) as ReportedUsage } };
  return { ...known, delivered: { ...delivered, ended: JSON.parse(rest) as EndedOutput } };
}

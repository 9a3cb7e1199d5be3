import { type TableJson, tableIn, tableText } from '#core/price-table-text.ts';
import type { Asked, Delivered, Intent, IntentClaim, UnsettledIntent } from './intent.ts';

/**
 * First entry of a request, written when its first provider is called. Entries of requests are a
 * letter, the generation id, a space and JSON. This JSON is concatenated by hand, because
 * JSON.stringify takes four times as long.
 */
export function askedEntry(intent: Intent, asked: Asked): string {
  const { generationId, priceTable, ownTable, claim } = intent;
  return (
    `A${generationId} {"organizationId":"${intent.organizationId}","keyId":"${intent.keyId}","day":${intent.day},` +
    `"model":${JSON.stringify(intent.model)},"priceTable":${tableText(priceTable)},` +
    `"holdNanoUsd":"${intent.holdNanoUsd}","streamed":${intent.streamed},"createdAtMs":${intent.createdAtMs},` +
    `"mostOutputTokens":${intent.mostOutputTokens},"asked":${askedText(asked)}` +
    `${ownTable ? `,"ownTable":${tableText(ownTable)}` : ''}${optional('askedTier', intent.askedTier)}` +
    `${optional('user', intent.user)}${optional('api', intent.api)}${claim ? claimText(claim) : ''}}`
  );
}

export function askedAgainEntry(generationId: string, asked: Asked): string {
  return `T${generationId} ${askedText(asked)}`;
}

export function deliveredEntry(generationId: string, delivered: Delivered): string {
  return `D${generationId} ${JSON.stringify(delivered)}`;
}

/** The request ended without a charge. */
export function endEntry(generationId: string): string {
  return `E${generationId} `;
}

/** Entries that describe the current state of a request. */
export function entriesOf({ asked, delivered, ...intent }: UnsettledIntent): string[] {
  const entries = [askedEntry(intent, asked)];
  if (delivered) entries.push(deliveredEntry(intent.generationId, delivered));
  return entries;
}

/** Content of an entry: its letter and what follows the generation id. */
export interface IntentEntry {
  readonly kind: string;
  readonly rest: string;
}

/** Decodes the entries of a request. Throws unless the first is an `askedEntry`. */
export function unsettledIntent(generationId: string, [first, ...more]: readonly IntentEntry[]): UnsettledIntent {
  let unsettled = intentIn(generationId, JSON.parse(first?.rest ?? ''));
  for (const { kind, rest } of more)
    unsettled = {
      ...unsettled,
      ...(kind === 'T' ? { asked: askedIn(JSON.parse(rest)) } : { delivered: JSON.parse(rest) }),
    };
  return unsettled;
}

interface AskedJson extends Omit<Asked, 'costTable'> {
  readonly costTable?: TableJson;
}

interface IntentJson extends Omit<Intent, 'generationId' | 'holdNanoUsd' | 'priceTable' | 'ownTable' | 'claim'> {
  readonly holdNanoUsd: string;
  readonly priceTable: TableJson;
  readonly ownTable?: TableJson;
  readonly claim?: Record<keyof IntentClaim, string>;
  readonly asked: AskedJson;
}

function intentIn(generationId: string, { priceTable, ownTable, claim, ...json }: IntentJson): UnsettledIntent {
  return {
    ...{ ...json, generationId },
    ...{ holdNanoUsd: BigInt(json.holdNanoUsd), priceTable: tableIn(priceTable), asked: askedIn(json.asked) },
    ...(ownTable && { ownTable: tableIn(ownTable) }),
    ...(claim && {
      claim: { keyHash: Buffer.from(claim.keyHash, 'base64'), bodyHash: Buffer.from(claim.bodyHash, 'base64') },
    }),
  };
}

function askedIn({ costTable, ...asked }: AskedJson): Asked {
  return costTable ? { ...asked, costTable: tableIn(costTable) } : asked;
}

function askedText({ provider, providerModel, attempt, askedAtMs, promptTokens, sentTier, costTable }: Asked): string {
  return (
    `{"provider":${JSON.stringify(provider)},"providerModel":${JSON.stringify(providerModel)},"attempt":${attempt},` +
    `"askedAtMs":${askedAtMs},"promptTokens":${promptTokens}${optional('sentTier', sentTier)}` +
    `${costTable ? `,"costTable":${tableText(costTable)}` : ''}}`
  );
}

function claimText({ keyHash, bodyHash }: IntentClaim): string {
  return `,"claim":{"keyHash":"${keyHash.toString('base64')}","bodyHash":"${bodyHash.toString('base64')}"}`;
}

function optional(name: string, text: string | undefined): string {
  return text === undefined ? '' : `,"${name}":${JSON.stringify(text)}`;
}

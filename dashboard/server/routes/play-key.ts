import type { PlayChat, PlayInput } from '#contract/playground.ts';
import { newKeySecret } from '#core/key-secret.ts';
import { present } from '#core/present.ts';
import type { KeyRestrictions } from '#database/keys/key-records.ts';
import { findKey } from '#database/keys/key-rows.ts';
import { createPlaygroundKey } from '#database/keys/playground-keys.ts';
import { isProblem, notFound, type Problem, wrongField } from '../http/problem.ts';
import { actorOf, type OrganizationCall } from '../http/route.ts';
import { KEY_BUDGET_NANO_USD, KEY_LIFETIME_MS, type PlaygroundKey } from '../playground/playground-keys.ts';

/** Name of the key in the request log, the usage and the audit log. */
const NAME = 'Playground';
/** A key with less lifetime is not used. Clocks of two machines differ by less. */
const LEAST_LEFT_MS = 60_000;

export type PlayRestrictions = Omit<KeyRestrictions, 'name'>;

/**
 * Restricts a play to the chosen models, and to the rights of the chosen key. If that key lacks one
 * of the models, the play gets the key's own models instead, so that the gateway refuses the
 * request as it would with that key.
 */
export async function restrictionsOf(
  { deps, organizationId }: OrganizationCall,
  { chat, beside = chat.model, likeKey }: Pick<PlayInput, 'beside' | 'likeKey'> & { chat: Pick<PlayChat, 'model'> },
): Promise<PlayRestrictions | Problem> {
  const like = likeKey === undefined ? undefined : await findKey(deps.database, organizationId, likeKey);
  if (likeKey !== undefined && like === undefined) return notFound('key');
  if (like && (like.revoked || (like.expiresAtMs !== undefined && like.expiresAtMs <= deps.nowMs()))) {
    return wrongField('likeKey', 'This key has been revoked, or has expired.');
  }
  // Sorted, so that both requests have the same order.
  const wanted = [...new Set([chat.model, beside])].toSorted();
  const { scopes = ['chat'] as const, models, requestsPerMinute, tokensPerMinute } = like ?? {};
  const budget = like?.dailyBudgetNanoUsd;
  const least = budget !== undefined && budget < KEY_BUDGET_NANO_USD ? budget : KEY_BUDGET_NANO_USD;
  return {
    scopes,
    models: models === undefined || wanted.every((model) => models.includes(model)) ? wanted : models,
    ...present({ requestsPerMinute, tokensPerMinute }),
    dailyBudgetNanoUsd: least,
    // Without it, a key that lives across midnight would have two daily budgets.
    lifetimeBudgetNanoUsd: KEY_BUDGET_NANO_USD,
  };
}

/** Returns the secret of the user's key. Creates a key if there is no usable one. */
export async function playSecret(call: OrganizationCall, restrictions: PlayRestrictions): Promise<string | Problem> {
  const { keys } = call.deps.playground;
  const holder = `${call.organizationId} ${call.session.user.id}`;
  const restrictionsText = Object.entries(restrictions).join(' ');
  return keys.inTurn(holder, async () => {
    const known = keys.find(holder);
    if (known?.restrictions === restrictionsText && (await isUsable(call, known.id))) return known.secret;
    const made = await makeKey(call, restrictions);
    if (isProblem(made)) return made;
    keys.remember(holder, { ...made, restrictions: restrictionsText });
    return made.secret;
  });
}

/** An owner may have revoked the key, or another dashboard may have made a newer one. */
async function isUsable({ deps, organizationId }: OrganizationCall, id: string): Promise<boolean> {
  const key = await findKey(deps.database, organizationId, id);
  if (key === undefined || key.revoked) return false;
  return key.expiresAtMs !== undefined && key.expiresAtMs - deps.nowMs() > LEAST_LEFT_MS;
}

async function makeKey(
  call: OrganizationCall,
  restrictions: PlayRestrictions,
): Promise<Pick<PlaygroundKey, 'id' | 'secret'> | Problem> {
  const { deps, organizationId, session } = call;
  const tooMany = await call.countChange();
  if (tooMany) return tooMany;
  const nowMs = deps.nowMs();
  const { secret, identity } = newKeySecret(nowMs);
  const expiresAtMs = nowMs + KEY_LIFETIME_MS;
  const key = { ...identity, organizationId, name: NAME, ...restrictions, expiresAtMs };
  const made = await createPlaygroundKey(deps.database, key, { ...actorOf(call), userId: session.user.id });
  return made === undefined ? notFound('organization') : { id: made.id, secret };
}

import type { PlayChat, PlayInput } from '#contract/playground.ts';
import { newKeySecret } from '#core/key-secret.ts';
import { present } from '#core/present.ts';
import type { KeyLimits, Scope } from '#core/principal.ts';
import { isProblem, notFound, type Problem, wrongField } from '../http/problem.ts';
import { actorOf, type OrganizationCall } from '../http/route.ts';
import { KEY_BUDGET_NANO_USD, KEY_LIFETIME_MS, type PlaygroundKey } from '../playground/playground-keys.ts';

/** Shown wherever the key is: in the request log, the usage and the audit log. */
const NAME = 'Playground';
/** A key with less time to live is not used any more. Clocks of two machines may differ by less. */
const LEAST_LEFT_MS = 60_000;

export interface PlayRestrictions {
  readonly scopes: readonly Scope[];
  readonly models: readonly string[];
  readonly limits: KeyLimits;
}

/**
 * Restricts a play to the chosen models, and to what the chosen key of the organization may. A key
 * that lacks one of them passes on its own models, so that the gateway refuses the request as it
 * would refuse one with that key.
 */
export async function restrictionsOf(
  { deps, organizationId }: OrganizationCall,
  { chat, beside = chat.model, likeKey }: Pick<PlayInput, 'beside' | 'likeKey'> & { chat: Pick<PlayChat, 'model'> },
): Promise<PlayRestrictions | Problem> {
  const like = likeKey === undefined ? undefined : await deps.administration.key(organizationId, likeKey);
  if (likeKey !== undefined && like === undefined) return notFound('key');
  if (like && (like.revoked || (like.expiresAtMs !== undefined && like.expiresAtMs <= deps.nowMs()))) {
    return wrongField('likeKey', 'This key has been revoked, or has expired.');
  }
  // In the same order for both of them.
  const wanted = [...new Set([chat.model, beside])].toSorted();
  const { scopes = ['chat'] as const, models, limits = {} } = like ?? {};
  const { requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd: budget } = limits;
  const least = budget !== undefined && budget < KEY_BUDGET_NANO_USD ? budget : KEY_BUDGET_NANO_USD;
  return {
    scopes,
    models: models === undefined || wanted.every((model) => models.includes(model)) ? wanted : models,
    limits: {
      ...present({ requestsPerMinute, tokensPerMinute }),
      dailyBudgetNanoUsd: least,
      // The daily budget alone would be given twice to a key that lives across midnight.
      lifetimeBudgetNanoUsd: KEY_BUDGET_NANO_USD,
    },
  };
}

/** The secret of the user's key, which is made if there is no usable one. */
export async function playSecret(call: OrganizationCall, restrictions: PlayRestrictions): Promise<string | Problem> {
  const { keys } = call.deps.playground;
  const { scopes, models, limits } = restrictions;
  const holder = `${call.organizationId} ${call.session.user.id}`;
  const restrictionsText = [scopes, models, ...Object.entries(limits)].join(' ');
  return keys.inTurn(holder, async () => {
    const known = keys.find(holder);
    if (known?.restrictions === restrictionsText && (await isUsable(call, known.id))) return known.secret;
    const made = await makeKey(call, restrictions);
    if (isProblem(made)) return made;
    keys.remember(holder, { ...made, restrictions: restrictionsText });
    return made.secret;
  });
}

/** An owner may have revoked it, or another dashboard made a newer one. */
async function isUsable({ deps, organizationId }: OrganizationCall, id: string): Promise<boolean> {
  const key = await deps.administration.key(organizationId, id);
  if (key === undefined || key.revoked) return false;
  return key.expiresAtMs !== undefined && key.expiresAtMs - deps.nowMs() > LEAST_LEFT_MS;
}

async function makeKey(
  call: OrganizationCall,
  { scopes, models, limits }: PlayRestrictions,
): Promise<Pick<PlaygroundKey, 'id' | 'secret'> | Problem> {
  const { deps, organizationId, session } = call;
  const tooMany = await call.countChange();
  if (tooMany) return tooMany;
  const nowMs = deps.nowMs();
  const { secret, identity } = newKeySecret(nowMs);
  const expiresAtMs = nowMs + KEY_LIFETIME_MS;
  const key = { ...identity, organizationId, name: NAME, scopes, models, limits, expiresAtMs };
  const made = await deps.administration.createPlaygroundKey(key, { ...actorOf(call), userId: session.user.id });
  return made === undefined ? notFound('organization') : { id: made.id, secret };
}

import { isObject, type JsonObject } from '#core/json-object.ts';
import { tierMember } from '../chat-message.ts';

/** Translates service tiers between chat and Anthropic, whose fast mode is a `speed`. */

/**
 * Members that request a tier. `undefined`: Anthropic has no such tier. `default` must not be
 * served and billed as priority, hence `standard_only`.
 */
export function tierMembers(tier: string | undefined): Readonly<Record<string, string>> | undefined {
  switch (tier) {
    case undefined:
      return {};
    case 'default':
      return { service_tier: 'standard_only' };
    case 'priority':
      return { service_tier: 'auto' };
    case 'fast':
      return { speed: 'fast' };
    default:
      return undefined;
  }
}

/** The tier that members request. `word` returns the value of a member if it is a string. */
export function tierIn(word: (name: string) => string | undefined): string | undefined {
  if (word('speed') === 'fast') return 'fast';
  const tier = word('service_tier');
  if (tier === 'auto') return 'priority';
  return tier === 'standard_only' ? 'default' : tier;
}

/** The tier that served the message, by which it is billed. */
export function servedTier(usage: unknown): JsonObject {
  const { service_tier: tier, speed }: JsonObject = isObject(usage) ? usage : {};
  if (speed === 'fast') return { service_tier: 'fast' };
  return tierMember(tier === 'standard' ? 'default' : tier);
}

import type { Target } from '#core/config/gateway-config.ts';
import type { ChatRequest } from '../../chat/chat-request.ts';
import { shapeMembers } from '../../chat/request-shaping.ts';
import { DIALECTS } from './dialects.ts';

/**
 * The service tier that a target is sent, in chat's words: the client's as the target's `request`
 * leaves it, or the one that it sets. `undefined`: none, so that the provider's own rules choose.
 */
export function sentTierOf(
  { api, shaping = [] }: Pick<Target, 'api' | 'shaping'>,
  { serviceTier, hasTools }: Pick<ChatRequest, 'serviceTier' | 'hasTools'>,
): string | undefined {
  if (shaping.length === 0) return serviceTier;
  const dialect = DIALECTS[api];
  const words = dialect?.tierMembers?.(serviceTier) ?? (serviceTier === undefined ? {} : { service_tier: serviceTier });
  const members = new Map(Object.entries(words).map(([name, word]) => [name, JSON.stringify(word)]));
  const shaped = shapeMembers(members, shaping, hasTools, (json) => json);
  const word = (name: string) => textIn(shaped.get(name));
  return dialect?.tierIn ? dialect.tierIn(word) : word('service_tier');
}

function textIn(json: string | undefined): string | undefined {
  const value: unknown = json === undefined ? undefined : JSON.parse(json);
  return typeof value === 'string' ? value : undefined;
}

import { describe, expect, it } from 'vitest';
import type { RequestShaping } from '#core/config/gateway-config.ts';
import type { ProviderApi } from '#core/config/provider-api.ts';
import { compileShaping, requestShaping } from '#core/config/request-shaping.ts';
import { CalledMessages } from '../../chat/called-messages.ts';
import { providerBody } from '../../chat/provider-body.ts';
import { sentTierOf } from './sent-tier.ts';
import { translateBody } from './translate-body.ts';

const shapingOf = (...entries: readonly object[]): readonly RequestShaping[] =>
  compileShaping(...entries.map((entry) => requestShaping.parse(entry)));

type Case = readonly [ProviderApi, asked: string | undefined, shaping: readonly object[], sent: string | undefined];
const CASES: readonly Case[] = [
  ['chat', 'flex', [], 'flex'],
  ['chat', undefined, [], undefined],
  ['chat', 'flex', [{ drop: ['seed'] }], 'flex'],
  ['chat', 'flex', [{ drop: ['service_tier'] }], undefined],
  ['chat', 'flex', [{ rename: { service_tier: 'tier' } }], undefined],
  ['chat', 'flex', [{ set: { service_tier: 'default' } }], 'default'],
  ['chat', undefined, [{ set: { service_tier: 'priority' } }], 'priority'],
  ['chat', 'flex', [{ set: { service_tier: null } }], undefined],
  // The provider's, then the target's own.
  ['chat', 'flex', [{ drop: ['service_tier'] }, { set: { service_tier: 'priority' } }], 'priority'],
  ['chat', 'flex', [{ set: { service_tier: 'priority' } }, { drop: ['service_tier'] }], undefined],
  ['responses', 'priority', [], 'priority'],
  ['responses', 'priority', [{ drop: ['service_tier'] }], undefined],
  ['anthropic', 'default', [{ drop: ['seed'] }], 'default'],
  ['anthropic', 'priority', [{ drop: ['seed'] }], 'priority'],
  ['anthropic', 'fast', [{ drop: ['seed'] }], 'fast'],
  ['anthropic', 'priority', [{ drop: ['service_tier'] }], undefined],
  // Its fast mode is another field.
  ['anthropic', 'fast', [{ drop: ['service_tier'] }], 'fast'],
  ['anthropic', 'fast', [{ drop: ['speed'] }], undefined],
  ['anthropic', undefined, [{ set: { service_tier: 'auto' } }], 'priority'],
  ['anthropic', 'priority', [{ set: { service_tier: 'standard_only' } }], 'default'],
  ['anthropic', undefined, [{ set: { speed: 'fast' } }], 'fast'],
];

describe('the tier that is sent to a target', () => {
  it.each(CASES)('%s, asked %s, shaped by %j: %s', (api, serviceTier, entries, sent) => {
    const shaping = shapingOf(...entries);
    expect(sentTierOf({ api, shaping }, { serviceTier, hasTools: false } as never)).toBe(sent);
    expect(tierInBody(api, serviceTier, shaping)).toBe(sent);
  });

  it('is set by set_with_tools if the request has tools', () => {
    const shaping = shapingOf({ set_with_tools: { service_tier: 'priority' } });
    const sent = (hasTools: boolean) => sentTierOf({ api: 'chat', shaping }, { hasTools });
    expect([sent(true), sent(false)]).toEqual(['priority', undefined]);
  });
});

const WORDS: Readonly<Record<string, string>> = { auto: 'priority', standard_only: 'default' };

/** The tier that the body says which a provider gets. */
function tierInBody(api: ProviderApi, serviceTier: string | undefined, shaping: readonly RequestShaping[]) {
  const { speed, service_tier } = bodyFor(api, serviceTier, shaping);
  const tier = speed ?? service_tier ?? undefined;
  return api === 'anthropic' ? (WORDS[String(tier)] ?? tier) : tier;
}

/** The members of the body that a provider gets. */
function bodyFor(api: ProviderApi, serviceTier: string | undefined, shaping: readonly RequestShaping[]) {
  const member = serviceTier === undefined ? '' : `"service_tier":${JSON.stringify(serviceTier)}`;
  const bytes = Buffer.from(member);
  const fields =
    member === '' ? [] : [{ name: 'service_tier', start: 0, valueStart: '"service_tier":'.length, end: bytes.length }];
  const facts = {
    ...{ stream: false, otherStreamOptions: [], edits: [], called: new CalledMessages(), hasTools: false, serviceTier },
    identities: new Map<string, string>(),
  };
  const body = providerBody({ bytes, fields, roles: new Int32Array() }, facts, {
    ...{ model: 'm', outputLimitField: 'max_tokens', outputLimit: 1, identify: (_: string, value: string) => value },
    ...(api === 'chat' ? { shaping } : {}),
  });
  const whole = Buffer.concat(body);
  if (api === 'chat') return JSON.parse(whole.toString());
  const chat = Buffer.from(JSON.stringify({ ...JSON.parse(whole.toString()), messages: [] }));
  const sent = { model: 'm', outputLimit: 16, stream: false, extraFields: [], isReasoning: false };
  const translated = translateBody({ bytes: chat, api, fields: sent, shaping, reasoning: [] });
  if (translated.kind !== 'body') throw new Error(translated.problem);
  return JSON.parse(Buffer.from(translated.bytes).toString());
}

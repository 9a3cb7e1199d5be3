import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DoorApi } from '#core/config/apis.ts';
import { envelopeOf, isRefusal } from '#core/errors/refusal.ts';
import { findRoute } from './route.ts';

const NONE: ReadonlySet<DoorApi> = new Set();

describe('findRoute', () => {
  it.each([
    ['POST', '/v1/chat/completions', { name: 'chat', scope: 'chat', query: '' }],
    ['GET', '/v1/models', { name: 'models', query: '' }],
    ['GET', '/v1/models/gpt-6?x=1', { name: 'models', query: 'x=1', model: 'gpt-6' }],
    ['GET', '/v1/models/openai/gpt-6', { name: 'models', query: '', model: 'openai/gpt-6' }],
    ['GET', '/v1/models/openai%2Fgpt-6', { name: 'models', query: '', model: 'openai/gpt-6' }],
    ['GET', '/v1/models/%', { name: 'models', query: '', model: '%' }],
    ['GET', '/v1/credits', { name: 'credits', scope: 'usage:read', query: '' }],
    ['GET', '/v1/generation?id=gen-1&x=%20?', { name: 'generation', scope: 'usage:read', query: 'id=gen-1&x=%20?' }],
    ['GET', '/v1/usage?', { name: 'usage', scope: 'usage:read', query: '' }],
  ])('%s %s', (method, path, route) => expect(findRoute(method, path, NONE)).toEqual(route));

  it.each([
    ['GET', '/v1/chat/completions'],
    ['POST', '/v1/models'],
    ['get', '/v1/models'],
    ['HEAD', '/v1/models'],
    ['GET', '/v1/models/'],
    ['HEAD', '/v1/models/gpt-6'],
    ['DELETE', '/v1/models/gpt-6'],
    ['OPTIONS', '/v1/chat/completions'],
    ['POST', '/chat/completions'],
    ['POST', '/v1/v1/chat/completions'],
    ['POST', '/v1/chat/completions/'],
    ['POST', '//v1/chat/completions'],
    ['POST', '/v1/chat/../chat/completions'],
    ['POST', '/V1/chat/completions'],
    ['POST', '/v1/chat%2Fcompletions'],
    ['GET', '/v1/%6dodels'],
    ['GET', '/v1/models#x'],
    ['GET', '/v1/models;x'],
    ['GET', ''],
    ['GET', '/'],
    ['', '/v1/models'],
  ])('%s %s does not exist', (method, path) => {
    expect(findRoute(method, path, NONE)).toMatchObject({ kind: 'refusal', code: 'route_not_found' });
  });

  it('matches nothing but the five', () => {
    fc.assert(fc.property(fc.string(), fc.string(), (method, path) => isRefusal(findRoute(method, path, NONE))));
  });

  it.each([
    ['/v1/responses', ['.chat(', 'useResponsesApi: false', 'OpenAIChatCompletionsModel']],
    ['/v1/responses?x=1', ['.chat(']],
    ['/v1/messages', ['/v1/chat/completions']],
    ['/v1/messages/count_tokens', ['/v1/chat/completions']],
    ['/v1/completions', ['/v1/chat/completions', 'messages']],
    ['/v1/embeddings', ['no embeddings']],
    ['/other', ['base URL']],
  ])('says what to do instead of POST %s', (path, words) => {
    const refusal = findRoute('POST', path, NONE);
    const message = isRefusal(refusal) ? envelopeOf(refusal).error.message : '';
    for (const word of words) expect(message).toContain(word);
    expect(message).toContain(`POST ${path.split('?')[0]}. `);
  });

  it('names method and path in the message, cut to a bound and without the query', () => {
    const refusal = findRoute('GET', `/v1/modelz${'x'.repeat(500)}?api_key=sk-gw-secret`, NONE);
    const message = isRefusal(refusal) ? envelopeOf(refusal).error.message : '';
    expect(message).toContain('GET /v1/modelz');
    expect(message).not.toContain('secret');
    expect(message.length).toBeLessThan(300);
  });

  it('finds the paths of enabled APIs, and no others', () => {
    const on: ReadonlySet<DoorApi> = new Set(['responses', 'messages']);
    expect(findRoute('POST', '/v1/responses', on)).toEqual({ name: 'responses', scope: 'chat', query: '' });
    const refusals = [
      findRoute('GET', '/v1/responses', on),
      findRoute('GET', '/v1/messages/count_tokens', on),
      findRoute('POST', '/v1/responses', NONE),
    ];
    const hints = refusals.map((refusal) => isRefusal(refusal) && envelopeOf(refusal).error.message);
    expect(hints).toEqual([
      expect.stringContaining(
        'This gateway has POST /v1/chat/completions, POST /v1/responses, POST /v1/messages, POST',
      ),
      expect.stringContaining(
        'This gateway has POST /v1/chat/completions, POST /v1/responses, POST /v1/messages, POST',
      ),
      expect.stringContaining('This gateway speaks chat completions'),
    ]);
  });

  it('blames the base URL only where /v1 is missing or doubled', () => {
    const hintOf = (path: string) => {
      const refusal = findRoute('POST', path, NONE);
      return isRefusal(refusal) ? envelopeOf(refusal).error.message.replace(/^There is no \S+ \S+ /, '') : undefined;
    };
    const check = 'Check that the base URL ends in /v1, once.';
    expect(['/chat/completions', '/v1/v1/chat/completions', '/v1'].map(hintOf)).toEqual([check, check, check]);
    expect(hintOf('/v1/v1/messages')).toBe('This client adds /v1 by itself: leave it out of the base URL.');
    expect(hintOf('/v1/files')).toBe(
      'This gateway has POST /v1/chat/completions, GET /v1/models, GET /v1/models/{model}, GET /v1/credits, ' +
        'GET /v1/generation, GET /v1/usage.',
    );
  });
});

import { describe, expect, test } from 'vitest';
import type { JsonObject } from '#core/json-object.ts';
import { toolSettings } from './tools.ts';

const F = { type: 'function', function: { name: 'f' } };
const G = { type: 'function', function: { name: 'g' } };
const SENT_F = { name: 'f', input_schema: { type: 'object', properties: {} } };
const SENT_G = { ...SENT_F, name: 'g' };

function membersOf(chat: JsonObject): JsonObject {
  const settings = toolSettings({ tools: [F, G], ...chat });
  if (settings.kind === 'unsayable') throw new Error(settings.problem);
  return settings.members;
}

describe('tools', () => {
  test.each<[string, JsonObject, JsonObject]>([
    ['a schema', { parameters: { type: 'object', required: [] } }, { input_schema: { type: 'object', required: [] } }],
    ['a schema without a type', { parameters: { $defs: {} } }, { input_schema: { $defs: {}, type: 'object' } }],
    ['an empty description', { description: '' }, {}],
    ['a description', { description: 'F.' }, { description: 'F.' }],
    ['strict: false', { strict: false }, {}],
    ['strict: true', { strict: true }, { strict: true }],
    ['caching', { cache_control: { type: 'ephemeral' } }, { cache_control: { type: 'ephemeral' } }],
  ])('are defined with %s', (_, members, expected) => {
    const tools = [{ type: 'function', function: { name: 'f', ...members } }];
    expect(membersOf({ tools })).toEqual({ tools: [{ ...SENT_F, ...expected }] });
  });

  test('keep a cache marker of the tool, beside its function', () => {
    const cache_control = { type: 'ephemeral', ttl: '1h' };
    expect(membersOf({ tools: [F, { ...G, cache_control }] })).toEqual({
      tools: [SENT_F, { ...SENT_G, cache_control }],
    });
  });

  test.each<[string, JsonObject, JsonObject | undefined, boolean]>([
    ['nothing', {}, undefined, false],
    ['auto', { tool_choice: 'auto' }, { type: 'auto' }, false],
    ['required', { tool_choice: 'required' }, { type: 'any' }, true],
    ['none', { tool_choice: 'none', parallel_tool_calls: false }, { type: 'none' }, false],
    ['a function', { tool_choice: G }, { type: 'tool', name: 'g' }, true],
    ['a name beside the type', { tool_choice: { type: 'function', name: 'g' } }, { type: 'tool', name: 'g' }, true],
    ['parallel calls', { parallel_tool_calls: true }, undefined, false],
    ['no parallel calls', { parallel_tool_calls: false }, { type: 'auto', disable_parallel_tool_use: true }, false],
    [
      'one call',
      { tool_choice: 'required', parallel_tool_calls: false },
      { type: 'any', disable_parallel_tool_use: true },
      true,
    ],
  ])('are chosen by %s', (_, chat, choice, isForced) => {
    const expected = { tools: [SENT_F, SENT_G], ...(choice === undefined ? {} : { tool_choice: choice }) };
    expect(toolSettings({ tools: [F, G], ...chat })).toEqual({ kind: 'tools', members: expected, isForced });
  });

  test.each([
    ['auto', 'auto'],
    ['required', 'any'],
  ])('are left out if they are not allowed: %s', (mode, type) => {
    const tool_choice = { type: 'allowed_tools', allowed_tools: { mode, tools: [G] } };
    expect(membersOf({ tool_choice })).toEqual({ tools: [SENT_G], tool_choice: { type } });
    const none = { type: 'allowed_tools', allowed_tools: { mode, tools: [] } };
    expect(membersOf({ tool_choice: none })).toEqual({});
  });
});
